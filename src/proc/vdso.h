/* SPDX-License-Identifier: MIT */
/* The vDSO: code that the kernel maps into every program and that no file holds. */
#ifndef UT_PROC_VDSO_H
#define UT_PROC_VDSO_H

#include "elf/image.h"

/* An image of our own vDSO, which 64-bit programs have as well; NULL when there is none. */
struct elf_image *vdso_open(void);

#endif
