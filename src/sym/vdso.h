/* SPDX-License-Identifier: MIT */
/* The vDSO: code that the kernel maps into every program and that no file holds. For this layer only. */
#ifndef UT_SYM_VDSO_H
#define UT_SYM_VDSO_H

#include "elf/image.h"

/* An image of our own vDSO, which 64-bit programs have as well; NULL when there is none. */
struct elf_image *vdso_open(void);

#endif
