/* SPDX-License-Identifier: MIT */
/* Programs that the trials load. */
#include <string.h>

#include "doctor/machine_priv.h"

int doctor_load(struct asm_buf *a, struct kernel_prog *prog, int map_fd)
{
	int fds[GEN_MAPS], r = asm_finish(a);

	memset(fds, -1, sizeof(fds));
	fds[GEN_MAP_LOST] = map_fd;
	if (!r)
		r = gen_relocate(a, fds);
	prog->insns = a->insns.v;
	prog->n = a->insns.n;
	if (!r)
		r = kernel_prog_load(prog, NULL, NULL);
	asm_done(a);
	return r;
}
