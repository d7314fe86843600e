/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A stream carries work requests between queue pair and peer, from the end of
 * MPA startup to the end of the connection. Its engines send, receive and
 * complete (engine.h); here are their state, and what the owner may call.
 *
 * Uses the lower layer through struct xiw_llp_ops, memory, rings and proto/. It
 * belongs to a queue pair (its owner), but does not depend on verbs or on the
 * connection manager: it calls its owner through struct xiw_stream_ops.
 *
 * Locks: the members of @tx and @rx, and those marked so, belong to the holder
 * of the socket lock while the stream is attached. After xiw_stream_detach()
 * they belong to its caller. stream.lock nests in the socket lock.
 *
 * References are those of the owner. A work item of the stream holds one from
 * when it is queued until it has run; all busy-poll work together holds one.
 *
 * Unless noted otherwise functions are called by the owner of the side that
 * they are about, and do not sleep.
 */
#ifndef _XIW_STREAM_H
#define _XIW_STREAM_H

#include <linux/atomic.h>
#include <linux/bvec.h>
#include <linux/hrtimer.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/xiw-abi.h>

#include "budget.h"
#include "llp/fpdu.h"
#include "llp/llp.h"
#include "mem/mem.h"
#include "mem/odp.h"
#include "proto/ddp.h"
#include "proto/nego.h"
#include "proto/qpstate.h"
#include "proto/rdmap.h"
#include "proto/segment.h"
#include "proto/term.h"
#include "queue/queue.h"
#include "stats.h"

struct xiw_stream;

/**
 * struct xiw_conn - result of the MPA startup, for the stream
 * @nego: result of the negotiation
 * @initiator: this side sent the MPA Request
 * @fpdu_segments: TCP segments that an FPDU of this side may fill; 0 for the
 *	number that suits a peer in software
 * @send_imm: both sides support Send with Immediate
 * @mixes: the peer accepts FPDUs of two messages in turns
 * @probe: the RTR is a capability probe, see XIW_PROBE_STAG; @fpdu_segments and
 *	@send_imm are valid until the peer has stated its capabilities
 * @unfenced: a Responder may send before it has received an FPDU
 */
struct xiw_conn {
	struct xiw_mpa_nego nego;
	bool initiator;
	u32 fpdu_segments;
	bool send_imm;
	bool mixes;
	bool probe;
	bool unfenced;
};

/**
 * struct xiw_ird_entry - inbound Read or Atomic Request that waits for its
 *	response
 * @atomic: @op is valid, else @read
 * @fault: error of the request, reported after all earlier responses
 * @ulpdu_len: of the segment that carried it, for a Terminate
 * @hdr: its DDP header as received, for a Terminate
 * @read: Read Request
 * @op: Atomic Request
 */
struct xiw_ird_entry {
	bool atomic;
	enum xiw_reason fault;
	u16 ulpdu_len;
	u8 hdr[XIW_DDP_HDR_MAX];
	union {
		struct xiw_read_req read;
		struct xiw_atomic_req op;
	};
};

/**
 * struct xiw_orq_entry - outbound Read or Atomic Request that awaits its
 *	response
 * @internal: the RTR, which has no work request
 * @atomic: the request is an Atomic
 * @index: of the work request in the send queue
 * @num_sge: elements of the sink list; 0 for the RTR
 * @msn: on queue 1
 * @sink: for a Read, expected placement of the response. The STag is that of
 *	the first element, for an Atomic as well
 * @offset: for a Read, bytes of the sink list already filled
 */
struct xiw_orq_entry {
	bool internal;
	bool atomic;
	u8 num_sge;
	u32 index;
	u32 msn;
	struct xiw_read_sink sink;
	u32 offset;
};

/* First index of inbound and outbound requests: every test covers the wrap. */
#define XIW_DEPTH_FIRST	(-100U)

/* Bits of xiw_tx.run, see tx.c. */
#define XIW_TX_RUNNING	BIT(0)	/* the engine runs, or is certain to run */
#define XIW_TX_KICK	BIT(1)	/* the queue must be checked (again) */
#define XIW_TX_DEFER	BIT(2)	/* doorbell deferral: its timer is running */

enum xiw_tx_limits {
	XIW_TX_VECS		= 8,
	XIW_TX_BATCH_BYTES	= XIW_TXBUF_BLOCK,
	/* Longer messages are interrupted; see xiw_tx_sched_turn(). */
	XIW_TX_TURN		= 256 * 1024,
	/* Posts less than this apart are a burst; a deferral is as long. */
	XIW_TX_BURST_NS		= 50 * 1000,
	/* More unread data than this is left to a work item; see rx.c. */
	XIW_RX_INLINE_BYTES	= 16 * 1024,
};

/* Kinds of work, as bits. */
enum xiw_work {
	XIW_WORK_RX	= BIT(0),	/* xiw_rx.work */
	XIW_WORK_TX	= BIT(1),	/* xiw_tx.retry */
};

enum xiw_busy_poll_limits {
	/* Time until busy-poll work expires */
	XIW_BUSY_POLL_NS	= 1000 * 1000,
	/* Limit for the expiry score n: 2^n - 1 offers are skipped. */
	XIW_BUSY_POLL_MAX_EXPIRED	= 6,
};

/**
 * struct xiw_busy_poll - busy-poll work, which waits for a process
 * @lock: protects all that follows; taken with interrupts off. Nests inside any
 *	lock of a stream; the owner's locks for ops->post_work() nest inside it
 * @work: XIW_WORK_* that were not taken yet; if any, there is one reference
 * @claimed: a process has claimed the work, and will take it
 * @expired: offers that expired; halved when one is claimed
 * @skip: number of offers to skip, so that the work is queued at once
 * @end: expiry timer, which queues the work; it holds no reference, as
 *	xiw_busy_poll_cancel() cancels it
 */
struct xiw_busy_poll {
	spinlock_t lock; /* see above */
	u32 work;
	bool claimed;
	u8 expired;
	u8 skip;
	struct hrtimer end;
};

/* Source of the message that is being sent */
enum xiw_tx_source {
	XIW_TX_NONE,
	XIW_TX_SQ,		/* send queue, wr is the request */
	XIW_TX_SQ_IMM,		/* second half of a Write with Immediate */
	XIW_TX_SQ_IMM_FIRST,	/* first half of a Send with Immediate */
	XIW_TX_RESPONSE,	/* answer to the request at ird_head */
	XIW_TX_RTR,
	XIW_TX_TERM,
};

/**
 * struct xiw_tx_msg - message that is being encoded
 * @source: its source; if there is none, nothing else is valid
 * @head: header fields and length, for its segments
 * @offset: bytes already encoded
 * @wr: work request
 * @sge: gather position: element
 * @sge_off: gather position: byte in the element
 * @body: RDMAP header that is the whole message, when @body_len is not 0
 * @body_len: bytes in @body
 */
struct xiw_tx_msg {
	enum xiw_tx_source source;
	struct xiw_seg_msg head;
	u32 offset;
	struct xiw_swr *wr;
	u32 sge;
	u32 sge_off;
	u8 body[XIW_ATOMIC_REQ_LEN];
	u32 body_len;
};

/**
 * struct xiw_tx_batch - FPDUs that are encoded, as a ring of vectors
 * @vec: ring; each vector has a reference on its page
 * @first: first vector in use
 * @count: vectors in use
 * @len: bytes in these
 */
struct xiw_tx_batch {
	struct bio_vec vec[XIW_TX_VECS];
	u32 first;
	u32 count;
	u32 len;
};

/* State of the transmit engine */
enum xiw_tx_engine {
	XIW_ENGINE_IDLE,
	XIW_ENGINE_ACTIVE,	/* on the call stack of the lock's holder */
	/* Budget used up: the retry work or a busy-polling process continues */
	XIW_ENGINE_DEFERRED,
};

/**
 * struct xiw_tx - transmit side of a stream; owner: socket lock holder
 * @run: XIW_TX_*; KICK may be set in any context
 * @engine: what the engine does, for callbacks of TCP and for other contexts
 * @budget: rest of the work budget
 * @buf: memory for FPDUs
 * @trim_pos: @pos when @trim was queued
 * @space: room in TCP's segments and send buffer
 * @mem: lookup cache for memory that is read
 * @batch: FPDUs that TCP has not taken
 * @pages: waits for pages: of the message of the send queue that is in
 *	progress, and of the response to the oldest inbound request; see
 *	xiw_tx_pages()
 * @posts: burst detection
 * @pos: bytes encoded since SeqStart
 * @sent: bytes taken by TCP since SeqStart
 * @mpa: framing
 * @fin: a graceful close waits until everything is sent; set without the lock
 * @fin_done: ops->drained() was called; no more FPDUs are encoded
 * @imm_sent: Immediate Data was sent
 * @limited: the ULP has closed; requests from @limit on are not sent
 * @limit: index in the send queue
 * @term_sent: the Terminate was encoded; no more FPDUs follow
 * @prefer_resp: round robin: the last choice preferred a response, the next one
 *	prefers a work request
 * @mixes: the peer accepts FPDUs of two messages in turns, see
 *	xiw_tx_sched_park()
 * @held: xiw_tx_sched_next() found a request that must wait
 * @msg: message in progress
 * @parked: interrupted message; its queue and that of @msg are not the same
 * @turn: @pos when the turn of the queue of @msg began
 * @msn: next MSN per queue
 * @rtr: RTR still to be sent, or answer to it, XIW_RTR_*
 * @rtr_end: @pos behind it
 * @term_len: ULPDU length of the Terminate still to be sent, 0 = none; read
 *	without the lock when the queue pair is destroyed
 * @term_ulpdu: bytes of the Terminate
 * @retry: runs the engine when no other context would, or may
 * @trim: frees unused memory, that of the receive side as well
 * @defer_timer: timer that ends a doorbell deferral
 */
struct xiw_tx {
	atomic_t run;
	enum xiw_tx_engine engine;
	struct xiw_budget budget;

	struct xiw_txbuf buf;
	u64 trim_pos;
	struct xiw_llp_space space;
	struct xiw_mem_cache mem;
	struct xiw_tx_batch batch;
	struct xiw_page_wait pages[2];

	struct xiw_posts posts;
	u64 pos;
	u64 sent;
	struct xiw_tx_mpa mpa;
	bool fin;
	bool fin_done;
	bool imm_sent;
	bool limited;
	u32 limit;
	bool term_sent;
	bool prefer_resp;
	bool mixes;
	bool held;

	struct xiw_tx_msg msg;
	struct xiw_tx_msg parked;
	u64 turn;
	u32 msn[XIW_QN_COUNT];
	u8 rtr;
	u64 rtr_end;
	u32 term_len;
	u8 term_ulpdu[XIW_TERM_ULPDU_MAX];

	struct delayed_work retry;
	struct delayed_work trim;
	struct hrtimer defer_timer;
};

/**
 * struct xiw_recv - a receive work request taken from the queue, checked
 * @wr_id: of the work request
 * @len: sum of the elements' lengths in bytes
 * @num_sge: elements in use
 * @sge: private copy of the elements
 */
struct xiw_recv {
	u64 wr_id;
	u64 len;
	u32 num_sge;
	struct xiw_sge sge[XIW_ABI_MAX_SGE];
};

enum xiw_rq_take {
	XIW_RQ_TAKEN,
	XIW_RQ_EMPTY,
	XIW_RQ_CORRUPT,		/* the user broke its ring */
	XIW_RQ_LIMIT,		/* taken, and the SRQ limit event is due */
};

/* The last end of the connection that the receive side has reported */
enum xiw_rx_end {
	XIW_RX_OPEN,
	XIW_RX_PEER_CLOSED,	/* FIN */
	XIW_RX_GONE,		/* both FINs, or the connection was lost */
};

/**
 * struct xiw_rx - receive side of a stream; owner: socket lock holder
 * @mem: lookup cache for memory that is written, or read by a response
 * @mpa: framing
 * @fpdu: the FPDU being processed, or the last one
 * @first: no FPDU was received yet
 * @dead: received data is dropped
 * @end: which end of the connection was reported
 * @run_tx: the transmit engine is to run after this pass
 * @stalled: a Send waits for a receive (RNR wait), a Read or Atomic of the peer
 *	for memory, or a segment for its pages; read without the lock when a
 *	receive is posted
 * @rnr_waits: it is an RNR wait, which @rnr_timer ends
 * @pages: wait of a segment for its pages, see place_pos()
 * @rnr_expired: the RNR wait has expired, this is the last attempt
 * @queue: the untagged queues
 * @body: message body of a queue without user buffer, while incomplete
 * @recv: receive work request of the message in progress on queue 0
 * @recv_active: @recv was taken and has not completed
 * @term_code: of the Terminate that was received
 * @write_bytes: bytes of the RDMA Write in progress
 * @last_write: bytes of the last complete RDMA Write, for the next receive
 *	completion
 * @with_imm: the next message of queue 0 is a Send with Immediate
 * @imm: its immediate data
 * @requests: received FPDUs that were no responses, free running
 * @deferred: @work is queued, or posted as busy-poll work, and reads all data
 * @bulk_pos: @sent of @tx when bulk data was last received
 * @budget: rest of the work budget
 * @work: runs the receive side in process context: for bulk data, and again
 *	after a wait
 * @rnr_timer: ends the RNR wait
 * @rnr_end: jiffies before which @rnr_timer must not end the RNR wait
 */
struct xiw_rx {
	struct xiw_mem_cache mem;
	struct xiw_rx_mpa mpa;
	struct xiw_fpdu fpdu;
	bool first;
	bool dead;
	enum xiw_rx_end end;
	bool run_tx;
	bool stalled;
	bool rnr_waits;
	struct xiw_page_wait pages;
	bool rnr_expired;
	struct xiw_ddp_queue queue[XIW_QN_COUNT];
	u8 body[XIW_QN_COUNT][XIW_ATOMIC_REQ_LEN];
	struct xiw_recv recv;
	bool recv_active;
	u16 term_code;
	u64 write_bytes;
	u32 last_write;
	bool with_imm;
	__be32 imm;
	u32 requests;
	bool deferred;
	u64 bulk_pos;
	struct xiw_budget budget;
	struct delayed_work work;
	struct delayed_work rnr_timer;
	unsigned long rnr_end;
};

/**
 * struct xiw_stream_ops - callbacks of a stream to its owner
 * @get: take a reference on the owner
 * @put: drop a reference
 * @step: the state has changed from @old by @event; act according to @step.
 *	Called with @lock of the stream held. True if the caller must flush both
 *	queues
 * @flush: schedule a flush of both queues in another context
 * @broken: the ring was corrupted by its process: end the stream, if it has
 *	not ended
 * @first_fpdu: a Responder has received a valid FPDU
 * @drained: all data is in the socket, and FIN may follow
 * @take_recv: take a receive for a message of queue 0
 * @rnr_wait: begin an RNR wait: call xiw_rx_posted() when a receive may be
 *	available, possibly at once
 * @rnr_end: end the RNR wait
 * @rnr_until: get the end of an RNR wait in jiffies: @until, or a later time
 *	that the owner requires
 * @recv_done: add the completion @cqe of a receive. False if the CQ has no
 *	room, so that the completion is lost
 * @send_done: add the completion of a send that was signaled or has failed.
 *	False as for @recv_done
 * @send_unpolled: true if the process has not yet polled a completion of a send
 * @run_local: execute a work request that sends nothing. Returns enum
 *	ib_wc_status
 * @post_work: announce busy-poll work. True if a process is busy-polling and
 *	will call xiw_stream_run_busy_poll() within microseconds; false to queue
 *	the work
 * @cancel_work: withdraw the announcement
 *
 * @post_work and @cancel_work are called with a lock held and interrupts off.
 * All but these, @get, @put, @flush and @step are called by the owner of that
 * side of the stream, and none of them sleeps.
 */
struct xiw_stream_ops {
	void (*get)(struct xiw_stream *s);
	void (*put)(struct xiw_stream *s);
	bool (*step)(struct xiw_stream *s, enum xiw_qp_event event,
		     enum xiw_qp_state old, const struct xiw_qp_step *step);
	void (*flush)(struct xiw_stream *s);
	void (*broken)(struct xiw_stream *s);
	void (*first_fpdu)(struct xiw_stream *s);
	void (*drained)(struct xiw_stream *s);
	enum xiw_rq_take (*take_recv)(struct xiw_stream *s,
				      struct xiw_recv *recv);
	void (*rnr_wait)(struct xiw_stream *s);
	void (*rnr_end)(struct xiw_stream *s);
	unsigned long (*rnr_until)(struct xiw_stream *s, unsigned long until);
	bool (*recv_done)(struct xiw_stream *s, struct xiw_cqe *cqe);
	bool (*send_done)(struct xiw_stream *s, const struct xiw_swr *wr);
	bool (*send_unpolled)(const struct xiw_stream *s);
	u8 (*run_local)(struct xiw_stream *s, const struct xiw_swr *wr);
	bool (*post_work)(struct xiw_stream *s);
	void (*cancel_work)(struct xiw_stream *s);
};

/**
 * struct xiw_stream_env - state shared by the streams of a device
 * @stats: counters
 * @mems: STags
 * @tx_blocks: memory in the blocks of all streams; see txbuf.c
 * @rnr_timeout_ms: length of the RNR wait; may change at any time
 * @features: XIW_FEAT_* accepted
 */
struct xiw_stream_env {
	struct xiw_stats __percpu *stats;
	struct xiw_mem_table *mems;
	struct xiw_txbuf_supply tx_blocks;
	u32 rnr_timeout_ms;
	u32 features;
};

/**
 * struct xiw_stream - streams of a queue pair, one after the other
 * @ops: callbacks of the owner; constant, as all members before @lock
 * @env: state shared by the device
 * @id: number of the queue pair, for traces
 * @sq: send queue
 * @memcg: control group to charge, or NULL; stays as long as the stream
 * @lock: protects @state and @llp, and state of the owner that changes with
 *	them; taken with bottom halves off
 * @state: of the stream
 * @llp: its connection while it is attached, else NULL; changed with both @lock
 *	and the socket lock held, so either is enough to read it
 * @access: IB_ACCESS_* that the owner permits to the peer, 0 for all, and
 *	XIW_STREAM_LIMITED
 * @fault: reason of a fault found by this side
 * @conn: result of the MPA startup; owner: socket lock holder, like all that
 *	follows
 * @irdq: inbound requests; NULL before the first, as many streams have none
 * @ird_size: IRD
 * @ird_mask: slots of @irdq, a power of two as indices wrap, less one
 * @ird_head: oldest, free running
 * @ird_tail: next free, free running
 * @orq: outbound requests
 * @orq_mask: slots of @orq, a power of two, less one; enough for the ORD,
 *	unless the send queue is shorter, and for an RTR Read
 * @orq_head: oldest, free running
 * @orq_tail: next free, free running
 * @ord: limit for work requests
 * @busy_poll: busy-poll work; has its own lock
 * @tx: transmit side
 * @rx: receive side
 */
struct xiw_stream {
	const struct xiw_stream_ops *ops;
	struct xiw_stream_env *env;
	u32 id;
	struct xiw_sq *sq;
	struct mem_cgroup *memcg;

	spinlock_t lock; /* see above */
	enum xiw_qp_state state;
	struct xiw_llp *llp;
	int access;
	enum xiw_reason fault;

	struct xiw_conn conn;
	struct xiw_ird_entry *irdq;
	u32 ird_size;
	u32 ird_mask;
	u32 ird_head;
	u32 ird_tail;
	struct xiw_orq_entry *orq;
	u32 orq_mask;
	u32 orq_head;
	u32 orq_tail;
	u32 ord;

	struct xiw_busy_poll busy_poll;
	struct xiw_tx tx ____cacheline_aligned;
	struct xiw_rx rx ____cacheline_aligned;
};

/*
 * Flag in xiw_stream.access: missing IB_ACCESS_* rights are denied even if all
 * of them are missing, see xiw_stream_access_ok()
 */
#define XIW_STREAM_LIMITED	BIT(30)

/*
 * Access check: does the owner permit access of this kind? Local access needs
 * no permission. On the connecting side the RDMA CM always sets no rights,
 * regardless of the ULP, so no rights means no limit. On the accepting side it
 * sets only Read and Write rights, so the latter permits Atomics.
 */
static inline bool xiw_stream_access_ok(const struct xiw_stream *s, int access)
{
	int flags = READ_ONCE(s->access);

	access &= XIW_MEM_REMOTE;
	if (access & IB_ACCESS_REMOTE_ATOMIC)
		access |= IB_ACCESS_REMOTE_WRITE;
	return !flags || !access || flags & access;
}

/*
 * xiw_mem_get() for a request of the peer. The rights of the owner are checked
 * whenever memory is accessed, as those of the memory are: the owner may have
 * withdrawn them since the request arrived. The last change of the rights is
 * visible here, see xiw_stream_settle().
 */
static inline enum xiw_mem_status
xiw_stream_mem_get(const struct xiw_stream *s, struct xiw_mem_cache *cache,
		   u32 stag, int access, u64 addr, u64 len,
		   struct xiw_mem_ref *ref)
{
	enum xiw_mem_status status;

	status = xiw_mem_get(cache, stag, access, addr, len, ref);
	if (likely(xiw_stream_access_ok(s, access)))
		return status;
	if (status == XIW_MEM_OK)
		xiw_mem_put(ref);
	return status == XIW_MEM_OK || status == XIW_MEM_ABSENT
		       ? XIW_MEM_BAD_ACCESS
		       : status;
}

/*
 * MPA fence: a Responder sends nothing before it has received a valid FPDU (RFC
 * 5044 section 7.1.2 rule 4). Needs the socket lock.
 */
static inline bool xiw_stream_is_fenced(const struct xiw_stream *s)
{
	return s->rx.first && !s->conn.initiator && !s->conn.unfenced;
}

/*
 * True if an Initiator has sent nothing but its RTR, and received nothing. In a
 * stream that has ended, or with the socket lock held.
 */
static inline bool xiw_stream_is_unused(const struct xiw_stream *s)
{
	return s->conn.initiator && s->rx.first && s->tx.pos == s->tx.rtr_end;
}

/* stream.c */
int xiw_stream_module_init(void);
void xiw_stream_module_exit(void);
void xiw_stream_queue_work(struct xiw_stream *s, struct work_struct *work);
struct xiw_llp *xiw_stream_get_sock(struct xiw_stream *s);
struct xiw_llp *xiw_stream_lock(struct xiw_stream *s);
void xiw_stream_unlock(struct xiw_llp *llp);
bool xiw_stream_step(struct xiw_stream *s, enum xiw_qp_event event);
void xiw_stream_event(struct xiw_stream *s, enum xiw_qp_event event);
void xiw_stream_recv_done(struct xiw_stream *s, struct xiw_cqe *cqe);

/* stream_run.c */
void xiw_stream_init(struct xiw_stream *s, struct ib_pd *pd);
int xiw_stream_start(struct xiw_stream *s, struct xiw_llp *llp,
		     const struct xiw_conn *conn);
void xiw_stream_run(struct xiw_stream *s, struct xiw_llp *llp);
void xiw_stream_run_busy_poll(struct xiw_stream *s);
void xiw_stream_limit(struct xiw_stream *s, u32 ord);
void xiw_stream_settle(struct xiw_stream *s);
void xiw_stream_close(struct xiw_stream *s);
void xiw_stream_forget(struct xiw_stream *s);
bool xiw_stream_detach_if(struct xiw_stream *s, struct xiw_llp *llp,
			  bool (*wanted)(struct xiw_stream *s));
void xiw_stream_detach(struct xiw_stream *s, struct xiw_llp *llp);
void xiw_stream_release(struct xiw_stream *s);
void xiw_stream_cancel_all(struct xiw_stream *s);

/* deliver.c */
void xiw_deliver_flush(struct xiw_stream *s);

/* rx.c */
void xiw_rx_unstall_locked(struct xiw_stream *s);
void xiw_rx_posted(struct xiw_stream *s);

/* tx.c */
bool xiw_tx_owes_term(const struct xiw_stream *s);
void xiw_tx_reset(struct xiw_stream *s);
void xiw_tx_run_locked(struct xiw_stream *s);
void xiw_tx_kick(struct xiw_stream *s, bool may_sleep);

/* tx_sched.c */
bool xiw_tx_sched_unfinished(struct xiw_stream *s);
void xiw_tx_sched_rewind(struct xiw_stream *s);
bool xiw_tx_sched_flush(struct xiw_stream *s);

/* The wait of a message with that source for its pages */
static inline struct xiw_page_wait *xiw_tx_pages(struct xiw_tx *tx,
						 enum xiw_tx_source source)
{
	return &tx->pages[source == XIW_TX_RESPONSE];
}

/* Forgets the messages in progress. */
static inline void xiw_tx_drop_msgs(struct xiw_tx *tx)
{
	tx->msg.source = XIW_TX_NONE;
	tx->parked.source = XIW_TX_NONE;
}

#endif /* _XIW_STREAM_H */
