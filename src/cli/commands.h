/* SPDX-License-Identifier: MIT */
/* The commands, each defined in its own cmd_NAME.c; main.c puts them in order. */
#ifndef UT_CLI_COMMANDS_H
#define UT_CLI_COMMANDS_H

#include "cli/cli.h"

extern const struct ut_cmd cmd_doctor;
extern const struct ut_cmd cmd_dtrace;
extern const struct ut_cmd cmd_emit;
extern const struct ut_cmd cmd_flame;
extern const struct ut_cmd cmd_gc;
extern const struct ut_cmd cmd_list;
extern const struct ut_cmd cmd_map;
extern const struct ut_cmd cmd_profile;
extern const struct ut_cmd cmd_report;
extern const struct ut_cmd cmd_top;
extern const struct ut_cmd cmd_trace;

#endif
