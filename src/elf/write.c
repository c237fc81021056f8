/* SPDX-License-Identifier: MIT */
/* Objects with semaphores, through libelf into memory. */
#include "elf/write.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/vec.h"

#define SEMAPHORE_SIZE 2 /* an unsigned short, as the kernel counts */
/* A page of the file: where RELRO and .data share one, it is mapped twice, and the kernel counts in the first mapping. */
#define SEMAPHORE_ALIGN 4096
#define NAMES_BYTES_MAX (64u << 20)

enum section { NONE, PROBES, STACK, PROPERTY, SYMBOLS, STRINGS, SECTION_NAMES, NSECTIONS };

/* .note.gnu.property: an object without code has nothing against the protection that the others ask for; without the
 * note the linker would switch it off for the whole program. */
struct property {
	uint32_t name_size, desc_size, type;
	char name[4];
	uint32_t kind, kind_size, bits, padding;
};

static const struct property protection[] = {
	[ELF_MACHINE_X86_64] = { 4, 16, NT_GNU_PROPERTY_TYPE_0, "GNU", GNU_PROPERTY_X86_FEATURE_1_AND, 4,
				 GNU_PROPERTY_X86_FEATURE_1_IBT | GNU_PROPERTY_X86_FEATURE_1_SHSTK, 0 },
	[ELF_MACHINE_AARCH64] = { 4, 16, NT_GNU_PROPERTY_TYPE_0, "GNU", GNU_PROPERTY_AARCH64_FEATURE_1_AND, 4,
				  GNU_PROPERTY_AARCH64_FEATURE_1_BTI | GNU_PROPERTY_AARCH64_FEATURE_1_PAC, 0 },
};

static const struct layout {
	const char *name;
	uint32_t type, link, info;
	uint64_t flags, align, entry;
	Elf_Type data;
} layouts[NSECTIONS] = {
	[PROBES] = { ".probes", SHT_PROGBITS, 0, 0, SHF_ALLOC | SHF_WRITE, SEMAPHORE_ALIGN, 0, ELF_T_BYTE },
	[STACK] = { ".note.GNU-stack", SHT_PROGBITS, 0, 0, 0, 1, 0, ELF_T_BYTE },
	[PROPERTY] = { ".note.gnu.property", SHT_NOTE, 0, 0, SHF_ALLOC, 8, 0, ELF_T_BYTE },
	/* No symbol is local but the first, the empty one. */
	[SYMBOLS] = { ".symtab", SHT_SYMTAB, STRINGS, 1, 0, 8, sizeof(Elf64_Sym), ELF_T_SYM },
	[STRINGS] = { ".strtab", SHT_STRTAB, 0, 0, 0, 1, 0, ELF_T_BYTE },
	[SECTION_NAMES] = { ".shstrtab", SHT_STRTAB, 0, 0, 0, 1, 0, ELF_T_BYTE },
};

struct writer {
	int fd;
	Elf *elf;
	struct {
		void *bytes;
		size_t size;
	} content[NSECTIONS];
	uint32_t name_at[NSECTIONS];
	VEC(Elf64_Sym) symbols;
	struct buf strings, section_names;
	void *zeros;
};

enum elf_machine elf_machine_named(const char *name, size_t len)
{
	static const struct {
		const char *name;
		enum elf_machine machine;
	} known[] = {
		{ "x86_64", ELF_MACHINE_X86_64 },   { "x86-64", ELF_MACHINE_X86_64 }, { "amd64", ELF_MACHINE_X86_64 },
		{ "aarch64", ELF_MACHINE_AARCH64 }, { "arm64", ELF_MACHINE_AARCH64 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strlen(known[i].name) == len && !memcmp(known[i].name, name, len))
			return known[i].machine;
	return ELF_MACHINE_UNKNOWN;
}

enum elf_machine elf_machine_here(void)
{
#if defined(__aarch64__)
	return ELF_MACHINE_AARCH64;
#else
	return ELF_MACHINE_X86_64;
#endif
}

static int elf_failed(struct ut_err *err)
{
	return ut_err_set(err, -EIO, "cannot write the object file: libelf: %s", elf_errmsg(-1));
}

/* The symbol table and its strings. */
static int make_symbols(struct writer *w, const char *const *names, size_t n, struct ut_err *err)
{
	if (vec_push(&w->symbols, (Elf64_Sym){ 0 }))
		return ut_err_nomem(err);
	buf_addc(&w->strings, '\0');
	for (size_t i = 0; i < n; i++) {
		Elf64_Sym symbol = { .st_name = (Elf64_Word)w->strings.len,
				     .st_shndx = PROBES,
				     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
				     .st_other = STV_HIDDEN,
				     .st_value = i * SEMAPHORE_SIZE,
				     .st_size = SEMAPHORE_SIZE };

		buf_add(&w->strings, names[i], strlen(names[i]) + 1);
		if (w->strings.len > NAMES_BYTES_MAX)
			return ut_err_set(err, -EFBIG, "the names of %zu semaphores are too long for one object file",
					  n);
		if (vec_push(&w->symbols, symbol))
			return ut_err_nomem(err);
	}
	return 0;
}

static void make_section_names(struct writer *w)
{
	buf_addc(&w->section_names, '\0');
	for (int s = PROBES; s < NSECTIONS; s++) {
		w->name_at[s] = (uint32_t)w->section_names.len;
		buf_add(&w->section_names, layouts[s].name, strlen(layouts[s].name) + 1);
	}
}

static void set_content(struct writer *w, enum section s, const void *bytes, size_t size)
{
	w->content[s].bytes = (void *)bytes; /* libelf reads it only */
	w->content[s].size = size;
}

/* The bytes of every section. */
static int make_content(struct writer *w, enum elf_machine machine, const char *const *names, size_t n,
			struct ut_err *err)
{
	int ret = make_symbols(w, names, n, err);

	if (ret)
		return ret;
	make_section_names(w);
	w->zeros = calloc(n ? n : 1, SEMAPHORE_SIZE);
	if (!w->zeros || w->strings.failed || w->section_names.failed)
		return ut_err_nomem(err);
	set_content(w, PROBES, w->zeros, n * SEMAPHORE_SIZE);
	set_content(w, PROPERTY, &protection[machine], sizeof(protection[machine]));
	set_content(w, SYMBOLS, w->symbols.v, w->symbols.n * sizeof(Elf64_Sym));
	set_content(w, STRINGS, w->strings.data, w->strings.len);
	set_content(w, SECTION_NAMES, w->section_names.data, w->section_names.len);
	return 0;
}

static int add_section(struct writer *w, enum section s, struct ut_err *err)
{
	const struct layout *layout = &layouts[s];
	Elf_Scn *scn = elf_newscn(w->elf);
	Elf_Data *data = scn ? elf_newdata(scn) : NULL;
	Elf64_Shdr *head = scn ? elf64_getshdr(scn) : NULL;

	if (!data || !head)
		return elf_failed(err);
	data->d_buf = w->content[s].bytes;
	data->d_size = w->content[s].size;
	data->d_type = layout->data;
	data->d_align = layout->align;
	data->d_version = EV_CURRENT;
	head->sh_name = w->name_at[s];
	head->sh_type = layout->type;
	head->sh_flags = layout->flags;
	head->sh_link = layout->link;
	head->sh_info = layout->info;
	head->sh_addralign = layout->align;
	head->sh_entsize = layout->entry;
	return 0;
}

static int add_head(struct writer *w, enum elf_machine machine, struct ut_err *err)
{
	Elf64_Ehdr *head = elf64_newehdr(w->elf);

	if (!head)
		return elf_failed(err);
	head->e_ident[EI_DATA] = ELFDATA2LSB;
	head->e_type = ET_REL;
	head->e_machine = machine == ELF_MACHINE_AARCH64 ? EM_AARCH64 : EM_X86_64;
	head->e_version = EV_CURRENT;
	head->e_shstrndx = SECTION_NAMES;
	return 0;
}

static int write_elf(struct writer *w, enum elf_machine machine, struct ut_err *err)
{
	int ret;

	elf_version(EV_CURRENT);
	w->elf = elf_begin(w->fd, ELF_C_WRITE, NULL);
	ret = w->elf ? add_head(w, machine, err) : elf_failed(err);
	for (int s = PROBES; !ret && s < NSECTIONS; s++)
		ret = add_section(w, s, err);
	if (!ret && elf_update(w->elf, ELF_C_WRITE) < 0)
		ret = elf_failed(err);
	return ret;
}

/* What was written into the file in memory. */
static int read_back(int fd, struct buf *ret, struct ut_err *err)
{
	struct stat st;
	char *room;

	if (fstat(fd, &st) < 0)
		return ut_err_set(err, -errno, "cannot read back the object file: %s", strerror(errno));
	room = buf_room(ret, (size_t)st.st_size);
	if (!room)
		return ut_err_nomem(err);
	for (off_t at = 0; at < st.st_size;) {
		ssize_t n = pread(fd, room + at, (size_t)(st.st_size - at), at);

		if (n <= 0)
			return ut_err_set(err, -EIO, "cannot read back the object file");
		at += n;
	}
	ret->len += (size_t)st.st_size;
	return 0;
}

int elf_write_semaphores(enum elf_machine machine, const char *const *names, size_t n, struct buf *ret,
			 struct ut_err *err)
{
	AUTO_CLOSE int fd = memfd_create("object", MFD_CLOEXEC);
	struct writer w = { .fd = fd };
	int status;

	if (machine == ELF_MACHINE_UNKNOWN)
		return ut_err_set(err, -EINVAL, "object files are supported for x86_64 and aarch64");
	if (fd < 0)
		return ut_err_set(err, -errno, "cannot create a file in memory: %s", strerror(errno));
	status = make_content(&w, machine, names, n, err);
	if (!status)
		status = write_elf(&w, machine, err);
	if (w.elf)
		elf_end(w.elf);
	if (!status)
		status = read_back(fd, ret, err);
	vec_done(&w.symbols);
	buf_done(&w.strings);
	buf_done(&w.section_names);
	free(w.zeros);
	return status;
}
