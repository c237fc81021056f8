/* SPDX-License-Identifier: MIT */
/* All symbols of an ELF file in order of address, and which function an address is in. */
#include <string.h>

#include "base/search.h"

#include "elf/image_priv.h"

static int compare_symbols(const void *a, const void *b)
{
	const struct elf_symbol *x = a, *y = b;

	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Neighbours of the same name and address become one. */
static void merge_duplicates(struct elf_image *img)
{
	struct elf_symbol *v = img->symbols.v;
	size_t n = 0;

	for (size_t i = 0; i < img->symbols.n; i++) {
		struct elf_symbol *last = n ? &v[n - 1] : NULL;

		if (!last || last->vaddr != v[i].vaddr || last->is_tls != v[i].is_tls ||
		    strcmp(last->name, v[i].name) != 0) {
			v[n++] = v[i];
			continue;
		}
		if (last->size < v[i].size)
			last->size = v[i].size;
		last->is_func |= v[i].is_func;
		last->is_ifunc |= v[i].is_ifunc;
		last->is_object |= v[i].is_object;
		last->is_local &= v[i].is_local;
		last->is_weak &= v[i].is_weak;
	}
	img->symbols.n = n;
}

/* Whether @a describes its address better than @b. */
static bool is_better_name(const struct elf_symbol *a, const struct elf_symbol *b)
{
	if (!a->size != !b->size)
		return a->size != 0;
	if (a->is_local != b->is_local)
		return !a->is_local;
	return b->is_weak && !a->is_weak;
}

static void index_functions(struct elf_image *img)
{
	uint64_t reach = 0;

	for (size_t i = 0; i < img->symbols.n; i++) {
		const struct elf_symbol *s = &img->symbols.v[i];
		struct function *last = img->functions.n ? &img->functions.v[img->functions.n - 1] : NULL;
		uint64_t end = s->vaddr + s->size < s->vaddr ? UINT64_MAX : s->vaddr + s->size;
		bool again = last && last->vaddr == s->vaddr;

		if (!s->is_func)
			continue;
		if (reach < end)
			reach = end;
		if (again) {
			last->reach = reach;
			if (is_better_name(s, &img->symbols.v[last->symbol]))
				last->symbol = (uint32_t)i;
		} else if (vec_push(&img->functions, ((struct function){ s->vaddr, reach, (uint32_t)i }))) {
			return;
		}
	}
}

/* Length of the name without "@VERSION". */
static size_t bare_length(const char *name)
{
	size_t len = strlen(name);
	const char *at = len ? memchr(name + 1, '@', len - 1) : NULL;

	return at ? (size_t)(at - name) : len;
}

static void load_table(struct elf_image *img, const struct symtab *t, const char *strings)
{
	struct symbol_walk w = symbol_walk_over(t);
	Elf64_Sym raw;

	while (symbol_next(&w, &raw)) {
		struct elf_symbol s;
		size_t len;

		if (!symbol_from_raw(&raw, &s) || raw.st_name >= t->strings_size || !strings[raw.st_name])
			continue;
		s.name = strings + raw.st_name;
		len = bare_length(s.name);
		if (s.name[len])
			s.name = image_keep_name(img, s.name, len);
		if (!s.name || vec_push(&img->symbols, s))
			break;
	}
	symbol_walk_done(&w);
}

static void load_symbols(struct elf_image *img)
{
	if (img->symbols_loaded)
		return;
	img->symbols_loaded = true;
	image_load_symtabs(img);
	for (unsigned k = 0; k < img->nsymtabs; k++) {
		const struct symtab *t = &img->symtabs[k];

		img->strings[k] = image_copy(t->in, t->strings, t->strings_size);
		if (img->strings[k] && !vec_reserve(&img->symbols, img->symbols.n + t->n))
			load_table(img, t, img->strings[k]);
	}
	if (!img->symbols.n)
		return;
	qsort(img->symbols.v, img->symbols.n, sizeof(*img->symbols.v), compare_symbols);
	merge_duplicates(img);
	index_functions(img);
}

size_t elf_image_symbols(struct elf_image *img, const struct elf_symbol **ret)
{
	load_symbols(img);
	*ret = img->symbols.v;
	return img->symbols.n;
}

/* Index of the last function that begins at or before @vaddr, plus one; 0 when there is none. */
static size_t functions_before(const struct elf_image *img, uint64_t vaddr)
{
	return search_first_not(i, 0, img->functions.n, img->functions.v[i].vaddr <= vaddr);
}

const struct elf_symbol *elf_function_at(struct elf_image *img, uint64_t vaddr)
{
	size_t i;

	load_symbols(img);
	i = functions_before(img, vaddr);
	if (i && !img->symbols.v[img->functions.v[i - 1].symbol].size)
		return elf_vaddr_is_text(img, vaddr) ? &img->symbols.v[img->functions.v[i - 1].symbol] : NULL;
	for (; i && img->functions.v[i - 1].reach > vaddr; i--) {
		const struct elf_symbol *s = &img->symbols.v[img->functions.v[i - 1].symbol];

		if (vaddr - s->vaddr < s->size)
			return s;
	}
	return NULL;
}
