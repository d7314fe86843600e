// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Completion queues, queue pairs and SRQs from creation to destruction, and
 * the mapping of their rings.
 *
 * The rings are shared mappings of kernel memory, which a child does not
 * inherit: it must not use its parent's verbs objects.
 *
 * A ring is unmapped only after the kernel has destroyed its object: if the
 * destruction fails, the application may go on using it.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/driver.h>

#include "compat.h"
#include "xiw.h"

/**
 * struct ring_desc - a ring as a create command describes it
 * @key: mmap() offset
 * @map_len: bytes to map; 0: the queue does not exist
 * @size: entries
 * @stride: bytes from one entry to the next
 * @min_stride: bytes an entry needs at least
 * @limit: entries that may be outstanding
 */
struct ring_desc {
	uint64_t key;
	uint32_t map_len;
	uint32_t size;
	uint32_t stride;
	uint32_t min_stride;
	uint32_t limit;
};

static bool ring_desc_valid(const struct ring_desc *desc)
{
	uint64_t need = sizeof(struct xiw_ring_ctrl) +
			(uint64_t)desc->size * desc->stride;

	return desc->size && !(desc->size & (desc->size - 1)) &&
	       desc->stride >= desc->min_stride && desc->stride % 8 == 0 &&
	       desc->map_len >= need;
}

/* Maps at @place, over an existing mapping, if that is not NULL. */
static int ring_map(struct xiw_ring *ring, int cmd_fd,
		    const struct ring_desc *desc, void *place)
{
	int flags = MAP_SHARED | (place ? MAP_FIXED : 0);
	void *mem;

	if (!desc->map_len)
		return 0;
	if (!ring_desc_valid(desc))
		return EPROTO;

	mem = mmap(place, desc->map_len, PROT_READ | PROT_WRITE, flags, cmd_fd,
		   desc->key);
	if (mem == MAP_FAILED)
		return errno;

	ring->ctrl = mem;
	ring->entries = (uint8_t *)mem + sizeof(struct xiw_ring_ctrl);
	ring->map_len = desc->map_len;
	ring->mask = desc->size - 1;
	ring->limit = desc->limit < desc->size ? desc->limit : desc->size;
	ring->stride = desc->stride;
	return 0;
}

static void ring_unmap(struct xiw_ring *ring)
{
	if (ring->ctrl)
		munmap(ring->ctrl, ring->map_len);
	ring->ctrl = NULL;
}

static void lock_init(struct xiw_lock *lock, bool elide)
{
	lock->elide = elide;
	pthread_spin_init(&lock->lock, PTHREAD_PROCESS_PRIVATE);
}

static bool pd_single_threaded(struct ibv_pd *pd)
{
	return to_xpd(pd)->td;
}

static void cq_ring_desc(const struct xiw_uresp_create_cq *uresp,
			 struct ring_desc *desc)
{
	*desc = (struct ring_desc){
		.key = uresp->cq_key,
		.map_len = uresp->map_len,
		.size = uresp->num_cqe,
		.stride = sizeof(struct xiw_cqe),
		.min_stride = sizeof(struct xiw_cqe),
		.limit = uresp->num_cqe,
	};
}

static int cq_map(struct xiw_ring *ring, int cmd_fd,
		  const struct xiw_uresp_create_cq *uresp, void *place)
{
	struct ring_desc desc;

	cq_ring_desc(uresp, &desc);
	if (!desc.map_len)
		return EPROTO;
	return ring_map(ring, cmd_fd, &desc, place);
}

static int cq_attr_check(const struct ibv_cq_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask, IBV_CQ_INIT_ATTR_MASK_FLAGS |
						      IBV_CQ_INIT_ATTR_MASK_PD))
		return EOPNOTSUPP;
	if (!check_comp_mask(attr->wc_flags,
			     IBV_WC_STANDARD_FLAGS |
				     IBV_WC_EX_WITH_COMPLETION_TIMESTAMP))
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	    !check_comp_mask(attr->flags, IBV_CREATE_CQ_ATTR_SINGLE_THREADED))
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) &&
	    !to_xpd(attr->parent_domain)->inner)
		return EINVAL;
	return 0;
}

static bool cq_single_threaded(const struct ibv_cq_init_attr_ex *attr)
{
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	    (attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED))
		return true;
	return (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) &&
	       pd_single_threaded(attr->parent_domain);
}

struct ibv_cq_ex *xiw_create_cq_ex(struct ibv_context *context,
				   struct ibv_cq_init_attr_ex *attr)
{
	struct xiw_cmd_create_cq_resp resp = {};
	struct xiw_cmd_create_cq cmd = {};
	struct ibv_cq_init_attr_ex core;
	struct xiw_cq *cq;
	int ret;

	ret = cq_attr_check(attr);
	if (ret)
		goto err;

	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;
	lock_init(&cq->lock, cq_single_threaded(attr));
	lock_init(&cq->arm_lock, cq_single_threaded(attr));
	pthread_mutex_init(&cq->resize_lock, NULL);
	xiw_qp_table_init(&cq->qps);

	/* The fields that the mask selects are not for the kernel. */
	core = *attr;
	core.comp_mask = 0;
	ret = xiw_cmd_create_cq_ex(context, &core, &cq->vcq, &cmd, &resp);
	if (ret)
		goto err_free;

	ret = cq_map(&cq->ring, context->cmd_fd, &resp.drv_payload, NULL);
	if (ret)
		goto err_destroy;

	xiw_call_init(&cq->busy_poll, UVERBS_OBJECT_CQ,
		      XIW_METHOD_CQ_BUSY_POLL, cq->vcq.cq.handle);
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD)
		cq->domain = attr->parent_domain;
	xiw_pd_hold(cq->domain);
	xiw_cq_set_poll_ops(&cq->vcq.cq_ex);
	return &cq->vcq.cq_ex;

err_destroy:
	/*
	 * ibv_cmd_destroy_cq() needs the mutex that this initialises. Without
	 * a channel this changes nothing else.
	 */
	verbs_init_cq(&cq->vcq.cq, context, NULL, NULL);
	ibv_cmd_destroy_cq(&cq->vcq.cq);
err_free:
	free(cq);
err:
	errno = ret;
	return NULL;
}

struct ibv_cq *xiw_create_cq(struct ibv_context *context, int cqe,
			     struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.channel = channel,
		.comp_vector = vector,
	};
	struct ibv_cq_ex *cq_ex;

	cq_ex = xiw_create_cq_ex(context, &attr);
	return cq_ex ? ibv_cq_ex_to_cq(cq_ex) : NULL;
}

static size_t whole_pages(size_t len)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (len + page - 1) / page * page;
}

/* Address space for a ring of @cqe entries, rounded up. */
static size_t cq_room(int cqe)
{
	size_t size = 1;

	while (size < (size_t)cqe)
		size *= 2;
	return whole_pages(sizeof(struct xiw_ring_ctrl) +
			   size * sizeof(struct xiw_cqe));
}

/* Map the new ring at @place, of @room bytes, and unmap the rest. */
static int cq_map_at(struct xiw_ring *ring, int cmd_fd,
		     const struct xiw_uresp_create_cq *uresp, void *place,
		     size_t room)
{
	size_t used = whole_pages(uresp->map_len);
	int ret;

	if (used > room) {
		munmap(place, room);
		return cq_map(ring, cmd_fd, uresp, NULL);
	}
	ret = cq_map(ring, cmd_fd, uresp, place);
	if (ret)
		munmap(place, room);
	else if (used < room)
		munmap((uint8_t *)place + used, room - used);
	return ret;
}

/* Replace the ring by an empty one; threads that find it empty wait. */
static void cq_take_away(struct xiw_cq *cq, struct xiw_ring *ring)
{
	xiw_lock(&cq->lock);
	xiw_lock(&cq->arm_lock);
	*ring = cq->ring;
	cq->ring.peer = ring->index;
	cq->away = (struct xiw_ring_ctrl){ .prod = cq->ring.peer };
	cq->ring.ctrl = &cq->away;
	xiw_unlock(&cq->arm_lock);
	xiw_unlock(&cq->lock);
}

/* End the wait with @ring, which is @old if the resize has failed. */
static void cq_put_back(struct xiw_cq *cq, struct xiw_ring *ring,
			struct xiw_ring *old)
{
	xiw_lock(&cq->lock);
	xiw_lock(&cq->arm_lock);
	ring->index = cq->ring.index;
	ring->peer = ring->index;
	cq->ring = *ring;
	xiw_unlock(&cq->arm_lock);
	xiw_unlock(&cq->lock);
	if (ring != old)
		ring_unmap(old);
}

/*
 * The kernel moves the entries that were not polled, with their indices, the
 * armed bits and the position of its producer to a new ring before it returns.
 * No thread may poll or arm during the move. Threads that want to sleep until
 * it is over: if they spun, a real-time thread could starve this one.
 *
 * The move cannot be undone, so reserve address space for the new ring first.
 */
int xiw_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct xiw_cmd_resize_cq_resp resp = {};
	struct xiw_cmd_resize_cq cmd = {};
	struct xiw_cq *cq = to_xcq(ibcq);
	struct xiw_ring ring = {};
	struct xiw_ring old;
	size_t room;
	void *place;
	int ret;

	if (cqe <= 0)
		return EINVAL;
	room = cq_room(cqe);
	place = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED)
		return errno;
	pthread_mutex_lock(&cq->resize_lock);
	cq_take_away(cq, &old);
	ret = ibv_cmd_resize_cq(ibcq, cqe, &cmd.ibv_cmd, sizeof(cmd),
				&resp.ibv_resp, sizeof(resp));
	if (ret)
		munmap(place, room);
	else
		ret = cq_map_at(&ring, ibcq->context->cmd_fd,
				&resp.drv_payload, place, room);
	cq_put_back(cq, ret ? &old : &ring, &old);
	pthread_mutex_unlock(&cq->resize_lock);
	return ret;
}

int xiw_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd;

	return ibv_cmd_modify_cq(cq, attr, &cmd, sizeof(cmd));
}

int xiw_destroy_cq(struct ibv_cq *ibcq)
{
	struct xiw_cq *cq = to_xcq(ibcq);
	int ret;

	ret = ibv_cmd_destroy_cq(ibcq);
	if (ret)
		return ret;

	xiw_pd_release(cq->domain);
	ring_unmap(&cq->ring);
	xiw_qp_table_destroy(&cq->qps);
	pthread_mutex_destroy(&cq->resize_lock);
	pthread_spin_destroy(&cq->arm_lock.lock);
	pthread_spin_destroy(&cq->lock.lock);
	free(cq);
	return 0;
}

static uint64_t qp_send_ops(const struct xiw_qp *qp)
{
	uint64_t ops = XIW_SEND_OPS;

	if (qp->caps & XIW_CAP_IMM)
		ops |= XIW_SEND_OPS_IMM;
	if (qp->caps & XIW_CAP_SEND_IMM)
		ops |= XIW_SEND_OPS_SEND_IMM;
	if (qp->caps & XIW_CAP_ATOMIC)
		ops |= XIW_SEND_OPS_ATOMIC;
	return ops;
}

static int qp_attr_check(const struct xiw_qp *qp,
			 const struct ibv_qp_init_attr_ex *attr)
{
	if (attr->qp_type != IBV_QPT_RC)
		return EOPNOTSUPP;
	if (!check_comp_mask(attr->comp_mask,
			     IBV_QP_INIT_ATTR_PD |
				     IBV_QP_INIT_ATTR_CREATE_FLAGS |
				     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return EOPNOTSUPP;
	/* The device supports no create flags. */
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
	    attr->create_flags)
		return EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->send_cq ||
	    !attr->recv_cq)
		return EINVAL;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
	    !check_comp_mask(attr->send_ops_flags, qp_send_ops(qp)))
		return EOPNOTSUPP;
	return 0;
}

static int qp_map(struct xiw_qp *qp, const struct xiw_uresp_create_qp *uresp,
		  const struct ibv_qp_cap *cap)
{
	uint32_t gather = cap->max_send_sge * sizeof(struct xiw_sge);
	uint32_t payload = gather > uresp->max_inline ? gather :
							uresp->max_inline;
	const struct ring_desc sq = {
		.key = uresp->sq_key,
		.map_len = uresp->sq_map_len,
		.size = uresp->num_sqe,
		.stride = uresp->sqe_stride,
		.min_stride = sizeof(struct xiw_sqe) + payload,
		.limit = cap->max_send_wr,
	};
	const struct ring_desc rq = {
		.key = uresp->rq_key,
		.map_len = uresp->rq_map_len,
		.size = uresp->num_rqe,
		.stride = uresp->rqe_stride,
		.min_stride = sizeof(struct xiw_rqe) +
			      cap->max_recv_sge * sizeof(struct xiw_sge),
		.limit = cap->max_recv_wr,
	};
	int ret;

	ret = ring_map(&qp->sq.ring, qp->sq.cmd_fd, &sq, NULL);
	if (ret)
		return ret;
	ret = ring_map(&qp->rq.ring, qp->rq.cmd_fd, &rq, NULL);
	if (ret)
		ring_unmap(&qp->sq.ring);
	return ret;
}

static void qp_free(struct xiw_qp *qp)
{
	ring_unmap(&qp->sq.ring);
	ring_unmap(&qp->rq.ring);
	pthread_spin_destroy(&qp->sq.lock.lock);
	pthread_spin_destroy(&qp->rq.lock.lock);
	free(qp);
}

static struct xiw_qp *qp_alloc(struct ibv_context *context,
			       const struct ibv_qp_init_attr_ex *attr)
{
	struct xiw_qp *qp;
	bool elide;
	int ret;

	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;
	qp->caps = to_xctx(context)->caps;
	ret = qp_attr_check(qp, attr);
	if (ret) {
		free(qp);
		errno = ret;
		return NULL;
	}

	elide = pd_single_threaded(attr->pd);
	lock_init(&qp->sq.lock, elide);
	lock_init(&qp->rq.lock, elide);
	qp->sq.cmd_fd = context->cmd_fd;
	qp->rq.cmd_fd = context->cmd_fd;
	qp->sq_sig_all = attr->sq_sig_all;
	if (attr->srq)
		qp->srq = &to_xsrq(attr->srq)->rq;
	return qp;
}

static void qp_attach_cq(struct xiw_qp *qp, int i, struct ibv_cq *ibcq)
{
	struct xiw_cq *cq = to_xcq(ibcq);

	qp->sq.cq[i] = cq;
	qp->link[i].qp = qp;
	qp->link[i].qpn = qp->vqp.qp.qp_num;
	xiw_qp_table_add(&cq->qps, &qp->link[i]);
}

static void qp_attach_cqs(struct xiw_qp *qp,
			  const struct ibv_qp_init_attr_ex *attr)
{
	qp_attach_cq(qp, 0, attr->send_cq);
	if (attr->recv_cq != attr->send_cq)
		qp_attach_cq(qp, 1, attr->recv_cq);
}

static void qp_detach_cqs(struct xiw_qp *qp)
{
	struct xiw_cq *cq;
	int i;

	for (i = 0; i < 2 && (cq = qp->sq.cq[i]); i++) {
		xiw_lock(&cq->lock);
		xiw_qp_table_remove(&cq->qps, &qp->link[i]);
		xiw_unlock(&cq->lock);
	}
}

struct ibv_qp *xiw_create_qp_ex(struct ibv_context *context,
				struct ibv_qp_init_attr_ex *attr)
{
	struct xiw_cmd_create_qp_resp resp = {};
	struct ibv_qp_init_attr_ex core = *attr;
	struct xiw_cmd_create_qp cmd = {};
	struct xiw_qp *qp;
	int ret;

	qp = qp_alloc(context, attr);
	if (!qp)
		return NULL;

	/* The fields for ibv_wr_*() are not for the kernel. */
	core.comp_mask = IBV_QP_INIT_ATTR_PD;
	ret = ibv_cmd_create_qp_ex(context, &qp->vqp, &core, &cmd.ibv_cmd,
				   sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret)
		goto err_free;
	ret = qp_map(qp, &resp.drv_payload, &core.cap);
	if (ret)
		goto err_destroy;

	if (qp->caps & XIW_CAP_SQ_DONE) {
		qp->sq.ring.polled = &qp->sq.polled;
		qp->rq.ring.polled = &qp->rq.polled;
	}
	qp->max_inline = resp.max_inline;
	qp->sq.max_sge = core.cap.max_send_sge;
	qp->rq.max_sge = core.cap.max_recv_sge;
	xiw_call_init(&qp->sq.doorbell, UVERBS_OBJECT_QP,
		      XIW_METHOD_QP_SEND_DOORBELL, qp->vqp.qp.handle);
	xiw_call_init(&qp->rq.doorbell, UVERBS_OBJECT_QP,
		      XIW_METHOD_QP_RECV_DOORBELL, qp->vqp.qp.handle);
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		xiw_qp_set_wr_ops(&qp->vqp.qp_ex);
		qp->vqp.comp_mask |= VERBS_QP_EX;
	}
	qp_attach_cqs(qp, attr);
	attr->cap = core.cap;
	qp->domain = attr->pd;
	xiw_pd_hold(qp->domain);
	return &qp->vqp.qp;

err_destroy:
	ibv_cmd_destroy_qp(&qp->vqp.qp);
err_free:
	qp_free(qp);
	errno = ret;
	return NULL;
}

struct ibv_qp *xiw_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex attr_ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp;

	qp = xiw_create_qp_ex(pd->context, &attr_ex);
	if (qp)
		attr->cap = attr_ex.cap;
	return qp;
}

/* The kernel adds no more completions of the queue pair; drop the old ones. */
static void purge_cqs(struct ibv_qp *ibqp)
{
	xiw_cq_purge(to_xcq(ibqp->recv_cq), to_xqp(ibqp));
	if (ibqp->send_cq != ibqp->recv_cq)
		xiw_cq_purge(to_xcq(ibqp->send_cq), to_xqp(ibqp));
}

/*
 * RESET has dropped all requests before the kernel's index. One that another
 * thread posts later stays in the ring, and will have a completion.
 */
static void queue_reset(struct xiw_queue *queue)
{
	const struct xiw_ring_ctrl *ctrl = queue->ring.ctrl;
	uint32_t cons;

	if (!ctrl)
		return;
	xiw_lock(&queue->lock);
	cons = __atomic_load_n(&ctrl->cons, __ATOMIC_ACQUIRE);
	__atomic_store_n(&queue->polled, cons, __ATOMIC_RELEASE);
	xiw_unlock(&queue->lock);
}

static void qp_reset(struct xiw_qp *qp)
{
	purge_cqs(&qp->vqp.qp);
	queue_reset(&qp->sq);
	queue_reset(&qp->rq);
}

int xiw_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct ibv_modify_qp cmd = {};
	int ret;

	ret = ibv_cmd_modify_qp(qp, attr, mask, &cmd, sizeof(cmd));
	if (ret || !(mask & IBV_QP_STATE))
		return ret;
	if (attr->qp_state == IBV_QPS_RESET)
		qp_reset(to_xqp(qp));
	return 0;
}

int xiw_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	struct ibv_query_qp cmd;

	return ibv_cmd_query_qp(qp, attr, mask, init, &cmd, sizeof(cmd));
}

/*
 * A thread that polls a completion queue may ring the doorbell of the queue
 * pair, see struct xiw_cq.deferred_db, and the kernel returns EBUSY until it is
 * done. A correct application causes EBUSY in no other way. This thread may
 * keep the other one from running, so sleep soon, and give up only after ten
 * seconds of sleep.
 */
static int destroy_qp_cmd(struct ibv_qp *ibqp)
{
	enum { YIELDS = 64, SLEEPS = 100000, SLEEP_NS = 100000 };
	const struct timespec pause = { .tv_nsec = SLEEP_NS };
	int ret = ibv_cmd_destroy_qp(ibqp);
	int i;

	for (i = 0; i < YIELDS + SLEEPS && ret == EBUSY; i++) {
		if (i < YIELDS)
			sched_yield();
		else
			nanosleep(&pause, NULL);
		ret = ibv_cmd_destroy_qp(ibqp);
	}
	return ret;
}

int xiw_destroy_qp(struct ibv_qp *ibqp)
{
	struct xiw_qp *qp = to_xqp(ibqp);
	int ret;

	ret = destroy_qp_cmd(ibqp);
	if (ret)
		return ret;

	/* In this order: completions in the ring may hold slots of the SRQ. */
	purge_cqs(ibqp);
	qp_detach_cqs(qp);
	xiw_pd_release(qp->domain);
	qp_free(qp);
	return 0;
}

static int srq_map(struct xiw_srq *srq,
		   const struct xiw_uresp_create_srq *uresp,
		   const struct ibv_srq_attr *attr)
{
	const struct ring_desc desc = {
		.key = uresp->srq_key,
		.map_len = uresp->map_len,
		.size = uresp->num_rqe,
		.stride = uresp->rqe_stride,
		.min_stride = sizeof(struct xiw_rqe) +
			      attr->max_sge * sizeof(struct xiw_sge),
		.limit = attr->max_wr,
	};

	return ring_map(&srq->rq.ring, srq->rq.cmd_fd, &desc, NULL);
}

struct ibv_srq *xiw_create_srq(struct ibv_pd *pd,
			       struct ibv_srq_init_attr *attr)
{
	struct xiw_cmd_create_srq_resp resp = {};
	struct xiw_cmd_create_srq cmd = {};
	struct xiw_srq *srq;
	int ret;

	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;
	lock_init(&srq->rq.lock, pd_single_threaded(pd));
	srq->rq.cmd_fd = pd->context->cmd_fd;

	ret = ibv_cmd_create_srq(pd, &srq->srq, attr, &cmd.ibv_cmd,
				 sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret)
		goto err_free;
	ret = srq_map(srq, &resp.drv_payload, &attr->attr);
	if (ret)
		goto err_destroy;

	if (to_xctx(pd->context)->caps & XIW_CAP_SQ_DONE)
		srq->rq.ring.polled = &srq->rq.polled;
	srq->rq.max_sge = attr->attr.max_sge;
	xiw_call_init(&srq->rq.doorbell, UVERBS_OBJECT_SRQ,
		      XIW_METHOD_SRQ_DOORBELL, srq->srq.handle);
	srq->domain = pd;
	xiw_pd_hold(srq->domain);
	return &srq->srq;

err_destroy:
	ibv_cmd_destroy_srq(&srq->srq);
err_free:
	pthread_spin_destroy(&srq->rq.lock.lock);
	free(srq);
	errno = ret;
	return NULL;
}

int xiw_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	struct ibv_modify_srq cmd = {};

	return ibv_cmd_modify_srq(srq, attr, mask, &cmd, sizeof(cmd));
}

int xiw_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd;

	return ibv_cmd_query_srq(srq, attr, &cmd, sizeof(cmd));
}

int xiw_destroy_srq(struct ibv_srq *ibsrq)
{
	struct xiw_srq *srq = to_xsrq(ibsrq);
	int ret;

	ret = ibv_cmd_destroy_srq(ibsrq);
	if (ret)
		return ret;

	xiw_pd_release(srq->domain);
	ring_unmap(&srq->rq.ring);
	pthread_spin_destroy(&srq->rq.lock.lock);
	free(srq);
	return 0;
}
