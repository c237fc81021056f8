/* SPDX-License-Identifier: MIT */
/* Members of JSON objects: each is followed by a comma, which the bracket that closes the object takes the place of.
 * For this layer only. */
#ifndef UT_REPORT_JSON_H
#define UT_REPORT_JSON_H

#include "base/buf.h"

void json_add_number(const char *key, uint64_t v, struct buf *out);
void json_add_text(const char *key, const char *s, struct buf *out);
/* Instead of the comma behind the last member. */
void json_close_with(char bracket, struct buf *out);

#endif
