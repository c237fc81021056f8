/* SPDX-License-Identifier: MIT */
/* `usertrace --json-schema [COMMAND]`. */
#include "cli/json_schema.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "cli/cli.h"

#define ALL "usertrace"

static size_t name_len(const struct json_schema *s) { return strlen(s->name) - strlen(".json"); }

static bool is_named(const struct json_schema *s, const char *name)
{
	return strlen(name) == name_len(s) && !memcmp(s->name, name, name_len(s));
}

static int unknown_schema(const char *name)
{
	AUTO(buf_done) struct buf names = { 0 };

	for (size_t i = 0; i < json_schemas_n; i++) {
		if (is_named(&json_schemas[i], ALL))
			continue;
		buf_adds(&names, names.len ? ", " : "");
		buf_add(&names, json_schemas[i].name, name_len(&json_schemas[i]));
	}
	return usage_error(NULL, "--json-schema: '%s' is not a command with JSON output; use one of %s", name,
			   names.data ? names.data : "");
}

int json_schema_print(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : ALL;

	if (argc > 2)
		return usage_error(NULL, "--json-schema: unexpected argument '%s'", argv[2]);
	for (size_t i = 0; i < json_schemas_n; i++) {
		if (!is_named(&json_schemas[i], name) || (argc > 1 && is_named(&json_schemas[i], ALL)))
			continue;
		if (fwrite(json_schemas[i].text, 1, json_schemas[i].len, stdout) != json_schemas[i].len ||
		    fflush(stdout))
			return cli_fail(NULL, EXIT_FAILED, "cannot write the schema: %s", strerror(errno));
		return EXIT_OK;
	}
	return unknown_schema(name);
}
