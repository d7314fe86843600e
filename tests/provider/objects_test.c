// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Tests of creation, mapping and destruction without a device: the command
 * functions of libibverbs are replaced by the ones below, which answer as
 * the kernel would. Rings are mapped from a memory file. Output is TAP.
 */
#include <errno.h>
#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ccan/array_size.h>

#include "compat.h"
#include "fake.h"

enum {
	FILE_SIZE	= 1 << 20,
	SQ_KEY		= 0,		/* 0 is a valid offset */
	RQ_KEY		= 64 << 10,
	CQ_KEY		= 128 << 10,
	NEW_CQ_KEY	= 192 << 10,
	SRQ_KEY		= 256 << 10,
	MAP_LEN		= 16 << 10,
	RACE_QPS	= 3000,
	RACE_POISON	= 0x5a,
};

/* Results of the commands, and how often they were called. */
static struct {
	struct xiw_uresp_create_cq cq;
	struct xiw_uresp_create_qp qp;
	struct xiw_uresp_create_srq srq;
	int ret;
	int created;
	int destroyed;
	int resized;
	uint32_t comp_mask;
} answer;

static struct xiw_context ctx;
static int failures;
static void *freed;

/* While @on, free() poisons and keeps all of it. */
static struct {
	bool on;
	int count;
	void *mem[2 * RACE_QPS];
} kept;

void __wrap_free(void *mem)
{
	freed = mem;
	if (!kept.on || kept.count == ARRAY_SIZE(kept.mem)) {
		__real_free(mem);
		return;
	}
	memset(mem, RACE_POISON, malloc_usable_size(mem));
	kept.mem[kept.count++] = mem;
}

void fake_fail(const char *file, int line, const char *what)
{
	failures++;
	printf("# %s:%d: failed: %s\n", file, line, what);
}

int ibv_cmd_create_cq_ex(struct ibv_context *context,
			 const struct ibv_cq_init_attr_ex *attr,
#if IBVERBS_PABI_VERSION >= 65
			 struct verbs_create_cq_prov_attr *prov_attr,
#endif
			 struct verbs_cq *cq, struct ibv_create_cq_ex *cmd,
			 size_t cmd_size,
			 struct ib_uverbs_ex_create_cq_resp *resp,
			 size_t resp_size, uint32_t cmd_flags)
{
	struct xiw_cmd_create_cq_resp *full = (void *)resp;

	if (answer.ret)
		return answer.ret;
	answer.created++;
	answer.comp_mask = attr->comp_mask;
	cq->cq.context = context;
	cq->cq.cqe = answer.cq.num_cqe;
	full->drv_payload = answer.cq;
	return 0;
}

int ibv_cmd_resize_cq(struct ibv_cq *cq, int cqe, struct ibv_resize_cq *cmd,
		      size_t cmd_size, struct ib_uverbs_resize_cq_resp *resp,
		      size_t resp_size)
{
	struct xiw_cmd_resize_cq_resp *full = (void *)resp;

	answer.resized++;
	if (answer.ret)
		return answer.ret;
	full->drv_payload = answer.cq;
	return 0;
}

int ibv_cmd_create_qp_ex(struct ibv_context *context, struct verbs_qp *qp,
			 struct ibv_qp_init_attr_ex *attr,
			 struct ibv_create_qp *cmd, size_t cmd_size,
			 struct ib_uverbs_create_qp_resp *resp,
			 size_t resp_size)
{
	struct xiw_cmd_create_qp_resp *full = (void *)resp;

	if (answer.ret)
		return answer.ret;
	answer.created++;
	answer.comp_mask = attr->comp_mask;
	qp->qp.context = context;
	qp->qp.send_cq = attr->send_cq;
	qp->qp.recv_cq = attr->recv_cq;
	qp->qp.qp_num = answer.qp.qp_id;
	qp->qp.handle = FAKE_HANDLE;
	qp->comp_mask = 0;
	full->drv_payload = answer.qp;
	return 0;
}

int ibv_cmd_create_srq(struct ibv_pd *pd, struct ibv_srq *srq,
		       struct ibv_srq_init_attr *attr,
		       struct ibv_create_srq *cmd, size_t cmd_size,
		       struct ib_uverbs_create_srq_resp *resp,
		       size_t resp_size)
{
	struct xiw_cmd_create_srq_resp *full = (void *)resp;

	if (answer.ret)
		return answer.ret;
	answer.created++;
	srq->handle = FAKE_HANDLE;
	full->drv_payload = answer.srq;
	return 0;
}

int ibv_cmd_alloc_pd(struct ibv_context *context, struct ibv_pd *pd,
		     struct ibv_alloc_pd *cmd, size_t cmd_size,
		     struct ib_uverbs_alloc_pd_resp *resp, size_t resp_size)
{
	if (answer.ret)
		return answer.ret;
	pd->context = context;
	pd->handle = FAKE_HANDLE;
	return 0;
}

static int destroy(void)
{
	if (!answer.ret)
		answer.destroyed++;
	return answer.ret;
}

int ibv_cmd_destroy_cq(struct ibv_cq *cq)
{
	return destroy();
}

int ibv_cmd_destroy_qp(struct ibv_qp *qp)
{
	return destroy();
}

int ibv_cmd_destroy_srq(struct ibv_srq *srq)
{
	return destroy();
}

int ibv_cmd_dealloc_pd(struct ibv_pd *pd)
{
	return destroy();
}

/* Responses of the kernel for small queues. */
static void reset(void)
{
	memset(&answer, 0, sizeof(answer));
	answer.cq = (struct xiw_uresp_create_cq){
		.cq_key = CQ_KEY, .map_len = MAP_LEN, .num_cqe = 16,
	};
	answer.qp = (struct xiw_uresp_create_qp){
		.sq_key = SQ_KEY, .rq_key = RQ_KEY,
		.sq_map_len = MAP_LEN, .rq_map_len = MAP_LEN,
		.num_sqe = 8, .num_rqe = 16, .sqe_stride = FAKE_SQE_STRIDE,
		.rqe_stride = FAKE_RQE_STRIDE, .qp_id = FAKE_QPN,
		.max_inline = FAKE_MAX_INLINE,
	};
	answer.srq = (struct xiw_uresp_create_srq){
		.srq_key = SRQ_KEY, .map_len = MAP_LEN, .num_rqe = 8,
		.rqe_stride = FAKE_RQE_STRIDE,
	};
	ctx.caps = XIW_CAP_IMM | XIW_CAP_ATOMIC;
}

static bool is_mapped(void *addr)
{
	return addr && msync(addr, MAP_LEN, MS_ASYNC) == 0;
}

static struct ibv_qp_init_attr_ex qp_attr(struct ibv_pd *pd, struct ibv_cq *cq)
{
	return (struct ibv_qp_init_attr_ex){
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pd,
		.cap = { .max_send_wr = 5, .max_recv_wr = 16,
			 .max_send_sge = FAKE_MAX_SGE,
			 .max_recv_sge = FAKE_MAX_SGE },
	};
}

static bool completes_into(const struct xiw_qp *qp, struct ibv_cq *cq)
{
	return xiw_qp_table_find(&to_xcq(cq)->qps, FAKE_QPN) == qp;
}

static void test_qp(void)
{
	struct ibv_qp_init_attr_ex attr;
	struct xiw_ring_ctrl *ctrl;
	struct ibv_cq *cq;
	struct ibv_cq *rcq;
	struct ibv_pd *pd;
	struct xiw_qp *qp;

	pd = xiw_alloc_pd(&ctx.vctx.context);
	cq = xiw_create_cq(&ctx.vctx.context, 10, NULL, 0);
	rcq = xiw_create_cq(&ctx.vctx.context, 10, NULL, 0);
	attr = qp_attr(pd, cq);
	attr.recv_cq = rcq;
	attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_SEND |
			      IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	/* As between start_poll and end_poll */
	xiw_lock(&to_xcq(cq)->lock);
	qp = to_xqp(xiw_create_qp_ex(&ctx.vctx.context, &attr));
	xiw_unlock(&to_xcq(cq)->lock);
	CHECK(answer.comp_mask == IBV_QP_INIT_ATTR_PD);
	CHECK(qp->vqp.comp_mask == VERBS_QP_EX);
	CHECK(qp->vqp.qp_ex.wr_start);
	CHECK(qp->max_inline == FAKE_MAX_INLINE);

	CHECK(qp->sq.ring.limit == 5 && qp->sq.ring.mask == 7);
	CHECK(qp->sq.ring.entries ==
	      (uint8_t *)(qp->sq.ring.ctrl + 1));
	CHECK(fake_called(&qp->sq.doorbell, UVERBS_OBJECT_QP,
			  XIW_METHOD_QP_SEND_DOORBELL));
	CHECK(qp->rq.ring.limit == 16 && qp->rq.ring.mask == 15);
	CHECK(fake_called(&qp->rq.doorbell, UVERBS_OBJECT_QP,
			  XIW_METHOD_QP_RECV_DOORBELL));
	CHECK(qp->sq.ring.ctrl != qp->rq.ring.ctrl);
	CHECK(completes_into(qp, cq) && completes_into(qp, rcq));

	/* The rings stay mapped until the kernel has destroyed the QP. */
	ctrl = qp->sq.ring.ctrl;
	answer.ret = EBUSY;
	CHECK(xiw_destroy_qp(&qp->vqp.qp) == EBUSY);
	CHECK(is_mapped(ctrl));
	CHECK(completes_into(qp, cq) && completes_into(qp, rcq));
	answer.ret = 0;
	CHECK(!xiw_destroy_qp(&qp->vqp.qp));
	CHECK(!is_mapped(ctrl));
	CHECK(completes_into(NULL, cq) && completes_into(NULL, rcq));
	CHECK(!xiw_destroy_cq(rcq));
	CHECK(!xiw_destroy_cq(cq));
	CHECK(!xiw_dealloc_pd(pd));
}

/* max_send_wr = 0 with an SRQ: neither queue exists. */
static void test_qp_without_queues(void)
{
	struct ibv_srq_init_attr srq_attr = {
		.attr = { .max_wr = 8, .max_sge = FAKE_MAX_SGE },
	};
	struct ibv_qp_init_attr_ex attr;
	struct ibv_srq *srq;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	struct ibv_qp *qp;

	pd = xiw_alloc_pd(&ctx.vctx.context);
	cq = xiw_create_cq(&ctx.vctx.context, 10, NULL, 0);
	srq = xiw_create_srq(pd, &srq_attr);
	CHECK(srq && to_xsrq(srq)->rq.ring.limit == 8);
	CHECK(fake_called(&to_xsrq(srq)->rq.doorbell, UVERBS_OBJECT_SRQ,
			  XIW_METHOD_SRQ_DOORBELL));

	attr = qp_attr(pd, cq);
	attr.srq = srq;
	attr.cap.max_send_wr = 0;
	attr.cap.max_recv_wr = 0;
	answer.qp = (struct xiw_uresp_create_qp){ .qp_id = FAKE_QPN };
	qp = xiw_create_qp_ex(&ctx.vctx.context, &attr);
	CHECK(qp && !to_xqp(qp)->sq.ring.ctrl && !to_xqp(qp)->rq.ring.ctrl);
	CHECK(!xiw_destroy_qp(qp));
	CHECK(!xiw_destroy_srq(srq));
	CHECK(!xiw_destroy_cq(cq));
	CHECK(!xiw_dealloc_pd(pd));
	CHECK(answer.created == answer.destroyed - 1);
}

/* A refused or failed creation releases everything and sets errno. */
static void test_qp_errors(void)
{
	struct ibv_qp_init_attr_ex attr;
	struct ibv_cq *cq;
	struct ibv_pd *pd;

	pd = xiw_alloc_pd(&ctx.vctx.context);
	cq = xiw_create_cq(&ctx.vctx.context, 10, NULL, 0);

	attr = qp_attr(pd, cq);
	attr.qp_type = IBV_QPT_UD;
	CHECK(!xiw_create_qp_ex(&ctx.vctx.context, &attr));
	CHECK(errno == EOPNOTSUPP);

	attr = qp_attr(pd, cq);
	attr.send_cq = NULL;
	CHECK(!xiw_create_qp_ex(&ctx.vctx.context, &attr) && errno == EINVAL);

	attr = qp_attr(pd, cq);
	attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_IMM;
	CHECK(!xiw_create_qp_ex(&ctx.vctx.context, &attr));
	CHECK(errno == EOPNOTSUPP);
	ctx.caps = 0;
	attr.send_ops_flags = IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP;
	CHECK(!xiw_create_qp_ex(&ctx.vctx.context, &attr));
	CHECK(errno == EOPNOTSUPP);

	attr = qp_attr(pd, cq);
	answer.ret = ENOSPC;
	CHECK(!xiw_create_qp_ex(&ctx.vctx.context, &attr) && errno == ENOSPC);
	answer.ret = 0;
	CHECK(answer.created == 1 && answer.destroyed == 0);

	/* Impossible responses: the QP is destroyed again. */
	answer.qp.num_rqe = 12;
	CHECK(!xiw_create_qp_ex(&ctx.vctx.context, &attr) && errno == EPROTO);
	reset();
	answer.qp.sqe_stride = sizeof(struct xiw_sqe) + FAKE_MAX_INLINE - 8;
	CHECK(!xiw_create_qp_ex(&ctx.vctx.context, &attr) && errno == EPROTO);
	CHECK(answer.created == 1 && answer.destroyed == 1);
	answer.qp.sqe_stride = FAKE_SQE_STRIDE;
	answer.qp.num_sqe = 1024;
	CHECK(!xiw_create_qp_ex(&ctx.vctx.context, &attr) && errno == EPROTO);
	answer.qp.num_sqe = 8;
	answer.qp.rq_key = 1;
	CHECK(!xiw_create_qp_ex(&ctx.vctx.context, &attr) && errno == EINVAL);
	CHECK(answer.created == 3 && answer.destroyed == 3);

	CHECK(!xiw_destroy_cq(cq));
	CHECK(!xiw_dealloc_pd(pd));
}

static void test_cq_attr(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 10,
		.wc_flags = IBV_WC_STANDARD_FLAGS |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};
	struct ibv_cq_ex *cq;

	cq = xiw_create_cq_ex(&ctx.vctx.context, &attr);
	CHECK(cq && to_xcq_ex(cq)->lock.elide && to_xcq_ex(cq)->arm_lock.elide);
	CHECK(answer.comp_mask == 0 && cq->start_poll);
	CHECK(!xiw_destroy_cq(ibv_cq_ex_to_cq(cq)));

	attr.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	CHECK(!xiw_create_cq_ex(&ctx.vctx.context, &attr));
	CHECK(errno == EOPNOTSUPP);
	attr.flags = 0;
	attr.wc_flags |= IBV_WC_EX_WITH_CVLAN;
	CHECK(!xiw_create_cq_ex(&ctx.vctx.context, &attr));
	CHECK(errno == EOPNOTSUPP);
	attr.wc_flags = 0;
	answer.cq.map_len = 0;
	CHECK(!xiw_create_cq_ex(&ctx.vctx.context, &attr) && errno == EPROTO);
	CHECK(answer.created == 2 && answer.destroyed == 2);
}

/* The kernel moves entries that were not polled; polls use the new ring. */
static void test_cq_resize(void)
{
	struct ibv_poll_cq_attr attr = {};
	struct xiw_ring_ctrl *old, *new;
	struct rlimit was, none = {};
	struct ibv_cq_ex *cq_ex;
	struct ibv_wc wc[3];
	struct xiw_cqe *cqe;
	struct ibv_cq *cq;
	uint8_t *file;
	int i;

	cq = xiw_create_cq(&ctx.vctx.context, 10, NULL, 0);
	old = to_xcq(cq)->ring.ctrl;
	for (i = 0; i < 3; i++) {
		cqe = xiw_ring_slot(&to_xcq(cq)->ring, i);
		*cqe = (struct xiw_cqe){ .wr_id = i, .byte_len = 5 * i };
	}
	old->prod = 3;
	CHECK(xiw_poll_cq(cq, 1, wc) == 1);

	file = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
		    ctx.vctx.context.cmd_fd, 0);
	memcpy(file + NEW_CQ_KEY, file + CQ_KEY, MAP_LEN);
	new = (struct xiw_ring_ctrl *)(file + NEW_CQ_KEY);

	answer.ret = ENOMEM;
	CHECK(xiw_resize_cq(cq, 20) == ENOMEM);
	CHECK(to_xcq(cq)->ring.ctrl == old && answer.resized == 1);
	answer.ret = 0;
	answer.cq.cq_key = NEW_CQ_KEY;
	answer.cq.num_cqe = 32;
	/* Without address space for the ring there is no command. */
	getrlimit(RLIMIT_AS, &was);
	none.rlim_max = was.rlim_max;
	setrlimit(RLIMIT_AS, &none);
	CHECK(xiw_resize_cq(cq, 20) == ENOMEM);
	setrlimit(RLIMIT_AS, &was);
	CHECK(xiw_resize_cq(cq, 0) == EINVAL);
	CHECK(xiw_resize_cq(cq, -1) == EINVAL);
	CHECK(to_xcq(cq)->ring.ctrl == old && answer.resized == 1);
	/* The current completion stays valid when its ring is replaced. */
	cq_ex = &to_xcq(cq)->vcq.cq_ex;
	CHECK(!ibv_start_poll(cq_ex, &attr));
	to_xcq(cq)->lock.elide = to_xcq(cq)->arm_lock.elide = true;
	CHECK(!xiw_resize_cq(cq, 20));
	CHECK(!is_mapped(old) && to_xcq(cq)->ring.mask == 31);
	CHECK(cq_ex->wr_id == 1 && ibv_wc_read_byte_len(cq_ex) == 5);
	to_xcq(cq)->lock.elide = to_xcq(cq)->arm_lock.elide = false;
	ibv_end_poll(cq_ex);

	CHECK(xiw_poll_cq(cq, 3, wc) == 1 && wc[0].wr_id == 2);
	CHECK(new->cons == 3);
	CHECK(!xiw_req_notify_cq(cq, 0) && new->arm == XIW_ARM_NEXT);
	CHECK(!xiw_destroy_cq(cq));
	memset(file, 0, FILE_SIZE);
	munmap(file, FILE_SIZE);
}

/* A thread domain elides locks; a domain that is in use cannot be freed. */
static void test_domains(void)
{
	struct ibv_parent_domain_init_attr pd_attr = {};
	struct ibv_qp_init_attr_ex attr;
	struct ibv_td_init_attr td_attr = {};
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 10, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
	};
	struct ibv_pd *pd, *parent;
	struct ibv_cq_ex *cq;
	struct ibv_td *td;
	struct ibv_qp *qp;

	pd = xiw_alloc_pd(&ctx.vctx.context);
	td = xiw_alloc_td(&ctx.vctx.context, &td_attr);
	CHECK(!xiw_alloc_parent_domain(&ctx.vctx.context, &pd_attr));
	CHECK(errno == EINVAL);
	pd_attr.pd = pd;
	pd_attr.td = td;
	pd_attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	CHECK(!xiw_alloc_parent_domain(&ctx.vctx.context, &pd_attr));
	CHECK(errno == EOPNOTSUPP);
	pd_attr.comp_mask = 0;
	parent = xiw_alloc_parent_domain(&ctx.vctx.context, &pd_attr);
	CHECK(parent && parent->handle == FAKE_HANDLE);
	CHECK(xiw_dealloc_pd(pd) == EBUSY && xiw_dealloc_td(td) == EBUSY);

	cq_attr.parent_domain = pd;
	CHECK(!xiw_create_cq_ex(&ctx.vctx.context, &cq_attr));
	CHECK(errno == EINVAL);
	cq_attr.parent_domain = parent;
	cq = xiw_create_cq_ex(&ctx.vctx.context, &cq_attr);
	CHECK(to_xcq_ex(cq)->lock.elide);
	attr = qp_attr(parent, ibv_cq_ex_to_cq(cq));
	qp = xiw_create_qp_ex(&ctx.vctx.context, &attr);
	CHECK(to_xqp(qp)->sq.lock.elide && to_xqp(qp)->rq.lock.elide);
	CHECK(xiw_dealloc_pd(parent) == EBUSY);
	CHECK(!xiw_destroy_qp(qp));
	CHECK(xiw_dealloc_pd(parent) == EBUSY);

	attr = qp_attr(pd, ibv_cq_ex_to_cq(cq));
	qp = xiw_create_qp_ex(&ctx.vctx.context, &attr);
	CHECK(!to_xqp(qp)->sq.lock.elide && !to_xqp(qp)->rq.lock.elide);
	CHECK(!xiw_destroy_qp(qp));

	CHECK(!xiw_destroy_cq(ibv_cq_ex_to_cq(cq)));
	CHECK(!xiw_dealloc_pd(parent));
	CHECK(!xiw_dealloc_td(td));
	CHECK(!xiw_dealloc_pd(pd));
}

/* An imported domain exists as long as the objects created in it. */
static void test_unimport(void)
{
	struct ibv_parent_domain_init_attr pd_attr = {};
	struct ibv_td_init_attr td_attr = {};
	struct ibv_qp_init_attr_ex attr;
	struct ibv_pd *pd, *parent;
	struct ibv_cq *cq;
	struct ibv_td *td;
	struct ibv_qp *qp;

	cq = xiw_create_cq(&ctx.vctx.context, 10, NULL, 0);
	td = xiw_alloc_td(&ctx.vctx.context, &td_attr);
	pd = xiw_import_pd(&ctx.vctx.context, FAKE_HANDLE);
	pd_attr.pd = pd;
	pd_attr.td = td;
	parent = xiw_alloc_parent_domain(&ctx.vctx.context, &pd_attr);
	freed = NULL;
	xiw_unimport_pd(pd);
	CHECK(!freed);
	attr = qp_attr(parent, cq);
	qp = xiw_create_qp_ex(&ctx.vctx.context, &attr);
	CHECK(to_xqp(qp)->sq.lock.elide);
	CHECK(xiw_dealloc_pd(parent) == EBUSY && xiw_dealloc_td(td) == EBUSY);
	CHECK(!xiw_destroy_qp(qp));
	freed = NULL;
	CHECK(!xiw_dealloc_pd(parent));
	CHECK(freed == parent);
	CHECK(!xiw_dealloc_td(td));

	/* A queue without a parent domain. */
	pd = xiw_import_pd(&ctx.vctx.context, FAKE_HANDLE);
	attr = qp_attr(pd, cq);
	qp = xiw_create_qp_ex(&ctx.vctx.context, &attr);
	freed = NULL;
	xiw_unimport_pd(pd);
	CHECK(!freed);
	CHECK(!xiw_destroy_qp(qp));

	/* No object was created in the domain. */
	pd = xiw_import_pd(&ctx.vctx.context, FAKE_HANDLE);
	xiw_unimport_pd(pd);
	CHECK(freed == pd);
	CHECK(!xiw_destroy_cq(cq));
	CHECK(answer.destroyed == 3);
}

/* Was freed memory written to? */
static bool kept_is_clean(const uint8_t *mem)
{
	size_t len = malloc_usable_size((void *)mem);
	size_t i;

	for (i = 0; i < len; i++)
		if (mem[i] != RACE_POISON)
			return false;
	return true;
}

static void *race_poll(void *arg)
{
	struct ibv_cq *cq = arg;
	struct ibv_wc wc[4];

	/* The main thread ends the loop by the completion RACE_QPS. */
	while (xiw_poll_cq(cq, 1, wc) != 1 || wc[0].wr_id != RACE_QPS)
		;
	return NULL;
}

/* The ring may contain completions of destroyed queue pairs. */
static void race_complete(struct xiw_ring *ring, uint64_t wr_id)
{
	uint32_t prod = ring->ctrl->prod;

	while (prod - __atomic_load_n(&ring->ctrl->cons, __ATOMIC_ACQUIRE) >
	       ring->mask)
		sched_yield();
	*(struct xiw_cqe *)xiw_ring_slot(ring, prod) = (struct xiw_cqe){
		.wr_id = wr_id, .qp_id = FAKE_QPN, .sq_done = wr_id,
		.opcode = wr_id & 1 ? XIW_WC_RECV : IB_UVERBS_WC_SEND,
	};
	__atomic_store_n(&ring->ctrl->prod, prod + 1, __ATOMIC_RELEASE);
}

/* A poll uses no queue pair that another thread has destroyed. */
static void test_destroy_raced(void)
{
	struct ibv_qp_init_attr_ex attr;
	struct xiw_ring ring;
	pthread_t thread;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	struct ibv_qp *qp;
	int i;

	pd = xiw_alloc_pd(&ctx.vctx.context);
	cq = xiw_create_cq(&ctx.vctx.context, 10, NULL, 0);
	memset(to_xcq(cq)->ring.ctrl, 0, sizeof(struct xiw_ring_ctrl));
	ring = to_xcq(cq)->ring;
	if (pthread_create(&thread, NULL, race_poll, cq)) {
		CHECK(!"pthread_create");
		return;
	}
	kept.on = true;
	for (i = 0; i < RACE_QPS; i++) {
		attr = qp_attr(pd, cq);
		race_complete(&ring, i);
		qp = xiw_create_qp_ex(&ctx.vctx.context, &attr);
		race_complete(&ring, i);
		race_complete(&ring, i + 1);
		CHECK(!xiw_destroy_qp(qp));
	}
	race_complete(&ring, RACE_QPS);
	pthread_join(thread, NULL);
	kept.on = false;
	for (i = 0; i < kept.count; i++) {
		CHECK(kept_is_clean(kept.mem[i]));
		free(kept.mem[i]);
	}
	CHECK(!xiw_destroy_cq(cq));
	CHECK(!xiw_dealloc_pd(pd));
}

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "QP: rings, doorbells, destruction", test_qp },
	{ "QP without queues, SRQ", test_qp_without_queues },
	{ "QP: refused and failing creations", test_qp_errors },
	{ "CQ: attributes", test_cq_attr },
	{ "CQ: resize", test_cq_resize },
	{ "thread domain and parent domain", test_domains },
	{ "domains that were imported", test_unimport },
	{ "destruction beside polls", test_destroy_raced },
};

int main(void)
{
	int fd = memfd_create("rings", 0);
	int failed = 0;
	unsigned int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (fd < 0 || ftruncate(fd, FILE_SIZE)) {
		printf("Bail out! memfd: %s\n", strerror(errno));
		return 1;
	}
	ctx.vctx.context.cmd_fd = fd;

	printf("TAP version 13\n1..%zu\n", ARRAY_SIZE(tests));
	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		failures = 0;
		reset();
		tests[i].run();
		failed += failures != 0;
		printf("%sok %u - %s\n", failures ? "not " : "", i + 1,
		       tests[i].name);
	}
	return failed != 0;
}
