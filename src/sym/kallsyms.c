/* SPDX-License-Identifier: MIT */
/* /proc/kallsyms to a compact table: read in pieces, functions only, one allocation for all names. */
#include "sym/kallsyms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/search.h"
#include "base/vec.h"

#define CHUNK 65536
#define STRINGS_MAX (64u << 20)
#define FUNCTION_REACH (1u << 20) /* no function is longer; what is further away is none of it */

struct loader {
	VEC(struct kernel_function) functions;
	struct buf strings;
	char module[64]; /* the last one: symbols of a module come together */
	uint32_t module_at;
	bool sorted;
};

static uint64_t parse_hex(const char **p)
{
	uint64_t v = 0;

	for (int digit; (digit = hex_value(**p)) >= 0; (*p)++)
		v = v << 4 | (uint64_t)digit;
	return v;
}

static bool is_function_type(char c) { return c == 't' || c == 'T' || c == 'w' || c == 'W'; }

/* The padding before a function has a symbol of its own: half of the list, and no address of a stack lies in it. */
static bool is_padding(const char *name) { return strncmp(name, "__pfx_", 6) == 0 || strncmp(name, "__cfi_", 6) == 0; }

static uint32_t add_string(struct loader *l, const char *s, size_t len)
{
	size_t at = l->strings.len;

	buf_add(&l->strings, s, len);
	buf_addc(&l->strings, '\0');
	return (uint32_t)at;
}

static uint32_t module_string(struct loader *l, const char *module)
{
	if (!*module)
		return 0;
	if (strncmp(module, l->module, sizeof(l->module)) != 0) {
		size_t len = strnlen(module, sizeof(l->module) - 1);

		memcpy(l->module, module, len);
		l->module[len] = '\0';
		l->module_at = add_string(l, module, len);
	}
	return l->module_at;
}

/* "ffffffff81000000 T name" or "… name\t[module]". */
static int load_line(struct loader *l, char *line)
{
	const char *p = line;
	struct kernel_function f = { .addr = parse_hex(&p) };
	char *name, *tab;

	if (f.addr == 0 || p[0] != ' ' || !is_function_type(p[1]) || p[2] != ' ' || !p[3])
		return 0;
	name = line + (p + 3 - line);
	if (is_padding(name))
		return 0;
	tab = strchr(name, '\t');
	if (tab)
		*tab++ = '\0';
	f.name = add_string(l, name, strlen(name));
	f.module = module_string(l, tab ? tab : "");
	if (l->strings.failed || l->strings.len > STRINGS_MAX)
		return -ENOMEM;
	l->sorted &= !l->functions.n || l->functions.v[l->functions.n - 1].addr <= f.addr;
	return vec_push(&l->functions, f);
}

/* All whole lines of @chunk; the rest is moved to its front, and its length returned in *@len. */
static int load_lines(struct loader *l, char *chunk, size_t *len)
{
	char *p = chunk, *end = chunk + *len, *eol;

	while ((eol = memchr(p, '\n', (size_t)(end - p)))) {
		int r;

		*eol = '\0';
		r = load_line(l, p);
		if (r)
			return r;
		p = eol + 1;
	}
	*len = (size_t)(end - p);
	memmove(chunk, p, *len);
	return 0;
}

static int load_all(struct loader *l, int fd)
{
	AUTO_FREE char *chunk = malloc(CHUNK);
	size_t len = 0;

	if (!chunk)
		return -ENOMEM;
	for (;;) {
		ssize_t n = read(fd, chunk + len, CHUNK - len);
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		len += (size_t)n;
		r = load_lines(l, chunk, &len);
		if (r)
			return r;
		if (len == CHUNK)
			len = 0; /* a line of this length is none of the kernel's */
	}
}

static int compare_functions(const void *a, const void *b)
{
	const struct kernel_function *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static void loader_done(struct loader *l)
{
	vec_done(&l->functions);
	buf_done(&l->strings);
}

/* Growing left up to twice of what is needed. */
static void *shrink(void *p, size_t size)
{
	void *fitted = realloc(p, size);

	return fitted ? fitted : p;
}

int kallsyms_read(int fd, struct kallsyms *ret)
{
	AUTO(loader_done) struct loader l = { .sorted = true };
	size_t strings_len;
	int r;

	buf_addc(&l.strings, '\0');
	r = load_all(&l, fd);
	if (r)
		return r;
	if (!l.sorted)
		qsort(l.functions.v, l.functions.n, sizeof(*l.functions.v), compare_functions);
	*ret = (struct kallsyms){ .n = l.functions.n };
	if (!ret->n)
		return 0;
	strings_len = l.strings.len;
	ret->strings = shrink(buf_take(&l.strings), strings_len);
	ret->functions = shrink(l.functions.v, l.functions.n * sizeof(*l.functions.v));
	l.functions.v = NULL;
	return 0;
}

void kallsyms_done(struct kallsyms *k)
{
	free(k->functions);
	free(k->strings);
	*k = (struct kallsyms){ 0 };
}

const struct kernel_function *kallsyms_find(const struct kallsyms *k, uint64_t addr)
{
	size_t low = search_first_not(i, 0, k->n, k->functions[i].addr <= addr); /* below low: at or before addr */

	if (!low || addr - k->functions[low - 1].addr >= FUNCTION_REACH)
		return NULL;
	while (low > 1 && k->functions[low - 2].addr == k->functions[low - 1].addr)
		low--; /* aliases: the first one, whatever the distance */
	return &k->functions[low - 1];
}
