/* SPDX-License-Identifier: MIT */
/* The JSON writer: commas, keys, brackets, and the values that are more than one append. */
#include "base/json.h"

#include <math.h>

/* In one piece: a line of a trace has a dozen keys, and there may be a million lines a second. */
struct buf *json_member(struct json *j, const char *key, size_t len)
{
	struct buf *out = j->out;
	char *p = buf_room(out, len + 4);

	if (!p)
		return out;
	if (j->comma)
		*p++ = ',';
	j->comma = true;
	if (key) {
		*p++ = '"';
		memcpy(p, key, len);
		p += len;
		*p++ = '"';
		*p++ = ':';
	}
	*p = '\0';
	out->len = (size_t)(p - out->data);
	return out;
}

struct buf *json_raw_quoted(struct json *j, const char *quoted)
{
	json_member(j, NULL, 0);
	buf_adds(j->out, quoted);
	buf_addc(j->out, ':');
	return j->out;
}

struct buf *json_raw_foreign(struct json *j, const char *key, size_t len)
{
	json_member(j, NULL, 0);
	buf_add_json(j->out, key, len);
	buf_addc(j->out, ':');
	return j->out;
}

void json_open(struct json *j, bool is_array)
{
	if (j->depth == JSON_DEPTH_MAX) {
		j->out->failed = true;
		return;
	}
	buf_addc(j->out, is_array ? '[' : '{');
	j->arrays = j->arrays << 1 | is_array;
	j->depth++;
	j->comma = false;
}

void json_close(struct json *j)
{
	if (!j->depth) {
		j->out->failed = true;
		return;
	}
	buf_addc(j->out, j->arrays & 1 ? ']' : '}');
	j->arrays >>= 1;
	j->depth--;
	j->comma = true;
}

void json_line(struct json *j)
{
	while (j->depth)
		json_close(j);
	buf_addc(j->out, '\n');
	j->comma = false;
}

void json_bool(struct json *j, const char *key, bool v) { buf_adds(json_raw(j, key), v ? "true" : "false"); }

void json_null(struct json *j, const char *key) { buf_adds(json_raw(j, key), "null"); }

void json_id(struct json *j, const char *key, uint64_t id)
{
	struct buf *out = json_raw(j, key);

	buf_addc(out, '"');
	buf_addu(out, id);
	buf_addc(out, '"');
}

void json_address(struct json *j, const char *key, uint64_t address)
{
	struct buf *out = json_raw(j, key);

	buf_adds(out, "\"0x");
	buf_addx(out, address);
	buf_addc(out, '"');
}

void buf_add_json_double(struct buf *out, double v, int digits)
{
	if (isnan(v))
		buf_adds(out, "\"NaN\"");
	else if (isinf(v))
		buf_adds(out, v < 0 ? "\"-Infinity\"" : "\"Infinity\"");
	else
		buf_addf(out, "%.*g", digits, v);
}
