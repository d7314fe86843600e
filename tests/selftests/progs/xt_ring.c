// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A ring of processes that sum up vectors over queue pairs connected by number.
 * They make the calls, in the same order, of one of two libraries:
 *
 * nccl	queries GIDs one by one; four queue pairs to each neighbour, PSN 0. For
 *	each message the receiver posts empty receives, and grants a buffer by
 *	an inline Write; the sender sends a Write and an empty Write with
 *	Immediate on each queue pair. Polls completions. Reads received data
 *	once more over a queue pair that is connected to itself
 * gloo	queries all GIDs at once; one queue pair, random PSNs; posts receives
 *	before it connects; sends Writes with Immediate; waits for events
 *
 * xt_ring nccl|gloo SIDE-A DEVICE-A SIDE-B DEVICE-B
 */
#include <arpa/inet.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "number.h"

#define RANKS	4
#define STEPS	(2 * (RANKS - 1))
/* Slots for two rounds, as a neighbour may be up to a round ahead */
#define SLOTS	(2 * STEPS)
#define CHUNK	8192
#define ROUNDS	6
#define QPS	4
#define DEPTH	64
#define GIDS	256

/* Buffers of a process, in one region. */
static struct memory {
	__u64 vector[RANKS][CHUNK];
	__u64 slots[SLOTS][CHUNK];
	__u64 grants[SLOTS];
	__u64 again;
} *mem;

/* Addresses exchanged over the socket */
struct address {
	union ibv_gid gid;
	__u64 memory;
	__u32 rkey;
	__u32 psn;
	__u32 number[QPS];
};

static struct link {
	int sk;
	struct address own;
	struct address peer;
	struct ibv_qp *qp[QPS];
} left, right, self;

static bool nccl;
static int qps, rank, listener[RANKS];
static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_port_attr port;
static struct ibv_gid_entry gid;
static struct xt_buf buf;
static int sends, reads, arrived[SLOTS];

/* ---- set-up ------------------------------------------------------------ */

static void open_device(const char *name)
{
	struct ibv_device **list = XT_PTR(ibv_get_device_list(NULL));
	struct ibv_comp_channel *comp;

	while (*list && strcmp(ibv_get_device_name(*list), name))
		list++;
	XT_CHECK(*list, "no device %s", name);
	ctx = XT_PTR(ibv_open_device(*list));
	XT_OK(ibv_query_port(ctx, 1, &port));
	XT_EQ(port.link_layer, IBV_LINK_LAYER_ETHERNET);
	pd = XT_PTR(ibv_alloc_pd(ctx));
	comp = XT_PTR(ibv_create_comp_channel(ctx));
	cq = XT_PTR(ibv_create_cq(ctx, 4 * QPS * DEPTH, comp, comp, 0));
	buf = xt_buf_at(pd, sizeof(*mem), 0, XT_REMOTE);
	mem = (struct memory *)buf.p;
}

/* Returns the index of the first GID of that address family, except GID 0. */
static void choose_gid(bool v4)
{
	struct ibv_gid_entry entries[GIDS];
	struct in6_addr *addr;
	ssize_t n = 0;
	ssize_t i;

	for (i = 0; nccl && i < port.gid_tbl_len && n < GIDS; i++)
		n += !ibv_query_gid_ex(ctx, 1, i, &entries[n], 0);
	if (!nccl)
		n = ibv_query_gid_table(ctx, entries, GIDS, 0);
	for (i = 0; i < n && !gid.gid_index; i++) {
		addr = (struct in6_addr *)&entries[i].gid;
		if (!IN6_IS_ADDR_V4MAPPED(addr) == !v4 &&
		    !IN6_IS_ADDR_LINKLOCAL(addr))
			gid = entries[i];
	}
	XT_CHECK(gid.gid_index, "none of %zd GIDs fits", n);
}

static void post_recv(struct ibv_qp *qp)
{
	struct ibv_recv_wr wr = { 0 };
	struct ibv_recv_wr *bad;

	XT_OK(ibv_post_recv(qp, &wr, &bad));
}

static void make(struct link *l, int n)
{
	struct ibv_qp_init_attr init = {
		.cap = {
			.max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			.max_send_sge = 1, .max_recv_sge = 1,
			.max_inline_data = sizeof(mem->grants[0]),
		},
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
	};

	l->own.gid = gid.gid;
	l->own.memory = (uintptr_t)mem;
	l->own.rkey = buf.mr->rkey;
	if (!nccl)
		XT_EQ(getrandom(&l->own.psn, 3, 0), 3);
	while (n--) {
		l->qp[n] = XT_PTR(ibv_create_qp(pd, &init));
		l->own.number[n] = l->qp[n]->qp_num;
		XT_OK(number_init(l->qp[n]));
	}
}

static void name_peers(struct link *l, int n)
{
	struct number_path path = {
		.index = gid.gid_index, .dgid = l->peer.gid, .rd_atomic = 1,
		.rq_psn = l->peer.psn, .sq_psn = l->own.psn,
		.min_rnr_timer = nccl ? 12 : 20, .timeout = nccl ? 18 : 14,
	};

	while (n--) {
		path.dest = l->peer.number[n];
		XT_OK(number_rtr(l->qp[n], &path));
		XT_OK(number_rts(l->qp[n], &path));
	}
}

static void tell(struct link *l)
{
	XT_EQ(send(l->sk, &l->own, sizeof(l->own), 0), sizeof(l->own));
}

static void hear(struct link *l)
{
	XT_EQ(recv(l->sk, &l->peer, sizeof(l->peer), MSG_WAITALL),
	      sizeof(l->peer));
}

/*
 * Connects to both neighbours. The receiver of a link is in RTS before it sends
 * its numbers to the sender.
 */
static void connect_ring(void)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	int i;

	XT_OK(getsockname(listener[(rank + 1) % RANKS], (void *)&sa, &len));
	right.sk = socket(sa.ss_family, SOCK_STREAM, 0);
	XT_OK(connect(right.sk, (struct sockaddr *)&sa, len));
	make(&right, qps);
	tell(&right);

	left.sk = accept(listener[rank], NULL, NULL);
	XT_CHECK(left.sk >= 0, "accept: %m");
	make(&left, qps);
	for (i = 0; !nccl && i < SLOTS; i++)
		post_recv(left.qp[0]);
	hear(&left);
	name_peers(&left, qps);
	tell(&left);

	hear(&right);
	name_peers(&right, qps);
	if (nccl) {
		make(&self, 1);
		self.peer = self.own;
		name_peers(&self, 1);
	}
}

/* ---- messages ---------------------------------------------------------- */

static void post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	XT_OK(ibv_post_send(qp, wr, &bad));
	sends++;
}

static void complete(void)
{
	struct ibv_wc wc;

	if (nccl)
		xt_spin(cq, &wc);
	else
		xt_wait(cq, &wc);
	XT_CHECK(wc.status == IBV_WC_SUCCESS, "%s", xt_wc_name(wc.status));
	if (wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM) {
		sends--;
		reads += wc.opcode == IBV_WC_RDMA_READ;
		return;
	}
	XT_CHECK(ntohl(wc.imm_data) < SLOTS, "slot %u", ntohl(wc.imm_data));
	arrived[ntohl(wc.imm_data)]++;
	if (!nccl)
		post_recv(left.qp[0]);
}

static void grant(int slot, __u64 number)
{
	struct ibv_sge sge = { .addr = (uintptr_t)&number, .length = 8 };
	struct ibv_send_wr wr = xt_wr(IBV_WR_RDMA_WRITE, 0, &sge, 1);
	int i;

	for (i = 0; i < qps; i++)
		post_recv(left.qp[i]);
	wr.send_flags |= IBV_SEND_INLINE;
	wr.wr.rdma.rkey = left.peer.rkey;
	wr.wr.rdma.remote_addr = left.peer.memory +
				 offsetof(struct memory, grants[slot]);
	post(left.qp[0], &wr);
}

static void send_chunk(int chunk, int slot)
{
	size_t part = sizeof(mem->vector[0]) / qps;
	int i;

	for (i = 0; i < qps; i++) {
		struct ibv_sge sge = xt_sge(&buf, offsetof(struct memory,
					    vector[chunk]) + i * part, part);
		struct ibv_send_wr last = xt_wr(IBV_WR_RDMA_WRITE_WITH_IMM, 0,
						&sge, !nccl);
		struct ibv_send_wr data = xt_wr(IBV_WR_RDMA_WRITE, 0, &sge, 1);

		last.imm_data = htonl(slot);
		last.wr.rdma.rkey = right.peer.rkey;
		last.wr.rdma.remote_addr = right.peer.memory + i * part +
				offsetof(struct memory, slots[slot]);
		data.wr = last.wr;
		data.send_flags = 0;
		data.next = &last;
		post(right.qp[i], nccl ? &data : &last);
	}
}

/* Reads the first bytes of a received message over the queue pair to itself. */
static void read_again(int slot)
{
	struct ibv_sge sge = xt_sge(&buf, offsetof(struct memory, again), 8);
	struct ibv_send_wr wr = xt_wr_to(IBV_WR_RDMA_READ, 0, &sge, 1, &buf,
					 offsetof(struct memory, slots[slot]));
	int before = reads;

	post(self.qp[0], &wr);
	while (reads == before)
		complete();
	XT_EQ(mem->again, mem->slots[slot][0]);
}

/*
 * A step of a round: in the first half of a round partial sums pass through the
 * ring, in the second half the complete sums.
 */
static void step(int round, int n)
{
	__u64 number = round * STEPS + n + 1;
	int slot = number % SLOTS;
	bool add = n < RANKS - 1;
	int out = (rank + !add + 2 * RANKS - n % (RANKS - 1)) % RANKS;
	int in = (out + RANKS - 1) % RANKS;
	int i;

	if (nccl)
		grant(slot, number);
	while (nccl && __atomic_load_n(&mem->grants[slot],
				       __ATOMIC_ACQUIRE) != number)
		sched_yield();
	send_chunk(out, slot);
	while (arrived[slot] < qps || sends)
		complete();
	arrived[slot] = 0;
	if (nccl)
		read_again(slot);
	for (i = 0; i < CHUNK; i++)
		mem->vector[in][i] = mem->slots[slot][i] +
				     (add ? mem->vector[in][i] : 0);
}

static void run(const struct xt_side *side, const char *device)
{
	__u64 *v;
	int round;
	int i;

	xt_watchdog(80);
	xt_enter(side);
	open_device(device);
	choose_gid(side->sa.ss_family == AF_INET);
	connect_ring();
	v = (__u64 *)mem->vector;
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < RANKS * CHUNK; i++)
			v[i] = (i + round) * (rank + 1);
		for (i = 0; i < STEPS; i++)
			step(round, i);
		for (i = 0; i < RANKS * CHUNK; i++)
			XT_EQ(v[i], (i + round) * RANKS * (RANKS + 1) / 2);
	}
	XT_GUARDS(&buf);
}

int main(int argc, char **argv)
{
	const struct xt_side *side;
	struct sockaddr_storage sa;
	int status;
	int i;

	XT_CHECK(argc == 6, "usage: %s nccl|gloo SIDE DEVICE SIDE DEVICE",
		 argv[0]);
	nccl = !strcmp(argv[1], "nccl");
	qps = nccl ? QPS : 1;
	xt_side_set(&xt_a, argv[2]);
	xt_side_set(&xt_b, argv[4]);
	for (i = 0; i < RANKS; i++) {
		side = i < RANKS / 2 ? &xt_a : &xt_b;
		xt_enter(side);
		sa = xt_addr(side, 0);
		listener[i] = socket(sa.ss_family, SOCK_STREAM, 0);
		XT_OK(bind(listener[i], (void *)&sa, xt_addr_len(&sa)));
		XT_OK(listen(listener[i], 1));
	}
	for (rank = 0; rank < RANKS; rank++) {
		if (xt_fork())
			continue;
		side = rank < RANKS / 2 ? &xt_a : &xt_b;
		run(side, argv[side == &xt_a ? 3 : 5]);
		return 0;
	}
	/* If a process fails, this one exits, and that kills the others. */
	for (i = 0; i < RANKS; i++) {
		XT_CHECK(wait(&status) > 0, "wait: %m");
		XT_CHECK(!status, "a process ended with %#x", status);
	}
	return 0;
}
