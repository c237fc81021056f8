/* SPDX-License-Identifier: MIT */
/* Reading the bytes of .eh_frame and its like one after the other. What is not there makes the cursor bad, and all that
 * is read from it afterwards 0. */
#ifndef UT_ELF_CURSOR_H
#define UT_ELF_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Pointer encodings of the LSB's .eh_frame. */
enum {
	ENC_ABSPTR = 0x00,
	ENC_UDATA2 = 0x02,
	ENC_UDATA4 = 0x03,
	ENC_UDATA8 = 0x04,
	ENC_SDATA2 = 0x0a,
	ENC_SDATA4 = 0x0b,
	ENC_SDATA8 = 0x0c,
	ENC_PCREL = 0x10,
	ENC_TEXTREL = 0x20,
	ENC_DATAREL = 0x30,
	ENC_FORMAT = 0x0f,
	ENC_SIGNED = 0x08,
	ENC_BASE = 0xf0,
	ENC_OMIT = 0xff,
};

struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static inline uint64_t take_bytes(struct cursor *c, size_t n)
{
	uint64_t v = 0;

	if (c->bad || (size_t)(c->end - c->at) < n) {
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->at, n);
	c->at += n;
	return v;
}

static inline uint8_t take_byte(struct cursor *c)
{
	if (c->bad || c->at == c->end) {
		c->bad = true;
		return 0;
	}
	return *c->at++;
}

/* LEB128; bits above the 64th are lost. */
static inline uint64_t take_leb(struct cursor *c)
{
	uint64_t v = 0;
	uint8_t byte = 0x80;

	for (unsigned shift = 0; byte & 0x80 && !c->bad; shift += 7) {
		byte = take_byte(c);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
	}
	return v;
}

static inline int64_t take_sleb(struct cursor *c)
{
	uint64_t v = 0;
	uint8_t byte = 0x80;
	unsigned shift = 0;

	for (; byte & 0x80 && !c->bad; shift += 7) {
		byte = take_byte(c);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
	}
	if (byte & 0x40 && shift < 64)
		v |= ~0ull << shift;
	return (int64_t)v;
}

/* A length and as many bytes. */
static inline struct cursor take_block(struct cursor *c)
{
	uint64_t len = take_leb(c);
	struct cursor block = { .at = c->at, .end = c->at };

	if (c->bad || len > (size_t)(c->end - c->at)) {
		c->bad = true;
		return block;
	}
	c->at += len;
	block.end = c->at;
	return block;
}

/* 0 for forms that have no fixed size. */
static inline size_t encoded_size(uint8_t enc, bool is_64)
{
	switch (enc & ENC_FORMAT) {
	case ENC_ABSPTR: return is_64 ? 8 : 4;
	case ENC_UDATA2:
	case ENC_SDATA2: return 2;
	case ENC_UDATA4:
	case ENC_SDATA4: return 4;
	case ENC_UDATA8:
	case ENC_SDATA8: return 8;
	default: return 0;
	}
}

/* A number at the cursor, without what it is relative to. */
static inline uint64_t take_encoded(struct cursor *c, uint8_t enc, bool is_64)
{
	size_t size = encoded_size(enc, is_64);
	uint64_t v;

	if (!size) {
		c->bad = true;
		return 0;
	}
	v = take_bytes(c, size);
	if (enc & ENC_SIGNED && size < 8)
		v = (uint64_t)((int64_t)(v << (64 - 8 * size)) >> (64 - 8 * size));
	return v;
}

/* A pointer at the cursor, whose own address is @here. Forms that no compiler writes for code make the cursor bad. */
static inline uint64_t take_pointer(struct cursor *c, uint8_t enc, bool is_64, uint64_t here)
{
	if ((enc & ENC_BASE) != ENC_PCREL && (enc & ENC_BASE) != 0) {
		c->bad = true;
		return 0;
	}
	return take_encoded(c, enc, is_64) + ((enc & ENC_BASE) == ENC_PCREL ? here : 0);
}

#endif
