// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Chooses GIDs as programs do that are given an address with a zone: the entry
 * of the tables of all devices that has the address and the interface. Then
 * connects by number.
 *
 *	xt_zone works|fails NS/ADDRESS%NETDEV NS/ADDRESS%NETDEV
 *
 * works: a MiB in each direction arrives, and is right. fails: a message at
 * each end fails, as that of a peer that does not answer.
 */
#include "number.h"

#include <net/if.h>
#include <stdio.h>
#include <string.h>

#define ENTRIES		128
#define LENGTH		(256 * XT_PAGE)

/**
 * struct zone - an end
 * @side: namespace and address
 * @netdev: name of the interface
 * @ctx: its device
 * @cq: completion queue, for both directions
 * @qp: queue pair
 * @out: bytes to send
 * @in: bytes received
 * @index: index of @gid
 * @gid: GID of the address
 */
struct zone {
	struct xt_side side;
	const char *netdev;
	struct ibv_context *ctx;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct xt_buf out;
	struct xt_buf in;
	int index;
	union ibv_gid gid;
};

static void parse(struct zone *z, char *spec)
{
	char *percent = strchr(spec, '%');

	XT_CHECK(percent, "no zone in %s", spec);
	*percent = 0;
	z->netdev = percent + 1;
	xt_side_set(&z->side, spec);
}

/* Is the address, on this interface, a GID of the device? */
static bool matches(struct zone *z, struct ibv_context *ctx)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&z->side.sa;
	struct ibv_gid_entry table[ENTRIES];
	ssize_t n = ibv_query_gid_table(ctx, table, ENTRIES, 0);
	ssize_t i;

	XT_CHECK(n >= 0, "ibv_query_gid_table: %zd", n);
	for (i = 0; i < n; i++) {
		if (memcmp(&table[i].gid, &sin6->sin6_addr, sizeof(z->gid)) ||
		    table[i].ndev_ifindex != if_nametoindex(z->netdev))
			continue;
		z->gid = table[i].gid;
		z->index = table[i].gid_index;
		return true;
	}
	return false;
}

static void find(struct zone *z)
{
	struct ibv_device **list = XT_PTR(ibv_get_device_list(NULL));
	struct ibv_context *ctx;
	int i;

	xt_enter(&z->side);
	for (i = 0; list[i]; i++) {
		ctx = XT_PTR(ibv_open_device(list[i]));
		if (!matches(z, ctx)) {
			XT_OK(ibv_close_device(ctx));
			continue;
		}
		XT_CHECK(!z->ctx, "several devices have the address");
		z->ctx = ctx;
	}
	XT_CHECK(z->ctx, "no device has the address on %s", z->netdev);
	ibv_free_device_list(list);
}

static void prepare(struct zone *z, __u64 seed)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
	};
	struct ibv_comp_channel *comp;
	struct ibv_recv_wr *bad;
	struct ibv_recv_wr wr;
	struct ibv_sge sge;
	struct ibv_pd *pd;

	find(z);
	pd = XT_PTR(ibv_alloc_pd(z->ctx));
	comp = XT_PTR(ibv_create_comp_channel(z->ctx));
	z->cq = XT_PTR(ibv_create_cq(z->ctx, 8, comp, comp, 0));
	attr.send_cq = z->cq;
	attr.recv_cq = z->cq;
	z->qp = XT_PTR(ibv_create_qp(pd, &attr));
	z->out = xt_buf_at(pd, LENGTH, 0, XT_LOCAL);
	z->in = xt_buf_at(pd, LENGTH, 0, XT_LOCAL);
	xt_fill(z->out.p, LENGTH, seed);
	XT_OK(number_init(z->qp));
	sge = xt_sge(&z->in, 0, LENGTH);
	wr = (struct ibv_recv_wr){ .sg_list = &sge, .num_sge = 1 };
	XT_OK(ibv_post_recv(z->qp, &wr, &bad));
}

static void connect_and_send(struct zone *z, const struct zone *peer)
{
	struct ibv_sge sge = xt_sge(&z->out, 0, LENGTH);
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, 1, &sge, 1);
	struct number_path path = {
		.index = z->index, .dgid = peer->gid,
		.dest = peer->qp->qp_num, .rq_psn = 7, .sq_psn = 7,
		.rd_atomic = 1, .min_rnr_timer = 12, .timeout = 14,
	};
	struct ibv_send_wr *bad;

	xt_enter(&z->side);
	XT_OK(number_rtr(z->qp, &path));
	XT_OK(number_rts(z->qp, &path));
	XT_OK(ibv_post_send(z->qp, &wr, &bad));
}

/* Each end gets a completion of its message and one of the peer's. */
static void arrives(struct zone *z, __u64 seed)
{
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 2; i++) {
		xt_wait(z->cq, &wc);
		XT_CHECK(wc.status == IBV_WC_SUCCESS, "%s: %s",
			 z->netdev, xt_wc_name(wc.status));
	}
	XT_SAME(z->in.p, LENGTH, seed);
}

static void times_out(struct zone *z)
{
	xt_wc(z->cq, 1, IBV_WC_RETRY_EXC_ERR);
	xt_wc(z->cq, 0, IBV_WC_WR_FLUSH_ERR);
}

int main(int argc, char **argv)
{
	struct zone a = {};
	struct zone b = {};

	XT_CHECK(argc == 4, "usage: %s works|fails SIDE%%NETDEV SIDE%%NETDEV",
		 argv[0]);
	parse(&a, argv[2]);
	parse(&b, argv[3]);
	xt_watchdog(60);
	prepare(&a, 1);
	prepare(&b, 2);
	connect_and_send(&a, &b);
	connect_and_send(&b, &a);
	if (!strcmp(argv[1], "fails")) {
		times_out(&a);
		times_out(&b);
		return 0;
	}
	arrives(&a, 2);
	arrives(&b, 1);
	printf("%s %s\n", ibv_get_device_name(a.ctx->device),
	       ibv_get_device_name(b.ctx->device));
	return 0;
}
