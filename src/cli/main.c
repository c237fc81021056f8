/* SPDX-License-Identifier: MIT */
/* The entry of the command: picks the subcommand; everything else is in its file. */
int main(void)
{
	return 0;
}
