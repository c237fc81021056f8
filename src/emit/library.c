/* SPDX-License-Identifier: MIT */
/*
 * libusertrace: the functions of <usertrace.h> as symbols, for languages that can call a C function and cannot read a C
 * header. Those of <usertrace-jit.h> come from usertrace-jit.c, which is compiled beside this file. The library needs
 * no other one, libc included, and runs nothing when it is loaded.
 */

/* In the place of "static inline". */
#define UT_API_ __attribute__((visibility("default")))
#include "usertrace.h"
