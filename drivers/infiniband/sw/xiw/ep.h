/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The endpoint as the files of the connection path see it: cm.c owns the
 * object and the table of what happens when, cm_active.c and cm_passive.c
 * what the two sides do, cm_listen.c what listeners do, cm_end.c how
 * connections end, cm_crowd.c who has to go when too many wait.
 *
 * What happens to an endpoint becomes a bit and is handled by whoever has the
 * turn, see "turns" in cm.c: what is marked "turn" below belongs to them.
 */
#ifndef _XIW_EP_H
#define _XIW_EP_H

#include <linux/bits.h>
#include <linux/completion.h>
#include <linux/in6.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

#include "cm.h"
#include "cm_crowd.h"
#include "proto/nego.h"
#include "qp.h"

struct xiw_dev;
struct xiw_sock;

#define xiw_ep_dbg(ep, fmt, ...) \
	ibdev_dbg_ratelimited(&(ep)->dev->ibdev, fmt, ##__VA_ARGS__)

enum xiw_ep_limits {
	/* One turn; then its work goes on, and others get theirs. */
	XIW_EP_ROUNDS		= 8,
	/* Connections that a listener accepts in one round. */
	XIW_EP_ACCEPTS		= 16,
	/* How often a close that gets on is given more time. */
	XIW_EP_EXTENSIONS	= 30,
	/* A dead peer is found out in a minute, or one retransmission more. */
	XIW_EP_KEEPIDLE_S	= 30,
	XIW_EP_KEEPINTVL_S	= 5,
	XIW_EP_KEEPCNT		= 6,
	/* Half-open connections of a listener; requests without answer. */
	XIW_EP_BACKLOG		= 1024,
	/* With the backlog full, the time one has to send its Request. */
	XIW_EP_GRACE_MS		= 100,
	/* Connections of a device that linger. */
	XIW_EP_LINGERING	= 256,
	/* Who is short of memory, or of room in iw_cm, tries again then. */
	XIW_EP_RETRY_MS		= 100,
	/* How long a Request waits for that of an older one of its peer. */
	XIW_EP_ORDER_MS		= 500,
};

/**
 * enum xiw_ep_state - life of an endpoint
 * @XIW_EPS_NEW: being set up, not armed
 * @XIW_EPS_LISTEN: listener
 * @XIW_EPS_CONNECTING: Initiator, TCP is connecting
 * @XIW_EPS_REPLY: Initiator, Request sent, Reply awaited
 * @XIW_EPS_REQUEST: Responder, TCP connected, Request awaited
 * @XIW_EPS_READY: Responder, Request complete, that of an older one awaited, or
 *	room in iw_cm
 * @XIW_EPS_PENDING: Responder, iw_cm has the request, its answer is awaited
 * @XIW_EPS_RTR: Responder, Reply sent, first FPDU awaited
 * @XIW_EPS_OPEN: established
 * @XIW_EPS_LINGER: over for iw_cm and the QP; FIN sent, the peer's awaited
 * @XIW_EPS_DEAD: nothing left but references
 * @XIW_EPS_COUNT: number of states, not a state
 */
enum xiw_ep_state {
	XIW_EPS_NEW,
	XIW_EPS_LISTEN,
	XIW_EPS_CONNECTING,
	XIW_EPS_REPLY,
	XIW_EPS_REQUEST,
	XIW_EPS_READY,
	XIW_EPS_PENDING,
	XIW_EPS_RTR,
	XIW_EPS_OPEN,
	XIW_EPS_LINGER,
	XIW_EPS_DEAD,
	XIW_EPS_COUNT
};

/**
 * enum xiw_ep_event - what can happen to it, in the order of handling
 * @XIW_EPE_FIRST_FPDU: XIW_EP_FIRST_FPDU, and so on
 * @XIW_EPE_SHUTDOWN: see there
 * @XIW_EPE_PEER_CLOSED: see there
 * @XIW_EPE_CLOSE: see there
 * @XIW_EPE_ABORT: see there
 * @XIW_EPE_LOST: see there
 * @XIW_EPE_CLOSE_TIMER: see there
 * @XIW_EPE_SOCK: something happened at the socket, or may have
 * @XIW_EPE_ACCEPT: iw_cm accepts; never left as a bit, see xiw_ep_command()
 * @XIW_EPE_REJECT: iw_cm rejects, likewise
 * @XIW_EPE_TIMER: the endpoint's timer expired
 * @XIW_EPE_KILL: end everything now: device, listener or namespace goes
 * @XIW_EPE_COUNT: number of events, not an event
 */
enum xiw_ep_event {
	XIW_EPE_FIRST_FPDU,
	XIW_EPE_SHUTDOWN,
	XIW_EPE_PEER_CLOSED,
	XIW_EPE_CLOSE,
	XIW_EPE_ABORT,
	XIW_EPE_LOST,
	XIW_EPE_CLOSE_TIMER,
	XIW_EPE_SOCK,
	XIW_EPE_ACCEPT,
	XIW_EPE_REJECT,
	XIW_EPE_TIMER,
	XIW_EPE_KILL,
	XIW_EPE_COUNT
};

static_assert(BIT(XIW_EPE_FIRST_FPDU) == XIW_EP_FIRST_FPDU);
static_assert(BIT(XIW_EPE_SHUTDOWN) == XIW_EP_SHUTDOWN);
static_assert(BIT(XIW_EPE_PEER_CLOSED) == XIW_EP_PEER_CLOSED);
static_assert(BIT(XIW_EPE_CLOSE) == XIW_EP_CLOSE);
static_assert(BIT(XIW_EPE_ABORT) == XIW_EP_ABORT);
static_assert(BIT(XIW_EPE_LOST) == XIW_EP_LOST);
static_assert(BIT(XIW_EPE_CLOSE_TIMER) == XIW_EP_CLOSE_TIMER);

/**
 * struct xiw_ep_command - a call of iw_cm
 * @cm_id: identifier of the new connection
 * @param: of an accept
 * @handle: of an accept: what iw_cm has of the QP, NULL if that is gone
 * @pdata: Private Data of a reject
 * @pdata_len: its length in bytes
 * @ret: result
 */
struct xiw_ep_command {
	struct iw_cm_id *cm_id;
	struct iw_cm_conn_param *param;
	struct ib_qp *handle;
	const void *pdata;
	u8 pdata_len;
	int ret;
};

/**
 * struct xiw_ep_startup - what only MPA startup needs
 * @req: the Request as it was sent or received
 * @ird: Initiator: IRD the consumer wants
 * @ord: Initiator: ORD the consumer wants
 * @pdata_len: Initiator: Private Data in bytes
 * @have: octets received of the peer's frame
 * @frame: own frame while it is being sent, peer's while it is received
 * @pdata: Initiator: Private Data, kept for another try
 */
struct xiw_ep_startup {
	struct xiw_mpa_frame req;
	u32 ird;
	u32 ord;
	u16 pdata_len;
	u16 have;
	u8 frame[XIW_MPA_FRAME_MAX];
	u8 pdata[XIW_MPA_PD_MAX];
};

/**
 * struct xiw_ep_listen - what only a listener has
 * @lock: protects what follows up to @told, of the children @sibling, @told
 *	and @ready, and the use of the listener's cm_id by them; taken in
 *	process context
 * @closed: no request may be reported any more
 * @full: the listener waits for one of @half_open to go
 * @nr_told: elements of @told
 * @half_open: children whose Request was not reported
 * @told: children whose request is with iw_cm
 * @handler: the consumer's
 * @ep: the listener
 */
struct xiw_ep_listen {
	spinlock_t lock; /* see above */
	bool closed;
	bool full;
	u32 nr_told;
	struct xiw_crowd half_open;
	struct list_head told;
	iw_cm_handler handler;
	struct xiw_ep *ep;
};

/**
 * struct xiw_ep - endpoint
 * @ref: one for being alive, one while the work is queued or runs, one of
 *	whoever else has the turn, but for the creator's, one per
 *	child of a listener, one of the QP, one of the listening cm_id, one of
 *	xiw_dev.requests; the timer and the socket's callbacks need none, they
 *	end before the endpoint does
 * @dev: device; not to be touched once the endpoint is dead
 * @node: in xiw_dev.eps while alive
 * @work: handles events, on xiw_dev.cm_wq
 * @timer: the only timer; what it is for follows from the state
 * @dead: completed when everything was given back
 * @lock: protects @events, @idle and @gone; any context
 * @events: bits of enum xiw_ep_event to be handled
 * @idle: nobody has the turn: who raises an event queues the work
 * @gone: the work will not be queued any more
 * @mutex: has the turn who holds it; outside of the socket lock and of those of
 *	the QP, but for modify_lock. A listener's is outside of its children's
 * @cmd: turn, like all that follows: command being executed
 * @state: where it is in its life
 * @timed: @timer runs
 * @closing: a graceful close has begun, and @timer is for its end
 * @progress: how far it was when @timer was started
 * @extensions: how often @timer may still be started over for it; set when the
 *	connection stands
 * @deadline: jiffies before which an expiry of @timer is an old one
 * @born: jiffies when the endpoint was created
 * @xs: socket or NULL
 * @cm_id: identifier to report to, with a reference, or NULL
 * @told_disconnect: iw_cm heard DISCONNECT; it has room for one
 * @qp: queue pair, with a reference, or NULL
 * @conn: what startup agreed on
 * @policy: the device's, when the endpoint was created
 * @startup: until startup is over
 * @cookie: Responder: key in xiw_dev.requests, or 0
 * @unheard: Responder: the consumer's handler was not called yet; changed under
 *	the lock of xiw_dev.requests while it has the endpoint
 * @parent: Responder: listener, with a reference
 * @sibling: Responder: in one of the listener's lists; while lingering, in that
 *	of the device unless it has to go, under xiw_dev.ep_lock
 * @lingers: was entered into that list of the device
 * @told: Responder: in which list of the listener, for good
 * @peer: Responder, or lingering: the peer's address
 * @slots: where the crowd that it is in counts it
 * @ready: Responder: the Request is complete, and may wait for an older one
 * @no_room: Responder: the Request waits for room in iw_cm
 * @listen: of a listener
 */
struct xiw_ep {
	struct kref ref;
	struct xiw_dev *dev;
	struct list_head node;
	struct work_struct work;
	struct timer_list timer;
	struct completion dead;

	spinlock_t lock; /* see above */
	u32 events;
	bool idle;
	bool gone;

	struct mutex mutex; /* see above */
	struct xiw_ep_command *cmd;
	enum xiw_ep_state state;
	bool timed;
	bool closing;
	u32 progress;
	u32 extensions;
	unsigned long deadline;
	unsigned long born;
	struct xiw_sock *xs;
	struct iw_cm_id *cm_id;
	bool told_disconnect;
	struct xiw_qp *qp;
	struct xiw_conn conn;
	struct xiw_mpa_policy policy;
	struct xiw_ep_startup *startup;
	u32 cookie;
	bool unheard;
	struct xiw_ep *parent;
	struct list_head sibling;
	bool lingers;
	bool told;
	struct in6_addr peer;
	u8 slots[2];
	bool ready;
	bool no_room;
	struct xiw_ep_listen *listen;
};

/* cm.c: the object */
struct xiw_ep *xiw_ep_create(struct xiw_dev *dev, bool listener);
int xiw_ep_publish(struct xiw_ep *ep);
void xiw_ep_arm(struct xiw_ep *ep, enum xiw_ep_state state);
void xiw_ep_discard(struct xiw_ep *ep);
void xiw_ep_raise(struct xiw_ep *ep, enum xiw_ep_event event);
int xiw_ep_command(struct xiw_ep *ep, enum xiw_ep_event event,
		   struct xiw_ep_command *cmd);
void xiw_ep_set_timer(struct xiw_ep *ep, u32 ms);
void xiw_ep_clear_timer(struct xiw_ep *ep);
void xiw_ep_own_sock(struct xiw_ep *ep, struct xiw_sock *xs);
int xiw_ep_bound_if(const struct xiw_ep *ep,
		    const struct sockaddr_storage *addr);
int xiw_ep_collect(struct xiw_ep *ep, bool reply);
int xiw_ep_report(struct xiw_ep *ep, enum iw_cm_event_type type, int status,
		  const void *pdata, u8 pdata_len);
void xiw_ep_set_depths(const struct xiw_ep *ep, struct iw_cm_event *event,
		       bool valid, u16 ird, u16 ord);
int xiw_ep_attach_qp(struct xiw_ep *ep, const struct iw_cm_id *cm_id, u32 qpn);
void xiw_ep_detach_qp(struct xiw_ep *ep);
void xiw_ep_drop_cm_id(struct xiw_ep *ep);

/* cm_active.c: handlers of the table in cm.c */
enum xiw_ep_state xiw_active_connecting(struct xiw_ep *ep);
enum xiw_ep_state xiw_active_reply(struct xiw_ep *ep);
enum xiw_ep_state xiw_active_timeout(struct xiw_ep *ep);
enum xiw_ep_state xiw_active_abort(struct xiw_ep *ep);

/* cm_end.c: handlers, too, and what the others end with */
enum xiw_ep_state xiw_end_close(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_abort(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_stalled(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_shutdown(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_peer_closed(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_close_timer(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_hand_over(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_linger(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_linger_sock(struct xiw_ep *ep);
enum xiw_ep_state xiw_end_linger_timer(struct xiw_ep *ep);
void xiw_end_bury(struct xiw_ep *ep);

/* cm_listen.c */
enum xiw_ep_state xiw_listen_children(struct xiw_ep *ep);
enum xiw_ep_state xiw_listen_kill(struct xiw_ep *ep);
void xiw_listen_leave(struct xiw_ep *ep);
u32 xiw_listen_behind(struct xiw_ep *ep);
int xiw_listen_submit(struct xiw_ep *ep, struct iw_cm_event *event);
void xiw_listen_room(struct xiw_ep *ep);
void xiw_listen_bury(struct xiw_ep *ep);

/* cm_passive.c: handlers of the table in cm.c */
enum xiw_ep_state xiw_passive_request(struct xiw_ep *ep);
enum xiw_ep_state xiw_passive_ready(struct xiw_ep *ep);
enum xiw_ep_state xiw_passive_timeout(struct xiw_ep *ep);
enum xiw_ep_state xiw_passive_pending(struct xiw_ep *ep);
enum xiw_ep_state xiw_passive_accept(struct xiw_ep *ep);
enum xiw_ep_state xiw_passive_reject(struct xiw_ep *ep);
enum xiw_ep_state xiw_passive_retract(struct xiw_ep *ep);
enum xiw_ep_state xiw_passive_established(struct xiw_ep *ep);
int xiw_passive_upcall(struct iw_cm_id *cm_id, struct iw_cm_event *event);
void xiw_passive_bury(struct xiw_ep *ep);

#endif /* _XIW_EP_H */
