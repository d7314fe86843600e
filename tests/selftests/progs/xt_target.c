// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The device's end of connections of rdma_cm with a peer in Python, see
 * target.h and tests/conformance/live.py. "cN" in a report is connection N.
 *
 * Its memory regions: "rw" with all rights, "local" with none for the peer,
 * "other" with all in another protection domain, "big" to be read, "sink" for
 * its own reads and sends, "recv" with the receives, a gap behind each.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "target.h"

#define MAX_CONN	256

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
static struct xt_buf local, other, big;
static struct ibv_mr *lent;

static const struct target_region regions[] = {
	{ "rw", &target.rw }, { "local", &local }, { "other", &other },
	{ "big", &big }, { "sink", &target.sink }, { "recv", &target.recvs },
};

static void set_up(void)
{
	struct ibv_pd *other_pd = XT_PTR(ibv_alloc_pd(target.end.id->verbs));

	local = xt_buf_at(target.pd, 1000, 48, XT_LOCAL);
	other = xt_buf_at(other_pd, 1000, 48, TARGET_ALL);
	big = xt_buf_at(target.pd, 1 << 20, 0, IBV_ACCESS_LOCAL_WRITE |
			IBV_ACCESS_REMOTE_READ);
	xt_fill(big.p, big.len, 1);
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

static int conn_qp(struct conn *c, unsigned int n_recvs)
{
	struct ibv_qp_init_attr attr;

	target_init_attr(&attr);
	XT_OK(rdma_create_qp(c->id, target.pd, &attr));
	c->qp = c->id->qp;
	return target_post_recvs(c->qp, &c->recvs, n_recvs);
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

/* ---- commands ---------------------------------------------------------- */

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
	struct conn *c = conn_new(target_resolve(num(arg[6])));

	printf("c%d dial\n", conn_nr(c));
	return start(c, arg);
}

/* post C send|send_imm|read|write|imm|fadd LEN COUNT STAG TO FLAGS */
static int post(struct conn *c, char **arg)
{
	struct ibv_sge sge = xt_sge(&target.sink, 0, num(arg[3]));
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = sge.length ? 1 : 0,
		.send_flags = num(arg[7]),
	};

	wr.wr.rdma.rkey = num(arg[5]);
	wr.wr.rdma.remote_addr = num(arg[6]);
	if (!strcmp(arg[2], "send")) {
		wr.opcode = IBV_WR_SEND;
	} else if (!strcmp(arg[2], "send_imm")) {
		wr.opcode = IBV_WR_SEND_WITH_IMM;
		wr.imm_data = htonl(0xc0ffee01);
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
	return target_post_sends(c->qp, &c->sends, num(arg[4]), &wr);
}

static int reject(struct conn *c, char **arg)
{
	__u8 data[256];
	int ret = rdma_reject(c->id, data, unhex(arg[2] + 1, data,
						 sizeof(data)));

	return ret < 0 ? errno : ret;
}

static void guards(void)
{
	target_guards();
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
		return target_post_recvs(c->qp, &c->recvs, num(arg[2]));
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

static bool answer(char **arg)
{
	struct xt_buf *buf;

	if (!strcmp(arg[0], "lend")) {
		buf = find(arg[1]);
		lent = XT_PTR(ibv_reg_mr(target.pd, buf->p, buf->len,
					 IBV_ACCESS_REMOTE_READ));
		printf("ok %u\n", lent->rkey);
		return true;
	}
	if (!strcmp(arg[0], "peek")) {
		buf = find(arg[1]);
		printf("ok ");
		target_print_hex(buf->p + num(arg[2]), num(arg[3]));
		printf("\n");
		return true;
	}
	return false;
}

/* ---- reports ----------------------------------------------------------- */

static void on_cm_event(void)
{
	struct xt_event ev;
	struct conn *c;

	xt_next_event(&target.end, &ev);
	if (ev.type == RDMA_CM_EVENT_CONNECT_REQUEST)
		c = conn_new(ev.id);
	else
		c = ev.id->context;
	printf("c%d %s %s status=%d ird=%u ord=%u data=", conn_nr(c),
	       ev.type == RDMA_CM_EVENT_CONNECT_REQUEST ? "request" : "event",
	       rdma_event_str(ev.type) + strlen("RDMA_CM_EVENT_"), ev.status,
	       ev.initiator_depth, ev.responder_resources);
	target_print_hex(ev.data, ev.data_len);
	printf("\n");
}

static void on_wc(const struct ibv_wc *wc)
{
	struct conn *c = conn_of_qp(wc->qp_num);

	if (c)
		target_print_wc(conn_nr(c), wc);
}

static void on_async(int type, __u32 qpn)
{
	struct conn *c = conn_of_qp(qpn);

	printf("c%d async %d\n", c ? conn_nr(c) : -1, type);
}

int main(int argc, char **argv)
{
	const char *port = getenv("XT_PORT");
	const char *backlog = getenv("XT_BACKLOG");
	const struct target_ops ops = {
		.regions = regions, .num_regions = XT_NELEM(regions),
		.port = port ? atoi(port) : 0,
		.backlog = backlog ? atoi(backlog) : 1024,
		.set_up = set_up, .answer = answer, .execute = execute,
		.on_cm_event = on_cm_event, .on_wc = on_wc,
		.on_async = on_async,
	};

	return target_main(argc, argv, &ops);
}
