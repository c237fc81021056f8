/*
 * The probes of Clozure CL's kernel: full and ephemeral collections, with the bytes in use at the start and the
 * bytes freed at the end, the generation of an ephemeral one, and new threads. See README.md for
 * how to build minivm with them.
 */
provider ccl {
	probe gc__start(unsigned long bytes);
	probe gc__finish(unsigned long freed);
	probe egc__start(unsigned long bytes, unsigned generation);
	probe egc__finish(unsigned long freed, unsigned generation);
	probe create__thread(unsigned long thread);
};
