/* The probes of Clozure CL's kernel. */
provider ccl {
	probe gc__start(unsigned long bytes_used);
	probe gc__finish(unsigned long bytes_freed);
	probe egc__start(unsigned long bytes_used, unsigned generation);
	probe egc__finish(unsigned long bytes_freed, unsigned generation);
	probe create__thread(unsigned long thread);
};
