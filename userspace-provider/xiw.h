/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The provider's objects and the functions that its files share.
 */
#ifndef _XIW_H
#define _XIW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/driver.h>

#include "qp_table.h"
#include "ring.h"
#include "xiw_abi.h"

/**
 * struct xiw_lock - spinlock that can be left out
 * @lock: the lock
 * @elide: the application promised to use the object from one thread
 */
struct xiw_lock {
	pthread_spinlock_t lock;
	bool elide;
};

static inline void xiw_lock(struct xiw_lock *lock)
{
	if (!lock->elide)
		pthread_spin_lock(&lock->lock);
}

static inline void xiw_unlock(struct xiw_lock *lock)
{
	if (!lock->elide)
		pthread_spin_unlock(&lock->lock);
}

/**
 * struct xiw_queue - send queue, receive queue or SRQ: the producer side
 * @lock: protects @ring except for its mapping
 * @ring: the ring
 * @max_sge: elements that an entry may have
 * @cmd_fd: the device's file, for @doorbell
 * @cq: send queues only: completion queues of the queue pair. A poll of either
 *	rings a deferred doorbell. The second is NULL if both are the same
 * @doorbell: the call that makes the kernel process the ring; constant
 * @polled: number of requests with a completion that was polled, free running;
 *	@ring.polled points to it. Written with the lock of the completion queue
 *	held, for an SRQ atomically
 */
struct xiw_queue {
	struct xiw_lock lock;
	struct xiw_ring ring;
	uint32_t max_sge;
	int cmd_fd;
	struct xiw_cq *cq[2];
	struct xiw_call doorbell;
	uint32_t polled;
};

/**
 * struct xiw_context - an open device
 * @vctx: libibverbs' part
 * @caps: XIW_CAP_*
 */
struct xiw_context {
	struct verbs_context vctx;
	uint32_t caps;
};

/**
 * struct xiw_td - thread domain
 * @td: libibverbs' part
 * @users: parent domains that refer to it
 */
struct xiw_td {
	struct ibv_td td;
	atomic_uint users;
};

/**
 * struct xiw_pd - protection domain or parent domain
 * @pd: libibverbs' part
 * @inner: parent domains only: the protection domain; else NULL
 * @td: parent domains only: the thread domain or NULL
 * @users: parent domains that refer to it and queues created in it, and one
 *	until the application ends its use. The last one frees it: an imported
 *	domain may be unimported before those
 */
struct xiw_pd {
	struct ibv_pd pd;
	struct xiw_pd *inner;
	struct xiw_td *td;
	atomic_uint users;
};

/**
 * struct xiw_cq - completion queue
 * @vcq: libibverbs' part
 * @lock: protects the consumer side of @ring, @current and @qps; held from
 *	start_poll to end_poll. Destroying a queue pair takes it, too; with an
 *	elided lock that counts as a use of the completion queue
 * @arm_lock: protects @ring.ctrl in xiw_req_notify_cq(), which must work
 *	between start_poll and end_poll, against a change of the mapping.
 *	Nests inside @lock
 * @ring: the ring
 * @qps: queue pairs that complete here
 * @current: copy of the entry that the read functions return
 * @busy_poll: the call that runs the kernel's work; constant
 * @busy_polls: consecutive empty polls while the kernel had work for busy
 *	pollers; protected by @lock
 * @domain: parent domain it was created in, or NULL
 * @deferred_db: handle + 1 of a queue pair with a deferred doorbell, or 0;
 *	atomic, and 32 bits wide because some architectures have no larger
 *	atomics. A handle, not a pointer, because the queue pair may be
 *	destroyed first: the doorbell then fails, or reaches another queue pair,
 *	both without harm. The kernel does not destroy a queue pair during its
 *	doorbell, see xiw_destroy_qp()
 * @resize_lock: held while the ring is replaced; other threads sleep on it.
 *	Taken before @lock
 * @away: control block of an empty ring, used by @ring during the replacement.
 *	@ring.ctrl changes with both @lock and @arm_lock held
 */
struct xiw_cq {
	struct verbs_cq vcq;
	struct xiw_lock lock;
	struct xiw_lock arm_lock;
	struct xiw_ring ring;
	struct xiw_qp_table qps;
	struct xiw_cqe current;
	struct xiw_call busy_poll;
	uint32_t busy_polls;
	struct ibv_pd *domain;
	uint32_t deferred_db;
	pthread_mutex_t resize_lock;
	struct xiw_ring_ctrl away;
};

/**
 * struct xiw_wr_build - work requests between wr_start and wr_complete
 * @sqe: entry under construction, NULL before the first and after an error
 * @prod: first index after @sqe
 * @op: properties of @sqe's opcode
 * @err: first error as a positive errno; nothing will be posted
 */
struct xiw_wr_build {
	struct xiw_sqe *sqe;
	uint32_t prod;
	uint32_t op;
	int err;
};

/**
 * struct xiw_qp - queue pair
 * @vqp: libibverbs' part
 * @sq: send queue
 * @rq: receive queue; without entries if there is an SRQ
 * @srq: queue of the SRQ, or NULL
 * @link: entries in the tables of the send and of the receive completion queue.
 *	The second is unused if both are the same
 * @max_inline: payload that fits a send entry in bytes
 * @caps: XIW_CAP_* of the device
 * @sq_sig_all: every send is signaled
 * @domain: protection or parent domain it was created in
 * @wr: state of the ibv_wr_*() calls; protected by @sq.lock
 */
struct xiw_qp {
	struct verbs_qp vqp;
	struct xiw_queue sq;
	struct xiw_queue rq;
	struct xiw_queue *srq;
	struct xiw_qp_link link[2];
	uint32_t max_inline;
	uint32_t caps;
	bool sq_sig_all;
	struct ibv_pd *domain;
	struct xiw_wr_build wr;
};

/**
 * struct xiw_srq - shared receive queue
 * @srq: libibverbs' part
 * @rq: the queue
 * @domain: protection or parent domain it was created in
 */
struct xiw_srq {
	struct ibv_srq srq;
	struct xiw_queue rq;
	struct ibv_pd *domain;
};

/*
 * Release the slots of requests after a poll of their completions: of all sends
 * before @sq_done, or of a number of receives. The completions' own slots must
 * be released first, because the next requests may complete at once. The caller
 * has held the lock of the completion queue since it looked up the queue pair:
 * xiw_destroy_qp() takes it to remove the queue pair from the table. Wrong
 * values in a completion make only the indices of the ring wrong: slots are
 * masked, and the kernel checks each request.
 */
static inline void xiw_qp_polled_send(struct xiw_qp *qp, uint32_t sq_done)
{
	__atomic_store_n(&qp->sq.polled, sq_done, __ATOMIC_RELEASE);
}

static inline void xiw_qp_polled_recvs(struct xiw_qp *qp, uint32_t recvs)
{
	if (qp->srq)
		__atomic_fetch_add(&qp->srq->polled, recvs, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&qp->rq.polled, qp->rq.polled + recvs,
				 __ATOMIC_RELEASE);
}

static inline struct xiw_context *to_xctx(struct ibv_context *context)
{
	return container_of(context, struct xiw_context, vctx.context);
}

static inline struct xiw_td *to_xtd(struct ibv_td *td)
{
	return container_of(td, struct xiw_td, td);
}

static inline struct xiw_pd *to_xpd(struct ibv_pd *pd)
{
	return container_of(pd, struct xiw_pd, pd);
}

static inline struct xiw_cq *to_xcq(struct ibv_cq *cq)
{
	return container_of(cq, struct xiw_cq, vcq.cq);
}

static inline struct xiw_cq *to_xcq_ex(struct ibv_cq_ex *cq_ex)
{
	return container_of(cq_ex, struct xiw_cq, vcq.cq_ex);
}

static inline struct xiw_qp *to_xqp(struct ibv_qp *qp)
{
	return container_of(qp, struct xiw_qp, vqp.qp);
}

static inline struct xiw_qp *to_xqp_ex(struct ibv_qp_ex *qp_ex)
{
	return container_of(qp_ex, struct xiw_qp, vqp.qp_ex);
}

static inline struct xiw_srq *to_xsrq(struct ibv_srq *srq)
{
	return container_of(srq, struct xiw_srq, srq);
}

/* verbs.c: device, protection and thread domains, memory */
int xiw_query_device(struct ibv_context *context,
		     const struct ibv_query_device_ex_input *input,
		     struct ibv_device_attr_ex *attr, size_t attr_size);
int xiw_query_port(struct ibv_context *context, uint8_t port,
		   struct ibv_port_attr *attr);
int xiw_query_rt_values(struct ibv_context *context,
			struct ibv_values_ex *values);
struct ibv_td *xiw_alloc_td(struct ibv_context *context,
			    struct ibv_td_init_attr *attr);
int xiw_dealloc_td(struct ibv_td *td);
struct ibv_pd *xiw_alloc_pd(struct ibv_context *context);
struct ibv_pd *
xiw_alloc_parent_domain(struct ibv_context *context,
			struct ibv_parent_domain_init_attr *attr);
int xiw_dealloc_pd(struct ibv_pd *pd);
void xiw_pd_hold(struct ibv_pd *pd);
void xiw_pd_release(struct ibv_pd *pd);
struct ibv_mr *xiw_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			  uint64_t hca_va, int access);
struct ibv_mr *xiw_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				 size_t length, uint64_t iova, int fd,
				 int access);
int xiw_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		 void *addr, size_t length, int access);
int xiw_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		  uint32_t flags, struct ibv_sge *sg_list, uint32_t num_sge);
int xiw_dereg_mr(struct verbs_mr *vmr);
struct ibv_pd *xiw_import_pd(struct ibv_context *context, uint32_t pd_handle);
void xiw_unimport_pd(struct ibv_pd *pd);
struct ibv_mr *xiw_import_mr(struct ibv_pd *pd, uint32_t mr_handle);
void xiw_unimport_mr(struct ibv_mr *mr);
struct ibv_mw *xiw_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int xiw_dealloc_mw(struct ibv_mw *mw);

/* queues.c: CQ, QP and SRQ from creation to destruction */
struct ibv_cq *xiw_create_cq(struct ibv_context *context, int cqe,
			     struct ibv_comp_channel *channel, int vector);
struct ibv_cq_ex *xiw_create_cq_ex(struct ibv_context *context,
				   struct ibv_cq_init_attr_ex *attr);
int xiw_resize_cq(struct ibv_cq *cq, int cqe);
int xiw_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
int xiw_destroy_cq(struct ibv_cq *cq);
struct ibv_qp *xiw_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *xiw_create_qp_ex(struct ibv_context *context,
				struct ibv_qp_init_attr_ex *attr);
int xiw_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int xiw_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init);
int xiw_destroy_qp(struct ibv_qp *qp);
struct ibv_srq *xiw_create_srq(struct ibv_pd *pd,
			       struct ibv_srq_init_attr *attr);
int xiw_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
int xiw_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);
int xiw_destroy_srq(struct ibv_srq *srq);

/* post.c: any thread; only the doorbell may sleep */
int xiw_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad_wr);
int xiw_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr);
int xiw_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr);
int xiw_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		struct ibv_mw_bind *bind);

/* Properties of a send opcode. */
enum xiw_op {
	XIW_OP_VALID	= 1 << 0,
	XIW_OP_PAYLOAD	= 1 << 1,	/* has a gather or scatter list */
	XIW_OP_INLINE	= 1 << 2,	/* the payload may be inline */
	XIW_OP_RDMA	= 1 << 3,	/* has a remote address */
	XIW_OP_ATOMIC	= 1 << 4,	/* one element of eight bytes */
	XIW_OP_IMM	= 1 << 5,	/* carries immediate data */
	XIW_OP_INV	= 1 << 6,	/* carries a key to invalidate */
};

/* XIW_OP_* of an enum ibv_wr_opcode, or 0 if this QP does not support it. */
uint32_t xiw_op_of(const struct xiw_qp *qp, uint32_t opcode);
/*
 * Start an entry: everything but operands and payload. @op is what xiw_op_of()
 * returns for @opcode. 0 or an errno.
 */
int xiw_sqe_init(const struct xiw_qp *qp, struct xiw_sqe *sqe, uint64_t wr_id,
		 uint32_t opcode, uint32_t op, unsigned int send_flags);
/* Set the payload of an entry. 0 or an errno. */
int xiw_sqe_set_sge(const struct xiw_qp *qp, struct xiw_sqe *sqe, uint32_t op,
		    const struct ibv_sge *sge, size_t num_sge);
int xiw_sqe_add_inline(const struct xiw_qp *qp, struct xiw_sqe *sqe,
		       const void *data, size_t len);
/* Set the parameters of a bind. 0 or an errno. */
int xiw_sqe_set_bind(struct xiw_sqe *sqe, uint32_t rkey,
		     const struct ibv_mw_bind_info *info);
/*
 * Hand the entries before @prod to the kernel and release the queue's lock.
 * 0 or an errno.
 */
int xiw_queue_submit(struct xiw_queue *queue, uint32_t prod);

void xiw_ring_deferred(struct xiw_cq *cq);
void xiw_call_init(struct xiw_call *call, uint16_t object, uint16_t method,
		   uint32_t handle);
/* 0 or an errno. */
int xiw_call(int fd, const struct xiw_call *call);

/*
 * Ring a deferred doorbell before the application waits, for events or in a
 * loop. Not before each poll: after completions the application may post more.
 */
static inline void xiw_cq_ring_deferred(struct xiw_cq *cq)
{
	if (unlikely(__atomic_load_n(&cq->deferred_db, __ATOMIC_RELAXED)))
		xiw_ring_deferred(cq);
}

/* poll.c: any thread */
int xiw_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
int xiw_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
void xiw_cq_set_poll_ops(struct ibv_cq_ex *cq_ex);

/* Called with a lock of @cq held: is another thread replacing the ring? */
static inline bool xiw_cq_is_away(const struct xiw_cq *cq)
{
	return cq->ring.ctrl == &cq->away;
}

/* Drop the entries of @qp; the kernel adds no more for it. */
void xiw_cq_purge(struct xiw_cq *cq, struct xiw_qp *qp);

/* wr.c: the ibv_wr_*() calls of a QP */
#define XIW_SEND_OPS                                                           \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND |                     \
	 IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_LOCAL_INV |                 \
	 IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV)
#define XIW_SEND_OPS_IMM	IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM
#define XIW_SEND_OPS_SEND_IMM	IBV_QP_EX_WITH_SEND_WITH_IMM
#define XIW_SEND_OPS_ATOMIC                                                    \
	(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |                                   \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

void xiw_qp_set_wr_ops(struct ibv_qp_ex *qp_ex);

#endif /* _XIW_H */
