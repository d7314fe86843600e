/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Connection endpoints: a connection or a listener, with its socket, QP and
 * user. This is the object; the files cm*.c have its actions.
 *
 * An event of an endpoint sets a bit, and the holder of its mutex handles it,
 * see "Contexts of events" in ep.c.
 */
#ifndef _XIW_EP_H
#define _XIW_EP_H

#include <linux/bits.h>
#include <linux/completion.h>
#include <linux/in6.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

#include "dev.h"
#include "llp/peer_limit.h"
#include "proto/epstate.h"
#include "proto/mpa.h"
#include "proto/nego.h"
#include "proto/oob.h"
#include "stream/stream.h"

struct pid;
struct xiw_cm_any;
struct xiw_ep;
struct xiw_hold;
struct xiw_oob_gate;
struct xiw_qp;
struct xiw_sock;

#define xiw_ep_dbg(ep, fmt, ...) \
	ibdev_dbg_ratelimited(&(ep)->dev->ibdev, fmt, ##__VA_ARGS__)

enum xiw_ep_limits {
	/* Rounds of events; the work item handles more of them later. */
	XIW_EP_ROUNDS		= 8,
	/* Connections that a listener accepts in one round. */
	XIW_EP_ACCEPTS		= 16,
	/* How often progress extends the time of a close. */
	XIW_EP_EXTENSIONS	= 30,
	/* Half-open connections of a listener; requests without answer. */
	XIW_EP_BACKLOG		= 1024,
	/* With the backlog full, time in which a child is not evicted. */
	XIW_EP_GRACE_MS		= 100,
	/* Connections of a device that linger. */
	XIW_EP_LINGERING	= 256,
	/* Time until a retry for lack of memory, or of room in iw_cm. */
	XIW_EP_RETRY_MS		= 100,
	/* How long a Request waits for an older connection of its peer. */
	XIW_EP_ORDER_MS		= 500,
};

/* Addresses of both sides of a connection */
struct xiw_ep_names {
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
};

/**
 * struct xiw_ep_startup - part of an endpoint for MPA startup
 * @req: the Request as it was sent or received
 * @ird: Initiator: IRD that the ULP asks for
 * @ord: Initiator: ORD that the ULP asks for
 * @pdata_len: Initiator: Private Data in bytes
 * @names: Responder: addresses
 * @nonces: out of band: of this connection
 * @proves: out of band: a proof was requested
 * @proves_rts: out of band, Initiator: a proof was sent with the QP at RTS
 * @proof_failed: out of band, Responder: a proof has failed
 * @len: bytes of the own frame in @frame
 * @have: bytes received of the peer's frame
 * @own: the own frame
 * @frame: own frame while it is being sent, peer's while it is received
 * @pdata: Private Data; of an Initiator kept for another try
 */
struct xiw_ep_startup {
	struct xiw_mpa_frame req;
	u32 ird;
	u32 ord;
	u16 pdata_len;
	struct xiw_ep_names names;
	struct xiw_oob_nonces nonces;
	bool proves;
	bool proves_rts;
	bool proof_failed;
	u16 len;
	u16 have;
	struct xiw_mpa_frame own;
	u8 frame[XIW_MPA_FRAME_MAX];
	u8 pdata[XIW_MPA_PD_MAX];
};

/**
 * struct xiw_oob_try - what an Initiator has of the limits of its user, see
 *	oob_gate.c
 * @of: the user's, or NULL
 * @open: the connection is one of those that are not established
 * @node: in the list of these, unless another one replaces it
 * @since: jiffies when it was added there
 * @assigned: the next try has a time
 * @privileged: the port of its socket is one that needs a privilege
 */
struct xiw_oob_try {
	struct xiw_oob_gate *of;
	bool open;
	struct list_head node;
	unsigned long since;
	bool assigned;
	bool privileged;
};

/**
 * struct xiw_ep_listen - part of an endpoint for listeners
 * @lock: protects the members up to @reported, of the children @by_peer,
 *	@reported, @ready, @no_room and, while they wait, @qpn, and the use of
 *	the listener's cm_id by them; taken in process context
 * @closed: no request may be reported any more
 * @full: the listener waits for a child to leave @half_open
 * @num_reported: elements of @reported
 * @half_open: children whose Request was not reported
 * @reported: children whose request is with iw_cm
 * @handler: that of the ULP
 * @ep: the listener
 * @by_port: in xiw_dev.listeners, under xiw_dev.ep_lock
 * @port: key in that table: port that the user listens on
 * @twin_full: nothing is accepted until the timer expires; under the mutex
 * @any: of a wildcard listener over SCTP: its addresses; under the mutex
 * @hold: in a VRF: the port of the VRF; under the mutex
 */
struct xiw_ep_listen {
	spinlock_t lock; /* see above */
	bool closed;
	bool full;
	u32 num_reported;
	struct xiw_peer_limit half_open;
	struct list_head reported;
	iw_cm_handler handler;
	struct xiw_ep *ep;
	struct hlist_node by_port;
	__be16 port;
	bool twin_full;
	struct xiw_cm_any *any;
	struct xiw_hold *hold;
};

/* Carries out an action of a locked endpoint, and returns the next state. */
typedef enum xiw_ep_state (*xiw_ep_act)(struct xiw_ep *ep);

/**
 * struct xiw_cm_user - user of endpoints: iw_cm, or QPs connected out of band
 * @acts: by enum xiw_ep_action: function that carries it out; NULL if the event
 *	has no effect
 * @get_twin: Listener: returns another listener that is to get a connection
 *	accepted for @local, with a reference to it and one to its device, or
 *	NULL if there is none; the member may be NULL
 * @connected: Initiator: TCP has connected
 * @build_request: Initiator: set startup.req and prepare it to be sent, see
 *	xiw_conn_put_frame(); returns 0 or negative errno
 * @reply: Initiator: the Reply is complete
 * @closed: Initiator: the connection has ended before the Reply was complete,
 *	or the Reply is improperly formatted (-EPROTO)
 * @failed: Initiator: TCP has not connected, or the Request cannot be sent
 * @request: Responder: the Request is complete and valid, and the peer waits
 * @established: Responder: the connection is established; or NULL
 * @ended: the stream is over, and the QP detached; or NULL
 * @teardown: release socket, QP, cm_id and all places in lists; the state is
 *	XIW_EPS_DEAD
 *
 * All are called with the endpoint locked, and sleep, but neither for a peer
 * nor for a ULP. Those that return a state return the next one.
 */
struct xiw_cm_user {
	const xiw_ep_act *acts;
	struct xiw_ep *(*get_twin)(const struct xiw_ep *ep, struct xiw_sock *xs,
				   const struct sockaddr_storage *local);
	enum xiw_ep_state (*connected)(struct xiw_ep *ep);
	int (*build_request)(struct xiw_ep *ep);
	enum xiw_ep_state (*reply)(struct xiw_ep *ep,
				   enum xiw_nego_result result,
				   const struct xiw_mpa_frame *frame);
	enum xiw_ep_state (*closed)(struct xiw_ep *ep, int status);
	enum xiw_ep_state (*failed)(struct xiw_ep *ep, int status);
	enum xiw_ep_state (*request)(struct xiw_ep *ep);
	void (*established)(struct xiw_ep *ep);
	void (*ended)(struct xiw_ep *ep);
	void (*teardown)(struct xiw_ep *ep);
};

/**
 * struct xiw_ep - endpoint
 * @ref: one until the endpoint is dead, one while the work is queued or runs,
 *	one of each other holder of the lock but the creator, one per child of a
 *	listener, one of the QP, one of the listening cm_id or port, one of
 *	xiw_dev.requests; the timers and the callbacks of the socket need none,
 *	they end before the endpoint is dead
 * @dev: device; may be freed once the endpoint is dead
 * @user: its user
 * @node: in xiw_dev.eps while alive
 * @wq: work queue of @work: xiw_dev.cm_wq, or xiw_dev.retry_wq before an
 *	Initiator is connected out of band; set with @mutex held and @idle
 *	false, as the others read it with @lock and @idle
 * @work: handles events
 * @timer: what it is for follows from the state
 * @dead: completed when everything was released
 * @lock: protects @events and @idle; any context
 * @events: bits of enum xiw_ep_event to be handled
 * @idle: @mutex is free: raising an event queues the work
 * @mutex: protects all members below; outside of the socket lock and of those
 *	of the QP, but for modify_lock. A listener's is outside of its
 *	children's
 * @state: see enum xiw_ep_state
 * @timed: @timer runs
 * @closing: a graceful close has begun, and @timer limits it
 * @progress: progress of the close when @timer was started
 * @mute: the QP's stream ended before TCP had taken its Terminate
 * @extensions: how often progress may still extend @timer; set when the
 *	connection is established
 * @expires: jiffies before which an expiry of @timer is obsolete
 * @process: see xiw_quirk_watch(): process, with a reference, or NULL
 * @watch: checks @process; ends before that is NULL again
 * @ending: @process was ending at the last check
 * @xs: socket or NULL
 * @sctp: the connection uses SCTP, or the listener listens with it
 * @cm_id: identifier to report to, with a reference, or NULL
 * @disconnect_reported: DISCONNECT was reported; iw_cm has room for one
 * @qp: queue pair, with a reference, or NULL
 * @qpn: its number, or 0
 * @conn: negotiated parameters
 * @policy: the device's, when the endpoint was created
 * @startup: until startup is over
 * @cookie: Responder: key in xiw_dev.requests, 0 before there was one; never
 *	that of another endpoint
 * @delivered: Responder: the ULP's handler was called; changed under the
 *	lock of xiw_dev.requests while it has the endpoint
 * @parent: Responder: listener, with a reference
 * @by_peer: the peer's address, and a place in a list: of a Responder, in one
 *	of the listener; while lingering, in that of the device unless it was
 *	evicted, under xiw_dev.ep_lock
 * @lingers: was added to that list of the device
 * @reported: Responder: the request was reported; selects the listener's list
 * @ready: Responder: the Request is complete, and may wait for an older one
 * @no_room: Responder: the Request waits for room in iw_cm
 * @tries: out of band, Initiator: failures since the last success
 * @gate: out of band, Initiator: of the limits of its user
 * @crowded: out of band, Initiator: the last try failed due to a limit of the
 *	Responder, which other connections may have used up
 * @privileged: out of band, Responder: the peer's port is below 1024
 * @peer_qpn: out of band, Responder: the queue pair of the Initiator; while it
 *	waits, constant, and compared under the lock of the listener
 * @listen: of a listener
 */
struct xiw_ep {
	struct kref ref;
	struct xiw_dev *dev;
	const struct xiw_cm_user *user;
	struct list_head node;
	struct workqueue_struct *wq;
	struct work_struct work;
	struct timer_list timer;
	struct completion dead;

	spinlock_t lock; /* see above */
	u32 events;
	bool idle;

	struct mutex mutex; /* see above */
	enum xiw_ep_state state;
	bool timed;
	bool closing;
	bool mute;
	u32 progress;
	u32 extensions;
	unsigned long expires;
	struct pid *process;
	struct timer_list watch;
	bool ending;
	struct xiw_sock *xs;
	bool sctp;
	struct iw_cm_id *cm_id;
	bool disconnect_reported;
	struct xiw_qp *qp;
	u32 qpn;
	struct xiw_conn conn;
	struct xiw_mpa_policy policy;
	struct xiw_ep_startup *startup;
	unsigned long cookie;
	bool delivered;
	struct xiw_ep *parent;
	struct xiw_peer_entry by_peer;
	bool lingers;
	bool reported;
	bool ready;
	bool no_room;
	u32 tries;
	struct xiw_oob_try gate;
	bool crowded;
	bool privileged;
	u32 peer_qpn;
	struct xiw_ep_listen *listen;
};

void xiw_ep_get(struct xiw_ep *ep);
void xiw_ep_put(struct xiw_ep *ep);
void xiw_ep_raise(struct xiw_ep *ep, enum xiw_ep_event event);
void xiw_ep_raise_all(struct xiw_ep *ep, u32 events);
void xiw_ep_lock(struct xiw_ep *ep);
void xiw_ep_unlock(struct xiw_ep *ep);
void xiw_ep_enter(struct xiw_ep *ep, enum xiw_ep_state next);
void xiw_ep_own_sock(struct xiw_ep *ep, struct xiw_sock *xs);
void xiw_ep_set_timer(struct xiw_ep *ep, u32 ms);
void xiw_ep_clear_timer(struct xiw_ep *ep);
struct xiw_ep *xiw_ep_create(struct xiw_dev *dev,
			     const struct xiw_cm_user *user, bool listener);
int xiw_ep_publish(struct xiw_ep *ep);
void xiw_ep_arm(struct xiw_ep *ep, enum xiw_ep_state state);
void xiw_ep_discard(struct xiw_ep *ep);

#endif /* _XIW_EP_H */
