/* SPDX-License-Identifier: MIT */
/*
 * Writes JSON to a buffer: puts the commas, quotes and escapes, and closes what was opened.
 *
 *     struct json j = { .out = &buf };
 *
 *     json_object(&j, NULL);
 *     json_string(&j, "name", name);
 *     json_u64(&j, "count", 3);
 *     json_line(&j);                   {"name":"…","count":3} and a line feed
 *
 * Every call that writes a value takes the key of the member first; inside an array and at the top it is NULL. Keys are
 * ASCII without quotes and backslashes, unless a call says otherwise; the caller makes sure that no key appears twice.
 *
 * Numbers are exact, up to 64 bits. Readers that keep all numbers as doubles, such as JavaScript and jq 1.6, round what
 * is beyond 2^53: identifiers and addresses are therefore strings (json_id, json_address).
 *
 * Nothing fails before the buffer does: when memory runs out, or brackets do not match, out->failed is set.
 */
#ifndef UT_BASE_JSON_H
#define UT_BASE_JSON_H

#include <string.h>

#include "base/buf.h"

#define JSON_DEPTH_MAX 64

/* All zero but .out, which is borrowed: at the top, nothing open. */
struct json {
	struct buf *out;
	uint64_t arrays; /* a bit for each open bracket, the innermost is the lowest: an array, not an object */
	unsigned depth; /* open brackets */
	bool comma; /* the next value in the innermost bracket is not its first */
};

/* The comma and the key, for a value that the caller appends to the result as it is. @len: bytes of @key. */
struct buf *json_member(struct json *j, const char *key, size_t len);
static inline struct buf *json_raw(struct json *j, const char *key)
{
	return json_member(j, key, key ? strlen(key) : 0);
}
/* The same with a key that is a JSON string already, as buf_add_json makes it: for keys that come with every line. */
struct buf *json_raw_quoted(struct json *j, const char *quoted);
/* The same with a key of any bytes. */
struct buf *json_raw_foreign(struct json *j, const char *key, size_t len);

/* A bracket that begins a value whose key has been written. */
void json_open(struct json *j, bool is_array);
static inline void json_object(struct json *j, const char *key)
{
	json_raw(j, key);
	json_open(j, false);
}
static inline void json_array(struct json *j, const char *key)
{
	json_raw(j, key);
	json_open(j, true);
}
/* The innermost object or array. */
void json_close(struct json *j);
/* All that is open, and the line: one value of NDJSON. */
void json_line(struct json *j);

static inline void json_u64(struct json *j, const char *key, uint64_t v) { buf_addu(json_raw(j, key), v); }
static inline void json_i64(struct json *j, const char *key, int64_t v) { buf_addi(json_raw(j, key), v); }
/* Any bytes; those that are not valid UTF-8 become U+FFFD. */
static inline void json_bytes(struct json *j, const char *key, const char *bytes, size_t len)
{
	buf_add_json(json_raw(j, key), bytes, len);
}
static inline void json_string(struct json *j, const char *key, const char *s) { json_bytes(j, key, s, strlen(s)); }
void json_bool(struct json *j, const char *key, bool v);
void json_null(struct json *j, const char *key);
/* An identifier: its decimal digits as a string. */
void json_id(struct json *j, const char *key, uint64_t id);
/* "0x…" */
void json_address(struct json *j, const char *key, uint64_t address);
/* The value alone. @digits that count: 9 give a float back, 17 a double. What JSON has no number for is "NaN",
 * "Infinity", "-Infinity". */
void buf_add_json_double(struct buf *out, double v, int digits);
static inline void json_double(struct json *j, const char *key, double v, int digits)
{
	buf_add_json_double(json_raw(j, key), v, digits);
}

#endif
