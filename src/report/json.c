/* SPDX-License-Identifier: MIT */
/* What the reports' JSON is made of. */
#include "report/json.h"

#include <string.h>

void json_add_number(const char *key, uint64_t v, struct buf *out)
{
	buf_addf(out, "\"%s\":", key);
	buf_addu(out, v);
	buf_addc(out, ',');
}

void json_add_text(const char *key, const char *s, struct buf *out)
{
	buf_addf(out, "\"%s\":", key);
	buf_add_json(out, s, strlen(s));
	buf_addc(out, ',');
}

void json_close_with(char bracket, struct buf *out)
{
	if (out->len && out->data[out->len - 1] == ',')
		out->data[out->len - 1] = bracket;
	else
		buf_addc(out, bracket);
}
