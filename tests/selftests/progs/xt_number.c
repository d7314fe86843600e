// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The device's end of connections by number whose other end is made by hand,
 * see tests/conformance/oob.py. Does what it reads on stdin, a command
 * per line, answered by a line "ok ..." or "error ERRNO". What happens by
 * itself is reported in between, as "cN wc|async|event ..." for queue pair N.
 *
 * Its memory regions: "rw" with all rights for the peer, "sink" for its own
 * sends and reads, "recv" with the receives, a gap behind each.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

#include "xt.h"

#define MAX_QP		160
#define QUEUE		64
#define RECV_LEN	64
#define RECV_STRIDE	128
#define RECV_SLOTS	512
#define FILL		0xee
#define MAX_ARGS	12
#define SENT		0x8000000000000000ULL

/**
 * struct number - a queue pair
 * @qp: the queue pair, NULL if the place is free
 * @id: of rdma_cm if that connects the queue pair, or NULL
 * @recvs: receives posted so far
 * @sends: requests posted so far
 */
struct number {
	struct ibv_qp *qp;
	struct rdma_cm_id *id;
	unsigned int recvs;
	unsigned int sends;
};

static struct number numbers[MAX_QP];
static struct xt_end any;
static struct ibv_pd *pd;
static struct ibv_comp_channel *comp;
static struct ibv_cq *cq;
static struct ibv_srq *srq;
static struct xt_buf rw, sink, recvs;
static unsigned int next_slot;

static const struct {
	const char *name;
	struct xt_buf *buf;
} regions[] = { { "rw", &rw }, { "sink", &sink }, { "recv", &recvs } };

/* ---- set-up ------------------------------------------------------------ */

static void set_up(void)
{
	struct sockaddr_storage sa = xt_addr(&xt_a, 0);
	struct ibv_context *ctx;
	size_t i;
	int port;

	/* The device of that address; no connection is made there. */
	xt_id(&any, &xt_a);
	port = xt_listen(&any, &sa, 1);
	ctx = any.id->verbs;
	pd = XT_PTR(ibv_alloc_pd(ctx));
	comp = XT_PTR(ibv_create_comp_channel(ctx));
	cq = XT_PTR(ibv_create_cq(ctx, 16384, NULL, comp, 0));
	XT_OK(ibv_req_notify_cq(cq, 0));

	rw = xt_buf_at(pd, 4000, 48, XT_REMOTE | IBV_ACCESS_REMOTE_ATOMIC);
	sink = xt_buf_at(pd, 1 << 17, 0, XT_LOCAL);
	recvs = xt_buf_at(pd, RECV_SLOTS * RECV_STRIDE, 0, XT_LOCAL);
	memset(recvs.p, FILL, recvs.len);

	printf("ok port=%d device=%s", port, ibv_get_device_name(ctx->device));
	for (i = 0; i < XT_NELEM(regions); i++)
		printf(" %s=%u,%llu,%zu", regions[i].name,
		       regions[i].buf->mr->rkey,
		       (unsigned long long)(uintptr_t)regions[i].buf->p,
		       regions[i].buf->len);
	printf("\n");
}

static unsigned long long num(const char *arg)
{
	return arg ? strtoull(arg, NULL, 0) : 0;
}

static int nr_of(const struct number *n)
{
	return n - numbers;
}

static struct number *number_of(__u32 qp_num)
{
	int i;

	for (i = 0; i < MAX_QP; i++)
		if (numbers[i].qp && numbers[i].qp->qp_num == qp_num)
			return &numbers[i];
	return NULL;
}

static void print_hex(const void *p, size_t len)
{
	const __u8 *data = p;

	while (len--)
		printf("%02x", *data++);
}

/* ---- commands ---------------------------------------------------------- */

/* new [shared]: with receives of its own, or those of all that are "shared" */
static void new(bool shared)
{
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = QUEUE, .max_recv_wr = QUEUE,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.send_cq = cq, .recv_cq = cq,
	};
	struct ibv_srq_init_attr srq_attr = {
		.attr = { .max_wr = QUEUE, .max_sge = 1 },
	};
	int i;

	if (shared && !srq)
		srq = XT_PTR(ibv_create_srq(pd, &srq_attr));
	attr.srq = shared ? srq : NULL;
	for (i = 0; i < MAX_QP && numbers[i].qp; i++)
		;
	XT_CHECK(i < MAX_QP, "too many queue pairs");
	memset(&numbers[i], 0, sizeof(numbers[i]));
	numbers[i].qp = XT_PTR(ibv_create_qp(pd, &attr));
	printf("ok %d %u\n", i, numbers[i].qp->qp_num);
}

/* A query returns exactly the attributes of the peer that were set. */
#define RIGHTS	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		 IBV_ACCESS_REMOTE_ATOMIC)

static int init(struct number *n)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = RIGHTS,
	};

	return ibv_modify_qp(n->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			     IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

/* rtr N INDEX DGID NUMBER RQ_PSN DEST_RD MIN_RNR GLOBAL */
static int rtr(struct number *n, char **arg)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = num(arg[4]), .rq_psn = num(arg[5]),
		.max_dest_rd_atomic = num(arg[6]), .min_rnr_timer = num(arg[7]),
		.ah_attr = {
			.is_global = num(arg[8]), .port_num = 1,
			.grh = { .sgid_index = num(arg[2]), .hop_limit = 1 },
		},
	};
	unsigned int i;

	for (i = 0; i < sizeof(attr.ah_attr.grh.dgid.raw); i++)
		sscanf(arg[3] + 2 * i, "%2hhx", &attr.ah_attr.grh.dgid.raw[i]);
	return ibv_modify_qp(n->qp, &attr, IBV_QP_STATE | IBV_QP_AV |
			     IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

/* rts N SQ_PSN TIMEOUT RETRY_CNT RNR_RETRY RD */
static int rts(struct number *n, char **arg)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .sq_psn = num(arg[2]),
		.timeout = num(arg[3]), .retry_cnt = num(arg[4]),
		.rnr_retry = num(arg[5]), .max_rd_atomic = num(arg[6]),
	};

	return ibv_modify_qp(n->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN |
			     IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

static int to_state(struct number *n, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(n->qp, &attr, IBV_QP_STATE);
}

static void query(struct number *n)
{
	struct ibv_qp_init_attr init_attr;
	struct ibv_qp_attr attr;

	XT_OK(ibv_query_qp(n->qp, &attr, IBV_QP_STATE | IBV_QP_DEST_QPN |
			   IBV_QP_RQ_PSN | IBV_QP_SQ_PSN |
			   IBV_QP_ACCESS_FLAGS, &init_attr));
	if (attr.qp_access_flags)
		XT_EQ(attr.qp_access_flags, RIGHTS);
	printf("ok %d %u %u %u\n", attr.qp_state, attr.dest_qp_num,
	       attr.rq_psn, attr.sq_psn);
}

static int post_recvs(struct number *n, unsigned int count)
{
	struct ibv_recv_wr *bad;
	unsigned int slot;
	int ret = 0;

	for (; count && !ret; count--) {
		slot = next_slot++ % RECV_SLOTS;
		struct ibv_sge sge = xt_sge(&recvs, slot * RECV_STRIDE,
					    RECV_LEN);
		struct ibv_recv_wr wr = {
			.wr_id = (__u64)n->recvs << 32 | slot,
			.sg_list = &sge, .num_sge = 1,
		};

		memset(recvs.p + slot * RECV_STRIDE, FILL, RECV_STRIDE);
		ret = n->qp->srq ? ibv_post_srq_recv(srq, &wr, &bad) :
				   ibv_post_recv(n->qp, &wr, &bad);
		n->recvs += !ret;
	}
	return ret;
}

/* post N send|send_imm|read|write LEN COUNT STAG|IMMEDIATE TO */
static int post(struct number *n, char **arg)
{
	struct ibv_sge sge = xt_sge(&sink, 0, num(arg[3]));
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = sge.length ? 1 : 0,
		.opcode = IBV_WR_SEND,
	};
	unsigned int count = num(arg[4]);
	struct ibv_send_wr *bad;
	int ret = 0;

	wr.wr.rdma.rkey = num(arg[5]);
	wr.imm_data = htonl(num(arg[5]));
	wr.wr.rdma.remote_addr = num(arg[6]);
	if (!strcmp(arg[2], "read"))
		wr.opcode = IBV_WR_RDMA_READ;
	else if (!strcmp(arg[2], "write"))
		wr.opcode = IBV_WR_RDMA_WRITE;
	else if (!strcmp(arg[2], "send_imm"))
		wr.opcode = IBV_WR_SEND_WITH_IMM;
	for (; count && !ret; count--) {
		wr.wr_id = SENT | n->sends;
		ret = ibv_post_send(n->qp, &wr, &bad);
		n->sends += !ret;
	}
	return ret;
}

/* dial N PORT: rdma_cm is to connect a queue pair that it has not made. */
static int dial(struct number *n, char **arg)
{
	struct sockaddr_storage to = xt_addr(&xt_b, num(arg[2]));
	struct rdma_conn_param param = {
		.responder_resources = 1, .initiator_depth = 1,
		.qp_num = n->qp->qp_num,
	};
	struct xt_end e;

	xt_id(&e, &xt_a);
	xt_resolve(&e, &to);
	XT_OK(rdma_migrate_id(e.id, any.ch));
	rdma_destroy_event_channel(e.ch);
	n->id = e.id;
	n->id->context = n;
	return rdma_connect(n->id, &param) ? errno : 0;
}

/* From here on the process is in another namespace, or in its own again. */
static int leave(bool leave)
{
	if (leave)
		return unshare(CLONE_NEWNET) ? errno : 0;
	xt_enter(&xt_a);
	return 0;
}

/* Ports below 1024 are, or are not, for it. */
static int privileged(bool on)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
	const __u32 bit = 1U << CAP_NET_BIND_SERVICE;

	XT_OK(syscall(SYS_capget, &head, caps));
	if (on)
		caps[0].effective |= bit;
	else
		caps[0].effective &= ~bit;
	return syscall(SYS_capset, &head, caps) ? errno : 0;
}

static void release(struct number *n)
{
	XT_OK(ibv_destroy_qp(n->qp));
	n->qp = NULL;
	if (n->id)
		rdma_destroy_id(n->id);
	n->id = NULL;
}

/* Guards of all regions, and the gaps behind the receives. Ends if damaged. */
static void guards(void)
{
	size_t i;

	for (i = 0; i < XT_NELEM(regions); i++)
		XT_GUARDS(regions[i].buf);
	for (i = 0; i < RECV_SLOTS; i++)
		XT_ALL(recvs.p + i * RECV_STRIDE + RECV_LEN,
		       RECV_STRIDE - RECV_LEN, FILL);
}

static int execute(char **arg)
{
	struct number *n = &numbers[num(arg[1]) % MAX_QP];

	if (!strcmp(arg[0], "init"))
		return init(n);
	if (!strcmp(arg[0], "rtr"))
		return rtr(n, arg);
	if (!strcmp(arg[0], "rts"))
		return rts(n, arg);
	if (!strcmp(arg[0], "reset"))
		return to_state(n, IBV_QPS_RESET);
	if (!strcmp(arg[0], "fail"))
		return to_state(n, IBV_QPS_ERR);
	if (!strcmp(arg[0], "recv"))
		return post_recvs(n, num(arg[2]));
	if (!strcmp(arg[0], "post"))
		return post(n, arg);
	if (!strcmp(arg[0], "dial"))
		return dial(n, arg);
	if (!strcmp(arg[0], "leave") || !strcmp(arg[0], "return"))
		return leave(arg[0][0] == 'l');
	if (!strcmp(arg[0], "plain") || !strcmp(arg[0], "privileged"))
		return privileged(arg[0][1] == 'r');
	if (!strcmp(arg[0], "free"))
		release(n);
	else if (!strcmp(arg[0], "guards"))
		guards();
	else
		XT_CHECK(false, "no command %s", arg[0]);
	return 0;
}

static void obey(char *line)
{
	char *arg[MAX_ARGS] = { 0 };
	int n = 0;
	int ret;

	for (arg[0] = strtok(line, " "); arg[n] && n < MAX_ARGS - 1;)
		arg[++n] = strtok(NULL, " ");
	XT_CHECK(n, "empty command");
	if (!strcmp(arg[0], "new")) {
		new(arg[1]);
		return;
	}
	if (!strcmp(arg[0], "query")) {
		query(&numbers[num(arg[1]) % MAX_QP]);
		return;
	}
	ret = execute(arg);
	if (ret)
		printf("error %d %s\n", ret, strerror(ret));
	else
		printf("ok\n");
}

/* ---- reports ----------------------------------------------------------- */

static void on_cm_event(void)
{
	struct xt_event ev;
	struct number *n;

	xt_next_event(&any, &ev);
	n = ev.id->context;
	XT_CHECK(ev.type != RDMA_CM_EVENT_CONNECT_REQUEST, "a request");
	printf("c%d event %s status=%d\n", nr_of(n),
	       rdma_event_str(ev.type) + strlen("RDMA_CM_EVENT_"), ev.status);
}

static void on_wc(const struct ibv_wc *wc)
{
	struct number *n = number_of(wc->qp_num);
	bool sent = wc->wr_id & SENT;

	if (!n)
		return;
	printf("c%d wc %s%llu status=%d len=%u imm=%08x data=", nr_of(n),
	       sent ? "s" : "r",
	       (unsigned long long)(sent ? wc->wr_id & ~SENT : wc->wr_id >> 32),
	       wc->status, wc->byte_len,
	       wc->wc_flags & IBV_WC_WITH_IMM ? ntohl(wc->imm_data) : 0);
	if (!sent && wc->status == IBV_WC_SUCCESS && wc->byte_len <= RECV_LEN)
		print_hex(recvs.p + (__u32)wc->wr_id * RECV_STRIDE,
			  wc->byte_len);
	printf("\n");
}

static void on_completions(void)
{
	struct ibv_cq *which;
	struct ibv_wc wc;
	void *context;
	int n;

	XT_OK(ibv_get_cq_event(comp, &which, &context));
	ibv_ack_cq_events(which, 1);
	XT_OK(ibv_req_notify_cq(cq, 0));
	while ((n = ibv_poll_cq(cq, 1, &wc)) > 0)
		on_wc(&wc);
	XT_CHECK(!n, "polling failed");
}

static void on_async(void)
{
	struct ibv_async_event ev;
	struct number *n = NULL;

	XT_OK(ibv_get_async_event(pd->context, &ev));
	if (ev.event_type <= IBV_EVENT_PATH_MIG_ERR ||
	    ev.event_type == IBV_EVENT_QP_LAST_WQE_REACHED)
		n = number_of(ev.element.qp->qp_num);
	if (n)
		printf("c%d async %d\n", nr_of(n), ev.event_type);
	ibv_ack_async_event(&ev);
}

int main(int argc, char **argv)
{
	struct pollfd fds[4];

	XT_CHECK(argc == 3, "usage: %s NS/ADDR PEER-ADDR", argv[0]);
	xt_side_set(&xt_a, argv[1]);
	xt_side_set(&xt_b, argv[2]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	set_up();
	fds[0] = (struct pollfd){ .fd = 0, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = any.ch->fd, .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = comp->fd, .events = POLLIN };
	fds[3] = (struct pollfd){ .fd = pd->context->async_fd,
				  .events = POLLIN };
	for (;;) {
		XT_CHECK(poll(fds, XT_NELEM(fds), -1) > 0, "poll: %m");
		/* Before a command, so that its answer is behind them. */
		if (fds[1].revents)
			on_cm_event();
		if (fds[2].revents)
			on_completions();
		if (fds[3].revents)
			on_async();
		if (fds[0].revents && !xt_commands(obey))
			return 0;
	}
}
