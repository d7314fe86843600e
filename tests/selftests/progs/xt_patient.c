// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A connection survives a receiver that posts nothing for longer than TCP would
 * wait for a dead peer. mpa/rnr_timeout_ms of the receiver's device has to
 * allow that time.
 *
 *	xt_patient [-a [NS/]ADDRESS] [-b [NS/]ADDRESS] [-n SECONDS]
 */
#include "xt.h"

#include <poll.h>

#define MESSAGE		(1024 * 1024UL)
/* More than the buffers of TCP hold at both ends. */
#define MESSAGES	32

/* Neither end gets an event in that time. */
static void pass(struct xt_pair *p, unsigned int seconds)
{
	struct pollfd fds[] = {
		{ .fd = p->a.ch->fd, .events = POLLIN },
		{ .fd = p->b.ch->fd, .events = POLLIN },
	};

	XT_EQ(poll(fds, XT_NELEM(fds), seconds * 1000), 0);
}

static void test_receives(void)
{
	struct xt_opts o = XT_OPTS;
	struct xt_buf from, to;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct xt_pair p;
	int i;

	o.send_wr = MESSAGES;
	o.recv_wr = MESSAGES;
	xt_pair(&p, &o, &o);
	from = xt_buf(&p.b, MESSAGES * MESSAGE, XT_LOCAL);
	to = xt_buf(&p.a, MESSAGES * MESSAGE, XT_LOCAL);
	xt_fill(from.p, from.len, 1);
	for (i = 0; i < MESSAGES; i++) {
		sge = xt_sge(&from, i * MESSAGE, MESSAGE);
		wr = xt_wr(IBV_WR_SEND, i, &sge, 1);
		xt_send(&p.b, &wr);
	}
	pass(&p, xt_count(100));
	for (i = 0; i < MESSAGES; i++) {
		sge = xt_sge(&to, i * MESSAGE, MESSAGE);
		xt_recv(&p.a, i, &sge, 1);
	}
	for (i = 0; i < MESSAGES; i++) {
		xt_wc_ok(p.b.scq, i);
		xt_wc_ok(p.a.rcq, i);
	}
	XT_SAME(to.p, to.len, 1);
	XT_GUARDS(&to);
	xt_buf_free(&from);
	xt_buf_free(&to);
	xt_hang_up(&p, &p.b);
}

static const struct xt_case cases[] = {
	{ "receives", "receives that come after more than a minute are in time",
	  test_receives },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
