// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Builds the objects of fake.h by hand, with the layout that the create
 * commands would describe.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake.h"

static void bail_out(const char *why)
{
	printf("Bail out! %s: %s\n", why, strerror(errno));
	exit(1);
}

static void ring_init(struct xiw_ring *ring, uint32_t size, uint32_t stride,
		      uint32_t limit, uint32_t start)
{
	void *mem;

	*ring = (struct xiw_ring){};
	ring->map_len = sizeof(struct xiw_ring_ctrl) + (size_t)size * stride;
	if (posix_memalign(&mem, 64, ring->map_len))
		bail_out("posix_memalign");
	/*
	 * Entries contain a pattern, so that a partly written one is detected.
	 */
	memset(mem, 0xa5, ring->map_len);
	memset(mem, 0, sizeof(struct xiw_ring_ctrl));

	ring->ctrl = mem;
	ring->entries = (uint8_t *)mem + sizeof(struct xiw_ring_ctrl);
	ring->mask = size - 1;
	ring->limit = limit;
	ring->stride = stride;
	ring->index = start;
	ring->peer = start;
	ring->ctrl->prod = start;
	ring->ctrl->cons = start;
}

/* A socket stands for the device's file: each ioctl() is a message on it. */
int __wrap_ioctl(int fd, unsigned long request, ...)
{
	const struct xiw_call *call;
	va_list ap;

	va_start(ap, request);
	call = va_arg(ap, const struct xiw_call *);
	va_end(ap);
	CHECK(request == RDMA_VERBS_IOCTL);
	CHECK(call->hdr.length == sizeof(*call) && call->hdr.num_attrs == 1);
	CHECK(call->hdr.driver_id == XIW_RDMA_DRIVER_ID);
	CHECK(call->object.attr_id == XIW_ATTR_HANDLE);
	CHECK(call->object.flags == UVERBS_ATTR_F_MANDATORY);
	return send(fd, call, sizeof(*call), 0) < 0 ? -1 : 0;
}

static void queue_init(struct xiw_queue *queue, uint16_t object,
		       uint16_t method, int cmd_fd)
{
	pthread_spin_init(&queue->lock.lock, PTHREAD_PROCESS_PRIVATE);
	queue->max_sge = FAKE_MAX_SGE;
	queue->cmd_fd = cmd_fd;
	xiw_call_init(&queue->doorbell, object, method, FAKE_HANDLE);
}

void fake_init(struct fake *fake, uint32_t size, uint32_t limit,
	       uint32_t start)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds))
		bail_out("socketpair");
	*fake = (struct fake){ .db_kernel = fds[0] };

	queue_init(&fake->qp.sq, UVERBS_OBJECT_QP, XIW_METHOD_QP_SEND_DOORBELL,
		   fds[1]);
	queue_init(&fake->qp.rq, UVERBS_OBJECT_QP, XIW_METHOD_QP_RECV_DOORBELL,
		   fds[1]);
	ring_init(&fake->qp.sq.ring, size, FAKE_SQE_STRIDE, limit, start);
	ring_init(&fake->qp.rq.ring, size, FAKE_RQE_STRIDE, limit, start);
	fake->qp.max_inline = FAKE_MAX_INLINE;
	fake->qp.caps = XIW_CAP_ATOMIC | XIW_CAP_IMM;
	fake->qp.vqp.qp.qp_num = FAKE_QPN;
	xiw_qp_set_wr_ops(&fake->qp.vqp.qp_ex);

	pthread_spin_init(&fake->cq.lock.lock, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_init(&fake->cq.arm_lock.lock, PTHREAD_PROCESS_PRIVATE);
	pthread_mutex_init(&fake->cq.resize_lock, NULL);
	xiw_qp_table_init(&fake->cq.qps);
	fake->qp.link[0].qp = &fake->qp;
	fake->qp.link[0].qpn = FAKE_QPN;
	xiw_qp_table_add(&fake->cq.qps, &fake->qp.link[0]);
	ring_init(&fake->cq.ring, size, sizeof(struct xiw_cqe), size, start);
	xiw_cq_set_poll_ops(&fake->cq.vcq.cq_ex);
	fake->context.cmd_fd = fds[1];
	fake->cq.vcq.cq.context = &fake->context;
	xiw_call_init(&fake->cq.busy_poll, UVERBS_OBJECT_CQ,
		      XIW_METHOD_CQ_BUSY_POLL, FAKE_HANDLE);
}

void fake_destroy(struct fake *fake)
{
	free(fake->qp.sq.ring.ctrl);
	free(fake->qp.rq.ring.ctrl);
	free(fake->cq.ring.ctrl);
	xiw_qp_table_destroy(&fake->cq.qps);
	close(fake->qp.sq.cmd_fd);
	close(fake->db_kernel);
}

void fake_srq_init(struct xiw_srq *srq, struct fake *fake, uint32_t size)
{
	*srq = (struct xiw_srq){};
	queue_init(&srq->rq, UVERBS_OBJECT_SRQ, XIW_METHOD_SRQ_DOORBELL,
		   fake->qp.sq.cmd_fd);
	ring_init(&srq->rq.ring, size, FAKE_RQE_STRIDE, size, 0);
}

void fake_srq_destroy(struct xiw_srq *srq)
{
	free(srq->rq.ring.ctrl);
}

static void count_polled(struct xiw_queue *queue)
{
	queue->polled = queue->ring.index;
	queue->ring.polled = &queue->polled;
}

void fake_count(struct fake *fake, struct xiw_srq *srq)
{
	count_polled(&fake->qp.sq);
	count_polled(&fake->qp.rq);
	if (!srq)
		return;
	count_polled(&srq->rq);
	fake->qp.srq = &srq->rq;
}

int fake_calls(struct fake *fake, struct xiw_call *last)
{
	int n = 0;

	while (recv(fake->db_kernel, last, sizeof(*last), MSG_DONTWAIT) ==
	       sizeof(*last))
		n++;
	return n;
}

void fake_complete(struct fake *fake, const struct xiw_cqe *cqe)
{
	struct xiw_ring *ring = &fake->cq.ring;
	uint32_t prod = ring->ctrl->prod;

	*(struct xiw_cqe *)xiw_ring_slot(ring, prod) = *cqe;
	/* Pairs with the load-acquire in xiw_ring_peek(). */
	__atomic_store_n(&ring->ctrl->prod, prod + 1, __ATOMIC_RELEASE);
}

int fake_post(struct fake *fake, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad_wr = NULL;
	int ret;

	wr->next = NULL;
	ret = xiw_post_send(ibqp(fake), wr, &bad_wr);
	CHECK(bad_wr == (ret ? wr : NULL));
	return ret;
}
