// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Messages of 2 GiB and more, up to the largest that DDP has, with little
 * memory: a region maps the same few pages repeatedly. One pass over these
 * pages is a lap; after the message they hold its last bytes. Laps of source
 * and destination have different lengths, so bytes at the wrong offset are
 * detected. The parts around 2 GiB, where a length as a signed number
 * overflows, and at the end have pages of their own, the landmarks, so each
 * byte there is checked.
 */
#include "xt.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB		(1024 * 1024UL)
#define GIB		(1024 * MIB)
#define HUGE		(2 * MIB)
#define MAX_MESSAGE	0xffffffffULL
#define ROOM		(4 * GIB)
#define SRC_LAP		(3 * HUGE)
#define DST_LAP		(2 * HUGE)
#define PIECES		16
#define MARK		0x3c

/* Parts of a region with pages of their own, in the order of the pages */
static const struct {
	size_t from;
	size_t len;
} landmarks[] = {
	{ 2 * GIB - HUGE, 2 * HUGE },
	{ ROOM - HUGE, HUGE },
};

/* Lengths to test; -n limits their number. */
static const size_t sizes[] = { MAX_MESSAGE, 2 * GIB - 1, 2 * GIB };

struct lane {
	struct xt_pair p;
	struct xt_buf src;
	struct xt_buf dst;
};

static void map_at(struct xt_buf *b, size_t at, size_t len, int fd, off_t off)
{
	XT_CHECK(mmap(b->p + at, len, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_FIXED, fd, off) != MAP_FAILED,
		 "mmap at %zu: %m", at);
}

/*
 * One region of ROOM bytes. Its pages are huge, because a million small ones
 * take long to map and to pin.
 */
static struct xt_buf laps(struct xt_end *e, size_t lap, bool with_landmarks)
{
	struct xt_buf b = { .len = ROOM, .map_len = ROOM + HUGE + lap };
	off_t off = lap;
	size_t at;
	size_t i;
	int fd;

	fd = memfd_create("xt_big", MFD_CLOEXEC | MFD_HUGETLB);
	XT_CHECK(fd >= 0, "memfd of huge pages: %m");
	XT_OK(ftruncate(fd, lap + 3 * HUGE));
	b.map = mmap(NULL, b.map_len, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	XT_CHECK(b.map != MAP_FAILED, "mmap: %m");
	b.p = b.map + (-(uintptr_t)b.map & (HUGE - 1));
	for (at = 0; at < ROOM; at += lap)
		map_at(&b, at, lap, fd, 0);
	for (i = 0; with_landmarks && i < XT_NELEM(landmarks); i++) {
		map_at(&b, landmarks[i].from, landmarks[i].len, fd, off);
		off += landmarks[i].len;
	}
	close(fd);
	b.mr = XT_PTR(ibv_reg_mr(e->pd, b.p, b.len, XT_REMOTE));
	return b;
}

static void lane_up(struct lane *l, bool into_b)
{
	struct xt_opts o = XT_OPTS;

	o.send_sge = PIECES;
	o.recv_sge = PIECES;
	xt_pair(&l->p, &o, &o);
	l->src = laps(into_b ? &l->p.a : &l->p.b, SRC_LAP, false);
	l->dst = laps(into_b ? &l->p.b : &l->p.a, DST_LAP, true);
	xt_fill(l->src.p, SRC_LAP, 1);
}

static void clear(struct lane *l)
{
	size_t i;

	memset(l->dst.p, MARK, DST_LAP);
	for (i = 0; i < XT_NELEM(landmarks); i++)
		memset(l->dst.p + landmarks[i].from, MARK, landmarks[i].len);
}

static void same(struct lane *l, size_t from, size_t end)
{
	size_t n;

	for (; from < end; from += n) {
		n = end - from < XT_PAGE ? end - from : XT_PAGE;
		XT_CHECK(!memcmp(l->dst.p + from, l->src.p + from, n),
			 "wrong data in bytes %zu..%zu", from, from + n - 1);
	}
}

/*
 * Checks the last lap, the landmarks up to @len, and that no more was written.
 */
static void arrived(struct lane *l, size_t len)
{
	size_t i;

	same(l, len - DST_LAP, len);
	for (i = 0; i < XT_NELEM(landmarks); i++) {
		size_t from = landmarks[i].from;
		size_t end = from + landmarks[i].len;

		if (from < len)
			same(l, from, end < len ? end : len);
		if (from < len)
			from = len;
		if (from < end)
			XT_ALL(l->dst.p + from, end - from, MARK);
	}
}

/*
 * Cuts the message into the largest number of elements, one behind the other.
 */
static int cut(struct ibv_sge *sge, const struct xt_buf *b, size_t len)
{
	size_t piece = len / PIECES;
	size_t at = 0;
	int i;

	for (i = 0; i < PIECES; i++) {
		sge[i] = xt_sge(b, at, i < PIECES - 1 ? piece : len - at);
		at += sge[i].length;
	}
	return PIECES;
}

static void do_write(struct lane *l, size_t len)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;

	sge = xt_sge(&l->src, 0, len);
	wr = xt_wr_to(IBV_WR_RDMA_WRITE_WITH_IMM, 1, &sge, 1, &l->dst, 0);
	wr.imm_data = 5;
	xt_recvs(&l->p.a, 2, 1);
	xt_send(&l->p.b, &wr);
	wc = xt_wc_ok(l->p.a.rcq, 2);
	XT_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	XT_EQ(wc.byte_len, len);
	XT_EQ(wc.imm_data, 5);
	XT_EQ(xt_wc_ok(l->p.b.scq, 1).opcode, IBV_WC_RDMA_WRITE);
}

static void do_send(struct lane *l, size_t len)
{
	struct ibv_sge out[PIECES];
	struct ibv_sge in[PIECES];
	struct ibv_send_wr wr;
	struct ibv_wc wc;

	/* The two lists are cut at different places. */
	cut(in, &l->dst, len);
	in[0].length += 100;
	in[1].addr += 100;
	in[1].length -= 100;
	xt_recv(&l->p.a, 1, in, PIECES);
	wr = xt_wr(IBV_WR_SEND, 2, out, cut(out, &l->src, len));
	xt_send(&l->p.b, &wr);
	wc = xt_wc_ok(l->p.a.rcq, 1);
	XT_EQ(wc.opcode, IBV_WC_RECV);
	XT_EQ(wc.byte_len, len);
	xt_wc_ok(l->p.b.scq, 2);
}

static void do_read(struct lane *l, size_t len)
{
	struct ibv_sge in[PIECES];
	struct ibv_send_wr wr;
	struct ibv_wc wc;

	wr = xt_wr_to(IBV_WR_RDMA_READ, 1, in, cut(in, &l->dst, len), &l->src,
		      0);
	xt_send(&l->p.b, &wr);
	wc = xt_wc_ok(l->p.b.scq, 1);
	XT_EQ(wc.opcode, IBV_WC_RDMA_READ);
	XT_EQ(wc.byte_len, len);
}

/* Transfers a message of each size on one connection, and disconnects. */
static void each_size(void (*transfer)(struct lane *l, size_t len), bool into_b)
{
	size_t n = xt_count(XT_NELEM(sizes));
	struct lane l;
	size_t i;

	XT_CHECK(n <= XT_NELEM(sizes), "there are %zu sizes",
		 XT_NELEM(sizes));
	lane_up(&l, into_b);
	for (i = 0; i < n; i++) {
		clear(&l);
		transfer(&l, sizes[i]);
		arrived(&l, sizes[i]);
		xt_note("%zu bytes arrived", sizes[i]);
	}
	XT_OK(ibv_dereg_mr(l.src.mr));
	XT_OK(ibv_dereg_mr(l.dst.mr));
	xt_hang_up(&l.p, &l.p.b);
}

static void test_write(void)
{
	each_size(do_write, false);
}

static void test_send(void)
{
	each_size(do_send, false);
}

static void test_read(void)
{
	each_size(do_read, true);
}

/* A message that is one byte too long is refused, without side effects. */
static void test_too_long(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ,
	};
	struct xt_opts o = XT_OPTS;
	struct ibv_sge sge[PIECES];
	struct ibv_port_attr port;
	struct ibv_send_wr wr;
	struct xt_buf small;
	struct xt_pair p;
	size_t i;
	int k;

	o.send_sge = PIECES;
	xt_pair(&p, &o, &o);
	XT_OK(ibv_query_port(p.b.id->verbs, 1, &port));
	XT_EQ(port.max_msg_sz, MAX_MESSAGE);
	small = xt_buf(&p.b, XT_PAGE, XT_LOCAL);
	for (i = 0; i < XT_NELEM(ops); i++) {
		for (k = 0; k < PIECES; k++) {
			sge[k] = xt_sge(&small, 0, 0);
			sge[k].length = ROOM / PIECES;
		}
		wr = xt_wr_to(ops[i], 1, sge, PIECES, &small, 0);
		XT_EQ(xt_try_send(&p.b, &wr), EINVAL);
	}
	wr = xt_wr(IBV_WR_SEND, 2, NULL, 0);
	xt_recvs(&p.a, 3, 1);
	xt_send(&p.b, &wr);
	xt_wc_ok(p.b.scq, 2);
	xt_wc_ok(p.a.rcq, 3);
}

static const struct xt_case cases[] = {
	{ "too-long", "a message longer than any is not accepted",
	  test_too_long },
	{ "write", "Writes of 2 GiB and more", test_write },
	{ "send", "Sends of 2 GiB and more", test_send },
	{ "read", "Reads of 2 GiB and more", test_read },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
