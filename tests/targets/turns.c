/* SPDX-License-Identifier: MIT */
/*
 * Processes hand a turn round and announce each: "turn", with its number as value, even ones by the header and odd ones
 * by prctl. So the events of many processes have one right order, 1, 2, 3…
 *
 *     turns PROCESSES COUNT
 *
 * First line: "ready PID PID…". Plays when a line comes on standard input; then "turned COUNT NANOSECONDS".
 */
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../src/base/clock.h"
#include "usertrace.h"

#define PROCESSES_MAX 64
#define SPINS 200 /* a turn that is handed on at once is the hardest to keep in order */

/* One a process, each on a line of its own. */
struct seat {
	_Alignas(64) _Atomic uint32_t turn; /* the turn it may take now; 0: none yet */
	_Atomic uint32_t asleep;
};

static struct seat *seats;
static unsigned nseats;
static uint32_t count;

static void futex(_Atomic uint32_t *word, int op, uint32_t value)
{
	syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

static void wait_for(struct seat *seat, uint32_t turn)
{
	uint32_t now;

	for (int i = 0; i < SPINS; i++) {
		if (atomic_load(&seat->turn) == turn)
			return;
		__builtin_ia32_pause();
	}
	atomic_store(&seat->asleep, 1);
	while ((now = atomic_load(&seat->turn)) != turn)
		futex(&seat->turn, FUTEX_WAIT, now);
	atomic_store(&seat->asleep, 0);
}

static void give(struct seat *seat, uint32_t turn)
{
	atomic_store(&seat->turn, turn);
	if (atomic_load(&seat->asleep))
		futex(&seat->turn, FUTEX_WAKE, 1);
}

static void announce(uint32_t turn)
{
	if (turn % 2)
		prctl(PR_USER_TRACE, (unsigned long)UT_COUNT, "turn", (unsigned long)turn, 0ul);
	else
		ut_count("turn", turn);
}

/* The turns @me + 1, @me + 1 + nseats, … */
static void play(unsigned me)
{
	for (uint32_t turn = me + 1; turn <= count; turn += nseats) {
		wait_for(&seats[me], turn);
		announce(turn);
		give(&seats[(me + 1) % nseats], turn + 1);
	}
}

static void be_partner(unsigned me)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	play(me);
	_exit(0);
}

int main(int argc, char **argv)
{
	pid_t child = -1;
	uint64_t start;

	if (argc != 3 || (nseats = (unsigned)atoi(argv[1])) < 2 || nseats > PROCESSES_MAX ||
	    !(count = (uint32_t)atoi(argv[2])))
		return 2;
	seats = mmap(NULL, nseats * sizeof(*seats), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seats == MAP_FAILED)
		return 1;
	printf("ready %d", getpid());
	fflush(stdout);
	for (unsigned i = 1; i < nseats; i++) {
		child = fork();
		if (child < 0)
			return 1;
		if (!child)
			be_partner(i);
		printf(" %d", child);
	}
	puts("");
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	start = monotonic_ns();
	give(&seats[0], 1);
	play(0);
	while (child > 0 && wait(NULL) > 0)
		;
	printf("turned %u %llu\n", count, (unsigned long long)(monotonic_ns() - start));
	return 0;
}
