/* SPDX-License-Identifier: MIT */
/* The version, from the one place that states it: meson.build. */
#ifndef UT_BASE_VERSION_H
#define UT_BASE_VERSION_H
extern const char ut_version[];
#endif
