/* SPDX-License-Identifier: MIT */
/* Writes one kind of ELF file: an object for the linker that defines counters, the semaphores of USDT probes. */
#ifndef UT_ELF_WRITE_H
#define UT_ELF_WRITE_H

#include "base/buf.h"
#include "base/err.h"

enum elf_machine { ELF_MACHINE_UNKNOWN, ELF_MACHINE_X86_64, ELF_MACHINE_AARCH64 };

/* By the names that compilers, kernels and people use: x86_64, amd64, aarch64, arm64; @len bytes. */
enum elf_machine elf_machine_named(const char *name, size_t len);
/* The machine that this program runs on. */
enum elf_machine elf_machine_here(void);

/*
 * Appends to @ret an object in which each of the @n names is a hidden global symbol of two zero bytes in the writable
 * section .probes, which is aligned to 4,096 bytes. The same names give the same bytes. The names must differ. 0, or a negative errno and a sentence.
 */
int elf_write_semaphores(enum elf_machine machine, const char *const *names, size_t n, struct buf *ret,
			 struct ut_err *err);

#endif
