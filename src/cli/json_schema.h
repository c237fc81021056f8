/* SPDX-License-Identifier: MIT */
/* `usertrace --json-schema`: the JSON Schema of the commands' output, compiled in; tools/schema generates the files. */
#ifndef UT_CLI_JSON_SCHEMA_H
#define UT_CLI_JSON_SCHEMA_H

#include <stddef.h>

struct json_schema {
	const char *name, *text; /* "trace.json"; "usertrace.json" covers all commands */
	size_t len;
};

extern const struct json_schema json_schemas[];
extern const size_t json_schemas_n;

/* Prints the schema of the command argv[1], or of all commands without one. The exit status. */
int json_schema_print(int argc, char **argv);

#endif
