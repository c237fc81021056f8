/* SPDX-License-Identifier: MIT */
/* A program that the dynamic linker gives the library of plug.c. */
void plug_work(long n);

int main(void)
{
	plug_work(7);
	return 0;
}
