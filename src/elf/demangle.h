/* SPDX-License-Identifier: MIT */
/* C++ and Rust names for people. */
#ifndef UT_ELF_DEMANGLE_H
#define UT_ELF_DEMANGLE_H

#include "base/buf.h"

/* Appends the demangled form without parameters when @name is a C++ or Rust name, else @name itself; escaped. */
void elf_demangle(const char *name, struct buf *out);

#endif
