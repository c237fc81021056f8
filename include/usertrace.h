/* SPDX-License-Identifier: MIT */
/*
 * usertrace.h: lets a program emit events for tracers.
 *
 * Copy this file into any C (C99 or later) or C++ (C++11 or later) program. There is nothing to link, start or
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
 *	usertrace trace -a              all user events of all programs, in time order
 *
 * There are user events (begin, end, instant event and counter: ut_begin, ut_end, ut_mark, ut_count and their
 * variants), and USDT probes, which bpftrace, BCC, perf, gdb and SystemTap see as well (UT_PROBE).
 *
 * Cost: an untraced event is a load and a branch that is not taken, less than 1 ns; an untraced probe is two nops and
 * the code that computes its arguments. A traced event enters the kernel, which takes about half a microsecond, or up
 * to two on older machines. So emit an event for a collection, a request, a compilation or a phase, not for every
 * allocation.
 *
 * Versions
 *	100 (0.1.0)	the first
 *
 * A program can contain copies of different versions. In one source file the first included copy is used (see
 * UT_VERSION). In one program or library all copies share four weak, hidden symbols, of which the linker keeps one copy:
 * usertrace_event, usertrace_event_semaphore, _.stapsdt.base and PROVIDER_NAME_semaphore. These symbols and the layout
 * of the class ut_span never change; a later version that needs different ones will use new names. Everything else is
 * static, so versions can be mixed, and each copy behaves as its own comments say.
 *
 * Works on Linux for x86-64 with gcc or clang. On arm64 it compiles and tests check its notes, but it is untested
 * there. On other systems, and with UT_OFF defined, all calls compile to nothing, but their arguments are still
 * evaluated.
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

/* Version of this file: major * 10000 + minor * 100 + patch. */
#define UT_VERSION 100

/* Event types, and flags for what an event contains. The values never change. */
enum {
	UT_BEGIN = 1,
	UT_END = 2,
	UT_MARK = 3, /* an instant event */
	UT_COUNT = 4, /* a counter's value */
	UT_ID = 0x10,
	UT_TEXT = 0x20,
	UT_PARENT = 0x40 /* the event belongs to the parent process: for a command that a script runs per event */
};

/* Maximum number of bytes captured of a name and of a string; tracers mark longer ones as truncated. */
#define UT_NAME_MAX 127
#define UT_TEXT_MAX 255

/*
 * For languages that can make a system call but cannot use this header or libusertrace: an option of prctl(2) that no
 * kernel defines. The call always fails with EINVAL; the tracer sees it at the system call's entry. It costs about 0.15
 * microseconds when nobody is tracing. A seccomp filter that kills processes for unknown prctl options also does so
 * here. An event has an id or a string, not both.
 *
 *	prctl(PR_USER_TRACE, UT_BEGIN, "gc", value, 0);
 *	prctl(PR_USER_TRACE, UT_END | UT_ID, "request", value, id);
 *	prctl(PR_USER_TRACE, UT_MARK | UT_TEXT, "compiled", value, text);
 *	prctl(PR_USER_TRACE, "entry: gc");		"exit: gc" ends it; any other string is an instant event
 */
#define PR_USER_TRACE 0x55545243 /* "UTRC" */

/* UT_HAVE_PROBES: 1 if this platform is supported and UT_OFF is not defined, else 0. */
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
/* How the functions are declared; libusertrace exports them as symbols. */
#ifndef UT_API_
#define UT_API_ UT_INLINE_
#endif

/*
 * ---- User events ----
 *
 * All functions can be called on any thread, in signal handlers, constructors and destructors, before main, in the
 * child after fork, and while other threads are stopped. They take no locks, allocate no memory, never block or fail,
 * preserve errno, and call no library functions. They make no system calls either, so they also work under seccomp, in
 * containers and in a chroot.
 *
 * @name should be UTF-8, from a small fixed set; put what varies into the value, the id or the string. Names and
 * strings are copied before the call returns, by the tracer and not by this header: a NULL or invalid pointer is shown
 * as such, and does no harm.
 *
 * The kernel records the process, the thread, the CPU and the time (CLOCK_MONOTONIC), in exact order across all
 * processes. An event is in a kernel buffer when its call returns, so the last one before a crash is not lost. After a
 * fork the child emits its own events; the spans that its parent began remain the parent's, and an end of such a span
 * in the child is shown as inherited. The exit of a thread or a process ends its open spans, and so does exec.
 *
 * Each program and each shared library, including those loaded by dlopen, is enabled separately; tracers find them all.
 */

/*
 * Begin and end a span. An end closes the most recent open begin with its name on its thread: spans of one thread nest,
 * also in recursion. If longjmp or an error path skips the end, the span stays open until its thread exits, and later
 * events of this thread appear nested in it.
 */
UT_API_ void ut_begin(const char *name);
UT_API_ void ut_end(const char *name);

/*
 * The same for spans that overlap or end on a different thread: an end closes the most recent open begin with this name
 * and id in the process, on any thread. 0 is an ordinary id. Spans with ids do not nest.
 */
UT_API_ void ut_begin_id(const char *name, uint64_t id);
UT_API_ void ut_end_id(const char *name, uint64_t id);

/* The same with a string, such as a function's name or the cause of a collection. NULL is shown as NULL. */
UT_API_ void ut_begin_text(const char *name, const char *text);
UT_API_ void ut_end_text(const char *name, const char *text);

/*
 * The same with a value, such as the bytes in use before and after a collection; the begin also has a string, or NULL.
 * Tracers show both values as they are.
 */
UT_API_ void ut_begin_value(const char *name, int64_t value, const char *text);
UT_API_ void ut_end_value(const char *name, int64_t value);

/*
 * Emit an instant event. An id relates it to the span or object with that id, and a string adds details.
 */
UT_API_ void ut_mark(const char *name);
UT_API_ void ut_mark_id(const char *name, uint64_t id);
UT_API_ void ut_mark_text(const char *name, const char *text);

/*
 * Set a counter. It keeps this value until the next call, like a counter track in Perfetto or a gauge in Prometheus.
 * Values are not summed: to count occurrences, keep a sum and set the counter to it. A counter is identified by its
 * name and process; with an id there is one per id. A string describes this value only.
 */
UT_API_ void ut_count(const char *name, int64_t value);
UT_API_ void ut_count_id(const char *name, int64_t value, uint64_t id);
UT_API_ void ut_count_text(const char *name, int64_t value, const char *text);

/*
 * The general function behind all of the above. @what is UT_BEGIN, UT_END, UT_MARK or UT_COUNT, with UT_ID to use @id,
 * UT_TEXT to use @text, or both. The tracer drops events with other numbers.
 */
UT_API_ void ut_emit(uint32_t what, const char *name, int64_t value, uint64_t id, const char *text);

/*
 * Returns 1 if the user events of this program or library are being traced, else 0. Use it to guard expensive
 * computations. A tracer may attach or detach between two calls, so never skip the end of a span because of it.
 */
UT_API_ int ut_enabled(void);

/*
 * Declares a span from here to the end of the enclosing block. @name must stay valid until then, as a literal does.
 * UT_SPAN_VALUE adds a value and a string, or NULL, to the begin.
 *
 * The span ends when control leaves the block: at its end, by return, break, continue or goto, and in C++ by an
 * exception. In C an exception, pthread_exit or the cancellation of the thread ends it if the file was compiled with
 * -fexceptions. longjmp over the block leaves it open, as with ut_begin. In C this needs gcc or clang; with other
 * compilers it does nothing. A coroutine that is suspended in the block may resume on another thread: use an id there.
 */
#define UT_SPAN(name) UT_SPAN_(UT_UNIQUE_(ut_span_, UT_COUNTER_), name, 0, UT_NULL_)
#define UT_SPAN_VALUE(name, value, text) UT_SPAN_(UT_UNIQUE_(ut_span_, UT_COUNTER_), name, value, text)

/*
 * ---- USDT probes ----
 *
 * UT_PROBE(provider, name, up to 12 arguments): a statement that defines the same probes as <sys/sdt.h>.
 *
 *	UT_PROBE(myvm, compile, function_name, size);		usertrace trace u:myvm:compile
 *
 * Allowed wherever a user event is. Provider and name are identifiers without quotes; macros are expanded, and a double
 * underscore is kept. Each argument is evaluated once, traced or not, and described with the size and sign of its type:
 * integers, enums, bool, characters, pointers, arrays and strings (as pointers), float and double. Structs, long
 * double, 128-bit and complex numbers, and in C bit-fields, are compile-time errors: cast them.
 *
 * - Arguments are in registers or are constants; from the ninth on they may be on the stack. All tools can read these,
 *   even in stripped programs.
 * - gdb 13, BCC 0.26 and bpftrace 0.17 cannot read any argument of a probe that has a float or a double, and BCC prints
 *   a warning; other probes of the same file are not affected. perf shows the bits as an integer; usertrace reads the
 *   value. perf 6.1 omits constant arguments.
 * - In a template, an inline function or a macro a probe has many sites. Tools treat them as one probe, so its
 *   arguments should have the same types at all sites.
 */
#define UT_PROBE(provider, ...) UT_PROBE_COUNTED_(UT_COUNT_(__VA_ARGS__), provider, __VA_ARGS__)

/*
 * An expression that is nonzero while the probe is being traced, to guard the computation of expensive arguments:
 *
 *	if (UT_PROBE_ENABLED(myvm, compile))
 *		UT_PROBE(myvm, compile, describe(function), size);
 *
 * It reads a semaphore: a 16-bit count of attached tracers, defined by its first use, one per program or library. It
 * needs no declaration. A semaphore that another object file defines, such as the output of `dtrace -G`, is used
 * instead; defining one in the same source file is an error. BCC needs a process (-p) for a probe with a semaphore; a
 * probe without UT_PROBE_ENABLED has none.
 */
#define UT_PROBE_ENABLED(provider, name) UT_ENABLED_(provider, name)

/* ---- Implementation ---- */

/* The number of arguments after the name, which is the first of up to 16. */
#define UT_COUNT_(...) \
	UT_SEVENTEENTH_(__VA_ARGS__, TOO_MANY, TOO_MANY, TOO_MANY, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, ~)
#define UT_SEVENTEENTH_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ret, ...) ret
#define UT_PROBE_COUNTED_(n, provider, ...) UT_PROBE_N_(n, provider, __VA_ARGS__)
#define UT_FIRST_(first, ...) first
#define UT_STRING_(x) UT_STRINGIFY_(x)
#define UT_STRINGIFY_(x) #x
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

/* "inline": compilers estimate code size by lines of assembler, and would not inline functions that contain these. */
#if (defined(__clang__) && __clang_major__ >= 11) || (!defined(__clang__) && __GNUC__ >= 9)
#define UT_ASM_ __asm__ __inline__ __volatile__
#else
#define UT_ASM_ __asm__ __volatile__
#endif

#if defined(__x86_64__)
/*
 * A probe site is a 1-byte nop, on which every kernel can place a breakpoint, followed by a 10-byte nop, which newer
 * kernels can replace with something faster. It is not a 5-byte nop: Linux 6.18 and later replace that with a CALL,
 * which writes below the stack pointer, where a leaf function may keep data (the red zone), and which crashes a forked
 * child that lacks the called page. The site of user events does begin with a 5-byte nop, but its note does not point
 * there; usertrace uses it only if a test shows that this kernel does no harm.
 */
#define UT_NOPS_ "nop\n.byte 0x66,0x2e,0x0f,0x1f,0x84,0,0,0,0,0\n"
#define UT_SITE_CODE_ ".byte 0x0f,0x1f,0x44,0,0\n987: nop\nret\n"
#define UT_SITE_ARGS_ "4@%%edi 8@%%rsi -8@%%rdx 8@%%rcx 8@%%r8"
#define UT_LOAD_U16_(symbol) "{movzwl " symbol "(%%rip),%0|movzx %0,word ptr " symbol "[rip]}\n"
#define UT_EH_SECTION_ "\"a\",@unwind"
#define UT_EH_RULES_ "1,0x78,16,1,0x1b, 0x0c,7,8,0x90,1,0,0"
#else
#define UT_NOPS_ "nop\n"
#define UT_SITE_CODE_ "987: nop\nret\n"
#define UT_SITE_ARGS_ "4@x0 8@x1 -8@x2 8@x3 8@x4"
#define UT_LOAD_U16_(symbol) "adrp %x0," symbol "\nldrh %w0,[%x0,:lo12:" symbol "]\n"
#define UT_EH_SECTION_ "\"a\",%%progbits"
#define UT_EH_RULES_ "4,0x78,30,1,0x1b, 0x0c,31,0,0,0,0,0"
#endif

/*
 * The numbers of local labels are unlikely to occur in other inline assembler. Each has one use, because these
 * fragments are nested: 980 is the site of a probe; 981 to 984 are parts of a note (owner, its end, description, its
 * end); 985 and 986 are the function of user events and its end; 987 is the site in it.
 *
 * A note in the format of <sys/sdt.h>: the addresses of the probe and its semaphore, its names, and the locations of
 * its arguments. "?": it belongs to the section group of the surrounding code, and is discarded with it.
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

/*
 * Defines a semaphore where it is read, once per program or library. The kernel counts in the file's page, in the first
 * writable mapping of it. With lld and mold, the read-only data after relocation (RELRO) and .data can share a page of
 * the file, which is then mapped twice, and the count would go to the wrong mapping. Therefore .probes begins at a page
 * of its own: the linker keeps one usertrace_page, and semaphores refer to it, so that --gc-sections keeps it too.
 */
#define UT_SEMAPHORE_(symbol) \
	".ifndef usertrace_page\n" \
	".pushsection .probes,\"awG\",\"progbits\",usertrace_page,comdat\n" \
	".weak usertrace_page\n" \
	".hidden usertrace_page\n" \
	".type usertrace_page,%%object\n" \
	".size usertrace_page,4\n" \
	".balign 4096\n" \
	"usertrace_page: .4byte 0\n" \
	".popsection\n" \
	".endif\n" \
	".ifndef " symbol "\n" \
	".pushsection .probes,\"awG\",\"progbits\"," symbol ",comdat\n" \
	".weak " symbol "\n" \
	".hidden " symbol "\n" \
	".type " symbol ",%%object\n" \
	".size " symbol ",2\n" \
	".balign 4\n" symbol ": .2byte 0,0\n" \
	".4byte usertrace_page-.\n" \
	".popsection\n" \
	".endif\n"

#define UT_READ_SEMAPHORE_(symbol) \
	__extension__({ \
		uint32_t ut_tracers_; \
		UT_ASM_(UT_SEMAPHORE_(symbol) UT_LOAD_U16_(symbol) : "=r"(ut_tracers_)); \
		__builtin_expect(ut_tracers_ != 0, 0) != 0; \
	})

/*
 * The site of user events: a function that changes no registers, once per program or library with events. Its entry in
 * the unwind table lets a tracer recognize it as a function even without symbols; the entry is written as bytes,
 * because .cfi directives cannot be nested.
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
 * The compiler must know that the call changes no registers; otherwise a small function that makes it would save its
 * registers each time. clang has an attribute for that. gcc derives it from a function that contains only an asm, which
 * has a frame of its own so that stacks are correct.
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

/* Floating-point arguments are passed as integers, since tracers cannot read floating-point registers. */
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
 * Each argument has a variable of its type. UT_CODE_ is its size in bytes, negative if it is signed; 104 and 108 are
 * float and double. UT_OPERAND_ is the value whose location the note describes.
 */
#ifdef __cplusplus
extern "C++" {
namespace usertrace_100_ /* includes UT_VERSION: copies of different versions share no templates */
{

#define UT_ALWAYS_INLINE_ static inline __attribute__((always_inline, no_instrument_function))

enum kind { INTEGER_, ENUM_, UNSUPPORTED_ };

template <typename T> struct kind_of {
	static const bool unsupported = __is_class(T) || __is_union(T) || sizeof(T) > 8;
	static const kind value = unsupported ? UNSUPPORTED_ : __is_enum(T) ? ENUM_ : INTEGER_;
};
template <typename T, kind> struct scalar {
	typedef T type;
	static_assert(static_cast<T>(3) / static_cast<T>(2) == static_cast<T>(1), UT_ARGUMENT_RULE_); /* not _Float16 */
	static const bool is_unsigned = static_cast<T>(-1) > static_cast<T>(0);
	static const int code = is_unsigned ? static_cast<int>(sizeof(T)) : -static_cast<int>(sizeof(T));
	UT_ALWAYS_INLINE_ type operand(T v) { return v; }
};
template <typename T> struct scalar<T, ENUM_> {
	typedef __underlying_type(T) type;
	static const int code = scalar<type, INTEGER_>::code;
	UT_ALWAYS_INLINE_ type operand(T v) { return static_cast<type>(v); }
};
template <typename T> struct scalar<T, UNSUPPORTED_> {
	static_assert(sizeof(T) == 0, UT_ARGUMENT_RULE_);
	static const int code = 0;
};

template <typename T> struct argument : scalar<T, kind_of<T>::value> {
};
template <typename T> struct argument<T *> {
	static const int code = 8;
	UT_ALWAYS_INLINE_ T *operand(T *v) { return v; }
};
template <typename T, typename C> struct argument<T C::*> : scalar<T C::*, UNSUPPORTED_> {
};
template <> struct argument<decltype(nullptr)> {
	static const int code = 8;
	UT_ALWAYS_INLINE_ const void *operand(decltype(nullptr)) { return nullptr; }
};
template <> struct argument<double> {
	static const int code = 108;
	UT_ALWAYS_INLINE_ uint64_t operand(double v) { return ut_bits_of_double_(v); }
};
template <> struct argument<float> {
	static const int code = 104;
	UT_ALWAYS_INLINE_ uint32_t operand(float v) { return ut_bits_of_float_(v); }
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
/* The compiler's type classes: 1 to 4 are integers, 5 pointers, 8 floating-point numbers. */
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
 * The first eight arguments are registers or constants; the others may be on the stack, since registers are scarce. No
 * argument is in static memory, where tools cannot find it in a stripped program: values that gcc might leave there are
 * loaded into a register first; clang never leaves them there.
 */
#define UT_REGISTER_ "nr"
#if defined(__x86_64__)
#define UT_ANY_LOCATION_ "nor"
#else
#define UT_ANY_LOCATION_ "nr"
#endif
#if defined(__x86_64__) && !defined(__clang__) && __GNUC__ >= 11
#define UT_LOAD_(i) \
	if (!__builtin_constant_p(ut_value##i##_)) \
		__asm__("" : "+r"(ut_value##i##_));
#else
#define UT_LOAD_(i)
#endif

#define UT_VAR_(i, x) \
	UT_AUTO_ ut_arg##i##_ = (x); \
	UT_CHECK_(ut_arg##i##_)
#define UT_STACK_VAR_(i, x) UT_VAR_(i, x) UT_AUTO_ ut_value##i##_ = UT_OPERAND_(ut_arg##i##_);
#define UT_IN_(i) [code##i] "n"(UT_CODE_(ut_arg##i##_)), [value##i] UT_REGISTER_(UT_OPERAND_(ut_arg##i##_))
#define UT_STACK_IN_(i) [code##i] "n"(UT_CODE_(ut_arg##i##_)), [value##i] UT_ANY_LOCATION_(ut_value##i##_)
#define UT_ARG_NOTE_(i) \
	".if %c[code" #i "]==108\n.ascii \"8f@\"\n.elseif %c[code" #i "]==104\n.ascii \"4f@\"\n" \
	".else\n.ascii \"%c[code" #i "]@\"\n.endif\n.ascii \"%[value" #i "]\"\n"

/* By number of arguments. The name is included, so that no list is empty. */
#define UT_VARS_0_(n)
#define UT_VARS_1_(n, a) UT_VARS_0_(n) UT_VAR_(1, a)
#define UT_VARS_2_(n, a, b) UT_VARS_1_(n, a) UT_VAR_(2, b)
#define UT_VARS_3_(n, a, b, c) UT_VARS_2_(n, a, b) UT_VAR_(3, c)
#define UT_VARS_4_(n, a, b, c, d) UT_VARS_3_(n, a, b, c) UT_VAR_(4, d)
#define UT_VARS_5_(n, a, b, c, d, e) UT_VARS_4_(n, a, b, c, d) UT_VAR_(5, e)
#define UT_VARS_6_(n, a, b, c, d, e, f) UT_VARS_5_(n, a, b, c, d, e) UT_VAR_(6, f)
#define UT_VARS_7_(n, a, b, c, d, e, f, g) UT_VARS_6_(n, a, b, c, d, e, f) UT_VAR_(7, g)
#define UT_VARS_8_(n, a, b, c, d, e, f, g, h) UT_VARS_7_(n, a, b, c, d, e, f, g) UT_VAR_(8, h)
#define UT_VARS_9_(n, a, b, c, d, e, f, g, h, i) UT_VARS_8_(n, a, b, c, d, e, f, g, h) UT_STACK_VAR_(9, i)
#define UT_VARS_10_(n, a, b, c, d, e, f, g, h, i, j) UT_VARS_9_(n, a, b, c, d, e, f, g, h, i) UT_STACK_VAR_(10, j)
#define UT_VARS_11_(n, a, b, c, d, e, f, g, h, i, j, k) \
	UT_VARS_10_(n, a, b, c, d, e, f, g, h, i, j) UT_STACK_VAR_(11, k)
#define UT_VARS_12_(n, a, b, c, d, e, f, g, h, i, j, k, l) \
	UT_VARS_11_(n, a, b, c, d, e, f, g, h, i, j, k) UT_STACK_VAR_(12, l)
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
#define UT_INS_9_ UT_INS_8_, UT_STACK_IN_(9)
#define UT_INS_10_ UT_INS_9_, UT_STACK_IN_(10)
#define UT_INS_11_ UT_INS_10_, UT_STACK_IN_(11)
#define UT_INS_12_ UT_INS_11_, UT_STACK_IN_(12)
#define UT_INS_TOO_MANY_

#define UT_ARG_NOTES_0_
#define UT_ARG_NOTES_1_ UT_ARG_NOTE_(1)
#define UT_ARG_NOTES_2_ UT_ARG_NOTES_1_ ".ascii \" \"\n" UT_ARG_NOTE_(2)
#define UT_ARG_NOTES_3_ UT_ARG_NOTES_2_ ".ascii \" \"\n" UT_ARG_NOTE_(3)
#define UT_ARG_NOTES_4_ UT_ARG_NOTES_3_ ".ascii \" \"\n" UT_ARG_NOTE_(4)
#define UT_ARG_NOTES_5_ UT_ARG_NOTES_4_ ".ascii \" \"\n" UT_ARG_NOTE_(5)
#define UT_ARG_NOTES_6_ UT_ARG_NOTES_5_ ".ascii \" \"\n" UT_ARG_NOTE_(6)
#define UT_ARG_NOTES_7_ UT_ARG_NOTES_6_ ".ascii \" \"\n" UT_ARG_NOTE_(7)
#define UT_ARG_NOTES_8_ UT_ARG_NOTES_7_ ".ascii \" \"\n" UT_ARG_NOTE_(8)
#define UT_ARG_NOTES_9_ UT_ARG_NOTES_8_ ".ascii \" \"\n" UT_ARG_NOTE_(9)
#define UT_ARG_NOTES_10_ UT_ARG_NOTES_9_ ".ascii \" \"\n" UT_ARG_NOTE_(10)
#define UT_ARG_NOTES_11_ UT_ARG_NOTES_10_ ".ascii \" \"\n" UT_ARG_NOTE_(11)
#define UT_ARG_NOTES_12_ UT_ARG_NOTES_11_ ".ascii \" \"\n" UT_ARG_NOTE_(12)
#define UT_ARG_NOTES_TOO_MANY_

#define UT_LOAD_0_
#define UT_LOAD_1_
#define UT_LOAD_2_
#define UT_LOAD_3_
#define UT_LOAD_4_
#define UT_LOAD_5_
#define UT_LOAD_6_
#define UT_LOAD_7_
#define UT_LOAD_8_
#define UT_LOAD_9_ UT_LOAD_(9)
#define UT_LOAD_10_ UT_LOAD_9_ UT_LOAD_(10)
#define UT_LOAD_11_ UT_LOAD_10_ UT_LOAD_(11)
#define UT_LOAD_12_ UT_LOAD_11_ UT_LOAD_(12)
#define UT_LOAD_TOO_MANY_

/*
 * The reference to the semaphore is weak: if nothing reads the semaphore, it is not defined, and the note contains 0.
 */
#define UT_PROBE_N_(n, provider, ...) \
	UT_PROBE_AS_(n, UT_STRING_(provider), UT_STRING_(UT_FIRST_(__VA_ARGS__, ~)), __VA_ARGS__)
#define UT_PROBE_AS_(n, provider, name, ...) \
	do { \
		UT_VARS_##n##_(__VA_ARGS__) UT_LOAD_##n##_ UT_ASM_( \
			"980: " UT_NOPS_ ".weak " provider "_" name "_semaphore\n" \
			".hidden " provider "_" name \
			"_semaphore\n" UT_NOTE_("980b", provider "_" name "_semaphore", provider, name, \
						UT_ARG_NOTES_##n##_)::UT_INS_##n##_); \
	} while (0)

#define UT_ENABLED_(provider, name) UT_READ_SEMAPHORE_(UT_STRING_(provider) "_" UT_STRING_(name) "_semaphore")

#else /* unsupported platform */

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
/* The object that UT_SPAN declares; can also be a member of another object. Not copyable. */
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
