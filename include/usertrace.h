/* SPDX-License-Identifier: MIT */
/*
 * usertrace.h: a program announces what it does, so that a tracer can see it.
 *
 * One file to copy into any C (C99 or later) or C++ (C++11 or later) program. Nothing to link, nothing to start.
 *
 *	#include "usertrace.h"
 *
 *	ut_begin("gc");                              an event of your own: something begins,
 *	ut_end("gc");                                something ends,
 *	ut_mark("out of memory");                    something happened,
 *	ut_count("heap", (int64_t)bytes_used);       a number has a new value.
 *
 *	UT_PROBE(myvm, compile, name, size);         a USDT probe, as bpftrace, BCC, perf and gdb know them
 */
#ifndef USERTRACE_H
#define USERTRACE_H

#include <stdint.h>

/* What happened, and flags that say what else was given. */
enum {
	UT_BEGIN = 1,
	UT_END = 2,
	UT_MARK = 3,
	UT_COUNT = 4,
	UT_ID = 0x10,		/* the event has an id */
	UT_TEXT = 0x20,		/* the event has a text */
	UT_PARENT = 0x40	/* it speaks for the parent process: scripts that start a command for each event */
};

/* Bytes that are copied; what is longer is cut, and shown as cut. */
#define UT_NAME_MAX 127
#define UT_TEXT_MAX 255

/* The option of prctl(2) for programs without this header. No kernel knows it. */
#define PR_USER_TRACE 0x55545243	/* "UTRC" */

#if defined(__GNUC__) && defined(__ELF__) && defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__))
#define UT_HAVE_PROBES 1
#else
#define UT_HAVE_PROBES 0
#endif

/* ---- From here on: how it is done. ---- */

#ifdef __cplusplus
#define UT_EXTERN_C_ extern "C"
#define UT_CAST_(type, value) static_cast<type>(value)
#else
#define UT_EXTERN_C_ extern
#define UT_CAST_(type, value) ((type)(value))
#endif

#if UT_HAVE_PROBES

#define UT_INLINE_ static inline __attribute__((always_inline, unused))

/* "inline": the many lines of assembler are few bytes, so a function that holds them is still small. */
#if (defined(__clang__) && __clang_major__ >= 11) || (!defined(__clang__) && __GNUC__ >= 9)
#define UT_ASM_ __asm__ __inline__ __volatile__
#else
#define UT_ASM_ __asm__ __volatile__
#endif

#if defined(__x86_64__)
/* The probe's place is one byte, which all kernels can break at; the second nop lets new kernels do it faster. */
#define UT_NOPS_ "nop\n.byte 0x66,0x2e,0x0f,0x1f,0x84,0,0,0,0,0\n"
#define UT_SITE_CODE_ ".byte 0x0f,0x1f,0x44,0,0\nret\n"
#define UT_SITE_ARGS_ "4@%%edi 8@%%rsi -8@%%rdx 8@%%rcx 8@%%r8"
#define UT_LOAD_HALF_(symbol) "movzwl " symbol "(%%rip),%0\n"
#define UT_EH_FRAME_ ".pushsection .eh_frame,\"a\",@unwind\n"
#define UT_EH_RULES_ "1,0x78,16,1,0x1b, 0x0c,7,8,0x90,1,0,0"
#else
#define UT_NOPS_ "nop\n"
#define UT_SITE_CODE_ "nop\nret\n"
#define UT_SITE_ARGS_ "4@x0 8@x1 -8@x2 8@x3 8@x4"
#define UT_LOAD_HALF_(symbol) "adrp %x0," symbol "\nldrh %w0,[%x0,:lo12:" symbol "]\n"
#define UT_EH_FRAME_ ".pushsection .eh_frame,\"a\",%%progbits\n"
#define UT_EH_RULES_ "4,0x78,30,1,0x1b, 0x0c,31,0,0,0,0,0"
#endif

/* A note of the form that <sys/sdt.h> made known. @where and @semaphore are assembler's, the others texts. */
#define UT_NOTE_(where, semaphore, provider, name, args) \
	".pushsection .note.stapsdt,\"?\",\"note\"\n" \
	".balign 4\n" \
	".4byte 982f-981f,984f-983f,3\n" \
	"981: .asciz \"stapsdt\"\n" \
	"982: .balign 4\n" \
	"983: .8byte " where ",_.stapsdt.base," semaphore "\n" \
	".asciz \"" provider "\"\n" \
	".asciz \"" name "\"\n" \
	args \
	".byte 0\n" \
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

/* A semaphore: a counter that is not 0 while somebody listens. One in each program or library, made where it is read. */
#define UT_SEMAPHORE_(symbol) \
	".ifndef " symbol "\n" \
	".pushsection .probes,\"awG\",\"progbits\"," symbol ",comdat\n" \
	".weak " symbol "\n" \
	".hidden " symbol "\n" \
	".type " symbol ",%%object\n" \
	".size " symbol ",2\n" \
	".balign 2\n" \
	symbol ": .2byte 0\n" \
	".popsection\n" \
	".endif\n"

#define UT_READ_SEMAPHORE_(symbol) __extension__ ({ \
	uint32_t ut_listeners_; \
	UT_ASM_(UT_SEMAPHORE_(symbol) UT_LOAD_HALF_(symbol) : "=r"(ut_listeners_)); \
	__builtin_expect(ut_listeners_ != 0, 0) != 0; })

/*
 * The place where user events pass: a function of two instructions, one in each program or library. It changes no
 * register. Its unwind table is written by hand, since .cfi directives cannot be nested in a function.
 */
#define UT_SITE_ \
	".ifndef usertrace_event\n" \
	".pushsection .text.usertrace_event,\"axG\",\"progbits\",usertrace_event,comdat\n" \
	".weak usertrace_event\n" \
	".hidden usertrace_event\n" \
	".type usertrace_event,%%function\n" \
	".balign 16\n" \
	"usertrace_event:\n" \
	"985: " UT_SITE_CODE_ \
	"986: .size usertrace_event,.-usertrace_event\n" \
	UT_NOTE_("985b", "usertrace_event_semaphore", "usertrace", "event", ".ascii \"" UT_SITE_ARGS_ "\"\n") \
	UT_EH_FRAME_ \
	".4byte 20,0\n.byte 1\n.asciz \"zR\"\n.byte " UT_EH_RULES_ "\n" \
	".4byte 20,28,985b-.,986b-985b\n.byte 0,0,0,0,0,0,0,0\n" \
	".popsection\n" \
	".popsection\n" \
	".endif\n"

#if defined(__clang__) && defined(__x86_64__)
#define UT_SAVES_ALL_ , no_caller_saved_registers
#else
#define UT_SAVES_ALL_
#endif

UT_EXTERN_C_ __attribute__((visibility("hidden"), cold UT_SAVES_ALL_))
void usertrace_event(uint32_t what, const char *name, int64_t value, uint64_t id, const char *text);

UT_INLINE_ int ut_enabled(void)
{
	return UT_READ_SEMAPHORE_("usertrace_event_semaphore");
}

UT_INLINE_ void ut_emit(uint32_t what, const char *name, int64_t value, uint64_t id, const char *text)
{
	if (ut_enabled()) {
		UT_ASM_(UT_SITE_ ::);
		usertrace_event(what, name, value, id, text);
	}
}

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
 * An argument's code: its size in bytes, negative when it is signed; 104 and 108 are the floats. UT_OPERAND_ is what
 * the note describes: bits of a float, so that they are never in a register that tracers cannot read.
 */
#ifdef __cplusplus
extern "C++" {
namespace usertrace_ {

template<typename T> struct argument_int {
	static_assert(!__is_class(T) && !__is_union(T) && sizeof(T) <= 8,
		      "an argument of UT_PROBE must be an integer, enum, bool, pointer, float or double");
	static const int code = static_cast<T>(-1) > static_cast<T>(0) ? static_cast<int>(sizeof(T)) : -static_cast<int>(sizeof(T));
	typedef T type;
};
template<typename T, bool is_enum> struct argument_kind : argument_int<T> {};
template<typename T> struct argument_kind<T, true> : argument_int<__underlying_type(T)> {};

struct argument_pointer {
	static const int code = static_cast<int>(sizeof(void *));
	typedef const volatile void *type;
};
template<typename T> struct argument : argument_kind<T, __is_enum(T)> {};
template<typename T> struct argument<T *> { static const int code = 8; typedef T *type; };
template<> struct argument<decltype(nullptr)> { static const int code = 8; typedef const void *type; };
template<> struct argument<double> { static const int code = 108; };
template<> struct argument<float> { static const int code = 104; };

template<typename T> __attribute__((always_inline)) inline typename argument<T>::type operand(T v)
{
	return static_cast<typename argument<T>::type>(v);
}
__attribute__((always_inline)) inline uint64_t operand(double v) { return ut_bits_of_double_(v); }
__attribute__((always_inline)) inline uint32_t operand(float v) { return ut_bits_of_float_(v); }

}
}
#define UT_AUTO_ auto
#define UT_CODE_(v) (::usertrace_::argument<decltype(v)>::code)
#define UT_OPERAND_(v) ::usertrace_::operand(v)
#define UT_CHECK_(v)
#else
#define UT_AUTO_ __extension__ __auto_type
#define UT_CLASS_(v) __builtin_classify_type(v)
#define UT_IS_(v, type) __builtin_types_compatible_p(__typeof__(v), type)
#define UT_INT_TYPE_(v) __typeof__(__builtin_choose_expr(UT_CLASS_(v) >= 1 && UT_CLASS_(v) <= 4, (v), 0u))
#define UT_CODE_(v) \
	(UT_IS_(v, double) ? 108 : UT_IS_(v, float) ? 104 : \
	 (UT_INT_TYPE_(v))-1 > (UT_INT_TYPE_(v))0 ? (int)sizeof(v) : -(int)sizeof(v))
#define UT_OPERAND_(v) \
	__builtin_choose_expr(UT_IS_(v, double), ut_bits_of_double_(__builtin_choose_expr(UT_IS_(v, double), (v), 0.0)), \
	__builtin_choose_expr(UT_IS_(v, float), ut_bits_of_float_(__builtin_choose_expr(UT_IS_(v, float), (v), 0.0f)), (v)))
#define UT_CHECK_(v) \
	__extension__ _Static_assert(sizeof(v) <= 8 && UT_CLASS_(v) >= 1 && UT_CLASS_(v) <= 8, \
		"an argument of UT_PROBE must be an integer, enum, bool, pointer, float or double");
#endif

/* Registers for the first six, which every tracer can read; the others may lie in memory, since registers are few. */
#define UT_REG_ "nr"
#define UT_ANY_ "nor"

#define UT_VAR_(i, x) UT_AUTO_ ut_arg##i##_ = (x); UT_CHECK_(ut_arg##i##_)
#define UT_IN_(i, constraint) [c##i] "n"(UT_CODE_(ut_arg##i##_)), [v##i] constraint(UT_OPERAND_(ut_arg##i##_))
#define UT_FMT_(i) \
	".if %c[c" #i "]==108\n.ascii \"8f@\"\n.elseif %c[c" #i "]==104\n.ascii \"4f@\"\n" \
	".else\n.ascii \"%c[c" #i "]@\"\n.endif\n.ascii \"%[v" #i "]\"\n"
#define UT_GAP_ ".ascii \" \"\n"

/* The name comes first in each list, so that no list is empty. */
#define UT_VARS0_(n)
#define UT_VARS1_(n, a) UT_VARS0_(n) UT_VAR_(1, a)
#define UT_VARS2_(n, a, b) UT_VARS1_(n, a) UT_VAR_(2, b)
#define UT_VARS3_(n, a, b, c) UT_VARS2_(n, a, b) UT_VAR_(3, c)
#define UT_VARS4_(n, a, b, c, d) UT_VARS3_(n, a, b, c) UT_VAR_(4, d)
#define UT_VARS5_(n, a, b, c, d, e) UT_VARS4_(n, a, b, c, d) UT_VAR_(5, e)
#define UT_VARS6_(n, a, b, c, d, e, f) UT_VARS5_(n, a, b, c, d, e) UT_VAR_(6, f)
#define UT_VARS7_(n, a, b, c, d, e, f, g) UT_VARS6_(n, a, b, c, d, e, f) UT_VAR_(7, g)
#define UT_VARS8_(n, a, b, c, d, e, f, g, h) UT_VARS7_(n, a, b, c, d, e, f, g) UT_VAR_(8, h)
#define UT_VARS9_(n, a, b, c, d, e, f, g, h, i) UT_VARS8_(n, a, b, c, d, e, f, g, h) UT_VAR_(9, i)
#define UT_VARS10_(n, a, b, c, d, e, f, g, h, i, j) UT_VARS9_(n, a, b, c, d, e, f, g, h, i) UT_VAR_(10, j)
#define UT_VARS11_(n, a, b, c, d, e, f, g, h, i, j, k) UT_VARS10_(n, a, b, c, d, e, f, g, h, i, j) UT_VAR_(11, k)
#define UT_VARS12_(n, a, b, c, d, e, f, g, h, i, j, k, l) UT_VARS11_(n, a, b, c, d, e, f, g, h, i, j, k) UT_VAR_(12, l)

#define UT_INS0_
#define UT_INS1_ UT_IN_(1, UT_REG_)
#define UT_INS2_ UT_INS1_, UT_IN_(2, UT_REG_)
#define UT_INS3_ UT_INS2_, UT_IN_(3, UT_REG_)
#define UT_INS4_ UT_INS3_, UT_IN_(4, UT_REG_)
#define UT_INS5_ UT_INS4_, UT_IN_(5, UT_REG_)
#define UT_INS6_ UT_INS5_, UT_IN_(6, UT_REG_)
#define UT_INS7_ UT_INS6_, UT_IN_(7, UT_ANY_)
#define UT_INS8_ UT_INS7_, UT_IN_(8, UT_ANY_)
#define UT_INS9_ UT_INS8_, UT_IN_(9, UT_ANY_)
#define UT_INS10_ UT_INS9_, UT_IN_(10, UT_ANY_)
#define UT_INS11_ UT_INS10_, UT_IN_(11, UT_ANY_)
#define UT_INS12_ UT_INS11_, UT_IN_(12, UT_ANY_)

#define UT_FMTS0_
#define UT_FMTS1_ UT_FMT_(1)
#define UT_FMTS2_ UT_FMTS1_ UT_GAP_ UT_FMT_(2)
#define UT_FMTS3_ UT_FMTS2_ UT_GAP_ UT_FMT_(3)
#define UT_FMTS4_ UT_FMTS3_ UT_GAP_ UT_FMT_(4)
#define UT_FMTS5_ UT_FMTS4_ UT_GAP_ UT_FMT_(5)
#define UT_FMTS6_ UT_FMTS5_ UT_GAP_ UT_FMT_(6)
#define UT_FMTS7_ UT_FMTS6_ UT_GAP_ UT_FMT_(7)
#define UT_FMTS8_ UT_FMTS7_ UT_GAP_ UT_FMT_(8)
#define UT_FMTS9_ UT_FMTS8_ UT_GAP_ UT_FMT_(9)
#define UT_FMTS10_ UT_FMTS9_ UT_GAP_ UT_FMT_(10)
#define UT_FMTS11_ UT_FMTS10_ UT_GAP_ UT_FMT_(11)
#define UT_FMTS12_ UT_FMTS11_ UT_GAP_ UT_FMT_(12)

/*
 * The reference to the semaphore is weak: 0, so none, in a program where nobody asks UT_PROBE_ENABLED. Then the probe
 * can be used by tools that need a process's number for a probe with a semaphore.
 */
#define UT_PROBE_N_(n, provider, ...) \
	UT_PROBE_TEXT_(n, UT_STRING_(provider), UT_STRING_(UT_FIRST_(__VA_ARGS__, ~)), __VA_ARGS__)
#define UT_PROBE_TEXT_(n, provider, name, ...) do { \
	UT_VARS##n##_(__VA_ARGS__) \
	UT_ASM_("980: " UT_NOPS_ \
		".weak " provider "_" name "_semaphore\n" \
		".hidden " provider "_" name "_semaphore\n" \
		UT_NOTE_("980b", provider "_" name "_semaphore", provider, name, UT_FMTS##n##_) \
		:: UT_INS##n##_); \
} while (0)

#define UT_ENABLED_(provider, name) UT_READ_SEMAPHORE_(UT_STRING_(provider) "_" UT_STRING_(name) "_semaphore")

#else /* Nothing can be announced here. Arguments are evaluated all the same. */

#define UT_INLINE_ static inline

UT_INLINE_ int ut_enabled(void) { return 0; }

UT_INLINE_ void ut_emit(uint32_t what, const char *name, int64_t value, uint64_t id, const char *text)
{
	(void)what, (void)name, (void)value, (void)id, (void)text;
}

#define UT_VARS0_(n)
#define UT_VARS1_(n, a) UT_VARS0_(n) (void)(a);
#define UT_VARS2_(n, a, b) UT_VARS1_(n, a) (void)(b);
#define UT_VARS3_(n, a, b, c) UT_VARS2_(n, a, b) (void)(c);
#define UT_VARS4_(n, a, b, c, d) UT_VARS3_(n, a, b, c) (void)(d);
#define UT_VARS5_(n, a, b, c, d, e) UT_VARS4_(n, a, b, c, d) (void)(e);
#define UT_VARS6_(n, a, b, c, d, e, f) UT_VARS5_(n, a, b, c, d, e) (void)(f);
#define UT_VARS7_(n, a, b, c, d, e, f, g) UT_VARS6_(n, a, b, c, d, e, f) (void)(g);
#define UT_VARS8_(n, a, b, c, d, e, f, g, h) UT_VARS7_(n, a, b, c, d, e, f, g) (void)(h);
#define UT_VARS9_(n, a, b, c, d, e, f, g, h, i) UT_VARS8_(n, a, b, c, d, e, f, g, h) (void)(i);
#define UT_VARS10_(n, a, b, c, d, e, f, g, h, i, j) UT_VARS9_(n, a, b, c, d, e, f, g, h, i) (void)(j);
#define UT_VARS11_(n, a, b, c, d, e, f, g, h, i, j, k) UT_VARS10_(n, a, b, c, d, e, f, g, h, i, j) (void)(k);
#define UT_VARS12_(n, a, b, c, d, e, f, g, h, i, j, k, l) UT_VARS11_(n, a, b, c, d, e, f, g, h, i, j, k) (void)(l);
#define UT_PROBE_N_(n, provider, ...) do { UT_VARS##n##_(__VA_ARGS__) } while (0)
#define UT_ENABLED_(provider, name) 0

#endif

#define UT_FIRST_(first, ...) first
#define UT_STRING_(x) UT_STRING_AS_IT_IS_(x)
#define UT_STRING_AS_IT_IS_(x) #x
/* How many follow the first of up to 16; what is too many becomes the name of a macro that does not exist. */
#define UT_COUNT_(...) UT_SIXTEENTH_(__VA_ARGS__, TOO_MANY, TOO_MANY, TOO_MANY, \
	12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, ~)
#define UT_SIXTEENTH_(n, a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, ret, ...) ret
#define UT_PROBE_EXPANDED_(n, ...) UT_PROBE_N_(n, __VA_ARGS__)

/* ---- The calls. ---- */

/* UT_PROBE(provider, name, up to 12 arguments) */
#define UT_PROBE(provider, ...) UT_PROBE_EXPANDED_(UT_COUNT_(__VA_ARGS__), provider, __VA_ARGS__)
/* Not 0 while somebody listens to the probe. */
#define UT_PROBE_ENABLED(provider, name) UT_ENABLED_(provider, name)

UT_INLINE_ void ut_begin(const char *name) { ut_emit(UT_BEGIN, name, 0, 0, 0); }
UT_INLINE_ void ut_end(const char *name) { ut_emit(UT_END, name, 0, 0, 0); }
UT_INLINE_ void ut_mark(const char *name) { ut_emit(UT_MARK, name, 0, 0, 0); }
UT_INLINE_ void ut_count(const char *name, int64_t value) { ut_emit(UT_COUNT, name, value, 0, 0); }

UT_INLINE_ void ut_begin_id(const char *name, uint64_t id) { ut_emit(UT_BEGIN | UT_ID, name, 0, id, 0); }
UT_INLINE_ void ut_end_id(const char *name, uint64_t id) { ut_emit(UT_END | UT_ID, name, 0, id, 0); }
UT_INLINE_ void ut_mark_id(const char *name, uint64_t id) { ut_emit(UT_MARK | UT_ID, name, 0, id, 0); }
UT_INLINE_ void ut_count_id(const char *name, int64_t value, uint64_t id)
{
	ut_emit(UT_COUNT | UT_ID, name, value, id, 0);
}

UT_INLINE_ void ut_begin_text(const char *name, const char *text) { ut_emit(UT_BEGIN | UT_TEXT, name, 0, 0, text); }
UT_INLINE_ void ut_end_text(const char *name, const char *text) { ut_emit(UT_END | UT_TEXT, name, 0, 0, text); }
UT_INLINE_ void ut_mark_text(const char *name, const char *text) { ut_emit(UT_MARK | UT_TEXT, name, 0, 0, text); }
UT_INLINE_ void ut_count_text(const char *name, int64_t value, const char *text)
{
	ut_emit(UT_COUNT | UT_TEXT, name, value, 0, text);
}

#endif
