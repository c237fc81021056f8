/* SPDX-License-Identifier: MIT */
/*
 * libusertrace: exports the functions of <usertrace.h>, for languages that can call C functions but cannot use a C
 * header. Those of <usertrace-jit.h> come from usertrace-jit.c, which is also part of the library. It depends on no
 * other library, not even libc, and runs no code when it is loaded.
 */

/* Replaces "static inline". */
#define UT_API_ __attribute__((visibility("default")))
#include "usertrace.h"
