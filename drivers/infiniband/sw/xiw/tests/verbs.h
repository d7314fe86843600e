/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A connection between two kernel ULPs in one test case, and synchronous work
 * requests.
 */
#ifndef _XIW_TESTS_VERBS_H
#define _XIW_TESTS_VERBS_H

#include <kunit/test.h>
#include <linux/completion.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#define VT_ROOM		(4 * PAGE_SIZE)
#define VT_DEPTH	64
#define VT_MARK		0x5a
#define VT_TIMEOUT	(20 * HZ)

/**
 * struct vt_wr - a synchronous work request
 * @cqe: its callback for the core
 * @done: completes with the request
 * @wc: its completion
 */
struct vt_wr {
	struct ib_cqe cqe;
	struct completion done;
	struct ib_wc wc;
};

/**
 * struct vt_end - one end of the connection
 * @id: identifier of rdma_cm
 * @event: completes with each event of @id
 * @type: type of the last event
 * @pd: protection domain
 * @cq: completion queue of sends and receives
 * @pooled: @cq is one of the core's shared ones
 * @srq: shared receive queue, or NULL
 * @mr: region for fast registrations, or NULL
 * @buf: VT_ROOM bytes
 * @dma: their address
 * @send: the current send
 * @recv: the current receive
 */
struct vt_end {
	struct rdma_cm_id *id;
	struct completion event;
	enum rdma_cm_event_type type;
	struct ib_pd *pd;
	struct ib_cq *cq;
	bool pooled;
	struct ib_srq *srq;
	struct ib_mr *mr;
	u8 *buf;
	u64 dma;
	struct vt_wr send;
	struct vt_wr recv;
};

/**
 * struct vt_pair - a connection
 * @listener: listening identifier, until the connection is established
 * @request: completes with the request
 * @a: passive end
 * @b: active end
 */
struct vt_pair {
	struct rdma_cm_id *listener;
	struct completion request;
	struct vt_end a;
	struct vt_end b;
};

/**
 * struct vt_how - parameters of a connection
 * @ctx: context of the completion queues
 * @pooled: take them from the core's pool
 * @pd_flags: of the protection domains
 * @srq: the passive end has a shared receive queue
 */
struct vt_how {
	enum ib_poll_context ctx;
	bool pooled;
	unsigned int pd_flags;
	bool srq;
};

extern const struct vt_how vt_in_workqueue;

/* Setup and cleanup; vt_exit() runs even after a failed assertion. */
int vt_init(struct kunit *test);
void vt_exit(struct kunit *test);
struct vt_pair *vt_pair_ask(struct kunit *test, const struct vt_how *how);
struct vt_pair *vt_pair_up(struct kunit *test, const struct vt_how *how);
int vt_accept(struct vt_pair *p);
void vt_disconnected(struct kunit *test, struct vt_end *e);
int vt_connect_foreign(struct kunit *test, struct vt_pair *p);

struct ib_cqe *vt_wr_prepare(struct vt_wr *wr);
void vt_wait(struct kunit *test, struct vt_end *e, struct vt_wr *wr);
void vt_wait_ok(struct kunit *test, struct vt_end *e, struct vt_wr *wr,
		enum ib_wc_opcode opcode);
struct ib_sge vt_part(struct vt_end *e, u32 off, u32 len);
void vt_post_send(struct kunit *test, struct vt_end *e, struct ib_send_wr *wr);
void vt_post_recv(struct kunit *test, struct vt_end *e, u32 off, u32 len);
void vt_message(struct kunit *test, struct vt_pair *p, u32 len, u8 fill);
enum ib_wc_status vt_remote_io(struct kunit *test, struct vt_pair *p,
			       enum ib_wr_opcode opcode, u64 addr, u32 key,
			       u32 len);
void vt_alloc_mr(struct kunit *test, struct vt_end *e);
void vt_map(struct kunit *test, struct vt_end *e, u32 page_size);
enum ib_wc_status vt_register(struct kunit *test, struct vt_end *e, u32 key,
			      int access);
void vt_fast_register(struct kunit *test, struct vt_end *e, int access);
enum ib_wc_status vt_invalidate(struct kunit *test, struct vt_end *e, u32 key);
void vt_local_inv(struct kunit *test, struct vt_end *e, u32 key);

#endif /* _XIW_TESTS_VERBS_H */
