/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Provider objects without a device: the rings lie in plain memory, the test
 * plays the kernel on the other side of them, and calls of its methods arrive
 * on a socket. Also the assertions.
 */
#ifndef _XIW_TEST_FAKE_H
#define _XIW_TEST_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "xiw.h"

enum {
	FAKE_MAX_SGE	= 4,
	FAKE_MAX_INLINE	= 96,
	FAKE_SQE_STRIDE	= 160,	/* head + FAKE_MAX_INLINE */
	FAKE_RQE_STRIDE	= 80,	/* head + FAKE_MAX_SGE elements */
	FAKE_QPN	= 0x1234,
	FAKE_HANDLE	= 77,
};

/* Report a failed check of the running test; the test continues. */
void fake_fail(const char *file, int line, const char *what);

#define CHECK(_cond)                                                           \
	do {                                                                   \
		if (!(_cond))                                                  \
			fake_fail(__FILE__, __LINE__, #_cond);                 \
	} while (0)

/**
 * struct fake - a QP with a send queue, receive queue and CQ
 * @qp: the QP
 * @cq: the CQ
 * @context: the open device of @cq
 * @db_kernel: the kernel's end of the socket
 */
struct fake {
	struct xiw_qp qp;
	struct xiw_cq cq;
	struct ibv_context context;
	int db_kernel;
};

/*
 * Rings of @size entries of which @limit may be outstanding; all indices
 * begin at @start.
 */
void fake_init(struct fake *fake, uint32_t size, uint32_t limit,
	       uint32_t start);
void fake_destroy(struct fake *fake);
/* An SRQ like the receive queue of a QP that fake_init() makes. */
void fake_srq_init(struct xiw_srq *srq, struct fake *fake, uint32_t size);
void fake_srq_destroy(struct xiw_srq *srq);
/* Makes polls release the slots of requests, as with XIW_CAP_SQ_DONE. */
void fake_count(struct fake *fake, struct xiw_srq *srq);
/* Calls that arrived since the last time; *@last is the last one. */
int fake_calls(struct fake *fake, struct xiw_call *last);

/* Was the method called for the object of the fake? */
static inline bool fake_called(const struct xiw_call *call, uint16_t object,
			       uint16_t method)
{
	return call->hdr.object_id == object && call->hdr.method_id == method &&
	       call->object.data == FAKE_HANDLE;
}

/* Adds a completion, as the kernel would. */
void fake_complete(struct fake *fake, const struct xiw_cqe *cqe);

static inline struct xiw_sqe *fake_sqe(struct fake *fake, uint32_t index)
{
	return xiw_ring_slot(&fake->qp.sq.ring, index);
}

/* Post one request; checks that bad_wr is set if and only if it fails. */
int fake_post(struct fake *fake, struct ibv_send_wr *wr);

static inline struct ibv_qp *ibqp(struct fake *fake)
{
	return &fake->qp.vqp.qp;
}

static inline struct ibv_cq *ibcq(struct fake *fake)
{
	return &fake->cq.vcq.cq;
}

static inline void set_need_db(struct xiw_ring *ring, bool need)
{
	ring->ctrl->flags = need ? XIW_RING_NEED_DB : 0;
}

/* post.c */
void test_send_payload(void);
void test_send_rdma(void);
void test_send_keys(void);
void test_send_inline(void);
void test_send_refused(void);
void test_send_list(void);
void test_full_and_wrap(void);
void test_no_queues(void);
void test_doorbell(void);
void test_doorbell_fails(void);
void test_recv(void);
void test_bind_mw(void);

/* wr.c */
void test_wr_api(void);
void test_wr_errors(void);

/* The linker puts these __wrap_*() in place of functions of libc. */
int __wrap_ioctl(int fd, unsigned long request, ...);
void *__wrap_calloc(size_t n, size_t size);
void *__real_calloc(size_t n, size_t size);
void __wrap_free(void *mem);
void __real_free(void *mem);

/* qp_table.c */
void test_qp_table(void);
void test_qp_table_no_memory(void);

/* poll.c */
void test_poll_fields(void);
void test_help(void);
void test_start_poll(void);
void test_arm(void);
void test_purge(void);
void test_polled_sends(void);
void test_polled_recvs(void);
void test_polled_purge(void);
void test_polled_batch(void);
void test_polled_stranger(void);

/* threads.c */
void test_conversation(void);
void test_two_posters(void);
void test_two_pollers(void);

#endif /* _XIW_TEST_FAKE_H */
