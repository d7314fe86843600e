// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A hostile process: it has connections, and writes invalid values into the
 * queues that it shares with the kernel. It may break its own connections. The
 * device must accept the next connection, and memory of the peer must not
 * change outside of the granted regions. The caller checks that the kernel
 * reports no fault and that other processes are not affected.
 */
#include "rings.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/xiw-abi.h>

#define ROOM		8192UL

/**
 * struct rings - resources of the hostile process
 * @p: its connection, of which it is end b
 * @mine: its own region
 * @victim: region of the peer that it may access
 * @maps: its mapped queues
 */
struct rings {
	struct xt_pair p;
	struct xt_buf mine;
	struct xt_buf victim;
	struct xt_maps maps;
};

static __u64 random_state;
static volatile bool *set_up;

static __u64 rnd(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void rings_up(struct rings *r)
{
	memset(r, 0, sizeof(*r));
	xt_pair(&r->p, NULL, NULL);
	r->mine = xt_buf(&r->p.b, ROOM, XT_LOCAL);
	r->victim = xt_buf(&r->p.a, ROOM, XT_REMOTE);
	xt_recvs(&r->p.a, 1, 16);
	xt_recvs(&r->p.b, 1, 16);
	xt_find_maps(&r->maps, &r->p.b);
	*set_up = true;
}

/* Ends the connection, whatever its state is. */
static void rings_down(struct rings *r)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	XT_OK(ibv_modify_qp(r->p.b.qp, &attr, IBV_QP_STATE));
	xt_expect(&r->p.a, RDMA_CM_EVENT_DISCONNECTED, NULL);
	XT_GUARDS(&r->victim);
	XT_GUARDS(&r->p.a.spare);
}

/* ---- invalid commands -------------------------------------------------- */

/* Returns 0 or an errno. */
static int command(struct rings *r, __u32 number, void *cmd, size_t len,
		   size_t resp_len)
{
	struct ib_uverbs_cmd_hdr *hdr = cmd;
	ssize_t ret;

	hdr->command = number;
	hdr->in_words = len / 4;
	hdr->out_words = resp_len / 4;
	ret = write(r->p.b.id->verbs->cmd_fd, cmd, len);
	XT_CHECK(ret < 0 || (size_t)ret == len, "write: %zd", ret);
	return ret < 0 ? errno : 0;
}

static void send_doorbell(struct rings *r)
{
	xt_method(r->p.b.id->verbs, UVERBS_OBJECT_QP,
		  XIW_METHOD_QP_SEND_DOORBELL, r->p.b.qp->handle);
}

static void recv_doorbell(struct rings *r)
{
	xt_method(r->p.b.id->verbs, UVERBS_OBJECT_QP,
		  XIW_METHOD_QP_RECV_DOORBELL, r->p.b.qp->handle);
}

static void post_send_command(struct rings *r, struct ib_uverbs_send_wr *wr)
{
	struct ib_uverbs_post_send_resp resp = {};
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send cmd;
		struct ib_uverbs_send_wr wr;
	} c = {
		.cmd = {
			.response = (uintptr_t)&resp,
			.qp_handle = r->p.b.qp->handle,
			.wr_count = 1,
			.wqe_size = sizeof(c.wr),
		},
		.wr = *wr,
	};

	XT_EQ(command(r, IB_USER_VERBS_CMD_POST_SEND, &c, sizeof(c),
		      sizeof(resp)), EOPNOTSUPP);
	XT_EQ(resp.bad_wr, 0);
}

static void arm_command(struct rings *r, struct ibv_cq *cq)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_req_notify_cq cmd;
	} c = {
		.cmd = { .cq_handle = cq->handle, .solicited_only = rnd() & 1 },
	};

	XT_EQ(command(r, IB_USER_VERBS_CMD_REQ_NOTIFY_CQ, &c, sizeof(c), 0),
	      EOPNOTSUPP);
}

static void poll_command(struct rings *r, struct ibv_cq *cq)
{
	struct {
		struct ib_uverbs_poll_cq_resp head;
		struct ib_uverbs_wc wc[4];
	} resp = {};
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_poll_cq cmd;
	} c = {
		.cmd = {
			.response = (uintptr_t)&resp,
			.cq_handle = cq->handle,
			.ne = 4,
		},
	};

	XT_EQ(command(r, IB_USER_VERBS_CMD_POLL_CQ, &c, sizeof(c),
		      sizeof(resp)), EOPNOTSUPP);
	XT_EQ(resp.head.count, 0);
}

static void busy_poll(struct rings *r, struct ibv_cq *cq)
{
	xt_method(r->p.b.id->verbs, UVERBS_OBJECT_CQ, XIW_METHOD_CQ_BUSY_POLL,
		  cq->handle);
}

static void ring_bells(struct rings *r)
{
	send_doorbell(r);
	recv_doorbell(r);
	busy_poll(r, r->p.b.rcq);
	arm_command(r, r->p.b.scq);
	arm_command(r, r->p.b.rcq);
}

/* The peer's message makes the kernel take a receive and write completions. */
static void let_peer_send(struct rings *r)
{
	struct ibv_sge sge = xt_sge(&r->p.a.spare, 0, 16);
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, 1, &sge, 1);

	xt_try_send(&r->p.a, &wr);
}

/* ---- actions of a round ------------------------------------------------ */

static void scribble_all(struct rings *r, int round)
{
	unsigned int i;
	size_t at;

	(void)round;
	for (i = 0; i < r->maps.n; i++)
		for (at = 0; at < r->maps.len[i]; at++)
			r->maps.map[i][at] = rnd();
	ring_bells(r);
	let_peer_send(r);
	ring_bells(r);
}

static void scribble_some(struct rings *r, int round)
{
	unsigned int map;
	size_t at;
	int i;

	(void)round;
	for (i = 0; i < 300; i++) {
		map = rnd() % r->maps.n;
		at = rnd() % (r->maps.len[map] - 8);
		memcpy(r->maps.map[map] + at, &(__u64){ rnd() }, 1 + rnd() % 8);
		if (i % 4 == 0)
			ring_bells(r);
		if (i % 32 == 0)
			let_peer_send(r);
	}
}

/* Extreme values where indices, flags and counts may be. */
static void scribble_indices(struct rings *r, int round)
{
	static const __u32 values[] = {
		0, 1, 2, 63, 64, 65, 127, 128, 129, 255, 256, 257, 0x7fffffff,
		0x80000000, 0xfffffffe, 0xffffffff,
	};
	unsigned int i;
	size_t at;

	for (at = 0; at < 512; at += 4) {
		for (i = 0; i < r->maps.n; i++)
			*(volatile __u32 *)(r->maps.map[i] + at) =
				values[(round + at / 64) % XT_NELEM(values)];
		if (at % 64 == 0)
			ring_bells(r);
	}
	let_peer_send(r);
	ring_bells(r);
}

/* Refused without any effect: the connection continues. */
static void scribble_commands(struct rings *r, int round)
{
	struct ibv_sge sge = xt_sge(&r->mine, 0, 16);
	struct ibv_send_wr send = xt_wr(IBV_WR_SEND, XT_MAGIC, &sge, 1);
	struct ib_uverbs_send_wr wr;
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 16; i++) {
		memset(&wr, 0, sizeof(wr));
		wr.opcode = 16 * round + i;
		wr.wr_id = rnd();
		wr.ex.imm_data = rnd();
		wr.wr.rdma.rkey = r->victim.mr->rkey;
		wr.wr.rdma.remote_addr = (uintptr_t)r->victim.p;
		post_send_command(r, &wr);
		poll_command(r, r->p.b.scq);
		poll_command(r, r->p.b.rcq);
		arm_command(r, r->p.b.scq);
	}
	XT_EQ(ibv_poll_cq(r->p.b.scq, 1, &wc), 0);
	XT_EQ(ibv_poll_cq(r->p.b.rcq, 1, &wc), 0);
	xt_send(&r->p.b, &send);
	xt_wc(r->p.b.scq, XT_MAGIC, IBV_WC_SUCCESS);
	xt_wc(r->p.a.rcq, 1, IBV_WC_SUCCESS);
}

/* The kernel does not write behind the end of a response buffer. */
static void ask_without_room(struct rings *r, int round)
{
	struct {
		struct ib_uverbs_resize_cq_resp resp;
		__u64 room;
		__u64 behind[4];
	} answer = {};
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_resize_cq cmd;
	} c = {
		.cmd = {
			.response = (uintptr_t)&answer,
			.cq_handle = r->p.b.scq->handle,
			.cqe = 256,
		},
	};
	size_t i;

	(void)round;
	XT_EQ(command(r, IB_USER_VERBS_CMD_RESIZE_CQ, &c, sizeof(c),
		      offsetof(__typeof__(answer), behind)), EINVAL);
	for (i = 0; i < XT_NELEM(answer.behind); i++)
		XT_EQ(answer.behind[i], 0);
}

/* ---- invalid entries at their place in a ring -------------------------- */

static struct xiw_sqe *next_sqe(struct xt_sq *sq)
{
	return xt_sqe(sq, sq->ctrl->prod);
}

static void publish(struct rings *r, struct xt_sq *sq)
{
	__atomic_store_n(&sq->ctrl->prod, sq->ctrl->prod + 1, __ATOMIC_RELEASE);
	send_doorbell(r);
}

/* Fills in a valid work request, which the caller then changes. */
static struct xiw_sqe *good_sqe(struct rings *r, struct xt_sq *sq)
{
	struct xiw_sqe *sqe = next_sqe(sq);
	struct xiw_sge *sge = (struct xiw_sge *)(sqe + 1);

	memset(sqe, 0, sq->stride);
	sqe->wr_id = 1;
	sqe->flags = XIW_SQE_SIGNALED;
	sqe->num_sge = 1;
	sqe->rkey = r->victim.mr->rkey;
	sqe->raddr = (uintptr_t)r->victim.p;
	sge->addr = (uintptr_t)r->mine.p;
	sge->length = 64;
	sge->lkey = r->mine.mr->lkey;
	return sqe;
}

/* Status of a work request that is valid except for its opcode */
static enum ibv_wc_status opcode_status(__u8 opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_RDMA_READ:
		return IBV_WC_SUCCESS;
	default:
		return IBV_WC_LOC_QP_OP_ERR;
	}
}

/* Opcodes of the kernel only, of other devices, and unassigned ones. */
static void scribble_opcodes(struct rings *r, int round)
{
	struct xt_sq sq = xt_find_sq(&r->maps, &r->p.b);
	struct xiw_sqe *sqe = good_sqe(r, &sq);
	__u8 opcode = round < 32 ? round : 240 + round % 16;

	sqe->opcode = opcode;
	sqe->ext = rnd();
	publish(r, &sq);
	xt_wc(r->p.b.scq, 1, opcode_status(opcode));
}

static enum ibv_wc_status change_field(struct xiw_sqe *sqe,
				       const struct xt_sq *sq, int which)
{
	struct xiw_sge *sge = (struct xiw_sge *)(sqe + 1);

	switch (which) {
	case 0:
		sqe->num_sge = 255;
		return IBV_WC_LOC_QP_OP_ERR;
	case 1:
		sqe->flags |= XIW_SQE_INLINE;
		sqe->num_sge = 0;
		sqe->inline_len = 0xffffffff;
		return IBV_WC_LOC_QP_OP_ERR;
	case 2:
		sqe->flags |= XIW_SQE_INLINE;
		sqe->inline_len = sq->stride;
		return IBV_WC_LOC_QP_OP_ERR;
	case 3:
		sqe->flags = 0xff;
		return IBV_WC_LOC_QP_OP_ERR;
	case 4:
		sqe->reserved = 1;
		return IBV_WC_LOC_QP_OP_ERR;
	case 5:
		sqe->reserved2[1] = ~0ULL;
		return IBV_WC_LOC_QP_OP_ERR;
	case 6:
		sge->length = 0xffffffff;
		return IBV_WC_LOC_PROT_ERR;
	case 7:
		sge->addr = ~0ULL - 3;
		return IBV_WC_LOC_PROT_ERR;
	case 8:
		sqe->raddr += ROOM - 63;
		break;
	case 9:
		sqe->raddr = ~0ULL - 3;
		break;
	default:
		/* Random bytes: the queue pair ends with some status. */
		memcpy(sqe, &(__u64){ rnd() }, 8);
		sge->length = rnd();
		return IBV_WC_GENERAL_ERR;
	}
	/* A Write has completed before the peer refuses it. */
	return sqe->opcode == IBV_WR_RDMA_WRITE ? IBV_WC_SUCCESS
						: IBV_WC_REM_ACCESS_ERR;
}

static void scribble_fields(struct rings *r, int round)
{
	struct xt_sq sq = xt_find_sq(&r->maps, &r->p.b);
	struct xiw_sqe *sqe = good_sqe(r, &sq);
	enum ibv_wc_status status;

	sqe->opcode = round & 1 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
	status = change_field(sqe, &sq, round / 2);
	publish(r, &sq);
	if (status != IBV_WC_GENERAL_ERR)
		xt_wc(r->p.b.scq, 1, status);
}

struct racer {
	pthread_t thread;
	struct rings *r;
	struct xiw_sqe *sqe;
	volatile bool stop;
};

/* Changes every field between valid and invalid while the kernel reads it. */
static void *race(void *arg)
{
	struct racer *w = arg;
	volatile struct xiw_sqe *sqe = w->sqe;
	volatile struct xiw_sge *sge = (struct xiw_sge *)(w->sqe + 1);

	while (!w->stop) {
		sqe->num_sge = 255;
		sge->length = 0x7fffffff;
		sge->lkey = 0;
		sqe->inline_len = 0x10000;
		sqe->opcode = 255;
		sqe->opcode = IBV_WR_RDMA_WRITE;
		sqe->inline_len = 0;
		sge->lkey = w->r->mine.mr->lkey;
		sge->length = 64;
		sqe->num_sge = 1;
	}
	return NULL;
}

static void scribble_race(struct rings *r, int round)
{
	struct xt_sq sq = xt_find_sq(&r->maps, &r->p.b);
	struct racer w = { .r = r };
	unsigned int i;

	(void)round;
	for (i = 0; i < sq.num; i++) {
		w.sqe = good_sqe(r, &sq);
		w.sqe->opcode = IBV_WR_RDMA_WRITE;
		w.stop = false;
		XT_OK(pthread_create(&w.thread, NULL, race, &w));
		publish(r, &sq);
		w.stop = true;
		XT_OK(pthread_join(w.thread, NULL));
	}
}

/* A thread keeps the queue full of requests that send nothing. */
struct feeder {
	pthread_t thread;
	struct xt_sq *sq;
	volatile bool stop;
};

static void *feed(void *arg)
{
	struct feeder *f = arg;
	struct xiw_ring_ctrl *ctrl = f->sq->ctrl;
	unsigned int cons;

	while (!f->stop) {
		cons = __atomic_load_n(&ctrl->cons, __ATOMIC_ACQUIRE);
		__atomic_store_n(&ctrl->prod, cons + f->sq->num,
				 __ATOMIC_RELEASE);
	}
	return NULL;
}

static void scribble_endless(struct rings *r, int round)
{
	struct xt_sq sq = xt_find_sq(&r->maps, &r->p.b);
	struct feeder f = { .sq = &sq };
	struct ibv_mw *mw = XT_PTR(ibv_alloc_mw(r->p.b.pd, IBV_MW_TYPE_1));
	struct xiw_sqe *sqe;
	unsigned int before;
	unsigned int done;
	unsigned int i;

	(void)round;
	for (i = 0; i < sq.num; i++) {
		sqe = (struct xiw_sqe *)(sq.entries + sq.stride * i);
		memset(sqe, 0, sq.stride);
		sqe->opcode = IBV_WR_BIND_MW;
		sqe->rkey = mw->rkey;
	}
	XT_OK(pthread_create(&f.thread, NULL, feed, &f));
	/*
	 * The call returns, and the queue pair can be ended during it. The work
	 * of one call depends on when the feeder gets a processor.
	 */
	before = __atomic_load_n(&sq.ctrl->cons, __ATOMIC_ACQUIRE);
	while (__atomic_load_n(&sq.ctrl->prod, __ATOMIC_ACQUIRE) == before)
		sched_yield();
	do {
		send_doorbell(r);
		done = __atomic_load_n(&sq.ctrl->cons, __ATOMIC_ACQUIRE) -
		       before;
	} while (done <= sq.num);
	rings_down(r);
	f.stop = true;
	XT_OK(pthread_join(f.thread, NULL));
	_exit(0);
}

/* ---- rounds ------------------------------------------------------------ */

static void hostile_round(void (*scribble)(struct rings *r, int round),
			  int round)
{
	struct rings r;

	xt_watchdog(30);
	random_state = 0x9e3779b97f4a7c15ULL * (round + 1);
	rings_up(&r);
	scribble(&r, round);
	rings_down(&r);
	_exit(0);
}

/*
 * Runs each round in a process, which may crash after it has connected, as it
 * destroys its own queues, but must not exceed its time.
 */
static void rounds(void (*scribble)(struct rings *r, int round), int n)
{
	int status;
	pid_t pid;
	int i;

	set_up = mmap(NULL, XT_PAGE, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	XT_CHECK(set_up != MAP_FAILED, "mmap: %m");
	for (i = 0; i < n; i++) {
		*set_up = false;
		pid = xt_fork();
		if (!pid)
			hostile_round(scribble, i);
		XT_EQ(waitpid(pid, &status, 0), pid);
		XT_CHECK(*set_up, "round %d got no connection", i);
		if (WIFSIGNALED(status))
			continue;
		if (WEXITSTATUS(status) == XT_SKIP)
			_exit(XT_SKIP);
		XT_CHECK(!WEXITSTATUS(status), "round %d: status %d", i,
			 WEXITSTATUS(status));
	}
}

/* ---- requests that only kernel ULPs may post --------------------------- */

/* Opcodes of the kernel that the ABI does not have */
#define REG_MR			32
#define MASKED_CMP_SWP		12
#define MASKED_FETCH_ADD	13

/**
 * struct privilege - a request that a process must not be able to post
 * @opcode: opcode of the request
 * @flags: its flags besides XIW_SQE_SIGNALED
 * @reserved: value of a reserved field
 * @all_memory: its buffer has the key of all kernel memory
 * @status: status with which it must fail
 */
struct privilege {
	__u8 opcode;
	__u8 flags;
	__u8 reserved;
	bool all_memory;
	enum ibv_wc_status status;
};

static void ask_for(const struct privilege *what)
{
	static bool connected;
	struct xiw_sge *sge;
	struct xiw_sqe *sqe;
	struct rings r;
	struct xt_sq sq;

	set_up = &connected;
	rings_up(&r);
	sq = xt_find_sq(&r.maps, &r.p.b);
	sqe = good_sqe(&r, &sq);
	sge = (struct xiw_sge *)(sqe + 1);
	sqe->opcode = what->opcode;
	sqe->flags |= what->flags;
	sqe->reserved = what->reserved;
	if (what->opcode != IBV_WR_RDMA_WRITE)
		sge->length = 8;
	if (what->all_memory)
		sge->lkey = 0;
	publish(&r, &sq);
	xt_wc(r.p.b.scq, 1, what->status);
	rings_down(&r);
	/* The next call must not find these queues. */
	xt_buf_free(&r.mine);
	xt_buf_free(&r.victim);
	xt_close(&r.p.a);
	xt_close(&r.p.b);
}

static void test_kernel_only(void)
{
	static const struct privilege list[] = {
		{ .opcode = REG_MR, .status = IBV_WC_LOC_QP_OP_ERR },
		{ .opcode = MASKED_CMP_SWP, .status = IBV_WC_LOC_QP_OP_ERR },
		{ .opcode = MASKED_FETCH_ADD, .status = IBV_WC_LOC_QP_OP_ERR },
		{ .opcode = IBV_WR_RDMA_WRITE, .flags = 0x80,
		  .status = IBV_WC_LOC_QP_OP_ERR },
		{ .opcode = IBV_WR_RDMA_WRITE, .reserved = 1,
		  .status = IBV_WC_LOC_QP_OP_ERR },
		{ .opcode = IBV_WR_RDMA_WRITE, .all_memory = true,
		  .status = IBV_WC_LOC_PROT_ERR },
		/*
		 * The unchanged request succeeds, so the requests above failed
		 * because of their changes.
		 */
		{ .opcode = IBV_WR_RDMA_WRITE, .status = IBV_WC_SUCCESS },
	};
	size_t i;

	for (i = 0; i < XT_NELEM(list); i++)
		ask_for(&list[i]);
}

/* ---- a shared receive queue -------------------------------------------- */

/* The ring in which a receive with this number is. */
static struct xiw_ring_ctrl *find_srq(struct rings *r)
{
	unsigned int i;

	xt_recvs(&r->p.b, XT_MAGIC, 1);
	for (i = 0; i < r->maps.n; i++)
		if (xt_find_word(r->maps.map[i], r->maps.len[i], XT_MAGIC))
			return (struct xiw_ring_ctrl *)r->maps.map[i];
	xt_skip("the shared receive queue is not one of xiw");
}

static bool is_srq_error(struct ibv_context *ctx, struct ibv_srq *srq)
{
	struct ibv_async_event ev;
	bool found;

	XT_HERE();
	XT_OK(ibv_get_async_event(ctx, &ev));
	found = ev.event_type == IBV_EVENT_SRQ_ERR && ev.element.srq == srq;
	XT_CHECK(found || ev.event_type == IBV_EVENT_QP_LAST_WQE_REACHED,
		 "event %s", ibv_event_type_str(ev.event_type));
	ibv_ack_async_event(&ev);
	return found;
}

/*
 * The shared queue is broken, which is reported once, and the queue pairs get
 * no more receives from it.
 */
static void test_srq(void)
{
	static struct rings r;
	struct xt_opts o = XT_OPTS;
	struct xiw_ring_ctrl *ctrl;
	struct xt_pair q;
	int errors = 0;
	int i;

	o.srq_wr = 16;
	xt_pair(&r.p, NULL, &o);
	o.srq_wr = 0;
	o.srq = r.p.b.srq;
	o.pd = r.p.b.pd;
	xt_pair(&q, NULL, &o);
	xt_find_maps(&r.maps, &r.p.b);
	ctrl = find_srq(&r);
	__atomic_store_n(&ctrl->prod, ctrl->prod + 0x10000, __ATOMIC_RELEASE);
	let_peer_send(&r);
	xt_expect(&r.p.b, RDMA_CM_EVENT_DISCONNECTED, NULL);
	r.p.a = q.a;
	let_peer_send(&r);
	xt_expect(&q.b, RDMA_CM_EVENT_DISCONNECTED, NULL);
	for (i = 0; i < 3; i++)
		errors += is_srq_error(r.p.b.id->verbs, r.p.b.srq);
	XT_EQ(errors, 1);
}

static void test_all(void)
{
	rounds(scribble_all, xt_count(5));
}

static void test_some(void)
{
	rounds(scribble_some, xt_count(6));
}

static void test_indices(void)
{
	rounds(scribble_indices, xt_count(8));
}

static void test_commands(void)
{
	rounds(scribble_commands, xt_count(3));
}

static void test_room(void)
{
	rounds(ask_without_room, 1);
}

static void test_opcodes(void)
{
	rounds(scribble_opcodes, xt_count(48));
}

static void test_fields(void)
{
	rounds(scribble_fields, xt_count(26));
}

static void test_race(void)
{
	rounds(scribble_race, xt_count(4));
}

static void test_endless(void)
{
	rounds(scribble_endless, xt_count(2));
}

static const struct xt_case cases[] = {
	{ "all", "random bytes all over the queues", test_all },
	{ "some", "random bytes here and there", test_some },
	{ "indices", "extreme values in the control blocks", test_indices },
	{ "commands", "posts and polls of other devices", test_commands },
	{ "room", "an answer that does not fit", test_room },
	{ "opcodes", "every opcode in the send queue", test_opcodes },
	{ "fields", "absurd fields in the send queue", test_fields },
	{ "kernel-only", "what only the kernel may is refused",
	  test_kernel_only },
	{ "srq", "a broken shared receive queue raises its event", test_srq },
	{ "endless", "a queue that does not become empty", test_endless },
	{ "race", "an entry that changes while it is read", test_race },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
