/* SPDX-License-Identifier: MIT */
/* The runner of one layer's test files; see unit.h. Prints TAP where CMOCKA_MESSAGE_OUTPUT says so. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

static struct unit_file *files;
static const char *file_name;

/* What runs: cmocka sets each case up before it runs it, and that is where its name is noted. */
static const struct CMUnitTest *chosen[256], *current;
static size_t next_case;
static pid_t own_pid;

void unit_add(struct unit_file *file)
{
	struct unit_file **at = &files;

	while (*at && strcmp((*at)->name, file->name) < 0)
		at = &(*at)->next;
	file->next = *at;
	*at = file;
}

static bool is_wanted(const char *name)
{
	const char *words = getenv("UT_CASE");
	char *copy, *rest, *word;
	bool found = false;

	if (!words || !*words)
		return true;
	copy = rest = strdup(words);
	while (!found && (word = strsep(&rest, " ")))
		found = *word && strstr(name, word);
	free(copy);
	return found;
}

static int set_up(void **state)
{
	current = chosen[next_case++];
	return current->setup_func ? current->setup_func(state) : 0;
}

static void run(void **state) { current->test_func(state); }

static int tear_down(void **state) { return current->teardown_func ? current->teardown_func(state) : 0; }

int unit_run_cases(const struct CMUnitTest *tests, size_t n, CMFixtureFunction setup, CMFixtureFunction teardown)
{
	struct CMUnitTest called[sizeof(chosen) / sizeof(chosen[0])];
	size_t ncalled = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_wanted(tests[i].name))
			continue;
		if (ncalled == sizeof(chosen) / sizeof(chosen[0])) {
			fprintf(stderr, "%s: more cases than the runner has room for\n", file_name);
			return 1;
		}
		chosen[ncalled] = &tests[i];
		called[ncalled++] = (struct CMUnitTest){ .name = tests[i].name,
							 .test_func = run,
							 .setup_func = set_up,
							 .teardown_func = tear_down,
							 .initial_state = tests[i].initial_state };
	}
	next_case = 0;
	return ncalled ? _cmocka_run_group_tests(file_name, called, ncalled, setup, teardown) : 0;
}

/* Names the case in which the program is ended: by an assertion, by a sanitizer, or from outside for its time. */
static void ended(int number)
{
	char line[256];
	int n;

	if (getpid() == own_pid) {
		n = snprintf(line, sizeof(line), "\nnot ok - %s: %s: ended by signal %d\n", file_name,
			     current ? current->name : "before the first case", number);
		if (write(STDOUT_FILENO, line, (size_t)n) < 0)
			_exit(1);
	}
	raise(number); /* by its default now */
}

static int run_file(const struct unit_file *file, int argc, char **argv)
{
	struct sigaction action = { .sa_handler = ended, .sa_flags = SA_RESETHAND | SA_NODEFER };

	file_name = file->name;
	own_pid = getpid();
	sigaction(SIGABRT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	return file->run(argc, argv);
}

/* In a process of its own, so that a crash hides no other file's results. */
static int run_apart(const struct unit_file *file)
{
	char *argv[] = { (char *)file->name, NULL };
	int status = 0;
	pid_t pid;

	printf("# %s\n", file->name);
	fflush(stdout);
	pid = fork();
	if (!pid)
		exit(run_file(file, 1, argv) != 0);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 1;
	if (WIFSIGNALED(status))
		printf("# %s: ended by signal %d\n", file->name, WTERMSIG(status));
	return status != 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	/* A test that ends the program must not take along what is not written yet. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (struct unit_file *f = files; f; f = f->next) {
		if (argc < 2)
			failed += run_apart(f);
		else if (!strcmp(f->name, argv[1]))
			return run_file(f, argc - 1, argv + 1);
	}
	if (argc > 1) {
		fprintf(stderr, "%s: no file test_%s.c here\n", argv[0], argv[1]);
		return 2;
	}
	return failed != 0;
}
