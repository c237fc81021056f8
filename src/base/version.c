/* SPDX-License-Identifier: MIT */
/* The version as a symbol, so that one file is compiled again when it changes. */
#include "base/version.h"

const char ut_version[] = UT_RELEASE;
