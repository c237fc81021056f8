/* SPDX-License-Identifier: MIT */
/* Symbol tables as they are in the file, and single questions to them: which address has this name, does a function
 * begin here? They are answered by streaming, since a start of the tracer cannot afford megabytes of copies. */
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/search.h"
#include "elf/image_priv.h"

#define CHUNK_BYTES 65536
#define NAME_BYTES_MAX 4096 /* longer names cannot be asked for */

static bool lies_inside(const struct elf_image *img, const struct section *s)
{
	return s->offset <= img->size && s->size <= img->size - s->offset && s->size <= SECTION_BYTES_MAX &&
	       s->type != SHT_NOBITS && !(s->flags & SHF_COMPRESSED);
}

static void find_versions(const struct elf_image *img, struct symtab *t)
{
	for (size_t i = 1; i < img->sections.n; i++) {
		const struct section *s = &img->sections.v[i];

		if (s->type != SHT_GNU_versym || !lies_inside(img, s))
			continue;
		t->versions = s->offset;
		t->nversions = s->size / sizeof(uint16_t);
		return;
	}
}

/* One more table of @img, which is the section @s of @in. */
static void add_symtab(struct elf_image *img, const struct elf_image *in, const struct section *s)
{
	size_t entsize = in->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	struct symtab *t = &img->symtabs[img->nsymtabs];
	const struct section *strings;

	if (s->entsize != entsize || s->link >= in->sections.n || !lies_inside(in, s))
		return;
	strings = &in->sections.v[s->link];
	if (strings->type != SHT_STRTAB || !lies_inside(in, strings))
		return;
	*t = (struct symtab){ .in = in,
			      .offset = s->offset,
			      .n = s->size / entsize,
			      .strings = strings->offset,
			      .strings_size = strings->size };
	if (s->type == SHT_DYNSYM)
		find_versions(in, t);
	img->nsymtabs++;
}

/* Adds the first table of the kind; false when @in has none. */
static bool add_first(struct elf_image *img, struct elf_image *in, uint32_t kind)
{
	image_load_sections(in);
	for (size_t i = 1; i < in->sections.n; i++) {
		if (in->sections.v[i].type == kind) {
			add_symtab(img, in, &in->sections.v[i]);
			return true;
		}
	}
	return false;
}

void image_load_symtabs(struct elf_image *img)
{
	if (img->symtabs_loaded)
		return;
	img->symtabs_loaded = true;
	if (!add_first(img, img, SHT_SYMTAB)) {
		struct elf_image *debug = image_debug_file(img);

		if (!debug || !add_first(img, debug, SHT_SYMTAB)) {
			debug = image_mini_file(img);
			if (debug)
				add_first(img, debug, SHT_SYMTAB);
		}
	}
	add_first(img, img, SHT_DYNSYM);
}

struct symbol_walk symbol_walk_over(const struct symtab *table)
{
	return (struct symbol_walk){ .table = table, .buf = malloc(CHUNK_BYTES) };
}

void symbol_walk_done(struct symbol_walk *w)
{
	free(w->buf);
	w->buf = NULL;
}

static bool refill(struct symbol_walk *w, size_t entsize)
{
	uint64_t left = w->table->n - w->next;
	size_t n = left < CHUNK_BYTES / entsize ? (size_t)left : CHUNK_BYTES / entsize;

	w->at = 0;
	w->filled = n && w->buf && image_read(w->table->in, w->table->offset + w->next * entsize, w->buf, n * entsize)
			    ? n
			    : 0;
	return w->filled != 0;
}

bool symbol_next(struct symbol_walk *w, Elf64_Sym *ret)
{
	size_t entsize = w->table->in->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	Elf32_Sym narrow;

	if (w->at == w->filled && !refill(w, entsize))
		return false;
	w->next++;
	if (w->table->in->is_64) {
		memcpy(ret, w->buf + w->at++ * sizeof(*ret), sizeof(*ret));
		return true;
	}
	memcpy(&narrow, w->buf + w->at++ * sizeof(narrow), sizeof(narrow));
	*ret = (Elf64_Sym){ .st_name = narrow.st_name,
			    .st_info = narrow.st_info,
			    .st_other = narrow.st_other,
			    .st_shndx = narrow.st_shndx,
			    .st_value = narrow.st_value,
			    .st_size = narrow.st_size };
	return true;
}

bool symbol_from_raw(const Elf64_Sym *raw, struct elf_symbol *ret)
{
	unsigned type = ELF64_ST_TYPE(raw->st_info), binding = ELF64_ST_BIND(raw->st_info);

	if (raw->st_shndx == SHN_UNDEF || raw->st_shndx == SHN_ABS || raw->st_shndx == SHN_COMMON)
		return false;
	if (type == STT_SECTION || type == STT_FILE || !raw->st_name)
		return false;
	*ret = (struct elf_symbol){
		.vaddr = raw->st_value,
		.size = raw->st_size,
		.is_func = type == STT_FUNC || type == STT_GNU_IFUNC,
		.is_ifunc = type == STT_GNU_IFUNC,
		.is_object = type == STT_OBJECT,
		.is_tls = type == STT_TLS,
		.is_local = binding == STB_LOCAL,
		.is_weak = binding == STB_WEAK,
	};
	return true;
}

const char *image_keep_name(struct elf_image *img, const char *name, size_t len)
{
	char *copy = strndup(name, len);

	if (!copy || vec_push(&img->names, copy)) {
		free(copy);
		return NULL;
	}
	return copy;
}

/* An offset in a string table at which the wanted name begins, with or without a version after it. */
struct place {
	uint64_t offset;
	bool old; /* "name@VERSION": new programs do not link to it; "name@@VERSION" is the one they do */
	bool versioned;
};

struct find {
	const char *name;
	size_t len;
	VEC(struct place) places; /* in the table at hand, by offset */
	struct elf_symbol best;
	bool found, best_is_old, several;
};

/* Records the offsets of the name in @n bytes at @offset of the string table; the last string may be incomplete. */
static int note_places(struct find *f, const char *bytes, size_t n, uint64_t offset)
{
	const char *at = bytes, *end = bytes + n, *p;

	while ((p = memmem(at, (size_t)(end - at), f->name, f->len))) {
		const char *next = p + f->len;

		at = p + 1;
		if (end - next < 2 || (next[0] && next[0] != '@'))
			continue;
		if (vec_push(&f->places,
			     ((struct place){ offset + (uint64_t)(p - bytes), next[0] && next[1] != '@', next[0] })))
			return -ENOMEM;
	}
	return 0;
}

static int find_places(const struct symtab *t, struct find *f)
{
	size_t overlap = f->len + 1, fill = 0;
	AUTO_FREE char *buf = malloc(CHUNK_BYTES + NAME_BYTES_MAX + 4);
	uint64_t done = 0;

	if (!buf)
		return -ENOMEM;
	f->places.n = 0;
	while (done < t->strings_size) {
		size_t n = t->strings_size - done < CHUNK_BYTES ? (size_t)(t->strings_size - done) : CHUNK_BYTES;

		if (!image_read(t->in, t->strings + done, buf + fill, n))
			return 0;
		done += n;
		fill += n;
		if (done == t->strings_size) { /* a last string without its NUL ends here as well */
			memset(buf + fill, 0, 2);
			return note_places(f, buf, fill + 2, done - fill);
		}
		if (note_places(f, buf, fill, done - fill))
			return -ENOMEM;
		if (fill > overlap) {
			memmove(buf, buf + fill - overlap, overlap);
			fill = overlap;
		}
	}
	return 0;
}

static const struct place *place_at(const struct find *f, uint64_t offset)
{
	size_t at = search_first_not(i, 0, f->places.n, f->places.v[i].offset < offset);

	return at < f->places.n && f->places.v[at].offset == offset ? &f->places.v[at] : NULL;
}

static bool is_old_version(const struct symtab *t, uint64_t index, const struct place *p)
{
	enum { HIDDEN = 0x8000 };
	uint16_t version;

	if (p->versioned)
		return p->old;
	return index < t->nversions &&
	       image_read(t->in, t->versions + index * sizeof(version), &version, sizeof(version)) && version & HIDDEN;
}

static void consider(struct find *f, const struct elf_symbol *s, bool old)
{
	if (!f->found || (f->best_is_old && !old)) {
		f->best = *s;
		f->best_is_old = old;
		f->found = true;
		f->several = false;
		return;
	}
	if (old && !f->best_is_old)
		return;
	if (s->vaddr != f->best.vaddr || s->is_tls != f->best.is_tls)
		f->several = true;
	else if (f->best.is_local && !s->is_local)
		f->best = *s;
}

static int find_in_table(const struct symtab *t, struct find *f)
{
	struct symbol_walk w;
	Elf64_Sym raw;
	int r = find_places(t, f);

	if (r || !f->places.n)
		return r;
	w = symbol_walk_over(t);
	while (symbol_next(&w, &raw)) {
		const struct place *p = place_at(f, raw.st_name);
		struct elf_symbol s;

		if (p && symbol_from_raw(&raw, &s))
			consider(f, &s, is_old_version(t, w.next - 1, p));
	}
	symbol_walk_done(&w);
	return 0;
}

int elf_symbol_find(struct elf_image *img, const char *name, struct elf_symbol *ret)
{
	struct find f = { .name = name, .len = strlen(name) };
	int r = 0;

	image_load_symtabs(img);
	if (!f.len || f.len > NAME_BYTES_MAX)
		return 0;
	for (unsigned k = 0; k < img->nsymtabs && !r; k++)
		r = find_in_table(&img->symtabs[k], &f);
	vec_done(&f.places);
	if (r || !f.found)
		return r;
	f.best.name = image_keep_name(img, name, f.len);
	if (!f.best.name)
		return -ENOMEM;
	*ret = f.best;
	return f.several ? -EEXIST : 1;
}

static bool names_a_part(const struct symtab *t, uint64_t offset)
{
	uint64_t left = offset < t->strings_size ? t->strings_size - offset : 0;
	AUTO_FREE char *name = image_copy(t->in, t->strings + offset, left < CHUNK_BYTES ? left : CHUNK_BYTES);

	return name && strstr(name, ".cold");
}

bool image_function_symbol(struct elf_image *img, uint64_t vaddr, bool *ret_part)
{
	bool found = false;

	image_load_symtabs(img);
	for (unsigned k = 0; k < img->nsymtabs; k++) {
		struct symbol_walk w = symbol_walk_over(&img->symtabs[k]);
		struct elf_symbol s;
		Elf64_Sym raw;

		while (symbol_next(&w, &raw)) {
			if (raw.st_value != vaddr || !symbol_from_raw(&raw, &s) || !s.is_func)
				continue;
			if (names_a_part(&img->symtabs[k], raw.st_name))
				*ret_part = true;
			else
				found = true;
		}
		symbol_walk_done(&w);
	}
	return found && !*ret_part;
}
