/* SPDX-License-Identifier: MIT */
/* The version, which only meson.build states. */
#ifndef UT_BASE_VERSION_H
#define UT_BASE_VERSION_H
extern const char ut_version[];
#endif
