// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * One end of a connection under load, in a process of its own, which a test can
 * kill, or remove the device of:
 *
 *	xt_load -s [NS/]ADDRESS -p PORT [options]	the passive end
 *	xt_load -c [NS/]ADDRESS -p PORT [options]	the active end
 *
 * each in its namespace NS, and with the address of the passive one. For the
 * load see load.h. Prints "running" when the first Send was answered; at the
 * end the number of received Sends, the longest time between two of them, and
 * "ended", or "gone" if the device was removed.
 *
 *	-n COUNT	disconnect after so many Sends
 *	-k		keep everything open afterwards, until killed
 *	-Q TOS		type of service (IPv6: traffic class) of its packets
 *	-T SECONDS	give up after this time
 *
 * SIGTERM: disconnect after LAST more messages.
 */
#include "load.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void runs(void)
{
	printf("running\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct load_opts lo = { .side = &xt_a, .peer = &xt_a, .runs = runs };
	const char *address = NULL;
	unsigned int seconds = 60;
	struct load_result r;
	bool keep = false;
	int opt;

	while ((opt = getopt(argc, argv, "s:c:p:n:kQ:T:")) != -1) {
		if (opt == 's' || opt == 'c') {
			address = optarg;
			lo.passive = opt == 's';
		} else if (opt == 'p') {
			lo.port = atoi(optarg);
		} else if (opt == 'n') {
			lo.limit = strtoull(optarg, NULL, 0);
		} else if (opt == 'k') {
			keep = true;
		} else if (opt == 'Q') {
			lo.tos = strtoul(optarg, NULL, 0);
		} else if (opt == 'T') {
			seconds = atoi(optarg);
		} else {
			return 2;
		}
	}
	XT_CHECK(address && lo.port, "-s or -c, and -p, are needed");
	xt_watchdog(seconds);
	signal(SIGTERM, load_end);
	xt_side_set(&xt_a, address);
	r = load_run(&lo);
	printf("messages %llu\ngap %llu ms\n%s\n", r.received, r.gap_ms,
	       r.gone ? "gone" : "ended");
	fflush(stdout);
	while (keep)
		pause();
	return 0;
}
