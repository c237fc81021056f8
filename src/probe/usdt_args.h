/* SPDX-License-Identifier: MIT */
/* The arguments of one USDT probe over all its sites, which may have different operands. Pure. */
#ifndef UT_PROBE_USDT_ARGS_H
#define UT_PROBE_USDT_ARGS_H

#include "probe/operand.h"
#include "probe/spec.h"

#define OPERAND_REASON_MAX (sizeof(((struct operand *)0)->text) + sizeof(((struct operand *)0)->reason) + 2)

/* Zero-initialise to use. Points into itself: not to be copied. */
struct usdt_args {
	unsigned n, nsites;
	struct probe_field v[OPERANDS_MAX]; /* unreadable: at every site; the reason is the first one's */
	char reasons[OPERANDS_MAX][OPERAND_REASON_MAX];
};

/*
 * Adds one site's operands, parsed and resolved. Sites may differ (a constant at one, a register at another); values
 * are extended by each site's own type, so the widest one, with a sign wherever one has it, says how to print.
 */
void usdt_args_add(struct usdt_args *args, const struct operands *site);
/* "int32", "uint64", "double" into @ret of at least 16 bytes; returns the name. */
const char *usdt_arg_type(const struct usdt_args *args, unsigned arg, char *ret);

#endif
