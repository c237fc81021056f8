/* SPDX-License-Identifier: MIT */
/* Code that is known by its instructions where no FDE covers it: the stubs that linkers make (lld writes no entries
 * for them), returns from signal handlers (musl's, Go's), and where programs and threads begin. */
#include "base/auto.h"
#include "elf/unwind_priv.h"

enum { SLOT = 16, RSP = 7 };

static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

static struct ut_unwind_rule rsp_plus(int32_t off)
{
	return (struct ut_unwind_rule){ .cfa = UT_CFA_REG, .cfa_reg = RSP, .cfa_off = off, .ra_off = -8 };
}

static struct ut_unwind_rule stub_from_byte(int16_t byte)
{
	return (struct ut_unwind_rule){
		.cfa = UT_CFA_PLT, .cfa_reg = RSP, .cfa_off = 8, .cfa_add = byte, .ra_off = -8
	};
}

struct adder {
	struct unwind_build *b;
	struct unwind_layer *layer;
	int error;
	unsigned returns; /* from signals, so far */
};

#define RETURNS_MAX 64 /* there is one in a libc */

static void add(struct adder *a, uint64_t start, uint64_t end, struct ut_unwind_rule rule)
{
	if (!a->error && unwind_is_code(a->b, start, end))
		a->error = unwind_add_span(a->b, a->layer, start, end, &rule);
}

/* Where a lazy stub has pushed its number: the byte behind that instruction. 0: it is none. */
static int16_t lazy_stub(const uint8_t *p)
{
	if (p[0] == 0xff && p[1] == 0x25 && p[6] == 0x68 && p[11] == 0xe9)
		return 11; /* jmp *got; push; jmp */
	if (memcmp(p, endbr64, 4) == 0 && p[4] == 0x68 && (p[9] == 0xe9 || (p[9] == 0xf2 && p[10] == 0xe9)))
		return 9; /* endbr64; push; jmp */
	if (p[0] == 0x68 && p[5] == 0xf2 && p[6] == 0xe9)
		return 5; /* push; bnd jmp */
	return 0;
}

static bool is_first_stub(const uint8_t *p)
{
	return p[0] == 0xff && p[1] == 0x35 &&
	       ((p[6] == 0xff && p[7] == 0x25) || (p[6] == 0xf2 && p[7] == 0xff && p[8] == 0x25));
}

/* A stub that only jumps. */
static bool is_jump(const uint8_t *p, size_t len)
{
	if (len >= SLOT && memcmp(p, endbr64, 4) == 0) {
		p += 4;
		len -= 4;
	}
	if (len >= 7 && p[0] == 0xf2)
		p++;
	return len >= 6 && p[0] == 0xff && p[1] == 0x25;
}

static size_t add_stub(struct adder *a, uint64_t vaddr, const uint8_t *p, size_t len)
{
	int16_t byte = len >= SLOT && vaddr % SLOT == 0 ? lazy_stub(p) : 0;

	if (byte) {
		add(a, vaddr, vaddr + SLOT, stub_from_byte(byte));
		return SLOT;
	}
	if (len >= SLOT && is_first_stub(p)) {
		add(a, vaddr, vaddr + 6, rsp_plus(16));
		add(a, vaddr + 6, vaddr + SLOT, rsp_plus(24));
		return SLOT;
	}
	if (is_jump(p, len))
		add(a, vaddr, vaddr + 8, rsp_plus(8));
	return 8;
}

static void add_plt(struct adder *a, const struct section *s)
{
	AUTO_FREE uint8_t *bytes = s->size <= TABLE_BYTES_MAX ? image_copy(a->b->img, s->offset, s->size) : NULL;

	for (size_t i = 0; bytes && i + 8 <= s->size && !a->error;)
		i += add_stub(a, s->vaddr + i, bytes + i, s->size - i);
}

static void add_stubs(struct adder *a, const struct unwind_rows *known)
{
	static const char *const jumps[] = { ".plt.sec", ".plt.got" };
	struct section *s = image_section(a->b->img, ".plt");

	if (s && s->type == SHT_PROGBITS && unwind_is_code(a->b, s->vaddr, s->vaddr + s->size) &&
	    !unwind_rows_at(known, (uint32_t)(s->vaddr - a->b->base)))
		add_plt(a, s);
	for (size_t i = 0; i < ARRAY_SIZE(jumps); i++) { /* no stub of theirs ever pushes */
		s = image_section(a->b->img, jumps[i]);
		if (s && s->type == SHT_PROGBITS)
			add(a, s->vaddr, s->vaddr + s->size, rsp_plus(8));
	}
}

/* «mov $15,%rax; syscall» or «mov $15,%eax; syscall»: rt_sigreturn. What both end with: */
static const uint8_t sigreturn[] = { 0x0f, 0, 0, 0, 0x0f, 0x05 };

/* How much of the instructions lies before @p. */
static size_t sigreturn_head(const uint8_t *bytes, const uint8_t *p)
{
	if (p - bytes >= 3 && p[-3] == 0x48 && p[-2] == 0xc7 && p[-1] == 0xc0)
		return 3;
	return p - bytes >= 1 && p[-1] == 0xb8 ? 1 : 0;
}

/*
 * A handler returns to the first byte, and unwinders look up a return address minus one byte. There is
 * a nop in musl, and padding in Go; where the end of another function is there instead, it stays that function's.
 */
static bool is_padding(uint8_t byte) { return byte == 0x90 || byte == 0xcc || byte == 0; }

static void find_returns(struct adder *a, uint64_t vaddr, const uint8_t *bytes, size_t len)
{
	const uint8_t *p = bytes, *end = bytes + len;

	while ((p = memmem(p, (size_t)(end - p), sigreturn, sizeof(sigreturn)))) {
		size_t head = sigreturn_head(bytes, p);
		const uint8_t *first = p - head;

		if (head && first > bytes && is_padding(first[-1]))
			first--;
		p += sizeof(sigreturn);
		if (head && a->returns++ < RETURNS_MAX)
			add(a, vaddr + (uint64_t)(first - bytes), vaddr + (uint64_t)(p - bytes),
			    (struct ut_unwind_rule){ .cfa = UT_CFA_SIGNAL });
	}
}

enum { CHUNK = 65536, OVERLAP = 16 };

struct chunk { /* file bytes from vaddr on */
	uint64_t vaddr;
	size_t len;
	uint8_t bytes[CHUNK];
};

/* The chunk from @start on, when not enough of [start, end) is there. */
static bool read_chunk(struct adder *a, struct chunk *c, uint64_t start, uint64_t end, uint64_t readable)
{
	uint64_t have = c->vaddr + c->len;

	if (start >= c->vaddr && start < have && (have >= end || have - start > OVERLAP))
		return true;
	c->vaddr = start;
	c->len = readable - start < CHUNK ? (size_t)(readable - start) : CHUNK;
	if (elf_read_at(a->b->img, start, c->bytes, c->len))
		return true;
	c->len = 0;
	return false;
}

static void search_gap(struct adder *a, struct chunk *c, uint64_t start, uint64_t end, uint64_t readable)
{
	while (end - start > sizeof(sigreturn) && a->returns < RETURNS_MAX && !a->error &&
	       read_chunk(a, c, start, end, readable)) {
		uint64_t have = c->vaddr + c->len, stop = end < have ? end : have;

		find_returns(a, start, c->bytes + (start - c->vaddr), (size_t)(stop - start));
		if (stop == end)
			return;
		start = stop - OVERLAP;
	}
}

/* Less than 16 bytes before a multiple of 16 are what compilers leave before a function. */
static bool is_alignment(uint64_t start, uint64_t end) { return end - start < 16 && end % 16 == 0; }

static void search_range(struct adder *a, struct chunk *c, const struct code_range *range,
			 const struct unwind_rows *known, size_t *i)
{
	uint64_t at = range->start;

	while (at < range->end && !a->error) {
		uint64_t next = range->end;
		bool covered = false;

		while (*i < known->n && known->v[*i].at + a->b->base <= at)
			(*i)++;
		if (*i < known->n && known->v[*i].at + a->b->base < next)
			next = known->v[*i].at + a->b->base;
		covered = *i && known->v[*i - 1].rule;
		if (!covered && !is_alignment(at, next))
			search_gap(a, c, at, next, range->end);
		at = next;
	}
}

static void add_returns(struct adder *a, const struct unwind_rows *known)
{
	AUTO_FREE struct chunk *c = malloc(sizeof(*c));
	size_t i = 0;

	if (!c) {
		a->error = -ENOMEM;
		return;
	}
	c->vaddr = c->len = 0;
	for (size_t k = 0; k < a->b->code.n; k++)
		search_range(a, c, &a->b->code.v[k], known, &i);
}

/* Behind the first call of a program's first instructions; 0 when there is none. */
static size_t end_of_start(const struct unwind_build *b, const uint8_t *code, size_t len)
{
	for (size_t i = 0; i + 6 <= len; i++) {
		int32_t distance;
		uint64_t target;

		if (code[i] == 0xff && code[i + 1] == 0x15)
			return i + 6;
		if (code[i] != 0xe8)
			continue;
		memcpy(&distance, code + i + 1, sizeof(distance));
		target = b->entry + i + 5 + (uint64_t)(int64_t)distance;
		if (unwind_is_code(b, target, target + 1))
			return i + 5;
	}
	return 0;
}

/* _start of musl and of the dynamic linkers has no entry. glibc's linker calls twice and ends with «jmp *%r12». */
static void add_start(struct adder *a)
{
	static const uint8_t loader[] = { 0x48, 0x89, 0xe7, 0xe8 }, leave[] = { 0x41, 0xff, 0xe4 };
	enum { START = 48, LOADER = 128 };
	uint8_t code[LOADER] = { 0 };
	size_t len = sizeof(code), end;
	const uint8_t *p = NULL;

	if (!a->b->entry)
		return;
	while (len && !elf_read_at(a->b->img, a->b->entry, code, len))
		len /= 2;
	if (len > sizeof(loader) && memcmp(code, loader, sizeof(loader)) == 0)
		p = memmem(code, len, leave, sizeof(leave));
	end = p ? (size_t)(p - code) + sizeof(leave) : end_of_start(a->b, code, len < START ? len : START);
	if (end)
		add(a, a->b->entry, a->b->entry + end, (struct ut_unwind_rule){ .cfa = UT_CFA_OUTERMOST });
}

/* Go's threads and goroutines begin in these, whose entries of old releases do not say so. */
static void add_go_starts(struct adder *a)
{
	static const char *const names[] = { "runtime.goexit",	    "runtime.goexit.abi0", "runtime.mstart",
					     "runtime.mstart.abi0", "runtime.rt0_go",	   "runtime.rt0_go.abi0" };
	struct elf_symbol s;

	if (!elf_image_is_go(a->b->img))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (elf_symbol_find(a->b->img, names[i], &s) == 1 && s.is_func)
			add(a, s.vaddr, s.vaddr + s.size, (struct ut_unwind_rule){ .cfa = UT_CFA_OUTERMOST });
}

int unwind_read_stubs(struct unwind_build *b, const struct unwind_rows *known, struct unwind_layer *layer)
{
	struct adder a = { .b = b, .layer = layer };

	add_stubs(&a, known);
	if (!a.error)
		add_returns(&a, known);
	if (!a.error)
		add_start(&a);
	if (!a.error)
		add_go_starts(&a);
	return a.error;
}
