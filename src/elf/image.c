/* SPDX-License-Identifier: MIT */
/* Opening an ELF file: its header, its segments, and the way from addresses to bytes. Sections, notes, symbols and
 * unwind tables have a file each. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "elf/image_priv.h"

/* What the kernel takes: a table of program headers of at most 64 KiB. */
#define PHDR_BYTES_MAX 65536

bool image_read(const struct elf_image *img, uint64_t offset, void *buf, size_t len)
{
	uint8_t *p = buf;

	if (offset > img->size || len > img->size - offset)
		return false;
	if (img->mem) {
		memcpy(buf, img->mem + offset, len);
		return true;
	}
	while (len) {
		ssize_t n = pread(img->fd, p, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return true;
}

void *image_copy(const struct elf_image *img, uint64_t offset, uint64_t len)
{
	char *ret;

	if (offset > img->size || len > img->size - offset || len > SECTION_BYTES_MAX)
		return NULL;
	ret = malloc(len + 1);
	if (!ret)
		return NULL;
	if (!image_read(img, offset, ret, len)) {
		free(ret);
		return NULL;
	}
	ret[len] = '\0';
	return ret;
}

static Elf64_Phdr widen_phdr(const Elf32_Phdr *p)
{
	return (Elf64_Phdr){ .p_type = p->p_type,
			     .p_flags = p->p_flags,
			     .p_offset = p->p_offset,
			     .p_vaddr = p->p_vaddr,
			     .p_paddr = p->p_paddr,
			     .p_filesz = p->p_filesz,
			     .p_memsz = p->p_memsz,
			     .p_align = p->p_align };
}

static int add_segment(struct elf_image *img, const Elf64_Phdr *p, struct ut_err *err)
{
	struct elf_segment s = { .vaddr = p->p_vaddr,
				 .offset = p->p_offset,
				 .filesz = p->p_filesz,
				 .memsz = p->p_memsz,
				 .exec = p->p_flags & PF_X,
				 .write = p->p_flags & PF_W };

	if (s.vaddr + s.memsz < s.vaddr || s.offset + s.filesz < s.offset || s.filesz > s.memsz)
		return ut_err_set(err, -EBADMSG, "broken ELF file: the segment at 0x%llx exceeds the address space",
				  (unsigned long long)s.vaddr);
	return vec_push(&img->segments, s) ? ut_err_nomem(err) : 0;
}

static int read_phdrs(struct elf_image *img, uint64_t offset, size_t n, size_t entsize, struct ut_err *err)
{
	size_t want = img->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	AUTO_FREE uint8_t *bytes = NULL;

	if (!n)
		return 0;
	if (entsize != want || n * entsize > PHDR_BYTES_MAX)
		return ut_err_set(err, -EBADMSG,
				  "broken ELF file: invalid program header table (%zu entries of %zu bytes)", n,
				  entsize);
	if (vec_reserve(&img->phdrs, n))
		return ut_err_nomem(err);
	bytes = image_copy(img, offset, n * entsize);
	if (!bytes)
		return ut_err_set(err, -EBADMSG,
				  "broken ELF file: the program headers are outside the file (%llu bytes)",
				  (unsigned long long)img->size);
	for (size_t i = 0; i < n; i++) {
		Elf64_Phdr p;
		Elf32_Phdr narrow;

		if (img->is_64) {
			memcpy(&p, bytes + i * entsize, sizeof(p));
		} else {
			memcpy(&narrow, bytes + i * entsize, sizeof(narrow));
			p = widen_phdr(&narrow);
		}
		img->phdrs.v[img->phdrs.n++] = p;
		if (p.p_type == PT_LOAD) {
			int r = add_segment(img, &p, err);

			if (r)
				return r;
		}
	}
	return 0;
}

static int set_section_table(struct elf_image *img, uint64_t offset, uint64_t n, size_t entsize, uint32_t strndx,
			     struct ut_err *err)
{
	size_t want = img->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);

	if (!offset)
		return 0;
	if (!n) /* 65280 sections or more: their number is in the first one */
		n = 1;
	if (entsize != want || offset > img->size || n > (img->size - offset) / want)
		return ut_err_set(err, -EBADMSG,
				  "broken or truncated ELF file: the section headers are outside the file (%llu bytes)",
				  (unsigned long long)img->size);
	img->shoff = offset;
	img->shnum = n;
	img->shstrndx = strndx;
	return 0;
}

static void name_machine(struct elf_image *img, unsigned char class, unsigned char data)
{
	static const struct {
		uint16_t machine;
		const char *name;
	} names[] = {
		{ EM_386, "x86" },	{ EM_X86_64, "x86-64" },       { EM_AARCH64, "AArch64" }, { EM_ARM, "ARM" },
		{ EM_RISCV, "RISC-V" }, { EM_PPC64, "PowerPC" },       { EM_PPC, "PowerPC" },	  { EM_S390, "S/390" },
		{ EM_MIPS, "MIPS" },	{ EM_LOONGARCH, "LoongArch" }, { EM_SPARCV9, "SPARC" },	  { EM_BPF, "BPF" },
	};
	const char *bits = class == ELFCLASS64 ? "64-bit" : class == ELFCLASS32 ? "32-bit" : "unknown-class";
	const char *order = data == ELFDATA2MSB ? "big-endian " : "";

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i].machine == img->machine) {
			snprintf(img->machine_name, sizeof(img->machine_name), "%s %s%s", bits, order, names[i].name);
			return;
		}
	}
	snprintf(img->machine_name, sizeof(img->machine_name), "%s %smachine %u", bits, order, img->machine);
}

/* The part of the file that is read. */
static Elf64_Ehdr widen_ehdr(const Elf32_Ehdr *h)
{
	return (Elf64_Ehdr){ .e_phoff = h->e_phoff,
			     .e_shoff = h->e_shoff,
			     .e_phentsize = h->e_phentsize,
			     .e_phnum = h->e_phnum,
			     .e_shentsize = h->e_shentsize,
			     .e_shnum = h->e_shnum,
			     .e_shstrndx = h->e_shstrndx };
}

static int read_tables(struct elf_image *img, struct ut_err *err)
{
	Elf64_Ehdr h;
	Elf32_Ehdr narrow;
	int r;

	if (img->is_64 ? !image_read(img, 0, &h, sizeof(h)) : !image_read(img, 0, &narrow, sizeof(narrow)))
		return ut_err_set(err, -EBADMSG, "truncated ELF file: it ends inside its header");
	if (!img->is_64)
		h = widen_ehdr(&narrow);
	r = read_phdrs(img, h.e_phoff, h.e_phnum, h.e_phentsize, err);
	return r ? r : set_section_table(img, h.e_shoff, h.e_shnum, h.e_shentsize, h.e_shstrndx, err);
}

static int read_header(struct elf_image *img, struct ut_err *err)
{
	unsigned char ident[EI_NIDENT];
	uint16_t type_machine[2];

	if (!image_read(img, 0, ident, SELFMAG) || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return ut_err_set(err, -ENOEXEC, "not an ELF program or library");
	if (!image_read(img, 0, ident, sizeof(ident)) ||
	    !image_read(img, EI_NIDENT, type_machine, sizeof(type_machine)))
		return ut_err_set(err, -EBADMSG, "truncated ELF file: it ends inside its header");
	img->is_64 = ident[EI_CLASS] == ELFCLASS64;
	img->is_little = ident[EI_DATA] == ELFDATA2LSB;
	if ((!img->is_64 && ident[EI_CLASS] != ELFCLASS32) || (!img->is_little && ident[EI_DATA] != ELFDATA2MSB))
		return ut_err_set(err, -EBADMSG, "broken ELF file: unknown class or byte order");
	img->type = img->is_little ? type_machine[0] : __builtin_bswap16(type_machine[0]);
	img->machine = img->is_little ? type_machine[1] : __builtin_bswap16(type_machine[1]);
	name_machine(img, ident[EI_CLASS], ident[EI_DATA]);
	if (!img->is_little) /* enough to say what it is */
		return 0;
	return read_tables(img, err);
}

static int image_new(int fd, const void *mem, uint64_t size, struct elf_image **ret, struct ut_err *err)
{
	struct elf_image *img = calloc(1, sizeof(*img));
	int r;

	if (!img) {
		if (fd >= 0)
			close(fd);
		return ut_err_nomem(err);
	}
	img->fd = fd;
	img->mem = mem;
	img->size = size;
	r = read_header(img, err);
	if (r) {
		elf_image_free(img);
		return r;
	}
	*ret = img;
	return 0;
}

int elf_image_open(int fd, struct elf_image **ret, struct ut_err *err)
{
	struct stat st;
	int own;

	if (fstat(fd, &st) < 0)
		return ut_err_set(err, -errno, "cannot stat the file: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return ut_err_set(err, -ENOEXEC, "not an ELF program or library but %s",
				  S_ISDIR(st.st_mode) ? "a directory" : "a special file");
	own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (own < 0)
		return ut_err_set(err, -errno, "cannot duplicate the file descriptor: %s", strerror(errno));
	return image_new(own, NULL, (uint64_t)st.st_size, ret, err);
}

int elf_image_from_memory(const void *bytes, size_t size, struct elf_image **ret, struct ut_err *err)
{
	return image_new(-1, bytes ? bytes : "", bytes ? size : 0, ret, err);
}

static void free_sections(struct elf_image *img)
{
	for (size_t i = 0; i < img->sections.n; i++)
		free(img->sections.v[i].data);
	vec_done(&img->sections);
	free(img->section_names);
}

static void free_symbols(struct elf_image *img)
{
	for (unsigned k = 0; k < img->nsymtabs; k++)
		free(img->strings[k]);
	for (size_t i = 0; i < img->names.n; i++)
		free(img->names.v[i]);
	vec_done(&img->names);
	vec_done(&img->symbols);
	vec_done(&img->functions);
	free(img->starts.v);
}

static void free_stubs(struct elf_image *img)
{
	struct stubs *stubs = img->stubs;

	if (!stubs)
		return;
	for (size_t i = 0; i < stubs->names.n; i++)
		free(stubs->names.v[i]);
	vec_done(&stubs->names);
	vec_done(&stubs->slots);
	vec_done(&stubs->pushed);
	free(stubs);
	img->stubs = NULL;
}

struct elf_image *elf_image_free(struct elf_image *img)
{
	if (!img)
		return NULL;
	free_symbols(img);
	free_stubs(img);
	elf_image_free(img->debug);
	elf_image_free(img->mini);
	free_sections(img);
	vec_done(&img->segments);
	vec_done(&img->phdrs);
	if (img->fd >= 0)
		close(img->fd);
	free(img->owned);
	free(img);
	return NULL;
}

bool elf_image_is_x86_64(const struct elf_image *img)
{
	return img->is_64 && img->is_little && img->machine == EM_X86_64;
}

bool elf_image_is_pie(const struct elf_image *img) { return img->type == ET_DYN; }

const char *elf_image_machine(const struct elf_image *img) { return img->machine_name; }

bool elf_image_stat(const struct elf_image *img, struct stat *ret) { return img->fd >= 0 && fstat(img->fd, ret) == 0; }

size_t elf_image_segments(const struct elf_image *img, const struct elf_segment **ret)
{
	*ret = img->segments.v;
	return img->segments.n;
}

static const struct elf_segment *segment_at(const struct elf_image *img, uint64_t at, bool is_offset)
{
	for (size_t i = 0; i < img->segments.n; i++) {
		const struct elf_segment *s = &img->segments.v[i];
		uint64_t begin = is_offset ? s->offset : s->vaddr;

		if (at >= begin && at - begin < s->filesz)
			return s;
	}
	return NULL;
}

bool elf_vaddr_to_offset(const struct elf_image *img, uint64_t vaddr, uint64_t *ret)
{
	const struct elf_segment *s = segment_at(img, vaddr, false);

	if (s)
		*ret = vaddr - s->vaddr + s->offset;
	return s;
}

bool elf_offset_to_vaddr(const struct elf_image *img, uint64_t offset, uint64_t *ret)
{
	const struct elf_segment *s = segment_at(img, offset, true);

	if (s)
		*ret = offset - s->offset + s->vaddr;
	return s;
}

bool elf_vaddr_is_text(const struct elf_image *img, uint64_t vaddr)
{
	for (size_t i = 0; i < img->segments.n; i++) {
		const struct elf_segment *s = &img->segments.v[i];

		if (s->exec && vaddr >= s->vaddr && vaddr - s->vaddr < s->filesz)
			return true;
	}
	return false;
}

bool elf_read_at(struct elf_image *img, uint64_t vaddr, void *buf, size_t len)
{
	for (size_t i = 0; i < img->segments.n; i++) {
		const struct elf_segment *s = &img->segments.v[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->filesz && len <= s->filesz - (vaddr - s->vaddr))
			return image_read(img, vaddr - s->vaddr + s->offset, buf, len);
	}
	return false;
}
