// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connections that are almost idle, to measure their cost:
 *
 *	xt_idle -n COUNT [-s] [-k BYTES | -u BYTES] -a [NS/]ADDRESS
 *		-b [NS/]ADDRESS
 *
 * Prints "ready" when COUNT connections are established, and ends at the end of
 * stdin. With -s the queues are small. With -k it reads a line, then sends an
 * RDMA Write of BYTES on each connection, prints "written", sends an empty Send
 * on each connection once a second, and prints "alive" after the first of
 * these. With -u it reads a line, then sends a Send of BYTES to the passive end
 * of each connection, which posts no receive for it.
 */
#include "xt.h"

#include <getopt.h>
#include <poll.h>
#include <stdio.h>

static struct xt_pair *pairs;
static int count;
static bool small;

/* The ends of a side have one protection domain, so that they share memory. */
static void connect_all(void)
{
	struct xt_opts a = XT_OPTS;
	struct xt_opts b = XT_OPTS;
	int i;

	if (small) {
		a.send_wr = 4;
		a.recv_wr = 4;
		a.cqe = 8;
		b = a;
	}
	pairs = XT_PTR(calloc(count, sizeof(*pairs)));
	for (i = 0; i < count; i++) {
		xt_pair(&pairs[i], &a, &b);
		a.pd = pairs[0].a.pd;
		b.pd = pairs[0].b.pd;
	}
}

static void write_all(size_t len)
{
	struct xt_buf from = xt_buf(&pairs[0].b, len, XT_LOCAL);
	struct xt_buf to = xt_buf(&pairs[0].a, len, XT_REMOTE);
	struct ibv_sge sge = xt_sge(&from, 0, len);
	struct ibv_send_wr wr;
	int i;

	for (i = 0; i < count; i++) {
		xt_fill(from.p, len, i);
		wr = xt_wr_to(IBV_WR_RDMA_WRITE, i, &sge, 1, &to, 0);
		wr.send_flags = 0;
		xt_send(&pairs[i].b, &wr);
		/* When this Read completes, the Write has been placed. */
		wr = xt_wr_to(IBV_WR_RDMA_READ, i, &sge, 1, &to, 0);
		sge.length = 1;
		xt_send(&pairs[i].b, &wr);
		xt_wc_ok(pairs[i].b.scq, i);
		sge.length = len;
		XT_SAME(to.p, len, i);
	}
	xt_buf_free(&from);
	xt_buf_free(&to);
}

static void send_unreceived(size_t len)
{
	struct xt_buf from = xt_buf(&pairs[0].b, len, XT_LOCAL);
	struct ibv_sge sge = xt_sge(&from, 0, len);
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, 1, &sge, 1);
	int i;

	for (i = 0; i < count; i++)
		xt_send(&pairs[i].b, &wr);
}

static void send_all(void)
{
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, 1, NULL, 0);
	int i;

	for (i = 0; i < count; i++) {
		xt_recvs(&pairs[i].a, 1, 1);
		xt_send(&pairs[i].b, &wr);
		xt_wc_ok(pairs[i].a.rcq, 1);
		xt_wc_ok(pairs[i].b.scq, 1);
	}
}

static void say(const char *word)
{
	printf("%s\n", word);
	fflush(stdout);
}

static void stay_alive(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	bool said = false;

	do {
		send_all();
		if (!said)
			say("alive");
		said = true;
	} while (!poll(&in, 1, 1000));
}

int main(int argc, char **argv)
{
	size_t unreceived = 0;
	size_t bytes = 0;
	int opt;

	while ((opt = getopt(argc, argv, "n:k:u:sa:b:")) != -1) {
		if (opt == 'n')
			count = atoi(optarg);
		else if (opt == 'k')
			bytes = strtoul(optarg, NULL, 0);
		else if (opt == 'u')
			unreceived = strtoul(optarg, NULL, 0);
		else if (opt == 's')
			small = true;
		else if (opt == 'a' || opt == 'b')
			xt_side_set(opt == 'a' ? &xt_a : &xt_b, optarg);
		else
			return 2;
	}
	XT_CHECK(count > 0, "-n, -a and -b are needed");
	connect_all();
	say("ready");
	if (bytes && getchar() == '\n') {
		write_all(bytes);
		say("written");
		stay_alive();
	}
	if (unreceived && getchar() == '\n')
		send_unreceived(unreceived);
	while (getchar() != EOF)
		;
	return 0;
}
