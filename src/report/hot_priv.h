/* SPDX-License-Identifier: MIT */
/* Shared by the files of the report on hot functions. Internal to src/report. */
#ifndef UT_REPORT_HOT_PRIV_H
#define UT_REPORT_HOT_PRIV_H

#include "base/intern.h"
#include "base/vec.h"
#include "report/hot.h"

#define HOT_NONE UINT32_MAX
enum { HOT_ROWS = 20, HOT_CHOSEN = 3, HOT_CHOSEN_MAX = 20 };

/* All frames of one name in one module, whatever their lines. Unnamed frames are merged by placeholder. */
struct hot_function {
	const char *name, *module;
	uint8_t kind; /* enum frame_kind of the first that was seen */
	bool unnamed; /* some of the frames have no name */
	uint64_t self[PROFILE_STATES]; /* values here are in the state's unit */
	uint64_t total[PROFILE_STATES]; /* each stack counts once */
	uint64_t unnamed_frames; /* samples whose frame has no name */
	const char *wait_callee; /* the callee in which it waits most; NULL: itself */
	uint64_t wait_callee_value;
	double depth; /* in stacks, times their values in the primary state; 1 is the outermost */
};

struct hot_state {
	bool times; /* values are nanoseconds; else counts */
	uint64_t count, value; /* without idle */
	uint64_t kernel; /* the part of the value spent in the kernel */
	uint64_t idle; /* waits of idle threads, which no function includes */
};

struct hot_thread {
	uint32_t number; /* in the profile */
	uint64_t count[PROFILE_STATES], value[PROFILE_STATES], idle;
	uint32_t hottest[PROFILE_STATES]; /* by self value, in the primary state and blocked; HOT_NONE: none */
	uint64_t hottest_value[PROFILE_STATES];
};

/* A caller or callee of a chosen function. */
struct hot_edge {
	uint32_t chosen, other; /* functions; other HOT_NONE: none, the stack begins here */
	bool caller; /* @other calls */
	uint64_t value[PROFILE_STATES];
	uint64_t seen; /* the weight that was counted last, + 1 */
};

struct hot {
	const struct profile *p;
	const struct hot_options *o;
	VEC(struct hot_function) functions;
	uint32_t *function_of; /* of a frame */
	uint8_t *idle; /* of a frame: it is the placeholder of idle threads */
	struct hot_state states[PROFILE_STATES];
	unsigned present; /* a bit for each state with a count */
	enum profile_state primary; /* CPU, else events, else waits */
	VEC(struct hot_thread) threads; /* the busiest first */
	VEC(uint32_t) chosen; /* functions whose callers and callees are shown */
	size_t nhottest; /* the first of them, which are hot in the primary state; the others wait: */
	VEC(uint32_t) waits; /* the hottest waits, unless PROFILE_BLOCKED is the primary state */
	size_t matches; /* functions that match the pattern */
	VEC(struct hot_edge) edges; /* the heaviest first */
	uint64_t frames, unnamed; /* by count of samples */
	struct strings strings; /* names and modules */
	VEC(char *) owned; /* names made here */
	uint32_t *depth; /* of a node */
	uint64_t *seen; /* by function: the weight that was counted last, + 1 */
};

/* 0 or -ENOMEM; the caller calls hot_done() in both cases. */
int hot_make(struct hot *h, const struct profile *p, const struct hot_options *o);
void hot_done(struct hot *h);

/* Replaces self and total of all functions by those of one thread; their unnamed_frames and depth are invalid afterwards. */
void hot_count_thread(struct hot *h, uint32_t thread);
int hot_find_edges(struct hot *h);

/* The order in which states are shown. */
extern const enum profile_state hot_states[PROFILE_STATES];

static inline bool hot_wants(const struct hot *h, uint8_t state) { return !h->o->states || h->o->states >> state & 1; }
static inline bool hot_is_wait(uint8_t state) { return state == PROFILE_BLOCKED || state == PROFILE_RUNNABLE; }
static inline uint64_t hot_value(const struct hot *h, const struct profile_weight *w)
{
	return h->states[w->state].times ? w->value_ns : w->count;
}
/* The node of the function that the self value belongs to: the innermost; of a wait, the innermost outside the plumbing. 0: none. */
uint32_t hot_self_node(const struct profile *p, const struct profile_weight *w);
/* Of a wait: the innermost function outside the kernel; 0: none. */
uint32_t hot_wait_callee(const struct profile *p, const struct profile_weight *w);
/* Code that implements waiting: the kernel, the C library, the C++ runtime, and wrappers of these. */
bool hot_is_plumbing(uint8_t kind, const char *module, const char *name);
/* A wait of an idle thread. */
bool hot_is_idle(const struct hot *h, const struct profile_weight *w);

/* Why frames have no name, the most frequent first. All functions of a file without symbols are one reason. 0 or -ENOMEM. */
struct hot_reason {
	char text[256];
	uint64_t frames;
};
typedef VEC(struct hot_reason) hot_reasons_list;
int hot_reasons(const struct hot *h, hot_reasons_list *ret);
/* Length of "[no symbols: bash+0x12]" without the offset; 0: not such a name. */
size_t hot_reason_len(const char *name);

/* Numbers of the functions with a value in @state, sorted by self and then total, or by total. The caller frees them. NULL: out
 * of memory. */
uint32_t *hot_rank(const struct hot *h, enum profile_state state, bool by_total, size_t *ret_n);

/* "cpu"; "native"; "nanoseconds" or the unit of the counts. */
const char *hot_state_name(enum profile_state state);
const char *hot_kind_name(uint8_t kind);
const char *hot_unit(const struct hot *h, enum profile_state state);
/* A file, "kernel", or the kind of code that is in no file. */
const char *hot_module(const struct hot_function *f);
/* "6.2 s", "1,234". @ret: 32 bytes, as below. */
const char *hot_amount(const struct hot *h, enum profile_state state, uint64_t value, char *ret);
/* "62 %", "6.2 %", "0.31 %", "<0.01 %". */
const char *hot_share(uint64_t part, uint64_t whole, char *ret);
/* An escaped name, shortened in the middle to @columns: the ends of names distinguish them as much as the beginnings. */
void hot_add_name(struct buf *out, const char *name, size_t columns);
/* One or two sentences: where the time was spent. */
void hot_sentence(const struct hot *h, struct buf *out);

#endif
