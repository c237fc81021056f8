#!/usr/sbin/dtrace -s
/*
 * Every form of declaration that is read; probe nothing(int) in a comment is not.
 */
#pragma D option quiet
#pragma D depends_on library procfs.d
#include <sys/types.h>	/* a comment in a directive may
			   go on: provider nothing { */

typedef unsigned int counter_t;
typedef counter_t again_t;
typedef const char *text_t;
typedef int (*callback_t)(void *, int);
typedef struct { int dummy; } shape_t;
typedef enum { RED, GREEN } color_t;
typedef __typeof__(0) odd_t;
struct point { int x, y; struct { char *label; } in; };
union number { long l; double d; };
enum size { SMALL, LARGE };
extern int printf(const char *, ...) __attribute__((format(printf, 1, 2)));
static inline int twice(int x) { return x + x; }
inline int LIMIT = 3;

translator shape_t < struct point *P > {
	dummy = P->x;
};

provider shapes {
	probe none();
	probe none_void(void);
	probe bare;
	probe signs(signed char, unsigned char, short, unsigned short, int, unsigned, long, unsigned long);
	probe orders(int long unsigned, long long, long int, char const *, unsigned short int);
	probe stdint(int8_t, uint8_t a, int16_t b, uint16_t c, int32_t d, uint32_t e, int64_t f, uint64_t g);
	probe sizes(size_t n, ssize_t m, uintptr_t p, pid_t pid);
	probe floats(float f, double d);
	probe texts(string s, char *t, const char *const u, text_t v);
	probe pointers(struct point *p, void **q, int r[4], char *argv[], const struct point *restrict s);
	probe functions(int (*compare)(const void *, const void *), void (*)(void), callback_t again, int (*t[2])(int));
	probe aliases(counter_t n, again_t m, shape_t *s);
	probe translated(struct point *p, int n) : (shape_t *s, int n);
	probe translated__each(struct point *p : shape_t *s, int n : long n);
	probe twelve(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k,
		int l);
	probe	over
		(
			int		first,	// one
			/* two */ char	*second
		)
	;
	probe a___b(); probe 2nd(int x) probe last(char c)
}

provider other__shapes { probe one(int); }
provider shapes { probe added__later(bool yes, color_t tint, enum size size); };

/* Scripts may stand beside: */
BEGIN { printf("provider { %d", 1); }
syscall::read:entry, shapes*:::none /execname == "x"/ { @[probefunc] = count(); }
