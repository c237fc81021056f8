/* SPDX-License-Identifier: MIT */
/* Foreign bytes made safe for a terminal or for JSON. */
#include "base/buf.h"

#include <string.h>

struct utf8 {
	size_t len; /* bytes of this character; 0: not valid UTF-8 */
	uint32_t c;
};

/* One character of two bytes or more: no overlong forms, no surrogates, nothing above U+10FFFF. */
static struct utf8 utf8_decode(const unsigned char *s, size_t len)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	uint32_t c;

	if (s[0] < 0xc2 || s[0] > 0xf4 || n > len)
		return (struct utf8){ 0 };
	c = s[0] & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return (struct utf8){ 0 };
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return (struct utf8){ 0 };
	return (struct utf8){ n, c };
}

/* C1 controls, line separators, and the marks that turn the direction of what follows on the screen. */
static bool is_hazard(uint32_t c)
{
	return c < 0xa0 || c == 0x2028 || c == 0x2029 || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
	       c == 0xfeff;
}

static void add_hex_byte(struct buf *b, unsigned char c)
{
	const char *hex = "0123456789abcdef";
	char text[4] = { '\\', 'x', hex[c >> 4], hex[c & 15] };

	buf_add(b, text, sizeof(text));
}

/* Length of the run of plain ASCII at @s: printable, and none of the two characters in @special. */
static size_t plain_run(const unsigned char *s, size_t len, char special, char special2)
{
	size_t i = 0;

	while (i < len && s[i] >= 0x20 && s[i] < 0x7f && s[i] != (unsigned char)special &&
	       s[i] != (unsigned char)special2)
		i++;
	return i;
}

void buf_add_escaped(struct buf *b, const char *bytes, size_t len)
{
	const unsigned char *s = (const unsigned char *)bytes, *end = s + len;

	while (s < end) {
		size_t run = plain_run(s, (size_t)(end - s), '\\', '\\');
		struct utf8 u;

		buf_add(b, s, run);
		s += run;
		if (s == end)
			break;
		if (*s >= 0x80) {
			u = utf8_decode(s, (size_t)(end - s));
			if (u.len && !is_hazard(u.c))
				buf_add(b, s, u.len);
			else
				for (size_t i = 0; i < (u.len ? u.len : 1); i++)
					add_hex_byte(b, s[i]);
			s += u.len ? u.len : 1;
			continue;
		}
		switch (*s) {
		case '\n': buf_adds(b, "\\n"); break;
		case '\t': buf_adds(b, "\\t"); break;
		case '\r': buf_adds(b, "\\r"); break;
		case '\\': buf_adds(b, "\\\\"); break;
		default: add_hex_byte(b, *s);
		}
		s++;
	}
}

void buf_add_name(struct buf *b, const char *bytes, size_t len)
{
	const char *end = bytes + len;

	while (bytes < end) {
		const char *back = memchr(bytes, '\\', (size_t)(end - bytes)), *stop = back ? back : end;

		buf_add_escaped(b, bytes, (size_t)(stop - bytes));
		if (back)
			buf_addc(b, '\\');
		bytes = stop + !!back;
	}
}

static void add_json_ascii(struct buf *b, unsigned char c)
{
	static const char controls[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
	const char *p = c ? strchr(controls, c) : NULL;

	if (p) {
		buf_addc(b, '\\');
		buf_addc(b, letters[p - controls]);
	} else {
		buf_addf(b, "\\u%04x", c);
	}
}

/* Nearly all strings are plain: those go in one piece. */
static bool add_json_plain(struct buf *b, const char *bytes, size_t len)
{
	char *p;

	if (plain_run((const unsigned char *)bytes, len, '"', '\\') != len || !(p = buf_room(b, len + 2)))
		return false;
	*p++ = '"';
	if (len)
		memcpy(p, bytes, len);
	p[len] = '"';
	p[len + 1] = '\0';
	b->len += len + 2;
	return true;
}

void buf_add_json(struct buf *b, const char *bytes, size_t len)
{
	const unsigned char *s = (const unsigned char *)bytes, *end = s + len;

	if (add_json_plain(b, bytes, len))
		return;
	buf_addc(b, '"');
	while (s < end) {
		size_t run = plain_run(s, (size_t)(end - s), '"', '\\');
		struct utf8 u;

		buf_add(b, s, run);
		s += run;
		if (s == end)
			break;
		if (*s < 0x80) {
			add_json_ascii(b, *s++);
			continue;
		}
		u = utf8_decode(s, (size_t)(end - s));
		if (u.len)
			buf_add(b, s, u.len);
		else
			buf_adds(b, "\xef\xbf\xbd");
		s += u.len ? u.len : 1;
	}
	buf_addc(b, '"');
}
