/* SPDX-License-Identifier: MIT */
/* Classes of ASCII characters, whatever the locale is: a byte from 0x80 on is in none of them. */
#ifndef UT_BASE_ASCII_H
#define UT_BASE_ASCII_H

#include <stdbool.h>

static inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static inline bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static inline bool is_alpha(char c) { return is_lower(c) || is_upper(c); }
static inline bool is_alnum(char c) { return is_alpha(c) || is_digit(c); }

/* Of a name in C, but for its first character, which is no digit. */
static inline bool is_word_char(char c) { return is_alnum(c) || c == '_'; }

/* Inside a line. */
static inline bool is_blank(char c) { return c == ' ' || c == '\t'; }
/* At the end of a line, too: that of a file from Windows is "\r\n". */
static inline bool is_line_blank(char c) { return is_blank(c) || c == '\r'; }
/* As isspace(). */
static inline bool is_space(char c) { return is_line_blank(c) || c == '\n' || c == '\f' || c == '\v'; }

static inline char to_lower(char c) { return is_upper(c) ? (char)(c + ('a' - 'A')) : c; }

/* Of a hexadecimal digit in either case; -1: it is none. */
static inline int hex_value(char c)
{
	if (is_digit(c))
		return c - '0';
	c = to_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
