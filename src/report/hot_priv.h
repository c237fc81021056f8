/* SPDX-License-Identifier: MIT */
/* What the files behind hot.h share. Nobody else includes this. */
#ifndef UT_REPORT_HOT_PRIV_H
#define UT_REPORT_HOT_PRIV_H

#include "base/intern.h"
#include "base/vec.h"
#include "report/hot.h"

#define HOT_NONE UINT32_MAX
enum { HOT_ROWS = 20, HOT_CHOSEN = 3, HOT_CHOSEN_MAX = 20 };

/* All frames of one name in one module, wherever its lines and copies are. Frames without a name are one for each reason. */
struct hot_function {
	const char *name, *module;
	uint8_t kind; /* enum frame_kind of the first that was seen */
	bool unnamed; /* a reason: some of them have no name */
	uint64_t self[PROFILE_STATES]; /* in the state's unit, as are all values here */
	uint64_t total[PROFILE_STATES]; /* each stack once, however often it is in it */
	uint64_t unnamed_frames; /* by count of samples: without a name */
	const char *low; /* of what it waited itself: the function in which most of that was done; NULL: itself */
	uint64_t low_value;
	double depth; /* in stacks, times their values in the primary state; 1 is the outermost */
};

struct hot_state {
	bool times; /* values are nanoseconds; else counts */
	uint64_t count, value; /* without idle */
	uint64_t kernel; /* of the value: ran in the kernel */
	uint64_t idle; /* waits of threads that have nothing to do; in no function */
};

struct hot_thread {
	uint32_t number; /* in the profile */
	uint64_t count[PROFILE_STATES], value[PROFILE_STATES], idle;
	uint32_t hottest[PROFILE_STATES]; /* by itself, in the primary state and of waits; HOT_NONE: none */
	uint64_t hottest_value[PROFILE_STATES];
};

/* Somebody who calls a chosen function, or is called by it. */
struct hot_edge {
	uint32_t chosen, other; /* functions; other HOT_NONE: nobody, the stack begins here */
	bool caller; /* @other calls */
	uint64_t value[PROFILE_STATES];
	uint64_t seen; /* the weight that was counted last, + 1 */
};

struct hot {
	const struct profile *p;
	const struct hot_options *o;
	VEC(struct hot_function) functions;
	uint32_t *function_of; /* of a frame */
	uint8_t *idle; /* of a frame: it is the word for that */
	struct hot_state states[PROFILE_STATES];
	unsigned present; /* a bit for each state with a count */
	enum profile_state primary; /* what ran, else what happened, else what waited */
	VEC(struct hot_thread) threads; /* those that did most first */
	VEC(uint32_t) chosen; /* functions whose neighbours are shown */
	size_t nhottest; /* of them, in the primary state; behind them some of */
	VEC(uint32_t) waits; /* the hottest waits, when they are not what is primary */
	size_t matches; /* how many functions the pattern fits */
	VEC(struct hot_edge) edges; /* the heaviest first */
	uint64_t frames, unnamed; /* by count of samples */
	struct strings strings; /* names and modules, */
	VEC(char *) owned; /* and those that were made here */
	uint32_t *depth; /* of a node */
	uint64_t *seen; /* by function: the weight that was counted last, + 1 */
};

/* -ENOMEM; to be ended with hot_done in any case. */
int hot_make(struct hot *h, const struct profile *p, const struct hot_options *o);
void hot_done(struct hot *h);

/* From here on self and total of all functions are those of one thread alone, and their frames are worth nothing. */
void hot_count_thread(struct hot *h, uint32_t thread);
int hot_find_edges(struct hot *h);

static inline bool hot_wants(const struct hot *h, uint8_t state) { return !h->o->states || h->o->states >> state & 1; }
static inline bool hot_is_wait(uint8_t state) { return state == PROFILE_BLOCKED || state == PROFILE_RUNNABLE; }
static inline uint64_t hot_value(const struct hot *h, const struct profile_weight *w)
{
	return h->states[w->state].times ? w->value_ns : w->count;
}
/* The node whose function did it itself: the innermost; of a wait, the innermost that is no plumbing. 0: none. */
uint32_t hot_self_node(const struct profile *p, const struct profile_weight *w);
/* Of a wait: the innermost function that is not the kernel's; 0: none. */
uint32_t hot_low_node(const struct profile *p, const struct profile_weight *w);
/* By what waits are made: the kernel, the C library, the C++ runtime, and what wraps these. */
bool hot_is_plumbing(uint8_t kind, const char *module, const char *name);
/* A wait of a thread that has nothing to do. */
bool hot_is_idle(const struct hot *h, const struct profile_weight *w);

/* Why frames have no name, the most frequent first: functions of a file without symbols are one reason. -ENOMEM. */
struct hot_reason {
	char text[256];
	uint64_t frames;
};
typedef VEC(struct hot_reason) hot_reasons_list;
int hot_reasons(const struct hot *h, hot_reasons_list *ret);
/* Of "[no symbols: bash+0x12]", without what tells the place; 0: it is no such name. */
size_t hot_reason_len(const char *name);

/* Numbers of functions of @state, at most @max, by self and then total, or by total; the caller frees them. Those without
 * a value are left out. NULL: out of memory. */
uint32_t *hot_rank(const struct hot *h, enum profile_state state, bool by_total, size_t *ret_n);

/* "cpu"; "nanoseconds" or what is counted. */
const char *hot_state_name(enum profile_state state);
const char *hot_kind_name(uint8_t kind);
const char *hot_unit(const struct hot *h, enum profile_state state);
/* Where it is from: a file, the kernel, or a word for code that is in none. */
const char *hot_module(const struct hot_function *f);
/* "6.2 s", "1,234". @ret: 32 bytes, as below. */
const char *hot_amount(const struct hot *h, enum profile_state state, uint64_t value, char *ret);
/* "62 %", "6.2 %", "0.31 %", "<0.01 %". */
const char *hot_share(uint64_t part, uint64_t whole, char *ret);
/* As it is, or in @columns with «…» in the middle: ends of names tell as much as begins. */
void hot_add_middle(struct buf *out, const char *s, size_t len, size_t columns);
/* One or two sentences in plain words: where the time went. */
void hot_sentence(const struct hot *h, struct buf *out);

#endif
