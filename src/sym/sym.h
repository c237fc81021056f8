/* SPDX-License-Identifier: MIT */
/* Addresses to names, for stacks: ELF files of a process, and the kernel's own list. Code compiled at run time stays a
 * number for now. Not thread-safe: one object per thread. */
#ifndef UT_SYM_SYM_H
#define UT_SYM_SYM_H

#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

struct sym;

struct sym *sym_new(void); /* NULL: out of memory */
struct sym *sym_free(struct sym *s);

/* Reads and keeps the mappings of @pid now, while it lives: call when a process is attached, and again after it maps
 * more. Files are opened at once and stay open, so that names are there after the process has ended. Errors are not
 * told: an address without a name prints as a number. */
void sym_note_process(struct sym *s, pid_t pid);
void sym_forget_process(struct sym *s, pid_t pid);

/*
 * Appends the name of a user address: "function+0x1f (libc.so.6)", "0x5591a0 (python3.11)" for a file without that
 * symbol, "0x7f00c0de (run-time code)" in executable anonymous memory, "0x7f00c0de" elsewhere. C++ and Rust names are
 * demangled.
 * @is_return: the address is a return address, the call before it is meant.
 */
void sym_user(struct sym *s, pid_t pid, uint64_t addr, bool is_return, struct buf *out);
/* Appends the name of a kernel address: "vfs_read+0x9c", or a number when the kernel hides its list (kptr_restrict). */
void sym_kernel(struct sym *s, uint64_t addr, struct buf *out);

#endif
