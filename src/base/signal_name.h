/* SPDX-License-Identifier: MIT */
/* Signals by the names that people type. */
#ifndef UT_BASE_SIGNAL_NAME_H
#define UT_BASE_SIGNAL_NAME_H

#define SIGNAL_NAME_SIZE 16

/* "SIGSEGV", "SIGRTMIN+3" of the kernel's first (32; the C library keeps some of them), "signal 99" for what is none. */
const char *signal_name(int number, char ret[SIGNAL_NAME_SIZE]);

#endif
