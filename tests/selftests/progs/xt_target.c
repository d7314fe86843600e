// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The device's end of connections whose other end is made by hand, see
 * tests/conformance. Does what it reads on stdin, a command per line, answered
 * by a line "ok ..." or "error ERRNO". What happens by itself is reported in
 * between, as "cN request|event|wc|async ..." for connection N.
 *
 * Its memory regions: "rw" with all rights, "local" with none for the peer,
 * "other" with all in another protection domain, "big" to be read, "sink" for
 * its own reads and sends, "recv" with the receives, a gap behind each.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "xt.h"

#define MAX_CONN	256
#define QUEUE		64
#define RECV_LEN	64
#define RECV_STRIDE	128
#define RECV_SLOTS	512
#define FILL		0xee
#define MAX_ARGS	9

/**
 * struct conn - a connection
 * @id: its identifier, NULL if the place is free
 * @qp: its queue pair or NULL
 * @recvs: receives posted so far
 * @sends: sends posted so far
 */
struct conn {
	struct rdma_cm_id *id;
	struct ibv_qp *qp;
	unsigned int recvs;
	unsigned int sends;
};

static struct conn conns[MAX_CONN];
static struct xt_end listener;
static struct ibv_pd *pd;
static struct ibv_comp_channel *comp;
static struct ibv_cq *cq;
static struct xt_buf rw, local, other, big, sink, recvs;
static struct ibv_mr *lent;
static unsigned int next_slot;

static const struct {
	const char *name;
	struct xt_buf *buf;
} regions[] = {
	{ "rw", &rw }, { "local", &local }, { "other", &other },
	{ "big", &big }, { "sink", &sink }, { "recv", &recvs },
};

/* ---- set-up ------------------------------------------------------------ */

static void set_up(void)
{
	const char *wanted = getenv("XT_PORT");
	struct sockaddr_storage sa = xt_addr(&xt_a, wanted ? atoi(wanted) : 0);
	int all = XT_REMOTE | IBV_ACCESS_REMOTE_ATOMIC;
	const char *backlog = getenv("XT_BACKLOG");
	struct ibv_context *ctx;
	struct ibv_pd *other_pd;
	size_t i;
	int port;

	xt_id(&listener, &xt_a);
	port = xt_listen(&listener, &sa, backlog ? atoi(backlog) : 1024);
	ctx = listener.id->verbs;
	pd = XT_PTR(ibv_alloc_pd(ctx));
	other_pd = XT_PTR(ibv_alloc_pd(ctx));
	comp = XT_PTR(ibv_create_comp_channel(ctx));
	cq = XT_PTR(ibv_create_cq(ctx, 16384, NULL, comp, 0));
	XT_OK(ibv_req_notify_cq(cq, 0));

	rw = xt_buf_at(pd, 4000, 48, all);
	local = xt_buf_at(pd, 1000, 48, XT_LOCAL);
	other = xt_buf_at(other_pd, 1000, 48, all);
	big = xt_buf_at(pd, 1 << 20, 0, IBV_ACCESS_LOCAL_WRITE |
			IBV_ACCESS_REMOTE_READ);
	sink = xt_buf_at(pd, 1 << 17, 0, XT_LOCAL);
	recvs = xt_buf_at(pd, RECV_SLOTS * RECV_STRIDE, 0, XT_LOCAL);
	xt_fill(big.p, big.len, 1);
	memset(recvs.p, FILL, recvs.len);

	printf("ok port=%d device=%s", port, ibv_get_device_name(ctx->device));
	for (i = 0; i < XT_NELEM(regions); i++)
		printf(" %s=%u,%llu,%zu", regions[i].name,
		       regions[i].buf->mr->rkey,
		       (unsigned long long)(uintptr_t)regions[i].buf->p,
		       regions[i].buf->len);
	printf("\n");
}

/* ---- connections ------------------------------------------------------- */

static struct conn *conn_new(struct rdma_cm_id *id)
{
	int i;

	for (i = 0; i < MAX_CONN; i++) {
		if (conns[i].id)
			continue;
		memset(&conns[i], 0, sizeof(conns[i]));
		conns[i].id = id;
		id->context = &conns[i];
		return &conns[i];
	}
	XT_CHECK(false, "too many connections");
	return NULL;
}

static int conn_nr(const struct conn *c)
{
	return c - conns;
}

static struct conn *conn_of_qp(__u32 qp_num)
{
	int i;

	for (i = 0; i < MAX_CONN; i++)
		if (conns[i].qp && conns[i].qp->qp_num == qp_num)
			return &conns[i];
	return NULL;
}

static int post_recvs(struct conn *c, unsigned int n)
{
	struct ibv_recv_wr *bad;
	unsigned int slot;
	int ret = 0;

	for (; n && !ret; n--) {
		slot = next_slot++ % RECV_SLOTS;
		struct ibv_sge sge = xt_sge(&recvs, slot * RECV_STRIDE,
					    RECV_LEN);
		struct ibv_recv_wr wr = {
			.wr_id = (__u64)c->recvs << 32 | slot,
			.sg_list = &sge, .num_sge = 1,
		};

		memset(recvs.p + slot * RECV_STRIDE, FILL, RECV_STRIDE);
		ret = ibv_post_recv(c->qp, &wr, &bad);
		c->recvs += !ret;
	}
	return ret;
}

static int conn_qp(struct conn *c, unsigned int n_recvs)
{
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = QUEUE, .max_recv_wr = QUEUE,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.send_cq = cq, .recv_cq = cq,
	};

	XT_OK(rdma_create_qp(c->id, pd, &attr));
	c->qp = c->id->qp;
	return post_recvs(c, n_recvs);
}

static void conn_free(struct conn *c)
{
	if (c->qp)
		rdma_destroy_qp(c->id);
	rdma_destroy_id(c->id);
	c->id = NULL;
	c->qp = NULL;
}

static unsigned int unhex(const char *hex, __u8 *data, size_t size)
{
	unsigned int byte;
	size_t n = 0;

	while (n < size && sscanf(hex + 2 * n, "%2x", &byte) == 1)
		data[n++] = byte;
	return n;
}

static void print_hex(const void *p, size_t len)
{
	const __u8 *data = p;

	while (len--)
		printf("%02x", *data++);
}

/* ---- commands ---------------------------------------------------------- */

static unsigned long long num(const char *arg)
{
	return arg ? strtoull(arg, NULL, 0) : 0;
}

/* accept|dial C IRD ORD RECVS DATA [PORT] */
static int start(struct conn *c, char **arg)
{
	__u8 data[512];
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = unhex(arg[5] + 1, data, sizeof(data)),
		.responder_resources = num(arg[2]),
		.initiator_depth = num(arg[3]),
	};
	int ret = conn_qp(c, num(arg[4]));

	if (!ret && !strcmp(arg[0], "accept"))
		ret = rdma_accept(c->id, &param);
	else if (!ret)
		ret = rdma_connect(c->id, &param);
	return ret < 0 ? errno : ret;
}

static int call(char **arg)
{
	struct sockaddr_storage to = xt_addr(&xt_b, num(arg[6]));
	struct xt_end e;
	struct conn *c;

	xt_id(&e, &xt_a);
	xt_resolve(&e, &to);
	XT_OK(rdma_migrate_id(e.id, listener.ch));
	rdma_destroy_event_channel(e.ch);
	c = conn_new(e.id);
	printf("c%d dial\n", conn_nr(c));
	return start(c, arg);
}

/* post C send|read|write|imm|fadd LEN COUNT STAG TO FLAGS */
static int post(struct conn *c, char **arg)
{
	struct ibv_sge sge = xt_sge(&sink, 0, num(arg[3]));
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = sge.length ? 1 : 0,
		.send_flags = num(arg[7]),
	};
	unsigned int n = num(arg[4]);
	struct ibv_send_wr *bad;
	int ret = 0;

	wr.wr.rdma.rkey = num(arg[5]);
	wr.wr.rdma.remote_addr = num(arg[6]);
	if (!strcmp(arg[2], "send")) {
		wr.opcode = IBV_WR_SEND;
	} else if (!strcmp(arg[2], "read")) {
		wr.opcode = IBV_WR_RDMA_READ;
	} else if (!strcmp(arg[2], "write")) {
		wr.opcode = IBV_WR_RDMA_WRITE;
	} else if (!strcmp(arg[2], "imm")) {
		wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		wr.imm_data = htonl(0xc0ffee01);
	} else {
		wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr.wr.atomic.rkey = num(arg[5]);
		wr.wr.atomic.remote_addr = num(arg[6]);
		wr.wr.atomic.compare_add = 1;
	}
	for (; n && !ret; n--) {
		wr.wr_id = 1ULL << 63 | c->sends;
		ret = ibv_post_send(c->qp, &wr, &bad);
		c->sends += !ret;
	}
	return ret;
}

static int reject(struct conn *c, char **arg)
{
	__u8 data[256];
	int ret = rdma_reject(c->id, data, unhex(arg[2] + 1, data,
						 sizeof(data)));

	return ret < 0 ? errno : ret;
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
	XT_SAME(big.p, big.len, 1);
}

static struct xt_buf *find(const char *name)
{
	size_t i;

	for (i = 0; i < XT_NELEM(regions); i++)
		if (!strcmp(regions[i].name, name))
			return regions[i].buf;
	XT_CHECK(false, "no region %s", name);
	return NULL;
}

/* Each byte is its offset times STEP. */
static void pattern(struct xt_buf *buf, unsigned int step)
{
	size_t i;

	for (i = 0; i < buf->len; i++)
		buf->p[i] = i * step;
}

static int execute(char **arg)
{
	struct conn *c = &conns[num(arg[1]) % MAX_CONN];

	if (!strcmp(arg[0], "accept"))
		return start(c, arg);
	if (!strcmp(arg[0], "dial"))
		return call(arg);
	if (!strcmp(arg[0], "post"))
		return post(c, arg);
	if (!strcmp(arg[0], "recv"))
		return post_recvs(c, num(arg[2]));
	if (!strcmp(arg[0], "reject"))
		return reject(c, arg);
	if (!strcmp(arg[0], "disconnect"))
		return rdma_disconnect(c->id) ? errno : 0;
	if (!strcmp(arg[0], "fail"))
		return ibv_modify_qp(c->qp, &(struct ibv_qp_attr){
				     .qp_state = IBV_QPS_ERR }, IBV_QP_STATE);
	if (!strcmp(arg[0], "revoke"))
		return ibv_dereg_mr(lent);
	if (!strcmp(arg[0], "free"))
		conn_free(c);
	else if (!strcmp(arg[0], "guards"))
		guards();
	else if (!strcmp(arg[0], "pattern"))
		pattern(find(arg[1]), num(arg[2]));
	else if (!strcmp(arg[0], "fill"))
		memset(find(arg[1])->p, num(arg[2]), find(arg[1])->len);
	else
		XT_CHECK(false, "no command %s", arg[0]);
	return 0;
}

static void obey(char *line)
{
	char *arg[MAX_ARGS] = { 0 };
	struct xt_buf *buf;
	int n = 0;
	int ret;

	for (arg[0] = strtok(line, " "); arg[n] && n < MAX_ARGS - 1;)
		arg[++n] = strtok(NULL, " ");
	XT_CHECK(n, "empty command");
	if (!strcmp(arg[0], "lend")) {
		buf = find(arg[1]);
		lent = XT_PTR(ibv_reg_mr(pd, buf->p, buf->len,
					 IBV_ACCESS_REMOTE_READ));
		printf("ok %u\n", lent->rkey);
		return;
	}
	if (!strcmp(arg[0], "peek")) {
		buf = find(arg[1]);
		printf("ok ");
		print_hex(buf->p + num(arg[2]), num(arg[3]));
		printf("\n");
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
	struct conn *c;

	xt_next_event(&listener, &ev);
	if (ev.type == RDMA_CM_EVENT_CONNECT_REQUEST)
		c = conn_new(ev.id);
	else
		c = ev.id->context;
	printf("c%d %s %s status=%d ird=%u ord=%u data=", conn_nr(c),
	       ev.type == RDMA_CM_EVENT_CONNECT_REQUEST ? "request" : "event",
	       rdma_event_str(ev.type) + strlen("RDMA_CM_EVENT_"), ev.status,
	       ev.initiator_depth, ev.responder_resources);
	print_hex(ev.data, ev.data_len);
	printf("\n");
}

static void on_wc(const struct ibv_wc *wc)
{
	struct conn *c = conn_of_qp(wc->qp_num);
	bool sent = wc->wr_id >> 63;

	if (!c)
		return;
	printf("c%d wc %s%llu status=%d op=%d len=%u vendor=%u imm=%08x data=",
	       conn_nr(c), sent ? "s" : "r",
	       (unsigned long long)(sent ? wc->wr_id & ~(1ULL << 63) :
				    wc->wr_id >> 32),
	       wc->status, wc->opcode, wc->byte_len, wc->vendor_err,
	       wc->wc_flags & IBV_WC_WITH_IMM ? ntohl(wc->imm_data) : 0);
	if (!sent && wc->status == IBV_WC_SUCCESS &&
	    wc->opcode == IBV_WC_RECV && wc->byte_len <= RECV_LEN)
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
	struct conn *c = NULL;

	XT_OK(ibv_get_async_event(listener.id->verbs, &ev));
	if (ev.event_type <= IBV_EVENT_PATH_MIG_ERR ||
	    ev.event_type == IBV_EVENT_QP_LAST_WQE_REACHED)
		c = conn_of_qp(ev.element.qp->qp_num);
	printf("c%d async %d\n", c ? conn_nr(c) : -1, ev.event_type);
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
	fds[1] = (struct pollfd){ .fd = listener.ch->fd, .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = comp->fd, .events = POLLIN };
	fds[3] = (struct pollfd){ .fd = listener.id->verbs->async_fd,
				  .events = POLLIN };
	for (;;) {
		XT_CHECK(poll(fds, XT_NELEM(fds), -1) > 0, "poll: %m");
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
