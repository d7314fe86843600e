// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Programs for the device's end of connections with a peer in Python.
 */
#include "target.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RECV_LEN	64
#define RECV_STRIDE	128
#define RECV_SLOTS	512
#define FILL		0xee
#define MAX_ARGS	12

struct target target;

static const struct target_ops *program;
static unsigned int next_slot;

static void set_up(const struct target_ops *ops)
{
	struct sockaddr_storage sa = xt_addr(&xt_a, ops->port);
	struct ibv_context *ctx;
	size_t i;
	int port;

	xt_id(&target.end, &xt_a);
	port = xt_listen(&target.end, &sa, ops->backlog);
	ctx = target.end.id->verbs;
	target.pd = XT_PTR(ibv_alloc_pd(ctx));
	target.comp = XT_PTR(ibv_create_comp_channel(ctx));
	target.cq = XT_PTR(ibv_create_cq(ctx, 16384, NULL, target.comp, 0));
	XT_OK(ibv_req_notify_cq(target.cq, 0));

	target.rw = xt_buf_at(target.pd, 4000, 48, TARGET_ALL);
	target.sink = xt_buf_at(target.pd, 1 << 17, 0, XT_LOCAL);
	target.recvs = xt_buf_at(target.pd, RECV_SLOTS * RECV_STRIDE, 0,
				 XT_LOCAL);
	memset(target.recvs.p, FILL, target.recvs.len);
	if (ops->set_up)
		ops->set_up();

	printf("ok port=%d device=%s", port, ibv_get_device_name(ctx->device));
	for (i = 0; i < ops->num_regions; i++)
		printf(" %s=%u,%llu,%zu", ops->regions[i].name,
		       ops->regions[i].buf->mr->rkey,
		       (unsigned long long)(uintptr_t)ops->regions[i].buf->p,
		       ops->regions[i].buf->len);
	printf("\n");
}

unsigned long long num(const char *arg)
{
	return arg ? strtoull(arg, NULL, 0) : 0;
}

void target_print_hex(const void *p, size_t len)
{
	const __u8 *data = p;

	while (len--)
		printf("%02x", *data++);
}

void target_init_attr(struct ibv_qp_init_attr *attr)
{
	*attr = (struct ibv_qp_init_attr){
		.cap = {
			.max_send_wr = TARGET_QUEUE,
			.max_recv_wr = TARGET_QUEUE,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.send_cq = target.cq, .recv_cq = target.cq,
	};
}

int target_post_recvs(struct ibv_qp *qp, unsigned int *posted,
		      unsigned int count)
{
	struct ibv_recv_wr *bad;
	unsigned int slot;
	int ret = 0;

	for (; count && !ret; count--) {
		slot = next_slot++ % RECV_SLOTS;
		struct ibv_sge sge = xt_sge(&target.recvs, slot * RECV_STRIDE,
					    RECV_LEN);
		struct ibv_recv_wr wr = {
			.wr_id = (__u64)*posted << 32 | slot,
			.sg_list = &sge, .num_sge = 1,
		};

		memset(target.recvs.p + slot * RECV_STRIDE, FILL, RECV_STRIDE);
		ret = qp->srq ? ibv_post_srq_recv(qp->srq, &wr, &bad) :
				ibv_post_recv(qp, &wr, &bad);
		*posted += !ret;
	}
	return ret;
}

int target_post_sends(struct ibv_qp *qp, unsigned int *posted,
		      unsigned int count, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	int ret = 0;

	for (; count && !ret; count--) {
		wr->wr_id = TARGET_SENT | *posted;
		ret = ibv_post_send(qp, wr, &bad);
		*posted += !ret;
	}
	return ret;
}

/*
 * Ends the program if bytes outside of a region, or of a receive, have changed.
 */
void target_guards(void)
{
	size_t i;

	for (i = 0; i < program->num_regions; i++)
		XT_GUARDS(program->regions[i].buf);
	for (i = 0; i < RECV_SLOTS; i++)
		XT_ALL(target.recvs.p + i * RECV_STRIDE + RECV_LEN,
		       RECV_STRIDE - RECV_LEN, FILL);
}

void target_print_wc(int nr, const struct ibv_wc *wc)
{
	bool sent = wc->wr_id & TARGET_SENT;

	printf("c%d wc %s%llu status=%d op=%d len=%u vendor=%u imm=%08x data=",
	       nr, sent ? "s" : "r",
	       (unsigned long long)(sent ? wc->wr_id & ~TARGET_SENT :
				    wc->wr_id >> 32),
	       wc->status, wc->opcode, wc->byte_len, wc->vendor_err,
	       wc->wc_flags & IBV_WC_WITH_IMM ? ntohl(wc->imm_data) : 0);
	if (!sent && wc->status == IBV_WC_SUCCESS &&
	    wc->opcode == IBV_WC_RECV && wc->byte_len <= RECV_LEN)
		target_print_hex(target.recvs.p +
				 (__u32)wc->wr_id * RECV_STRIDE, wc->byte_len);
	printf("\n");
}

struct rdma_cm_id *target_resolve(int port)
{
	struct sockaddr_storage to = xt_addr(&xt_b, port);
	struct xt_end e;

	xt_id(&e, &xt_a);
	xt_resolve(&e, &to);
	XT_OK(rdma_migrate_id(e.id, target.end.ch));
	rdma_destroy_event_channel(e.ch);
	return e.id;
}

static void obey(char *line)
{
	char *arg[MAX_ARGS] = { 0 };
	int n = 0;
	int ret;

	for (arg[0] = strtok(line, " "); arg[n] && n < MAX_ARGS - 1;)
		arg[++n] = strtok(NULL, " ");
	XT_CHECK(n, "empty command");
	if (program->answer(arg))
		return;
	ret = program->execute(arg);
	if (ret)
		printf("error %d %s\n", ret, strerror(ret));
	else
		printf("ok\n");
}

static void on_completions(void)
{
	struct ibv_cq *which;
	struct ibv_wc wc;
	void *context;
	int n;

	XT_OK(ibv_get_cq_event(target.comp, &which, &context));
	ibv_ack_cq_events(which, 1);
	XT_OK(ibv_req_notify_cq(target.cq, 0));
	while ((n = ibv_poll_cq(target.cq, 1, &wc)) > 0)
		program->on_wc(&wc);
	XT_CHECK(!n, "polling failed");
}

static void on_async(void)
{
	struct ibv_async_event ev;
	__u32 qpn = 0;

	XT_OK(ibv_get_async_event(target.pd->context, &ev));
	if (ev.event_type <= IBV_EVENT_PATH_MIG_ERR ||
	    ev.event_type == IBV_EVENT_QP_LAST_WQE_REACHED)
		qpn = ev.element.qp->qp_num;
	program->on_async(ev.event_type, qpn);
	ibv_ack_async_event(&ev);
}

int target_main(int argc, char **argv, const struct target_ops *ops)
{
	struct pollfd fds[4];

	XT_CHECK(argc == 3, "usage: %s NS/ADDR PEER-ADDR", argv[0]);
	xt_side_set(&xt_a, argv[1]);
	xt_side_set(&xt_b, argv[2]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	program = ops;
	set_up(ops);
	fds[0] = (struct pollfd){ .fd = 0, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = target.end.ch->fd, .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = target.comp->fd, .events = POLLIN };
	fds[3] = (struct pollfd){ .fd = target.pd->context->async_fd,
				  .events = POLLIN };
	for (;;) {
		XT_CHECK(poll(fds, XT_NELEM(fds), -1) > 0, "poll: %m");
		/* Report events before the answer to a command. */
		if (fds[1].revents)
			ops->on_cm_event();
		if (fds[2].revents)
			on_completions();
		if (fds[3].revents)
			on_async();
		if (fds[0].revents && !xt_commands(obey))
			return 0;
	}
}
