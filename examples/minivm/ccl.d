/*
 * The probes of Clozure CL's kernel: full and ephemeral collections, with the bytes in use when one starts and the bytes
 * that became free when it is finished, the generation of an ephemeral one, and new threads. Made into a header by
 * `usertrace dtrace -h -s ccl.d -o ccl.h`; cc -DMINIVM_PROVIDER_H='"ccl.h"' then has minivm fire them.
 */
provider ccl {
	probe gc__start(unsigned long bytes);
	probe gc__finish(unsigned long freed);
	probe egc__start(unsigned long bytes, unsigned generation);
	probe egc__finish(unsigned long freed, unsigned generation);
	probe create__thread(unsigned long thread);
};
