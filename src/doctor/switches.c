/* SPDX-License-Identifier: MIT */
/* The switches that enable more probes of a runtime: with which of them a process was started. */
#include <string.h>

#include "base/auto.h"
#include "doctor/doctor_priv.h"
#include "proc/procfs.h"

enum where { COMMAND_LINE = 1, ENVIRONMENT = 2 };

struct switch_rule {
	const char *runtime;
	enum where where;
	const char *const
		*words; /* any of them, NULL-terminated; as part of a word of the command line or environment */
	const char *with, *without, *remedy;
};

static const char *const java_methods[] = { "-XX:+ExtendedDTraceProbes", "-XX:+DTraceMethodProbes", NULL };
static const char *const java_objects[] = { "-XX:+ExtendedDTraceProbes", "-XX:+DTraceAllocProbes", NULL };
static const char *const java_monitors[] = { "-XX:+ExtendedDTraceProbes", "-XX:+DTraceMonitorProbes", NULL };
static const char *const java_frames[] = { "-XX:+PreserveFramePointer", NULL };
static const char *const php_probes[] = { "USE_ZEND_DTRACE=1", NULL };

static const struct switch_rule rules[] = {
	{ "HotSpot", COMMAND_LINE | ENVIRONMENT, java_methods, "method__entry and method__return fire",
	  "method__entry and method__return do not fire", "start Java with -XX:+DTraceMethodProbes" },
	{ "HotSpot", COMMAND_LINE | ENVIRONMENT, java_objects, "object__alloc fires", "object__alloc does not fire",
	  "start Java with -XX:+DTraceAllocProbes" },
	{ "HotSpot", COMMAND_LINE | ENVIRONMENT, java_monitors, "the monitor probes fire",
	  "the monitor probes do not fire", "start Java with -XX:+DTraceMonitorProbes" },
	{ "HotSpot", COMMAND_LINE | ENVIRONMENT, java_frames, "stacks include compiled methods",
	  "stacks end at compiled methods", "start Java with -XX:+PreserveFramePointer" },
	{ "PHP", ENVIRONMENT, php_probes, "the function, execute and compile probes fire",
	  "the function, execute and compile probes do not fire",
	  "start PHP with USE_ZEND_DTRACE=1 in its environment" },
};

/* True when @needle is in one of the NUL-separated words of @text. */
static bool any_word_has(const struct buf *text, const char *needle)
{
	return text->len && memmem(text->data, text->len, needle, strlen(needle));
}

static bool is_set(const struct switch_rule *rule, const struct buf *cmdline, const struct buf *env)
{
	for (const char *const *word = rule->words; *word; word++)
		if (((rule->where & COMMAND_LINE) && any_word_has(cmdline, *word)) ||
		    ((rule->where & ENVIRONMENT) && any_word_has(env, *word)))
			return true;
	return false;
}

void doctor_switches(struct checks *c, pid_t pid, const char *runtime)
{
	AUTO_BUF struct buf cmdline = { 0 }, env = { 0 };
	bool readable = !procfs_read(pid, "cmdline", &cmdline) && !procfs_read(pid, "environ", &env);

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		const struct switch_rule *rule = &rules[i];

		if (strcmp(rule->runtime, runtime))
			continue;
		if (is_set(rule, &cmdline, &env))
			checks_add(c, CHECK_OK, "switches", NULL, "%s", rule->with);
		else if (!readable)
			checks_add(c, CHECK_WARN, "switches", "ask as root",
				   "its command line and environment cannot be read");
		else
			checks_add(c, CHECK_WARN, "switches", rule->remedy, "%s", rule->without);
		if (!readable)
			return;
	}
}
