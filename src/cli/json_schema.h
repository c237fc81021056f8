/* SPDX-License-Identifier: MIT */
/* `usertrace --json-schema`: the JSON Schema of the commands' output, compiled in; tools/schema makes them. */
#ifndef UT_CLI_JSON_SCHEMA_H
#define UT_CLI_JSON_SCHEMA_H

#include <stddef.h>

struct json_schema {
	const char *name, *text; /* "trace.json"; that of all commands is "usertrace.json" */
	size_t len;
};

extern const struct json_schema json_schemas[];
extern const size_t json_schemas_n;

/* Prints that of the command argv[1], or of all without one. The exit status. */
int json_schema_print(int argc, char **argv);

#endif
