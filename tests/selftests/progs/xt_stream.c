// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A long stream of Writes whose every byte is compared, with both ends in this
 * process:
 *
 *	xt_stream NS/ADDRESS NS/ADDRESS MIB SECONDS
 *
 * The second side writes a MiB of new data to one half of the memory of the
 * first while that compares the other half, and a Send behind it says which.
 * "running" is printed when the first MiB has arrived. SIGTERM ends it as soon
 * as MIB were moved; it gives up after SECONDS. For each SIGUSR1 it prints the
 * longest time between two MiB since the one before, "gap MS"; and at the end
 * the number of MiB, "moved MIB".
 *
 * XT_PORT is the port of the listener.
 */
#include "xt.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define MIB		(1024 * 1024UL)
#define HALVES		2
#define BLOCK		(64 * 1024UL)
#define BLOCKS		(MIB / BLOCK)
#define TOKEN		8

/**
 * struct stream - the connection and its memory
 * @p: the connection
 * @src: source of the Writes
 * @dst: target of the Writes
 * @said: buffers of both ends for received Sends
 * @last_ms: when the last MiB arrived
 * @gap_ms: longest time between two
 */
struct stream {
	struct xt_pair p;
	struct xt_buf src;
	struct xt_buf dst;
	struct xt_buf said[2];
	__u64 last_ms;
	__u64 gap_ms;
};

static volatile sig_atomic_t told_to_end;
static volatile sig_atomic_t asked;

static void on_term(int sig)
{
	(void)sig;
	told_to_end = 1;
}

static void on_usr1(int sig)
{
	(void)sig;
	asked++;
}

static void expect_token(struct xt_end *e, struct xt_buf *b, __u64 nr)
{
	struct ibv_sge sge = xt_sge(b, 0, TOKEN);

	xt_recv(e, nr, &sge, 1);
}

static void send_token(struct xt_end *e, struct xt_buf *b, __u64 nr)
{
	struct ibv_sge sge = xt_sge(b, 0, TOKEN);
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, nr, &sge, 1);

	wr.send_flags |= IBV_SEND_SIGNALED;
	xt_send(e, &wr);
}

static void set_up(struct stream *s)
{
	struct xt_opts o = XT_OPTS;
	unsigned int i;

	xt_pair(&s->p, &o, &o);
	s->src = xt_buf(&s->p.b, HALVES * MIB, XT_LOCAL);
	s->dst = xt_buf(&s->p.a, HALVES * MIB, XT_REMOTE);
	s->said[0] = xt_buf(&s->p.a, TOKEN, XT_LOCAL);
	s->said[1] = xt_buf(&s->p.b, TOKEN, XT_LOCAL);
	for (i = 0; i < HALVES; i++) {
		expect_token(&s->p.a, &s->said[0], i);
		expect_token(&s->p.b, &s->said[1], i);
	}
}

/* Posts the Writes of a MiB, unsignaled, and a signaled Send behind them. */
static void write_mib(struct stream *s, __u64 nr)
{
	size_t half = nr % HALVES * MIB;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	unsigned int i;

	xt_fill(s->src.p + half, MIB, nr);
	for (i = 0; i < BLOCKS; i++) {
		sge = xt_sge(&s->src, half + i * BLOCK, BLOCK);
		wr = xt_wr_to(IBV_WR_RDMA_WRITE, nr, &sge, 1, &s->dst,
			      half + i * BLOCK);
		wr.send_flags = 0;
		xt_send(&s->p.b, &wr);
	}
	send_token(&s->p.b, &s->said[1], nr);
}

static void note_gap(struct stream *s, __u64 nr)
{
	__u64 now = xt_now_us() / 1000;

	if (nr && now - s->last_ms > s->gap_ms)
		s->gap_ms = now - s->last_ms;
	s->last_ms = now;
	if (!nr) {
		printf("running\n");
	} else if (asked) {
		asked = 0;
		printf("gap %llu\n", s->gap_ms);
		s->gap_ms = 0;
	}
}

/* The MiB has arrived: compare it, and permit the next but one. */
static void read_mib(struct stream *s, __u64 nr)
{
	size_t half = nr % HALVES * MIB;

	xt_wc_ok(s->p.a.rcq, nr);
	note_gap(s, nr);
	XT_SAME(s->dst.p + half, MIB, nr);
	expect_token(&s->p.a, &s->said[0], nr + HALVES);
	send_token(&s->p.a, &s->said[0], nr);
	xt_wc_ok(s->p.a.scq, nr);
}

static void permitted(struct stream *s, __u64 nr)
{
	if (nr < HALVES)
		return;
	xt_wc_ok(s->p.b.scq, nr - HALVES);
	xt_wc_ok(s->p.b.rcq, nr - HALVES);
	expect_token(&s->p.b, &s->said[1], nr);
}

int main(int argc, char **argv)
{
	static struct stream s;
	__u64 limit;
	__u64 nr;

	XT_CHECK(argc == 5, "usage: %s NS/ADDR NS/ADDR MIB SECONDS", argv[0]);
	xt_side_set(&xt_a, argv[1]);
	xt_side_set(&xt_b, argv[2]);
	limit = strtoull(argv[3], NULL, 0);
	xt_watchdog(atoi(argv[4]));
	signal(SIGTERM, on_term);
	signal(SIGUSR1, on_usr1);
	setvbuf(stdout, NULL, _IOLBF, 0);
	set_up(&s);
	for (nr = 0; nr < limit || !told_to_end; nr++) {
		permitted(&s, nr);
		write_mib(&s, nr);
		if (nr)
			read_mib(&s, nr - 1);
	}
	read_mib(&s, nr - 1);
	XT_GUARDS(&s.dst);
	printf("moved %llu\n", nr);
	for (nr = 0; nr < XT_NELEM(s.said); nr++)
		xt_buf_free(&s.said[nr]);
	xt_buf_free(&s.src);
	xt_buf_free(&s.dst);
	xt_hang_up(&s.p, &s.p.b);
	printf("ended\n");
	return 0;
}
