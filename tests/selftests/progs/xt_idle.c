// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connections that do nothing, for whoever wants to know what they cost:
 *
 *	xt_idle -n COUNT -a [NS/]ADDRESS -b [NS/]ADDRESS
 *
 * prints "ready" when COUNT of them are established, and ends when it is told
 * so by the end of stdin.
 */
#include "xt.h"

#include <getopt.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct xt_pair *pairs;
	int count = 0;
	int opt;
	int i;

	while ((opt = getopt(argc, argv, "n:a:b:")) != -1) {
		if (opt == 'n')
			count = atoi(optarg);
		else if (opt == 'a' || opt == 'b')
			xt_side_set(opt == 'a' ? &xt_a : &xt_b, optarg);
		else
			return 2;
	}
	XT_CHECK(count > 0, "-n, -a and -b are needed");
	pairs = XT_PTR(calloc(count, sizeof(*pairs)));
	for (i = 0; i < count; i++)
		xt_pair(&pairs[i], NULL, NULL);
	printf("ready\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
