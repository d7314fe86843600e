// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The device's end of connections by number with a peer in Python, see target.h
 * and tests/conformance/oob.py. "cN" in a report is queue pair N.
 *
 * Its memory regions: "rw" with all rights for the peer, "sink" for its own
 * sends and reads, "recv" with the receives, a gap behind each.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

#include "target.h"

#define MAX_QP		160

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
static struct ibv_srq *srq;

static const struct target_region regions[] = {
	{ "rw", &target.rw }, { "sink", &target.sink },
	{ "recv", &target.recvs },
};

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

/* ---- commands ---------------------------------------------------------- */

/*
 * new [shared]: creates a queue pair; "shared" ones have a common receive
 * queue.
 */
static void new(bool shared)
{
	struct ibv_srq_init_attr srq_attr = {
		.attr = { .max_wr = TARGET_QUEUE, .max_sge = 1 },
	};
	struct ibv_qp_init_attr attr;
	int i;

	if (shared && !srq)
		srq = XT_PTR(ibv_create_srq(target.pd, &srq_attr));
	target_init_attr(&attr);
	attr.srq = shared ? srq : NULL;
	for (i = 0; i < MAX_QP && numbers[i].qp; i++)
		;
	XT_CHECK(i < MAX_QP, "too many queue pairs");
	memset(&numbers[i], 0, sizeof(numbers[i]));
	numbers[i].qp = XT_PTR(ibv_create_qp(target.pd, &attr));
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

/* post N send|send_imm|read|write LEN COUNT STAG|IMMEDIATE TO */
static int post(struct number *n, char **arg)
{
	struct ibv_sge sge = xt_sge(&target.sink, 0, num(arg[3]));
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = sge.length ? 1 : 0,
		.opcode = IBV_WR_SEND,
	};

	wr.wr.rdma.rkey = num(arg[5]);
	wr.imm_data = htonl(num(arg[5]));
	wr.wr.rdma.remote_addr = num(arg[6]);
	if (!strcmp(arg[2], "read"))
		wr.opcode = IBV_WR_RDMA_READ;
	else if (!strcmp(arg[2], "write"))
		wr.opcode = IBV_WR_RDMA_WRITE;
	else if (!strcmp(arg[2], "send_imm"))
		wr.opcode = IBV_WR_SEND_WITH_IMM;
	return target_post_sends(n->qp, &n->sends, num(arg[4]), &wr);
}

/* dial N PORT: connects the queue pair by rdma_cm, which did not create it. */
static int dial(struct number *n, char **arg)
{
	struct rdma_conn_param param = {
		.responder_resources = 1, .initiator_depth = 1,
		.qp_num = n->qp->qp_num,
	};

	n->id = target_resolve(num(arg[2]));
	n->id->context = n;
	return rdma_connect(n->id, &param) ? errno : 0;
}

/* Moves the process to another network namespace, or back to its own. */
static int leave(bool leave)
{
	if (leave)
		return unshare(CLONE_NEWNET) ? errno : 0;
	xt_enter(&xt_a);
	return 0;
}

/* Adds or removes the capability for ports below 1024. */
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
		return target_post_recvs(n->qp, &n->recvs, num(arg[2]));
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
		target_guards();
	else
		XT_CHECK(false, "no command %s", arg[0]);
	return 0;
}

static bool answer(char **arg)
{
	if (!strcmp(arg[0], "new"))
		new(arg[1]);
	else if (!strcmp(arg[0], "query"))
		query(&numbers[num(arg[1]) % MAX_QP]);
	else
		return false;
	return true;
}

/* ---- reports ----------------------------------------------------------- */

static void on_cm_event(void)
{
	struct xt_event ev;
	struct number *n;

	xt_next_event(&target.end, &ev);
	n = ev.id->context;
	XT_CHECK(ev.type != RDMA_CM_EVENT_CONNECT_REQUEST, "a request");
	printf("c%d event %s status=%d\n", nr_of(n),
	       rdma_event_str(ev.type) + strlen("RDMA_CM_EVENT_"), ev.status);
}

static void on_wc(const struct ibv_wc *wc)
{
	struct number *n = number_of(wc->qp_num);

	if (n)
		target_print_wc(nr_of(n), wc);
}

static void on_async(int type, __u32 qpn)
{
	struct number *n = number_of(qpn);

	if (n)
		printf("c%d async %d\n", nr_of(n), type);
}

int main(int argc, char **argv)
{
	const struct target_ops ops = {
		.regions = regions, .num_regions = XT_NELEM(regions),
		.backlog = 1, .answer = answer, .execute = execute,
		.on_cm_event = on_cm_event, .on_wc = on_wc,
		.on_async = on_async,
	};

	return target_main(argc, argv, &ops);
}
