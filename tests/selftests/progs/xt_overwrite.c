// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A completion gives the buffer back: the application may overwrite it, or
 * unregister and unmap it, and the peer must still receive what was in it
 * when the work was posted. Meant for a link that loses packets, where TCP
 * sends parts of the message again long after the completion.
 */
#include "xt.h"

#include <stdio.h>
#include <string.h>

#define BLOCK		(256 * 1024UL)
#define SMALL		3000UL
#define GARBAGE		0xdb

static size_t slots(void)
{
	return xt_count(24);
}

/* Sends a message: when it arrives, all Writes before it have been placed. */
static void wait_until_there(struct xt_pair *p)
{
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, 1, NULL, 0);

	xt_recvs(&p->a, 2, 1);
	xt_send(&p->b, &wr);
	xt_wc_ok(p->b.scq, 1);
	xt_wc_ok(p->a.rcq, 2);
}

static void check(const struct xt_buf *to, size_t len)
{
	__u8 *want = XT_PTR(malloc(len));
	size_t wrong = 0;
	size_t i;

	for (i = 0; i < slots(); i++) {
		xt_fill(want, len, i);
		if (memcmp(to->p + i * len, want, len))
			wrong++;
	}
	free(want);
	XT_CHECK(!wrong, "%zu of %zu messages arrived with other bytes", wrong,
		 slots());
	XT_GUARDS(to);
}

/* An unsignalled Write of a block, covered by a signalled one of a byte. */
static void covered_write(struct xt_pair *p, const struct xt_buf *from,
			  const struct xt_buf *to, size_t off)
{
	struct ibv_sge all = xt_sge(from, 0, BLOCK);
	struct ibv_sge byte = xt_sge(from, 0, 1);
	struct ibv_send_wr first = xt_wr_to(IBV_WR_RDMA_WRITE, 8, &all, 1, to,
					    off);
	struct ibv_send_wr second = xt_wr_to(IBV_WR_RDMA_WRITE, 9, &byte, 1, to,
					     off);

	first.send_flags = 0;
	first.next = &second;
	xt_send(&p->b, &first);
	xt_wc_ok(p->b.scq, 9);
}

static void test_writes(void)
{
	struct xt_buf from;
	struct xt_buf to;
	struct xt_pair p;
	size_t i;

	xt_pair(&p, NULL, NULL);
	from = xt_buf(&p.b, BLOCK, XT_LOCAL);
	to = xt_buf(&p.a, slots() * BLOCK, XT_REMOTE);
	for (i = 0; i < slots(); i++) {
		xt_fill(from.p, BLOCK, i);
		covered_write(&p, &from, &to, i * BLOCK);
		memset(from.p, GARBAGE, BLOCK);
	}
	wait_until_there(&p);
	check(&to, BLOCK);
	xt_buf_free(&from);
	xt_buf_free(&to);
	xt_hang_up(&p, &p.b);
}

static void test_unmap(void)
{
	struct xt_buf from;
	struct xt_buf to;
	struct xt_pair p;
	size_t i;

	xt_pair(&p, NULL, NULL);
	to = xt_buf(&p.a, slots() * BLOCK, XT_REMOTE);
	for (i = 0; i < slots(); i++) {
		from = xt_buf(&p.b, BLOCK, XT_LOCAL);
		xt_fill(from.p, BLOCK, i);
		covered_write(&p, &from, &to, i * BLOCK);
		XT_OK(ibv_dereg_mr(from.mr));
		from.mr = NULL;
		memset(from.p, GARBAGE, BLOCK);
		xt_buf_free(&from);
	}
	wait_until_there(&p);
	check(&to, BLOCK);
	xt_buf_free(&to);
	xt_hang_up(&p, &p.b);
}

static void sends(size_t len)
{
	struct ibv_send_wr wr;
	struct xt_buf from;
	struct ibv_sge sge;
	struct xt_buf to;
	struct xt_pair p;
	size_t i;

	xt_pair(&p, NULL, NULL);
	from = xt_buf(&p.b, len, XT_LOCAL);
	to = xt_buf(&p.a, slots() * len, XT_LOCAL);
	for (i = 0; i < slots(); i++) {
		sge = xt_sge(&to, i * len, len);
		xt_recv(&p.a, i, &sge, 1);
	}
	sge = xt_sge(&from, 0, len);
	for (i = 0; i < slots(); i++) {
		xt_fill(from.p, len, i);
		wr = xt_wr(IBV_WR_SEND, i, &sge, 1);
		xt_send(&p.b, &wr);
		xt_wc_ok(p.b.scq, i);
		memset(from.p, GARBAGE, len);
	}
	for (i = 0; i < slots(); i++)
		XT_EQ(xt_wc_ok(p.a.rcq, i).byte_len, len);
	check(&to, len);
	xt_buf_free(&from);
	xt_buf_free(&to);
	xt_hang_up(&p, &p.a);
}

static void test_sends(void)
{
	sends(BLOCK);
}

static void test_small_sends(void)
{
	sends(SMALL);
}

/*
 * The owner may change memory that was read when the reader has sent a message.
 */
static void test_reads(void)
{
	struct ibv_send_wr wr;
	struct xt_buf from;
	struct ibv_sge sge;
	struct xt_buf to;
	struct xt_pair p;
	size_t i;

	xt_pair(&p, NULL, NULL);
	from = xt_buf(&p.a, BLOCK, XT_REMOTE);
	to = xt_buf(&p.b, slots() * BLOCK, XT_LOCAL);
	for (i = 0; i < slots(); i++) {
		xt_fill(from.p, BLOCK, i);
		sge = xt_sge(&to, i * BLOCK, BLOCK);
		wr = xt_wr_to(IBV_WR_RDMA_READ, i, &sge, 1, &from, 0);
		xt_send(&p.b, &wr);
		xt_wc_ok(p.b.scq, i);
		memset(from.p, GARBAGE, BLOCK);
	}
	check(&to, BLOCK);
	xt_buf_free(&from);
	xt_buf_free(&to);
	xt_hang_up(&p, &p.b);
}

static const struct xt_case cases[] = {
	{ "writes", "buffers of Writes are overwritten after completion",
	  test_writes },
	{ "unmap", "buffers of Writes are unmapped after completion",
	  test_unmap },
	{ "sends", "buffers of Sends are overwritten after completion",
	  test_sends },
	{ "small-sends", "and those of Sends of a few segments",
	  test_small_sends },
	{ "reads", "the source of a Read is overwritten after completion",
	  test_reads },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
