/* SPDX-License-Identifier: MIT */
/* Probes guarded by semaphores, in a program whose text and data lie at different distances from their file offsets. */
#define _SDT_HAS_SEMAPHORES 1
#include <stdio.h>
#include <sys/sdt.h>

unsigned short sem_one_semaphore __attribute__((section(".probes"))) = 0x1111;
unsigned short sem_two_semaphore __attribute__((section(".probes"))) = 0x2222;

int main(int argc, char **argv)
{
	STAP_PROBE1(sem, one, argc);
	STAP_PROBE1(sem, two, argv);
	return printf("%d\n", sem_one_semaphore) < 0;
}
