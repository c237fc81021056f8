/* SPDX-License-Identifier: MIT */
/*
 * usertrace.h: events that a program emits, for tracers to see.
 *
 * Copy this file into any C (C99 or later) or C++ (C++11 or later) program. There is nothing to link, to start or to
 * configure.
 *
 *	#include "usertrace.h"
 *
 *	void collect(struct heap *heap)
 *	{
 *		ut_begin("gc");
 *		mark_and_sweep(heap);
 *		ut_end("gc");
 *		ut_count("heap", (int64_t)heap->used);
 *	}
 *
 * Then, while it runs, as root:
 *
 *	usertrace trace e:gc -p PID     each collection with its duration
 *	usertrace trace -a              all user events of all programs, in order of time
 *
 * There are user events (begin, end, instant event and counter: ut_begin, ut_end, ut_mark, ut_count and their
 * variants), and USDT probes, which bpftrace, BCC, perf, gdb and SystemTap see as well (UT_PROBE).
 *
 * Cost: an event that nobody traces is a load and a branch that is not taken, less than 1 ns; a probe is two nops and
 * whatever brings its arguments into registers. A traced event enters the kernel, which takes about half a microsecond,
 * on older machines up to two. So emit an event for a collection, a request, a compilation or a phase, not for every
 * allocation.
 *
 * Versions
 *	100 (0.1.0)	the first
 *
 * Copies of different ages may meet. In one source file the first one that is included counts; where that matters, test
 * UT_VERSION. In one program or library they share four symbols, weak and hidden, of which the linker keeps any copy:
 * usertrace_event, usertrace_event_semaphore, _.stapsdt.base and PROVIDER_NAME_semaphore. Those never change, nor does
 * the layout of the class ut_span: a later version that needs other ones gives them other names. All else is static. So
 * no mixture of versions is an error, and each copy does what its own text says.
 *
 * Works on Linux for x86-64 with gcc or clang; for arm64 it compiles, its notes are checked, and it is untested.
 * Elsewhere, and with UT_OFF defined, all calls compile to nothing; their arguments are evaluated all the same.
 *
 * Names that end in an underscore are private.
 */
#ifndef USERTRACE_H
#define USERTRACE_H

#ifdef __cplusplus
#if __cplusplus < 201103L
#error "usertrace.h needs C++11 or later (-std=c++11)"
#endif
#elif defined(__STRICT_ANSI__) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L)
#error "usertrace.h needs C99 or later (-std=c99), or GNU C (-std=gnu89)"
#endif

#include <stdint.h>

/* The release that this file is of: major * 10000 + minor * 100 + patch. */
#define UT_VERSION 100

/* What an event is, and flags: what else it has. The numbers never change. */
enum {
	UT_BEGIN = 1,
	UT_END = 2,
	UT_MARK = 3, /* an instant event */
	UT_COUNT = 4, /* a counter's value */
	UT_ID = 0x10,
	UT_TEXT = 0x20,
	UT_PARENT = 0x40 /* the parent process's: for a command that a script runs for each event */
};

/* Bytes of a name and of a string that are copied; the rest is left out, and tracers show that it was. */
#define UT_NAME_MAX 127
#define UT_TEXT_MAX 255

/*
 * For languages that can make a system call and cannot use this header or libusertrace: an option of prctl(2) that no
 * kernel knows. The call fails with EINVAL in any case; the tracer sees it on its way in. It costs about 0.15
 * microseconds when nobody traces. A seccomp filter that kills on an unknown prctl kills here, too. An id or a string,
 * not both.
 *
 *	prctl(PR_USER_TRACE, UT_BEGIN, "gc", value, 0);
 *	prctl(PR_USER_TRACE, UT_END | UT_ID, "request", value, id);
 *	prctl(PR_USER_TRACE, UT_MARK | UT_TEXT, "compiled", value, text);
 *	prctl(PR_USER_TRACE, "entry: gc");		"exit: gc" ends it; any other string is an instant event
 */
#define PR_USER_TRACE 0x55545243 /* "UTRC" */

/* UT_HAVE_PROBES: 1 if events and probes can be traced on this machine and UT_OFF is not defined, else 0. */
#if defined(__GNUC__) && defined(__ELF__) && defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__)) && \
	!defined(UT_OFF)
#define UT_HAVE_PROBES 1
#define UT_INLINE_ static inline __attribute__((always_inline, no_instrument_function))
#else
#define UT_HAVE_PROBES 0
#define UT_INLINE_ static inline
#endif
#if defined(__GNUC__)
#define UT_MEMBER_ inline __attribute__((always_inline, no_instrument_function))
#else
#define UT_MEMBER_ inline
#endif
/* How the functions are declared; libusertrace makes symbols of them. */
#ifndef UT_API_
#define UT_API_ UT_INLINE_
#endif

/*
 * ---- User events ----
 *
 * All functions: may be called on any thread, in signal handlers, constructors and destructors, before main, in the
 * child after fork, and while other threads are stopped. They take no lock, allocate nothing, never wait, fail or touch
 * errno, and call no function of any library. They make no system call either, so seccomp, containers and chroot do not
 * matter.
 *
 * @name should be UTF-8, and always one of a few: what varies is the value, the id or the string. It is copied before
 * the call returns, as is a string, and this header never reads either: a NULL or wild pointer is shown as such, and
 * harms nobody.
 *
 * The kernel records process, thread, CPU and time (CLOCK_MONOTONIC), in one exact order for all processes. An event is
 * in the kernel when its call returns: the last one before a crash is not lost. A child after fork emits as itself; the
 * spans that its parent began stay the parent's, and an end in the child is shown as inherited. The exit of a thread or
 * process and exec end the spans that are open there.
 *
 * Each program and each shared library, of dlopen too, is switched on by itself; tracers find them all.
 */

/*
 * A span begins, and ends. An end closes the newest open begin of its name on its thread: spans of one thread nest,
 * also in recursion. If a span is left without its end, by longjmp or an error path, it stays open until its thread
 * ends, and what comes after it on this thread looks nested.
 */
UT_API_ void ut_begin(const char *name);
UT_API_ void ut_end(const char *name);

/*
 * The same for spans that overlap, or that end on another thread than they began on: an end closes the newest open
 * begin of this name and this id in the process, on any thread. 0 is an id like others. Spans with an id nest with
 * nothing.
 */
UT_API_ void ut_begin_id(const char *name, uint64_t id);
UT_API_ void ut_end_id(const char *name, uint64_t id);

/* The same with a string for people, such as a function's name or the cause of a collection. NULL is shown as NULL. */
UT_API_ void ut_begin_text(const char *name, const char *text);
UT_API_ void ut_end_text(const char *name, const char *text);

/*
 * The same with a value, such as the bytes in use before and after a collection; a begin with a string as well, or NULL
 * for none. The end's value is not added to that of the begin, or compared with it: tracers show both.
 */
UT_API_ void ut_begin_value(const char *name, int64_t value, const char *text);
UT_API_ void ut_end_value(const char *name, int64_t value);

/*
 * An instant event: something happened. With an id it concerns the span or object of that id, with a string it says
 * more.
 */
UT_API_ void ut_mark(const char *name);
UT_API_ void ut_mark_id(const char *name, uint64_t id);
UT_API_ void ut_mark_text(const char *name, const char *text);

/*
 * Sets a counter: from now on it has this value, until the next call says otherwise, as on a counter track of Perfetto
 * or for a gauge in Prometheus. Nothing is added up: to count occurrences, keep a sum and set the counter to it. A
 * counter is its name in its process; with an id there is one for each id. A string explains this one value.
 */
UT_API_ void ut_count(const char *name, int64_t value);
UT_API_ void ut_count_id(const char *name, int64_t value, uint64_t id);
UT_API_ void ut_count_text(const char *name, int64_t value, const char *text);

/*
 * All of the above are this one. @what: UT_BEGIN, UT_END, UT_MARK or UT_COUNT, with UT_ID if @id is one, with UT_TEXT
 * if @text is one, or with both. Other numbers are dropped by the tracer.
 */
UT_API_ void ut_emit(uint32_t what, const char *name, int64_t value, uint64_t id, const char *text);

/*
 * 1 while somebody traces user events of this program or library, else 0: for what is costly to work out for an event.
 * A tracer may come or go between two calls, so never let the answer decide whether a span ends.
 */
UT_API_ int ut_enabled(void);

/*
 * A declaration: a span from here to the end of the enclosing block. @name must stay valid until then, as a literal
 * does; UT_SPAN_VALUE has a value and a string or NULL besides, which are for the begin.
 *
 * The span ends where control leaves the block: at its end, by return, break, continue or goto, and in C++ by an
 * exception. In C an exception, the end of a thread (pthread_exit) or its cancellation ends it if the file was compiled
 * with -fexceptions. longjmp over the block leaves it open, as with ut_begin. In C it takes gcc or clang, like all that
 * is here; elsewhere it is nothing. A coroutine that is suspended within the block resumes elsewhere: use an id there.
 */
#define UT_SPAN(name) UT_SPAN_(UT_UNIQUE_(ut_span_, UT_COUNTER_), name, 0, UT_NULL_)
#define UT_SPAN_VALUE(name, value, text) UT_SPAN_(UT_UNIQUE_(ut_span_, UT_COUNTER_), name, value, text)

/*
 * ---- USDT probes ----
 *
 * UT_PROBE(provider, name, up to 12 arguments): a statement. The same probes that <sys/sdt.h> makes.
 *
 *	UT_PROBE(myvm, compile, function_name, size);		usertrace trace u:myvm:compile
 *
 * May stand wherever a user event may. Provider and name are plain words, not in quotes; macros are expanded, and a
 * double underscore stays one. Each argument is evaluated once, traced or not, and described with the size and sign of
 * its type: integers, enums, bool, characters, pointers, arrays and strings (as pointers), float and double. Structs,
 * long double, 128-bit and complex numbers are errors of the compiler, in C bit-fields too: cast them.
 *
 * - Arguments are in registers or are constants; from the ninth on they may be on the stack. All tools can read these,
 *   also in stripped programs.
 * - gdb 13, BCC 0.26 and bpftrace 0.17 can read no argument of a probe that has a float or a double, and BCC complains;
 *   other probes of the same file are not harmed. perf shows the bits as an integer; usertrace reads them. perf 6.1
 *   leaves out arguments that are constants.
 * - In a template, an inline function or a macro a probe has many sites; tools take them as one probe, so its arguments
 *   should have the same types at all of them.
 */
#define UT_PROBE(provider, ...) UT_PROBE_COUNTED_(UT_COUNT_(__VA_ARGS__), provider, __VA_ARGS__)

/*
 * An expression that is not 0 while somebody traces the probe, for an argument that is costly to work out:
 *
 *	if (UT_PROBE_ENABLED(myvm, compile))
 *		UT_PROBE(myvm, compile, describe(function), size);
 *
 * It is a semaphore: 16 bits that the tracer counts up, made by the first use, one in each program or library. It needs
 * no declaration. One that is defined in another object file, as by `dtrace -G`, is used instead; to define it by hand
 * in the same source file is an error. BCC needs a process (-p) for a probe with a semaphore; a probe for which nothing
 * calls UT_PROBE_ENABLED has none.
 */
#define UT_PROBE_ENABLED(provider, name) UT_ENABLED_(provider, name)

/* ---- Implementation ---- */

/* Number of arguments after the name, which is the first of up to 16. */
#define UT_COUNT_(...) \
	UT_SEVENTEENTH_(__VA_ARGS__, TOO_MANY, TOO_MANY, TOO_MANY, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, ~)
#define UT_SEVENTEENTH_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ret, ...) ret
#define UT_PROBE_COUNTED_(n, provider, ...) UT_PROBE_N_(n, provider, __VA_ARGS__)
#define UT_FIRST_(first, ...) first
#define UT_STRING_(x) UT_STRING_AS_IT_IS_(x)
#define UT_STRING_AS_IT_IS_(x) #x
#define UT_UNIQUE_(prefix, number) UT_PASTE_(prefix, number)
#define UT_PASTE_(a, b) a##b##_
#ifdef __COUNTER__
#define UT_COUNTER_ __COUNTER__
#else
#define UT_COUNTER_ __LINE__
#endif

#ifdef __cplusplus
#define UT_STATIC_ASSERT_(condition, text) static_assert(condition, text)
#define UT_NULL_ nullptr
#else
#define UT_STATIC_ASSERT_(condition, text) __extension__ _Static_assert(condition, text)
#define UT_NULL_ ((const char *)0)
#endif
#define UT_ARGUMENT_RULE_ "an argument of UT_PROBE must be an integer, enum, bool, pointer, float or double"

#if UT_HAVE_PROBES

/* "inline": the compiler takes many lines of assembler for much code, and then does not inline what holds them. */
#if (defined(__clang__) && __clang_major__ >= 11) || (!defined(__clang__) && __GNUC__ >= 9)
#define UT_ASM_ __asm__ __inline__ __volatile__
#else
#define UT_ASM_ __asm__ __volatile__
#endif

#if defined(__x86_64__)
/*
 * A probe is hit at a nop of one byte, where every kernel can break. Behind it one of ten bytes, which newer kernels
 * can turn into something faster. No nop of five bytes: since Linux 6.18 a CALL takes its place, which writes below the
 * stack pointer, where a leaf function keeps its data, and ends a forked child, which does not have what is called.
 * The user event's site begins with one all the same: it is not where the note points, and usertrace takes it where it
 * has tried that the kernel does no harm.
 */
#define UT_NOPS_ "nop\n.byte 0x66,0x2e,0x0f,0x1f,0x84,0,0,0,0,0\n"
#define UT_SITE_CODE_ ".byte 0x0f,0x1f,0x44,0,0\n987: nop\nret\n"
#define UT_SITE_ARGS_ "4@%%edi 8@%%rsi -8@%%rdx 8@%%rcx 8@%%r8"
#define UT_LOAD_HALF_(symbol) "{movzwl " symbol "(%%rip),%0|movzx %0,word ptr " symbol "[rip]}\n"
#define UT_EH_SECTION_ "\"a\",@unwind"
#define UT_EH_RULES_ "1,0x78,16,1,0x1b, 0x0c,7,8,0x90,1,0,0"
#else
#define UT_NOPS_ "nop\n"
#define UT_SITE_CODE_ "987: nop\nret\n"
#define UT_SITE_ARGS_ "4@x0 8@x1 -8@x2 8@x3 8@x4"
#define UT_LOAD_HALF_(symbol) "adrp %x0," symbol "\nldrh %w0,[%x0,:lo12:" symbol "]\n"
#define UT_EH_SECTION_ "\"a\",%%progbits"
#define UT_EH_RULES_ "4,0x78,30,1,0x1b, 0x0c,31,0,0,0,0,0"
#endif

/*
 * Local labels have numbers that other inline assembler is unlikely to have, and each has one use, since these pieces
 * are put into one another: 980 a probe's site, 981 to 984 a note's parts (owner, its end, description, its end), 985
 * and 986 the function of user events and its end, 987 the site within it.
 *
 * A note as <sys/sdt.h> made it known: where the probe is, its semaphore, its names, and where its arguments are.
 * "?": it belongs to the section group of the code around it, and goes when that goes.
 */
#define UT_NOTE_(where, semaphore, provider, name, args) \
	".pushsection .note.stapsdt,\"?\",\"note\"\n" \
	".balign 4\n" \
	".4byte 982f-981f,984f-983f,3\n" \
	"981: .asciz \"stapsdt\"\n" \
	"982: .balign 4\n" \
	"983: .8byte " where ",_.stapsdt.base," semaphore "\n" \
	".asciz \"" provider "\"\n" \
	".asciz \"" name "\"\n" args ".byte 0\n" \
	"984: .balign 4\n" \
	".popsection\n" \
	".ifndef _.stapsdt.base\n" \
	".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
	".weak _.stapsdt.base\n" \
	".hidden _.stapsdt.base\n" \
	"_.stapsdt.base: .space 1\n" \
	".size _.stapsdt.base,1\n" \
	".popsection\n" \
	".endif\n"

/* A semaphore comes into being where it is read, once in each program or library. */
#define UT_SEMAPHORE_(symbol) \
	".ifndef " symbol "\n" \
	".pushsection .probes,\"awG\",\"progbits\"," symbol ",comdat\n" \
	".weak " symbol "\n" \
	".hidden " symbol "\n" \
	".type " symbol ",%%object\n" \
	".size " symbol ",2\n" \
	".balign 2\n" symbol ": .2byte 0\n" \
	".popsection\n" \
	".endif\n"

#define UT_READ_SEMAPHORE_(symbol) \
	__extension__({ \
		uint32_t ut_listeners_; \
		UT_ASM_(UT_SEMAPHORE_(symbol) UT_LOAD_HALF_(symbol) : "=r"(ut_listeners_)); \
		__builtin_expect(ut_listeners_ != 0, 0) != 0; \
	})

/*
 * The site of user events: a function that changes no register, once in each program or library that has events. By
 * its entry in the unwind table a tracer sees that it is a function, also when symbols are stripped; the entry is
 * written in bytes, because .cfi directives do not nest.
 */
#define UT_SITE_ \
	".ifndef usertrace_event\n" \
	".pushsection .text.usertrace_event,\"axG\",\"progbits\",usertrace_event,comdat\n" \
	".weak usertrace_event\n" \
	".hidden usertrace_event\n" \
	".type usertrace_event,%%function\n" \
	".balign 16\n" \
	"usertrace_event:\n" \
	"985: " UT_SITE_CODE_ "986: .size usertrace_event,.-usertrace_event\n" UT_NOTE_( \
		"987b", "usertrace_event_semaphore", "usertrace", "event", \
		".ascii \"" UT_SITE_ARGS_ "\"\n") ".pushsection .eh_frame," UT_EH_SECTION_ "\n" \
						  ".4byte 20,0\n.byte 1\n.asciz \"zR\"\n.byte " UT_EH_RULES_ "\n" \
						  ".4byte 20,28,985b-.,986b-985b\n.byte 0,0,0,0,0,0,0,0\n" \
						  ".popsection\n" \
						  ".popsection\n" \
						  ".endif\n"

#ifdef __cplusplus
extern "C"
#else
extern
#endif
	__attribute__((visibility("hidden"), cold))
#if defined(__clang__) && defined(__x86_64__)
	__attribute__((no_caller_saved_registers))
#endif
	void
	usertrace_event(uint32_t what, const char *name, int64_t value, uint64_t id, const char *text);

/*
 * That the call changes no register must be known where it is made, else a small function around it saves its own
 * registers first, each time. clang takes our word. gcc believes what it sees: a function with nothing but an asm. That
 * has a frame of its own, so that stacks are right.
 */
#if !defined(__clang__) && defined(__x86_64__) && defined(__OPTIMIZE__)
static __attribute__((noinline, cold, unused, no_instrument_function)) void
ut_call_site_(uint32_t what, const char *name, int64_t value, uint64_t id, const char *text)
{
	register const char *ut_r8_ __asm__("r8") = text;

	UT_ASM_(UT_SITE_ "call usertrace_event\n" ::"D"(what), "S"(name), "d"(value), "c"(id), "r"(ut_r8_),
		"r"(__builtin_frame_address(0))
		: "memory");
}
#else
UT_INLINE_ void ut_call_site_(uint32_t what, const char *name, int64_t value, uint64_t id, const char *text)
{
	UT_ASM_(UT_SITE_ ::);
	usertrace_event(what, name, value, id, text);
}
#endif

UT_API_ int ut_enabled(void) { return UT_READ_SEMAPHORE_("usertrace_event_semaphore"); }

UT_INLINE_ void ut_emit_(uint32_t what, const char *name, int64_t value, uint64_t id, const char *text)
{
	if (UT_READ_SEMAPHORE_("usertrace_event_semaphore"))
		ut_call_site_(what, name, value, id, text);
}

/* A float is handed out by its bits, so that it is never in a register that tracers cannot read. */
UT_INLINE_ uint64_t ut_bits_of_double_(double v)
{
	uint64_t ret;

	__builtin_memcpy(&ret, &v, sizeof(ret));
	return ret;
}

UT_INLINE_ uint32_t ut_bits_of_float_(float v)
{
	uint32_t ret;

	__builtin_memcpy(&ret, &v, sizeof(ret));
	return ret;
}

/*
 * For each argument a variable, which gets its type. UT_CODE_ of it is its size in bytes, negative if it has a sign;
 * 104 and 108 are the floats. UT_OPERAND_ is the value whose place the note tells.
 */
#ifdef __cplusplus
extern "C++" {
namespace usertrace_100_ /* after UT_VERSION: copies of different ages share no template */
{

#define UT_FORCED_ static inline __attribute__((always_inline, no_instrument_function))

enum kind { INTEGER_, ENUM_, REFUSED_ };

template <typename T> struct kind_of {
	static const bool refused = __is_class(T) || __is_union(T) || sizeof(T) > 8;
	static const kind value = refused ? REFUSED_ : __is_enum(T) ? ENUM_ : INTEGER_;
};
template <typename T, kind> struct scalar {
	typedef T type;
	static_assert(static_cast<T>(3) / static_cast<T>(2) == static_cast<T>(1), UT_ARGUMENT_RULE_); /* not _Float16 */
	static const bool is_unsigned = static_cast<T>(-1) > static_cast<T>(0);
	static const int code = is_unsigned ? static_cast<int>(sizeof(T)) : -static_cast<int>(sizeof(T));
	UT_FORCED_ type operand(T v) { return v; }
};
template <typename T> struct scalar<T, ENUM_> {
	typedef __underlying_type(T) type;
	static const int code = scalar<type, INTEGER_>::code;
	UT_FORCED_ type operand(T v) { return static_cast<type>(v); }
};
template <typename T> struct scalar<T, REFUSED_> {
	static_assert(sizeof(T) == 0, UT_ARGUMENT_RULE_);
	static const int code = 0;
};

template <typename T> struct argument : scalar<T, kind_of<T>::value> {
};
template <typename T> struct argument<T *> {
	static const int code = 8;
	UT_FORCED_ T *operand(T *v) { return v; }
};
template <typename T, typename C> struct argument<T C::*> : scalar<T C::*, REFUSED_> {
};
template <> struct argument<decltype(nullptr)> {
	static const int code = 8;
	UT_FORCED_ const void *operand(decltype(nullptr)) { return nullptr; }
};
template <> struct argument<double> {
	static const int code = 108;
	UT_FORCED_ uint64_t operand(double v) { return ut_bits_of_double_(v); }
};
template <> struct argument<float> {
	static const int code = 104;
	UT_FORCED_ uint32_t operand(float v) { return ut_bits_of_float_(v); }
};

}
}
#define UT_AUTO_ auto
#define UT_CHECK_(v)
#define UT_CODE_(v) (::usertrace_100_::argument<decltype(v)>::code)
#define UT_OPERAND_(v) (::usertrace_100_::argument<decltype(v)>::operand(v))
#else
#define UT_AUTO_ __extension__ __auto_type
#define UT_IS_(v, type) __builtin_types_compatible_p(__typeof__(v), type)
#define UT_CLASS_(v) __builtin_classify_type(__builtin_choose_expr(UT_IS_(v, float), (double)0, (v)))
/* Of the compiler's classes of types 1 to 4 are integers, 5 pointers, 8 floats. */
#define UT_INTEGER_OF_(v) __typeof__(__builtin_choose_expr(UT_CLASS_(v) <= 4, (v), 0u))
#define UT_CHECK_(v) \
	UT_STATIC_ASSERT_(sizeof(v) <= 8 && \
				  ((UT_CLASS_(v) >= 1 && UT_CLASS_(v) <= 5) || UT_IS_(v, float) || UT_IS_(v, double)), \
			  UT_ARGUMENT_RULE_);
#define UT_CODE_(v) \
	(UT_IS_(v, double)				  ? 108 \
	 : UT_IS_(v, float)				  ? 104 \
	 : (UT_INTEGER_OF_(v)) - 1 > (UT_INTEGER_OF_(v))0 ? (int)sizeof(v) \
							  : -(int)sizeof(v))
#define UT_ONLY_(v, type) __builtin_choose_expr(UT_IS_(v, type), (v), (type)0)
#define UT_OPERAND_(v) \
	__builtin_choose_expr(UT_IS_(v, double), ut_bits_of_double_(UT_ONLY_(v, double)), \
			      __builtin_choose_expr(UT_IS_(v, float), ut_bits_of_float_(UT_ONLY_(v, float)), (v)))
#endif

/*
 * Registers or constants for the first eight arguments; the others may lie on the stack, as registers are few. None in
 * static memory, which tools cannot find in a stripped program: what gcc might leave there is brought into a register
 * before; clang never leaves any there.
 */
#define UT_REGISTER_ "nr"
#if defined(__x86_64__)
#define UT_ANYWHERE_ "nor"
#else
#define UT_ANYWHERE_ "nr"
#endif
#if defined(__x86_64__) && !defined(__clang__) && __GNUC__ >= 11
#define UT_SETTLE_(i) \
	if (!__builtin_constant_p(ut_value##i##_)) \
		__asm__("" : "+r"(ut_value##i##_));
#else
#define UT_SETTLE_(i)
#endif

#define UT_VAR_(i, x) \
	UT_AUTO_ ut_arg##i##_ = (x); \
	UT_CHECK_(ut_arg##i##_)
#define UT_LATE_(i, x) UT_VAR_(i, x) UT_AUTO_ ut_value##i##_ = UT_OPERAND_(ut_arg##i##_);
#define UT_IN_(i) [code##i] "n"(UT_CODE_(ut_arg##i##_)), [value##i] UT_REGISTER_(UT_OPERAND_(ut_arg##i##_))
#define UT_LATE_IN_(i) [code##i] "n"(UT_CODE_(ut_arg##i##_)), [value##i] UT_ANYWHERE_(ut_value##i##_)
#define UT_TEXT_(i) \
	".if %c[code" #i "]==108\n.ascii \"8f@\"\n.elseif %c[code" #i "]==104\n.ascii \"4f@\"\n" \
	".else\n.ascii \"%c[code" #i "]@\"\n.endif\n.ascii \"%[value" #i "]\"\n"

/* By the number of arguments. The name goes with them, so that no list is empty. */
#define UT_VARS_0_(n)
#define UT_VARS_1_(n, a) UT_VARS_0_(n) UT_VAR_(1, a)
#define UT_VARS_2_(n, a, b) UT_VARS_1_(n, a) UT_VAR_(2, b)
#define UT_VARS_3_(n, a, b, c) UT_VARS_2_(n, a, b) UT_VAR_(3, c)
#define UT_VARS_4_(n, a, b, c, d) UT_VARS_3_(n, a, b, c) UT_VAR_(4, d)
#define UT_VARS_5_(n, a, b, c, d, e) UT_VARS_4_(n, a, b, c, d) UT_VAR_(5, e)
#define UT_VARS_6_(n, a, b, c, d, e, f) UT_VARS_5_(n, a, b, c, d, e) UT_VAR_(6, f)
#define UT_VARS_7_(n, a, b, c, d, e, f, g) UT_VARS_6_(n, a, b, c, d, e, f) UT_VAR_(7, g)
#define UT_VARS_8_(n, a, b, c, d, e, f, g, h) UT_VARS_7_(n, a, b, c, d, e, f, g) UT_VAR_(8, h)
#define UT_VARS_9_(n, a, b, c, d, e, f, g, h, i) UT_VARS_8_(n, a, b, c, d, e, f, g, h) UT_LATE_(9, i)
#define UT_VARS_10_(n, a, b, c, d, e, f, g, h, i, j) UT_VARS_9_(n, a, b, c, d, e, f, g, h, i) UT_LATE_(10, j)
#define UT_VARS_11_(n, a, b, c, d, e, f, g, h, i, j, k) UT_VARS_10_(n, a, b, c, d, e, f, g, h, i, j) UT_LATE_(11, k)
#define UT_VARS_12_(n, a, b, c, d, e, f, g, h, i, j, k, l) \
	UT_VARS_11_(n, a, b, c, d, e, f, g, h, i, j, k) UT_LATE_(12, l)
#define UT_VARS_TOO_MANY_(...) UT_STATIC_ASSERT_(0, "UT_PROBE takes at most 12 arguments");

#define UT_INS_0_
#define UT_INS_1_ UT_IN_(1)
#define UT_INS_2_ UT_INS_1_, UT_IN_(2)
#define UT_INS_3_ UT_INS_2_, UT_IN_(3)
#define UT_INS_4_ UT_INS_3_, UT_IN_(4)
#define UT_INS_5_ UT_INS_4_, UT_IN_(5)
#define UT_INS_6_ UT_INS_5_, UT_IN_(6)
#define UT_INS_7_ UT_INS_6_, UT_IN_(7)
#define UT_INS_8_ UT_INS_7_, UT_IN_(8)
#define UT_INS_9_ UT_INS_8_, UT_LATE_IN_(9)
#define UT_INS_10_ UT_INS_9_, UT_LATE_IN_(10)
#define UT_INS_11_ UT_INS_10_, UT_LATE_IN_(11)
#define UT_INS_12_ UT_INS_11_, UT_LATE_IN_(12)
#define UT_INS_TOO_MANY_

#define UT_TEXTS_0_
#define UT_TEXTS_1_ UT_TEXT_(1)
#define UT_TEXTS_2_ UT_TEXTS_1_ ".ascii \" \"\n" UT_TEXT_(2)
#define UT_TEXTS_3_ UT_TEXTS_2_ ".ascii \" \"\n" UT_TEXT_(3)
#define UT_TEXTS_4_ UT_TEXTS_3_ ".ascii \" \"\n" UT_TEXT_(4)
#define UT_TEXTS_5_ UT_TEXTS_4_ ".ascii \" \"\n" UT_TEXT_(5)
#define UT_TEXTS_6_ UT_TEXTS_5_ ".ascii \" \"\n" UT_TEXT_(6)
#define UT_TEXTS_7_ UT_TEXTS_6_ ".ascii \" \"\n" UT_TEXT_(7)
#define UT_TEXTS_8_ UT_TEXTS_7_ ".ascii \" \"\n" UT_TEXT_(8)
#define UT_TEXTS_9_ UT_TEXTS_8_ ".ascii \" \"\n" UT_TEXT_(9)
#define UT_TEXTS_10_ UT_TEXTS_9_ ".ascii \" \"\n" UT_TEXT_(10)
#define UT_TEXTS_11_ UT_TEXTS_10_ ".ascii \" \"\n" UT_TEXT_(11)
#define UT_TEXTS_12_ UT_TEXTS_11_ ".ascii \" \"\n" UT_TEXT_(12)
#define UT_TEXTS_TOO_MANY_

#define UT_SETTLE_0_
#define UT_SETTLE_1_
#define UT_SETTLE_2_
#define UT_SETTLE_3_
#define UT_SETTLE_4_
#define UT_SETTLE_5_
#define UT_SETTLE_6_
#define UT_SETTLE_7_
#define UT_SETTLE_8_
#define UT_SETTLE_9_ UT_SETTLE_(9)
#define UT_SETTLE_10_ UT_SETTLE_9_ UT_SETTLE_(10)
#define UT_SETTLE_11_ UT_SETTLE_10_ UT_SETTLE_(11)
#define UT_SETTLE_12_ UT_SETTLE_11_ UT_SETTLE_(12)
#define UT_SETTLE_TOO_MANY_

/*
 * The reference to the semaphore is weak: where nobody reads one, none is made, and the note has 0 for it.
 */
#define UT_PROBE_N_(n, provider, ...) \
	UT_PROBE_AS_(n, UT_STRING_(provider), UT_STRING_(UT_FIRST_(__VA_ARGS__, ~)), __VA_ARGS__)
#define UT_PROBE_AS_(n, provider, name, ...) \
	do { \
		UT_VARS_##n##_(__VA_ARGS__) UT_SETTLE_##n##_ UT_ASM_( \
			"980: " UT_NOPS_ ".weak " provider "_" name "_semaphore\n" \
			".hidden " provider "_" name \
			"_semaphore\n" UT_NOTE_("980b", provider "_" name "_semaphore", provider, name, \
						UT_TEXTS_##n##_)::UT_INS_##n##_); \
	} while (0)

#define UT_ENABLED_(provider, name) UT_READ_SEMAPHORE_(UT_STRING_(provider) "_" UT_STRING_(name) "_semaphore")

#else /* nothing can be traced here */

UT_API_ int ut_enabled(void) { return 0; }

UT_INLINE_ void ut_emit_(uint32_t what, const char *name, int64_t value, uint64_t id, const char *text)
{
	(void)what, (void)name, (void)value, (void)id, (void)text;
}

#define UT_VARS_0_(n)
#define UT_VARS_1_(n, a) UT_VARS_0_(n)(void)(a);
#define UT_VARS_2_(n, a, b) UT_VARS_1_(n, a)(void)(b);
#define UT_VARS_3_(n, a, b, c) UT_VARS_2_(n, a, b)(void)(c);
#define UT_VARS_4_(n, a, b, c, d) UT_VARS_3_(n, a, b, c)(void)(d);
#define UT_VARS_5_(n, a, b, c, d, e) UT_VARS_4_(n, a, b, c, d)(void)(e);
#define UT_VARS_6_(n, a, b, c, d, e, f) UT_VARS_5_(n, a, b, c, d, e)(void)(f);
#define UT_VARS_7_(n, a, b, c, d, e, f, g) UT_VARS_6_(n, a, b, c, d, e, f)(void)(g);
#define UT_VARS_8_(n, a, b, c, d, e, f, g, h) UT_VARS_7_(n, a, b, c, d, e, f, g)(void)(h);
#define UT_VARS_9_(n, a, b, c, d, e, f, g, h, i) UT_VARS_8_(n, a, b, c, d, e, f, g, h)(void)(i);
#define UT_VARS_10_(n, a, b, c, d, e, f, g, h, i, j) UT_VARS_9_(n, a, b, c, d, e, f, g, h, i)(void)(j);
#define UT_VARS_11_(n, a, b, c, d, e, f, g, h, i, j, k) UT_VARS_10_(n, a, b, c, d, e, f, g, h, i, j)(void)(k);
#define UT_VARS_12_(n, a, b, c, d, e, f, g, h, i, j, k, l) UT_VARS_11_(n, a, b, c, d, e, f, g, h, i, j, k)(void)(l);
#define UT_VARS_TOO_MANY_(...) UT_STATIC_ASSERT_(0, "UT_PROBE takes at most 12 arguments");
#define UT_PROBE_N_(n, provider, ...) \
	do { \
		UT_VARS_##n##_(__VA_ARGS__) \
	} while (0)
#define UT_ENABLED_(provider, name) 0

#endif

UT_API_ void ut_emit(uint32_t what, const char *name, int64_t value, uint64_t id, const char *text)
{
	ut_emit_(what, name, value, id, text);
}

UT_API_ void ut_begin(const char *name) { ut_emit_(UT_BEGIN, name, 0, 0, UT_NULL_); }
UT_API_ void ut_end(const char *name) { ut_emit_(UT_END, name, 0, 0, UT_NULL_); }
UT_API_ void ut_begin_id(const char *name, uint64_t id) { ut_emit_(UT_BEGIN | UT_ID, name, 0, id, UT_NULL_); }
UT_API_ void ut_end_id(const char *name, uint64_t id) { ut_emit_(UT_END | UT_ID, name, 0, id, UT_NULL_); }
UT_API_ void ut_begin_text(const char *name, const char *text) { ut_emit_(UT_BEGIN | UT_TEXT, name, 0, 0, text); }
UT_API_ void ut_end_text(const char *name, const char *text) { ut_emit_(UT_END | UT_TEXT, name, 0, 0, text); }

UT_API_ void ut_begin_value(const char *name, int64_t value, const char *text)
{
	ut_emit_(text ? UT_BEGIN | UT_TEXT : UT_BEGIN, name, value, 0, text);
}

UT_API_ void ut_end_value(const char *name, int64_t value) { ut_emit_(UT_END, name, value, 0, UT_NULL_); }

UT_API_ void ut_mark(const char *name) { ut_emit_(UT_MARK, name, 0, 0, UT_NULL_); }
UT_API_ void ut_mark_id(const char *name, uint64_t id) { ut_emit_(UT_MARK | UT_ID, name, 0, id, UT_NULL_); }
UT_API_ void ut_mark_text(const char *name, const char *text) { ut_emit_(UT_MARK | UT_TEXT, name, 0, 0, text); }

UT_API_ void ut_count(const char *name, int64_t value) { ut_emit_(UT_COUNT, name, value, 0, UT_NULL_); }

UT_API_ void ut_count_id(const char *name, int64_t value, uint64_t id)
{
	ut_emit_(UT_COUNT | UT_ID, name, value, id, UT_NULL_);
}

UT_API_ void ut_count_text(const char *name, int64_t value, const char *text)
{
	ut_emit_(UT_COUNT | UT_TEXT, name, value, 0, text);
}

#ifdef __cplusplus
/* What UT_SPAN declares; also for spans that an object holds. It cannot be copied. */
class ut_span
{
      public:
	UT_MEMBER_ explicit ut_span(const char *name) : name_(name) { ut_begin(name); }
	UT_MEMBER_ ut_span(const char *name, int64_t value, const char *text) : name_(name)
	{
		ut_begin_value(name, value, text);
	}
	UT_MEMBER_ ~ut_span() { ut_end(name_); }
	ut_span(const ut_span &) = delete;
	ut_span &operator=(const ut_span &) = delete;

      private:
	const char *name_;
};

#define UT_SPAN_(variable, name, value, text) const ::ut_span variable((name), (value), (text))
#elif defined(__GNUC__)
UT_INLINE_ const char *ut_begin_span_(const char *name, int64_t value, const char *text)
{
	ut_begin_value(name, value, text);
	return name;
}

UT_INLINE_ void ut_end_span_(const char *const *name) { ut_end(*name); }

#define UT_SPAN_(variable, name, value, text) \
	__attribute__((cleanup(ut_end_span_), unused)) const char *const variable = \
		ut_begin_span_((name), (value), (text))
#else
#define UT_SPAN_(variable, name, value, text) const char *const variable = ((void)(value), (void)(text), (name))
#endif

#endif
