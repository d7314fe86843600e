/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A stream: what carries work requests to a peer and back, from the end of MPA
 * startup to the end of the connection. It belongs to a queue pair, but knows
 * neither that nor anything else of the verbs or of the connection manager: it
 * asks and tells its owner by struct xiw_stream_ops.
 *
 * The members of @tx and @rx, and those marked so, belong to whoever holds the
 * socket lock of the attached stream. Once xiw_stream_detach() has returned
 * nobody does, and whoever has called it owns them.
 *
 * References: the owner's. A work item of the stream has one from when it is
 * queued until it has run, and so has all together that is on offer.
 */
#ifndef _XIW_STREAM_H
#define _XIW_STREAM_H

#include <linux/atomic.h>
#include <linux/bvec.h>
#include <linux/hrtimer.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/xiw-abi.h>

#include "llp.h"
#include "mem.h"
#include "pace.h"
#include "proto/ddp.h"
#include "proto/nego.h"
#include "proto/qpstate.h"
#include "proto/rdmap.h"
#include "proto/segment.h"
#include "proto/term.h"
#include "rq.h"
#include "rx_mpa.h"
#include "sq.h"
#include "stats.h"
#include "tx_mpa.h"
#include "txbuf.h"

struct xiw_stream;

/**
 * struct xiw_conn - what startup agreed on, given to the stream
 * @agreed: result of the negotiation
 * @initiator: this side sent the MPA Request
 * @fpdu_segments: TCP segments that an FPDU of this side may fill; 0 for as
 *	many as are good for a peer that is software
 * @send_imm: both sides know Send with Immediate
 * @hello: the RTR asks whether the peer takes FPDUs of several segments, see
 *	XIW_HELLO_STAG; @fpdu_segments holds until it says so
 */
struct xiw_conn {
	struct xiw_mpa_agreed agreed;
	bool initiator;
	u32 fpdu_segments;
	bool send_imm;
	bool hello;
};

/**
 * struct xiw_req - inbound Read or Atomic Request that waits for its response
 * @atomic: which member is valid
 * @fault: what is wrong with it, to be told when its turn comes
 * @ulpdu_len: of the segment that carried it, for a Terminate
 * @hdr: its DDP header as received, for a Terminate
 * @read: Read Request
 * @op: Atomic Request
 */
struct xiw_req {
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
 * struct xiw_wait - outbound Read or Atomic Request that awaits its response
 * @internal: the RTR, which has no work request
 * @atomic: an Atomic
 * @index: of the work request in the send queue
 * @num_sge: elements of the sink list; 0 for the RTR
 * @msn: on queue 1
 * @sink: for a Read, where the response must go. Its STag is the first
 *	element's, for an Atomic, too
 * @offset: for a Read, octets of the sink list already filled
 */
struct xiw_wait {
	bool internal;
	bool atomic;
	u8 num_sge;
	u32 index;
	u32 msn;
	struct xiw_read_sink sink;
	u32 offset;
};

/* First index of inbound and outbound requests: every test sees it wrap. */
#define XIW_DEPTH_FIRST	(-100U)

/* Bits of xiw_tx.run, see tx.c. */
#define XIW_TX_RUNNING	BIT(0)	/* somebody runs the engine, or is going to */
#define XIW_TX_KICK	BIT(1)	/* the queue must be looked at (again) */
#define XIW_TX_WINDOW	BIT(2)	/* nobody but the timer is going to run it */

enum xiw_tx_limits {
	XIW_TX_VECS		= 8,
	XIW_TX_TRAIN_BYTES	= XIW_TXBUF_BLOCK,
	/* How long a stream of posts is collected; see tx.c. */
	XIW_TX_WINDOW_NS	= 50 * 1000,
	/* Posts that come sooner than this are a stream. */
	XIW_TX_STREAM_NS	= 50 * 1000,
	/* More than this at once is work for another CPU; see rx.c. */
	XIW_RX_INLINE_BYTES	= 16 * 1024,
};

/* Kinds of work, as bits. */
enum xiw_work {
	XIW_WORK_RX	= BIT(0),	/* xiw_rx.bulk */
	XIW_WORK_TX	= BIT(1),	/* xiw_tx.retry */
};

enum xiw_offer_limits {
	/* How long work waits for a process that was spinning. */
	XIW_WORK_OFFER_NS	= 1000 * 1000,
	/* In vain so often in a row: 63 offers are left out. */
	XIW_WORK_MAX_MISSED	= 6,
};

/**
 * struct xiw_offer - work that waits for a process
 * @lock: protects all that follows; taken with interrupts off, within any lock
 *	of a stream, and the owner's locks for ops->offer() within it
 * @work: XIW_WORK_* that nobody has taken; if any, there is one reference
 * @claimed: a process is there, and is going to take it
 * @missed: how often nobody came; half of it is forgotten when somebody does
 * @skip: so much work is queued before the next offer
 * @end: has the work queued; it holds no reference, as xiw_offer_drop() cancels
 *	it
 */
struct xiw_offer {
	spinlock_t lock; /* see above */
	u32 work;
	bool claimed;
	u8 missed;
	u8 skip;
	struct hrtimer end;
};

/* Whose message is being sent. */
enum xiw_tx_source {
	XIW_TX_NONE,
	XIW_TX_SQ,		/* from the send queue, wr is its request */
	XIW_TX_SQ_IMM,		/* second half of a Write with Immediate */
	XIW_TX_SQ_IMM_FIRST,	/* first half of a Send with Immediate */
	XIW_TX_RESPONSE,	/* answer to the request at irq_head */
	XIW_TX_RTR,
	XIW_TX_TERM,
};

/**
 * struct xiw_tx - transmit side of a stream; owner: socket lock holder
 * @run: XIW_TX_*; anybody may set KICK
 * @active: the engine is on the call stack of the socket lock's holder
 * @deferred: a turn is over and @retry is queued, or on offer, to go on
 * @turn: what is left of this one
 * @buf: memory being laid out
 * @trim_pos: @pos when @trim was queued
 * @space: where the train will lie
 * @mem: memory that is read
 * @vec: the train: laid out, not yet taken by TCP
 * @vec_first: first vector in use
 * @vec_count: vectors in use
 * @train_len: bytes in the train
 * @left_at: when the last run for a poster ended, ktime_get_ns()
 * @heard_before: rx.heard when that run began
 * @asked: what completed last was a Read or Atomic
 * @told: and it was signaled
 * @posts: whether the process is likely to post on
 * @window_from: where in the send queue the window began
 * @pos: octets laid out since SeqStart
 * @sent: octets taken by TCP since SeqStart
 * @mpa: framing
 * @fenced: Responder that has not yet received a valid FPDU
 * @fin: a graceful close waits until everything is sent; set by whoever closes,
 *	without the lock
 * @fin_done: ops->drained() was called; nothing is laid out any more
 * @imm_sent: Immediate Data were sent
 * @bounded: the consumer has closed; requests from @bound on are not sent
 * @bound: index in the send queue
 * @term_sent: nothing may be laid out any more
 * @turn_resp: the last look was for a response first, the next is for a work
 *	request
 * @source: whose message is in progress
 * @msg: message in progress
 * @offset: octets of it laid out
 * @wr: its work request
 * @sge: gather position: element
 * @sge_off: gather position: byte in it
 * @body: RDMAP header that is the whole message, when @body_len is not 0
 * @body_len: octets in @body
 * @msn: next MSN per queue
 * @rtr: RTR still to be sent, or answer to it, XIW_RTR_*
 * @term_len: ULPDU length of the Terminate still to be sent, 0 = none; read
 *	without the lock by whoever destroys the queue pair
 * @term_ulpdu: its octets
 * @retry: runs the engine when nobody else would, or is allowed to
 * @trim: gives memory back, that of the receive side, too
 * @window: collects a stream of posts into one train
 */
struct xiw_tx {
	atomic_t run;
	bool active;
	bool deferred;
	struct xiw_turn turn;

	struct xiw_txbuf buf;
	u64 trim_pos;
	struct xiw_llp_space space;
	struct xiw_mem_view mem;
	struct bio_vec vec[XIW_TX_VECS];
	u32 vec_first;
	u32 vec_count;
	u32 train_len;

	u64 left_at;
	u32 heard_before;
	bool asked;
	bool told;
	struct xiw_posts posts;
	u32 window_from;
	u64 pos;
	u64 sent;
	struct xiw_tx_mpa mpa;
	bool fenced;
	bool fin;
	bool fin_done;
	bool imm_sent;
	bool bounded;
	u32 bound;
	bool term_sent;
	bool turn_resp;

	enum xiw_tx_source source;
	struct xiw_seg_msg msg;
	u32 offset;
	struct xiw_swr *wr;
	u32 sge;
	u32 sge_off;
	u8 body[XIW_ATOMIC_REQ_LEN];
	u32 body_len;
	u32 msn[XIW_QN_COUNT];
	u8 rtr;
	u32 term_len;
	u8 term_ulpdu[XIW_TERM_ULPDU_MAX];

	struct delayed_work retry;
	struct delayed_work trim;
	struct hrtimer window;
};

/**
 * struct xiw_rx - receive side of a stream; owner: socket lock holder
 * @mem: memory that is written, or read from later
 * @mpa: framing
 * @first: no FPDU was received yet
 * @dead: drop whatever arrives
 * @peer_closed: the peer's FIN was reported
 * @lost: the end of the connection was reported
 * @poke_tx: the engine has something to do after this pass
 * @stalled: a Send waits for a receive to be posted, or a Read or atomic of the
 *	peer for memory; who posts one looks without the lock
 * @late_over: this is the last look for a receive, the time is over
 * @queue: the untagged queues
 * @body: message body of a queue without user buffer, while incomplete
 * @recv: receive work request of the message in progress on queue 0
 * @recv_active: @recv was taken and has not completed
 * @term_code: of the Terminate that was received
 * @write_bytes: octets of the RDMA Write in progress
 * @last_write: octets of the last complete RDMA Write, for the receive that
 *	completes next
 * @with_imm: the next message of queue 0 is a Send with Immediate
 * @imm: its immediate data
 * @heard: FPDUs taken that answered no request, free running
 * @deferred: @bulk is queued, or on offer, and will take what arrives
 * @turn: what is left of this one
 * @kick: runs the receive side again in process context
 * @bulk: takes what arrives in large amounts
 * @late: ends the wait for a receive
 * @late_at: jiffies before which @late must not end it
 */
struct xiw_rx {
	struct xiw_mem_view mem;
	struct xiw_rx_mpa mpa;
	bool first;
	bool dead;
	bool peer_closed;
	bool lost;
	bool poke_tx;
	bool stalled;
	bool late_over;
	struct xiw_ddp_queue queue[XIW_QN_COUNT];
	u8 body[XIW_QN_COUNT][XIW_ATOMIC_REQ_LEN];
	struct xiw_recv recv;
	bool recv_active;
	u16 term_code;
	u64 write_bytes;
	u32 last_write;
	bool with_imm;
	__be32 imm;
	u32 heard;
	bool deferred;
	struct xiw_turn turn;
	struct delayed_work kick;
	struct work_struct bulk;
	struct delayed_work late;
	unsigned long late_at;
};

/**
 * struct xiw_stream_ops - what a stream asks of its owner, and tells it
 * @get: take a reference on the owner
 * @put: drop one
 * @step: the state has changed from @old by @event, and @step says what is to
 *	follow. Called with @lock of the stream held. True if both queues are to
 *	be flushed now
 * @flush: have both queues flushed, in another context
 * @broken: the process has written over its ring: end the stream, if it has
 *	not ended
 * @first_fpdu: a Responder has received a valid FPDU
 * @drained: everything to be sent is in the socket, and FIN may follow
 * @take_recv: a message for queue 0 needs a buffer
 * @wait_recv: there was none: call xiw_rx_posted() when there may be one,
 *	possibly right now
 * @unwait_recv: no more of that
 * @wait_until: a wait for a receive is to end at @until, in jiffies, unless
 *	the owner names a later time
 * @recv_done: a receive has completed; the owner adds what it is in @cqe. False
 *	if there was no room: nobody can tell any more what was done
 * @send_done: a send has completed that is signaled, or has failed; likewise
 * @send_untaken: has the consumer left a completion of a send where it is? Only
 *	for processes
 * @run_local: execute a work request that sends nothing. Returns enum
 *	ib_wc_status
 * @offer: there is work that may sleep. True if somebody spins who will call
 *	xiw_stream_help() within microseconds; false to have it queued
 * @withdraw: there is none any more
 *
 * @offer and @withdraw are called with a lock held and interrupts off. All but
 * these, @get, @put, @flush and @step are called by the owner of that side of
 * the stream, and none of them sleeps.
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
	void (*wait_recv)(struct xiw_stream *s);
	void (*unwait_recv)(struct xiw_stream *s);
	unsigned long (*wait_until)(struct xiw_stream *s, unsigned long until);
	bool (*recv_done)(struct xiw_stream *s, struct xiw_cqe *cqe);
	bool (*send_done)(struct xiw_stream *s, const struct xiw_swr *wr);
	bool (*send_untaken)(const struct xiw_stream *s);
	u8 (*run_local)(struct xiw_stream *s, const struct xiw_swr *wr);
	bool (*offer)(struct xiw_stream *s);
	void (*withdraw)(struct xiw_stream *s);
};

/**
 * struct xiw_stream_env - what the streams of a device share
 * @stats: counters
 * @mems: STags
 * @tx_blocks: what the blocks of all streams take; see txbuf.c
 * @late_recv_ms: how long a Send may wait for a receive to be posted; may
 *	change at any time
 * @features: XIW_FEAT_* accepted
 */
struct xiw_stream_env {
	struct xiw_stats __percpu *stats;
	struct xiw_mem_table *mems;
	struct xiw_txbuf_supply tx_blocks;
	u32 late_recv_ms;
	u32 features;
};

/**
 * struct xiw_stream - what carries the streams of a queue pair, one by one
 * @ops: the owner's; constant, as all that comes before @lock
 * @env: what is shared
 * @id: number of the queue pair, for traces
 * @sq: send queue
 * @memcg: pays for the memory, or NULL; stays as long as the stream
 * @lock: protects @state and @llp, and what the owner keeps in step with them;
 *	taken with bottom halves off
 * @state: of the stream
 * @llp: its connection while it is attached, else NULL; changed with both @lock
 *	and the socket lock held, so either is enough to read it
 * @access: IB_ACCESS_* that the owner admits for the peer, 0 for all
 * @fault: what was wrong when this side found a fault
 * @conn: what startup agreed on; owner: socket lock holder, like all that
 *	follows
 * @irq: inbound requests; NULL before the first, as many streams see none
 * @irq_size: IRD
 * @irq_mask: slots of @irq, a power of two as indices wrap, less one
 * @irq_head: oldest, free running
 * @irq_tail: next free, free running
 * @orq: outbound requests
 * @orq_mask: slots of @orq, likewise; enough for the ORD, unless the send queue
 *	is shorter, and for an RTR Read
 * @orq_head: oldest, free running
 * @orq_tail: next free, free running
 * @ord: limit for work requests
 * @offer: work that waits for a process; see its lock
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
	struct xiw_req *irq;
	u32 irq_size;
	u32 irq_mask;
	u32 irq_head;
	u32 irq_tail;
	struct xiw_wait *orq;
	u32 orq_mask;
	u32 orq_head;
	u32 orq_tail;
	u32 ord;

	struct xiw_offer offer;
	struct xiw_tx tx ____cacheline_aligned;
	struct xiw_rx rx ____cacheline_aligned;
};

/*
 * Does the owner admit remote access of this kind? On the side that connects
 * the RDMA CM asks for no rights at all, whatever the consumer is going to do,
 * so no rights means that nobody has limited them.
 */
static inline bool xiw_stream_admits(const struct xiw_stream *s, int access)
{
	int flags = READ_ONCE(s->access);

	return !flags || flags & access;
}

int xiw_stream_module_init(void);
void xiw_stream_module_exit(void);
void xiw_stream_queue_work(struct xiw_stream *s, struct work_struct *work);
void xiw_stream_queue_delayed(struct xiw_stream *s, struct delayed_work *work,
			      unsigned long delay);
void xiw_stream_cancel_work(struct xiw_stream *s, struct work_struct *work);
void xiw_stream_cancel_delayed(struct xiw_stream *s, struct delayed_work *work);
void xiw_stream_tx_again(struct xiw_stream *s, unsigned long delay);
void xiw_stream_rx_again(struct xiw_stream *s, unsigned long delay);
void xiw_stream_trim_later(struct xiw_stream *s);
void xiw_stream_trim_fn(struct work_struct *work);
struct xiw_llp *xiw_stream_get_sock(struct xiw_stream *s);
struct xiw_llp *xiw_stream_lock(struct xiw_stream *s);
void xiw_stream_unlock(struct xiw_llp *llp);
bool xiw_stream_step(struct xiw_stream *s, enum xiw_qp_event event);
void xiw_stream_event(struct xiw_stream *s, enum xiw_qp_event event);
void xiw_stream_fault(struct xiw_stream *s, enum xiw_reason reason,
		      const struct xiw_term_offender *off);
void xiw_stream_recv_done(struct xiw_stream *s, struct xiw_cqe *cqe);
void xiw_stream_send_done(struct xiw_stream *s, const struct xiw_swr *wr);

#endif /* _XIW_STREAM_H */
