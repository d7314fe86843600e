/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Queue pairs: the object, its send queue, and the state of its stream.
 *
 * Lock order: modify_lock, the endpoint's mutex, flush_lock, socket lock, then
 * sq.lock or rq.lock, then qp.lock, then mem.lock (for reading) or cq.lock.
 *
 * The members of @tx and @rx belong to whoever holds the socket lock of the
 * attached stream. Once xiw_qp_stop() has returned nobody does, and the
 * stopping context owns them.
 *
 * References: the verbs object (until destroy), every iw_cm user through
 * iw_add_ref, the endpoint it is attached to, and each running work item.
 * xiw_destroy_qp() waits until all but its own are gone.
 */
#ifndef _XIW_QP_H
#define _XIW_QP_H

#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/uio.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/xiw-abi.h>

#include "cm.h"
#include "mem.h"
#include "proto/ddp.h"
#include "proto/mpa.h"
#include "proto/nego.h"
#include "proto/qpstate.h"
#include "proto/rdmap.h"
#include "proto/segment.h"
#include "proto/term.h"
#include "queue.h"
#include "rq.h"

struct mem_cgroup;
struct xiw_cq;
struct xiw_dev;
struct xiw_ep;
struct xiw_sock;

/**
 * struct xiw_conn - what startup agreed on, given to the QP
 * @agreed: result of the negotiation
 * @initiator: this side sent the MPA Request
 * @fpdu_segments: TCP segments that an FPDU of this side may fill
 */
struct xiw_conn {
	struct xiw_mpa_agreed agreed;
	bool initiator;
	u32 fpdu_segments;
};

/**
 * struct xiw_swr - private, checked copy of one send work request
 * @wr_id: of the work request
 * @opcode: enum ib_wr_opcode
 * @flags: XIW_SQE_*; signaled, too, if all of the queue are
 * @num_sge: elements in @sge
 * @status: enum ib_wc_status, for the completion
 * @done: nothing but the completion remains to be done
 * @built: all octets are laid out; complete when TCP took @end_pos octets
 * @len: payload in bytes
 * @rkey: remote key, key to invalidate, or key of a fast registration
 * @ext: immediate data (network order) or key to invalidate at the peer
 * @vendor_err: Terminate code behind @status
 * @msn: on queue 0, if @has_msn
 * @has_msn: the request uses queue 0 and was started
 * @raddr: address at the target
 * @compare_add: operand of an atomic
 * @swap: operand of an atomic
 * @compare_add_mask: mask of an atomic
 * @swap_mask: mask of an atomic
 * @end_pos: stream position behind the last octet of the request
 * @mr: region of a fast registration
 * @access: rights of a fast registration
 * @sge: gather or scatter list, or inline data
 */
struct xiw_swr {
	u64 wr_id;
	u8 opcode;
	u8 flags;
	u8 num_sge;
	u8 status;
	bool done;
	bool built;
	bool has_msn;
	u32 msn;
	u32 len;
	u32 rkey;
	u32 ext;
	u32 vendor_err;
	u64 raddr;
	u64 compare_add;
	u64 swap;
	u64 compare_add_mask;
	u64 swap_mask;
	u64 end_pos;
	struct ib_mr *mr;
	int access;
	struct xiw_sge sge[];
};

/**
 * struct xiw_sq - send queue
 * @lock: serializes kernel consumers that post, and @stopped. Taken with
 *	interrupts disabled because they may post with them off; innermost
 * @queue: ring shared with the user; unused for kernel consumers
 * @wrs: private copies, @size of them, @stride bytes apart
 * @stride: bytes
 * @size: entries, a power of two
 * @head: oldest request that is not complete. Written by the owner of the
 *	transmit side only, read by posters
 * @next: next request to be started; owner of the transmit side
 * @prod: end of what is in @wrs. Written with release by whoever posts, for
 *	user queues by the owner of the transmit side
 * @max_wr: requests that may be outstanding
 * @max_sge: elements per request
 * @max_inline: inline bytes per request
 * @kernel: a kernel consumer posts directly into @wrs
 * @sig_all: every request is signaled
 * @stopped: no stream will ever work on the queue again; whoever posts
 *	flushes
 */
struct xiw_sq {
	spinlock_t lock; /* see above */
	struct xiw_queue queue;
	u8 *wrs;
	u32 stride;
	u32 size;
	u32 head;
	u32 next;
	u32 prod;
	u32 max_wr;
	u32 max_sge;
	u32 max_inline;
	bool kernel;
	bool sig_all;
	bool stopped;
};

static inline struct xiw_swr *xiw_sq_wr(const struct xiw_sq *sq, u32 index)
{
	return (struct xiw_swr *)(sq->wrs +
				  (size_t)(index & (sq->size - 1)) *
				  sq->stride);
}

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
 * @internal: the RTR; no work request stands behind it
 * @atomic: an Atomic
 * @index: of the work request in the send queue
 * @msn: on queue 1
 * @sink: for a Read, where the response must go
 * @offset: for a Read, octets of the sink list already filled
 */
struct xiw_wait {
	bool internal;
	bool atomic;
	u32 index;
	u32 msn;
	struct xiw_read_sink sink;
	u32 offset;
};

/* First index of inbound and outbound requests: it wraps while we look on. */
#define XIW_DEPTH_FIRST	(-100U)

/* What one turn may do, see "how long a turn is" in tx.c. */
enum xiw_turn_limits {
	/* a message of 64 KiB with its headers */
	XIW_TURN_BYTES		= 72 * 1024,
	XIW_TURN_STEPS		= 256,
	/* As many of them for who lets TCP's backlog in. */
	XIW_TURN_LONG_TX	= 16,
	XIW_TURN_LONG_RX	= 4,
};

/**
 * struct xiw_turn - what is left of a turn; owner: socket lock holder
 * @bytes: octets to be laid out or taken; the last FPDU may exceed them
 * @steps: FPDUs, requests that send nothing, and looks at the queue
 */
struct xiw_turn {
	int bytes;
	int steps;
};

static inline void xiw_turn_begin(struct xiw_turn *turn, u32 times)
{
	turn->bytes = times * XIW_TURN_BYTES;
	turn->steps = times * XIW_TURN_STEPS;
}

static inline void xiw_turn_charge(struct xiw_turn *turn, u32 bytes)
{
	turn->bytes -= bytes;
	turn->steps--;
}

static inline bool xiw_turn_over(const struct xiw_turn *turn)
{
	return turn->bytes <= 0 || turn->steps <= 0;
}

/* Bits of xiw_tx.run, see tx.c. */
#define XIW_TX_RUNNING	BIT(0)	/* somebody drains, or will come back to */
#define XIW_TX_KICK	BIT(1)	/* look at the queue (again) */
#define XIW_TX_WINDOW	BIT(2)	/* nothing but the timer will come back */

enum xiw_tx_limits {
	XIW_TX_VECS		= 8,
	XIW_TX_TRAIN_BYTES	= 64 * 1024,
	/* A train in one block never needs more fragments than an skb has. */
	XIW_TX_TRAIN_ORDER	= 4,
	/* How long a stream of posts is collected; see tx.c. */
	XIW_TX_WINDOW_NS	= 50 * 1000,
	/* Posts that come sooner than this are a stream. */
	XIW_TX_STREAM_NS	= 50 * 1000,
};

/* Whose message is being sent. */
enum xiw_tx_source {
	XIW_TX_NONE,
	XIW_TX_SQ,		/* from the send queue, wr is its request */
	XIW_TX_SQ_IMM,		/* second half of a Write with Immediate */
	XIW_TX_RESPONSE,	/* answer to the request at irq_head */
	XIW_TX_RTR,
	XIW_TX_TERM,
};

/**
 * struct xiw_txbuf - memory for trains, see txbuf.c; owner: socket lock holder
 * @page: current page or block
 * @off: first free byte in it
 * @flying: blocks that TCP may still hold, the oldest first
 * @spare: blocks that nobody else holds
 * @num_flying: how many
 * @num_spare: how many
 * @low: fewest spare ones since the last trim
 * @front: the oldest in @flying at the last trim; not to be followed
 * @seen: tx.pos at the last trim
 * @trim: gives memory back, that of the receive side, too
 */
struct xiw_txbuf {
	struct page *page;
	u32 off;
	struct list_head flying;
	struct list_head spare;
	u32 num_flying;
	u32 num_spare;
	u32 low;
	const struct page *front;
	u64 seen;
	struct delayed_work trim;
};

/**
 * struct xiw_tx - transmit side of a stream; owner: socket lock holder
 * @run: XIW_TX_*; anybody may set KICK
 * @active: the engine is on the call stack of the socket lock's holder
 * @deferred: a turn is over and @retry is queued to go on
 * @turn: what is left of this one
 * @buf: memory being laid out
 * @mem: memory that is read
 * @vec: the train: laid out, not yet taken by TCP
 * @vec_first: first vector in use
 * @vec_count: vectors in use
 * @train_len: bytes in the train
 * @left_at: when the engine had last run for a poster, ktime_get_ns()
 * @heard: rx.heard when it began to
 * @waits: the newest run that started a request found a process that waits for
 *	each one
 * @pos: octets laid out since SeqStart
 * @sent: octets taken by TCP since SeqStart
 * @mpa: Marker raster
 * @emss: segment size of this pass
 * @unit: what an FPDU may fill, one segment or a number of them
 * @fill: octets laid out in the unit being filled
 * @crc: compute CRCs
 * @fenced: Responder that has not yet received a valid FPDU
 * @fin: a graceful close waits until everything is sent
 * @fin_done: it was passed on to the endpoint; nothing is laid out any more
 * @imm_sent: Immediate Data were sent
 * @bounded: the consumer has closed; requests from @bound on are not sent
 * @bound: index in the send queue
 * @term_sent: nothing may be laid out any more
 * @turn_resp: a response goes next if there is one, for fairness
 * @source: whose message is in progress
 * @msg: message in progress
 * @offset: octets of it laid out
 * @wr: its work request
 * @sge: gather position: element
 * @sge_off: gather position: byte in it
 * @body: RDMAP header that is the whole message, when @body_len is not 0
 * @body_len: octets in @body
 * @msn: next MSN per queue
 * @rtr: RTR still to be sent, XIW_RTR_*
 * @term_len: ULPDU length of the Terminate still to be sent, 0 = none
 * @term_ulpdu: its octets
 * @retry: takes over when nothing else will call us again, or should not
 * @window: collects a stream of posts into one train
 */
struct xiw_tx {
	atomic_t run;
	bool active;
	bool deferred;
	struct xiw_turn turn;

	struct xiw_txbuf buf;
	struct xiw_mem_view mem;
	struct bio_vec vec[XIW_TX_VECS];
	u32 vec_first;
	u32 vec_count;
	u32 train_len;

	u64 left_at;
	u32 heard;
	bool waits;
	u64 pos;
	u64 sent;
	struct xiw_mpa_tx mpa;
	u32 emss;
	u32 unit;
	u32 fill;
	bool crc;
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
	struct hrtimer window;
};

enum xiw_rx_limits {
	XIW_RX_VECS		= 24,
	/* pages for the largest FPDU there can be, Markers included */
	XIW_RX_PAGES		= DIV_ROUND_UP(66 * 1024, PAGE_SIZE),
	/* More than this at once is work for another CPU; see rx.c. */
	XIW_RX_INLINE_BYTES	= 16 * 1024,
};

/**
 * struct xiw_rx - receive side of a stream; owner: socket lock holder
 * @mem: memory that is written, or read from later
 * @mpa: Marker raster
 * @features: XIW_FEAT_* accepted
 * @crc: check CRCs
 * @first: no FPDU was received yet
 * @dead: drop whatever arrives
 * @ready: the FPDU in @pages is complete and verified
 * @peer_closed: the peer's FIN was reported
 * @lost: the end of the connection was reported
 * @poke_tx: the engine has something to do after this pass
 * @stalled: a Send waits for a receive to be posted
 * @gave_up: the wait for a receive took too long
 * @have: octets of an FPDU that arrived in pieces, in @pages
 * @need: octets it has in all, 0 while unknown
 * @pages: its memory, kept for the next time
 * @pages_used: how many of them were used since the last trim
 * @linear: its memory instead of @pages on a half with Markers
 * @vec: the FPDU being processed, in place
 * @vec_count: vectors in use
 * @queue: the untagged queues
 * @body: message body of a queue without user buffer, while incomplete
 * @recv: receive work request of the message in progress on queue 0
 * @recv_active: @recv is taken
 * @write_bytes: octets of the RDMA Write in progress
 * @last_write: octets of the last complete RDMA Write, until a receive
 *	completes
 * @heard: FPDUs taken, free running
 * @answers: segments of them that answered a request, free running
 * @deferred: @bulk is queued and will take what arrives
 * @turn: what may still be taken in this one
 * @kick: runs the receive side again in process context
 * @bulk: takes what arrives in large amounts
 * @late: gives up waiting for a receive
 * @late_at: jiffies before which it must not
 */
struct xiw_rx {
	struct xiw_mem_view mem;
	struct xiw_mpa_rx mpa;
	u32 features;
	bool crc;
	bool first;
	bool dead;
	bool ready;
	bool peer_closed;
	bool lost;
	bool poke_tx;
	bool stalled;
	bool gave_up;
	u32 have;
	u32 need;
	struct page *pages[XIW_RX_PAGES];
	u32 pages_used;
	u8 *linear;
	struct kvec vec[XIW_RX_VECS];
	u32 vec_count;
	struct xiw_ddp_queue queue[XIW_QN_COUNT];
	u8 body[XIW_QN_COUNT][XIW_ATOMIC_REQ_LEN];
	struct xiw_recv recv;
	bool recv_active;
	u64 write_bytes;
	u32 last_write;
	u32 heard;
	u32 answers;
	bool deferred;
	struct xiw_turn turn;
	struct delayed_work kick;
	struct work_struct bulk;
	struct delayed_work late;
	unsigned long late_at;
};

/**
 * struct xiw_qp - queue pair
 * @ibqp: as the core sees it; its allocation is this struct
 * @dev: device
 * @qpn: number
 * @uctx: context of the process that made it, or NULL
 * @kernel: used by a kernel consumer
 * @memcg: pays for the memory of the streams, with a reference; NULL for a
 *	kernel consumer
 * @ref: see above
 * @freed: completed when @ref drops to zero
 * @handles: what iw_cm has of it; see qp.c
 * @modify_lock: one change of the state by the consumer at a time, as the core
 *	does not see to that; outside of all other locks here
 * @lock: protects @state, @ep, @xs, @ib_state and @attr; taken with
 *	bottom halves off
 * @state: of the stream
 * @ib_state: what the consumer last set or what follows from @state
 * @attr: attributes the consumer set
 * @ep: endpoint, with a reference, or NULL
 * @xs: its socket while a stream is attached, else NULL; changed with both
 *	@lock and the socket lock held, so either is enough to read it
 * @events: asynchronous events to be reported, bits by enum ib_event_type
 * @event_work: reports them
 * @fault_event: which of them a fault found here is
 * @destroying: being destroyed; no endpoint may attach, and nothing completes,
 *	any more
 * @resetting: being reset; likewise
 * @last_wqe_told: IB_EVENT_QP_LAST_WQE_REACHED was reported
 * @flush_work: completes what is posted after the last stream has ended
 * @flush_lock: held while both queues are flushed; without an attached stream
 *	its holder owns the consumer side of both. Outside of the socket lock
 * @scq: send completion queue
 * @rcq: receive completion queue
 * @srq: shared receive queue or NULL
 * @sq: send queue
 * @rq: own receive queue, unused with @srq
 * @srq_wait: on the SRQ's list while the receive side waits for an entry;
 *	protected by the SRQ's rq.lock like the next one
 * @srq_woken: it was woken and has not come for its entry yet
 * @mw_lock: protects @mws; within that of a window
 * @mws: type 2 windows bound to the queue pair; see mw.c
 * @conn: what startup agreed on
 * @irq: inbound requests, or NULL until there was one, for many streams never
 *	see any; owner: socket lock holder, like all that follows
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
 * @tx: transmit side
 * @rx: receive side
 */
struct xiw_qp {
	struct ib_qp ibqp;
	struct xiw_dev *dev;
	u32 qpn;
	struct ib_ucontext *uctx;
	bool kernel;
	struct mem_cgroup *memcg;
	struct kref ref;
	struct completion freed;
	struct list_head handles;

	struct mutex modify_lock; /* see above */
	spinlock_t lock; /* see above */
	enum xiw_qp_state state;
	enum ib_qp_state ib_state;
	struct ib_qp_attr attr;
	struct xiw_ep *ep;
	struct xiw_sock *xs;
	unsigned long events;
	struct work_struct event_work;
	enum ib_event_type fault_event;
	bool destroying;
	bool resetting;
	bool last_wqe_told;
	struct work_struct flush_work;
	struct mutex flush_lock; /* see above */

	struct xiw_cq *scq;
	struct xiw_cq *rcq;
	struct xiw_srq *srq;
	struct xiw_sq sq;
	struct xiw_rq rq;
	struct list_head srq_wait;
	bool srq_woken;
	spinlock_t mw_lock; /* see above */
	struct list_head mws;

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

	struct xiw_tx tx ____cacheline_aligned;
	struct xiw_rx rx ____cacheline_aligned;
};

static inline struct xiw_qp *to_xqp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct xiw_qp, ibqp);
}

/*
 * Does the queue pair itself admit remote access of this kind? On the side
 * that connects the RDMA CM asks for no rights at all, whatever the consumer
 * is going to do, so no rights means that nobody has limited them.
 */
static inline bool xiw_qp_admits(const struct xiw_qp *qp, int access)
{
	int flags = READ_ONCE(qp->attr.qp_access_flags);

	return !flags || flags & access;
}

/* post.c: from a consumer's work request to a checked private copy */
int xiw_sq_init(struct xiw_sq *sq, const struct ib_qp_init_attr *attr,
		struct ib_ucontext *uctx, u64 *key);
void xiw_sq_destroy(struct xiw_sq *sq);
bool xiw_sq_fetch(struct xiw_qp *qp, int ahead);
bool xiw_sq_ring_empty(struct xiw_sq *sq);
void xiw_sq_want_doorbell(struct xiw_sq *sq, u32 how);
int xiw_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr);
int xiw_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad_wr);

/* sendq.c: what goes next, and completion in order */
bool xiw_sendq_next(struct xiw_qp *qp);
void xiw_sendq_bound(struct xiw_qp *qp);
bool xiw_sendq_none_posted(struct xiw_qp *qp);
void xiw_sendq_laid_out(struct xiw_qp *qp);
bool xiw_sendq_waits(struct xiw_qp *qp);
bool xiw_sendq_empty(const struct xiw_qp *qp);
void xiw_sendq_blame(struct xiw_qp *qp, enum xiw_reason reason,
		     const struct xiw_req *req, u32 done);
void xiw_sq_fail(struct xiw_qp *qp, struct xiw_swr *wr, u8 status);
void xiw_sq_complete(struct xiw_qp *qp);
bool xiw_sq_flush(struct xiw_qp *qp);

/* tx.c: messages to FPDUs to the socket */
void xiw_tx_init(struct xiw_qp *qp);
void xiw_tx_start(struct xiw_qp *qp);
void xiw_tx_stop(struct xiw_qp *qp);
void xiw_tx_run_locked(struct xiw_qp *qp);
void xiw_tx_again(struct xiw_qp *qp, unsigned long delay);
void xiw_tx_space(struct xiw_qp *qp);
void xiw_tx_kick(struct xiw_qp *qp, bool may_sleep);
void xiw_tx_fin(struct xiw_qp *qp);

/* txbuf.c: memory for what tx.c lays out */
u32 xiw_txbuf_room(const struct xiw_txbuf *buf);
bool xiw_txbuf_get(struct xiw_txbuf *buf, u32 order);
void xiw_trim_later(struct xiw_qp *qp);
struct page *xiw_qp_alloc_pages(struct xiw_qp *qp, gfp_t gfp, u32 order);
void xiw_txbuf_init(struct xiw_txbuf *buf);
void xiw_txbuf_stop(struct xiw_qp *qp);

/* rx.c: bytes to verified FPDUs */
void xiw_rx_init(struct xiw_qp *qp);
int xiw_rx_start(struct xiw_qp *qp);
void xiw_rx_stop(struct xiw_qp *qp);
void xiw_rx_run_locked(struct xiw_qp *qp);
bool xiw_rx_trim(struct xiw_qp *qp);
void xiw_rx_again(struct xiw_qp *qp, unsigned long delay);
void xiw_rx_posted(struct xiw_qp *qp);
void xiw_rx_stall(struct xiw_qp *qp);

/**
 * struct xiw_fpdu - a verified FPDU and the read position in it
 * @vec: where its octets are
 * @off: octets of the first vector already read
 * @ulpdu_len: content of the ULPDU_Length field
 * @hdr: the DDP header as received
 * @h: the same, decoded
 */
struct xiw_fpdu {
	const struct kvec *vec;
	size_t off;
	u32 ulpdu_len;
	u8 hdr[XIW_DDP_HDR_MAX];
	struct xiw_ddp_hdr h;
};

void xiw_fpdu_copy(struct xiw_fpdu *f, void *dst, size_t len);
size_t xiw_fpdu_chunk(const struct xiw_fpdu *f, const void **data);
void xiw_fpdu_skip(struct xiw_fpdu *f, size_t len);

/* place.c: payload into registered memory, after every check */
enum xiw_reason xiw_place_write(struct xiw_qp *qp, struct xiw_fpdu *f);
bool xiw_place_sges(struct xiw_qp *qp, struct xiw_fpdu *f,
		    const struct xiw_sge *sge, u32 num_sge, u64 offset,
		    u32 len);
bool xiw_place_check_sges(struct xiw_qp *qp, const struct xiw_sge *sge,
			  u32 num_sge);

/* deliver.c: what a segment means */
enum xiw_deliver {
	XIW_DELIVER_OK,
	XIW_DELIVER_STALL,	/* ask again with the same FPDU later */
	XIW_DELIVER_DEAD,	/* the stream ended here */
};

enum xiw_deliver xiw_deliver(struct xiw_qp *qp, struct xiw_fpdu *f);
void xiw_recv_wait_end(struct xiw_qp *qp);
bool xiw_rq_flush(struct xiw_qp *qp);
enum xiw_reason xiw_mem_reason(enum xiw_mem_status status,
			       enum xiw_access access);

/* qp.c: the object and the verbs */
int xiw_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		  struct ib_udata *udata);
int xiw_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata);
int xiw_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init);
int xiw_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
void xiw_qp_add_ref(struct ib_qp *ibqp);
void xiw_qp_rem_ref(struct ib_qp *ibqp);
struct ib_qp *xiw_qp_get_ibqp(struct ib_device *ibdev, int qpn);
struct xiw_qp *xiw_qp_get_by_num(struct xiw_dev *dev, u32 qpn);
void xiw_qp_get(struct xiw_qp *qp);
void xiw_qp_put(struct xiw_qp *qp);
void xiw_qp_async(struct xiw_qp *qp, enum ib_event_type event);
void xiw_qp_exit(void);

/* stream.c: its beginning and end, and the queue pair's state */
void xiw_stream_init(struct xiw_qp *qp);
enum ib_qp_state xiw_qp_ib_state(const struct xiw_qp *qp);
void xiw_qp_queue_work(struct xiw_qp *qp, struct workqueue_struct *wq,
		       struct work_struct *work);
void xiw_qp_queue_delayed(struct xiw_qp *qp, struct delayed_work *work,
			  unsigned long delay);
void xiw_qp_cancel_delayed(struct xiw_qp *qp, struct delayed_work *work);
struct xiw_sock *xiw_qp_get_sock(struct xiw_qp *qp);
struct xiw_sock *xiw_qp_lock_stream(struct xiw_qp *qp);
void xiw_qp_unlock_stream(struct xiw_sock *xs);
int xiw_qp_attach(struct xiw_qp *qp, struct xiw_ep *ep);
struct xiw_ep *xiw_qp_get_ep(struct xiw_qp *qp);
struct ib_qp *xiw_qp_handle(struct xiw_dev *dev, u32 qpn);
struct xiw_qp *xiw_qp_of_handle(struct ib_qp *ibqp);
void xiw_qp_disown(struct ib_qp *ibqp);
int xiw_qp_start(struct xiw_qp *qp, struct xiw_sock *xs,
		 const struct xiw_conn *conn);
void xiw_qp_run(struct xiw_qp *qp, struct xiw_sock *xs);
bool xiw_qp_stop(struct xiw_qp *qp, struct xiw_ep *ep);
void xiw_qp_event(struct xiw_qp *qp, enum xiw_qp_event event);
void xiw_qp_give_up(struct xiw_qp *qp);
void xiw_qp_fault(struct xiw_qp *qp, enum xiw_reason reason,
		  const struct xiw_term_offender *off);
void xiw_qp_request(struct xiw_qp *qp, u32 requests);
void xiw_qp_complete(struct xiw_qp *qp, struct xiw_cq *cq,
		     const struct xiw_cqe *cqe);
void xiw_qp_late_flush(struct xiw_qp *qp);

#endif /* _XIW_QP_H */
