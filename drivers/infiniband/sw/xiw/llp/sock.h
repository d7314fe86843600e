/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The lower layer over TCP: a kernel socket with its callbacks redirected.
 * Only sock.c depends on TCP. Streams use the socket as a struct xiw_llp; its
 * lock is the socket lock. A socket of another protocol has a struct
 * xiw_sock_proto.
 */
#ifndef _XIW_SOCK_H
#define _XIW_SOCK_H

#include <linux/in.h>
#include <linux/net.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "llp.h"

struct mem_cgroup;
struct net;
struct sock;
struct xiw_dev;
struct xiw_hold;
struct xiw_mpa_frame;
struct xiw_sock;
struct xiw_stats;

/**
 * struct xiw_sock_proto - operations of a protocol other than TCP
 * @size: of its structure, which begins with a struct xiw_sock
 * @llp_ops: interface for streams
 * @on_data: for sk_data_ready
 * @on_event: for sk_state_change
 * @init: set up the rest of the structure; the socket was @accepted or created
 * @start: process what arrived before the callbacks were set
 * @release: release the resources of the structure, after the last callback
 * @shutdown: see xiw_sock_shutdown()
 * @send_frame: send a startup frame with its Private Data; returns 0 or a
 *	negative errno
 * @recv_frame: receive a startup frame, and XIW_MPA_PD_MAX bytes of Private
 *	Data at most; returns as startup_get_frame()
 * @send_fpdu: send an FPDU behind startup, see xiw_sock_send_buf()
 * @fix_local: replace the address of the socket by that of the connection
 * @taken: see xiw_sock_taken()
 * @acked: see xiw_sock_acked()
 */
struct xiw_sock_proto {
	size_t size;
	const struct xiw_llp_ops *llp_ops;
	void (*on_data)(struct sock *sk);
	void (*on_event)(struct sock *sk);
	void (*init)(struct xiw_sock *xs, bool accepted);
	void (*start)(struct xiw_sock *xs);
	void (*release)(struct xiw_sock *xs);
	void (*shutdown)(struct xiw_sock *xs);
	int (*send_frame)(struct xiw_sock *xs,
			  const struct xiw_mpa_frame *frame, const void *pdata);
	int (*recv_frame)(struct xiw_sock *xs, struct xiw_mpa_frame *frame,
			  void *pdata);
	int (*send_fpdu)(struct xiw_sock *xs, const void *buf, size_t len);
	void (*fix_local)(struct xiw_sock *xs, struct sockaddr_storage *local);
	u32 (*taken)(const struct xiw_sock *xs);
	u32 (*acked)(const struct xiw_sock *xs);
};

/**
 * struct xiw_sock - a socket owned by xiw
 * @llp: interface for streams. Its references keep this struct and @sk valid,
 *	also after xiw_sock_release() closed the socket; the creator holds the
 *	first one until then
 * @proto: its protocol, NULL for TCP
 * @sk: the protocol's half, with a reference
 * @sock: the socket
 * @events: callbacks of the user; changed with both the socket lock and
 *	sk_callback_lock held
 * @ctx: argument of the callbacks; changed with @events
 * @stats: counters of the device; NULL until the socket has an endpoint
 * @busy: callbacks must not run now; owner: socket lock holder
 * @pending: callbacks that are due; owner: socket lock holder
 * @suspended: TCP's user timeout is suspended; owner of this and the next two:
 *	socket lock holder
 * @dropped: sequence number of the first unacknowledged byte at that time
 * @user_timeout: TCP's user timeout while not suspended, in milliseconds
 * @err: why the connection is lost, positive errno, or 0
 * @zero_window: zero-window timer; runs from when data is sent until all of it
 *	is acknowledged
 * @saved_data_ready: original sk_data_ready callback
 * @saved_write_space: original sk_write_space callback
 * @saved_state_change: original sk_state_change callback
 */
struct xiw_sock {
	struct xiw_llp llp;
	const struct xiw_sock_proto *proto;
	struct sock *sk;
	struct socket *sock;
	const struct xiw_llp_events *events;
	void *ctx;
	struct xiw_stats __percpu *stats;
	bool busy;
	u8 pending;
	bool suspended;
	u32 dropped;
	u32 user_timeout;
	int err;
	struct delayed_work zero_window;
	void (*saved_data_ready)(struct sock *sk);
	void (*saved_write_space)(struct sock *sk);
	void (*saved_state_change)(struct sock *sk);
};

/*
 * Unless noted otherwise functions sleep, and return 0 or negative errno. After
 * create and accept *@xs has no events yet: call set_events.
 */
int xiw_sock_create(struct net *net, int family, struct xiw_sock **xs);
int xiw_sock_bind(struct xiw_sock *xs, const struct sockaddr_storage *addr,
		  int bound_if, bool v6only);
int xiw_sock_bind_as_kernel(struct xiw_sock *xs,
			    const struct sockaddr_storage *addr, int bound_if,
			    bool v6only);
int xiw_sock_bind_held(struct xiw_sock *xs,
		       const struct sockaddr_storage *addr, int bound_if,
		       bool v6only);
int xiw_sock_bind_alone(struct xiw_sock *xs,
			const struct sockaddr_storage *addr, int bound_if,
			bool v6only);
int xiw_sock_addr_len(const struct sockaddr_storage *addr);
int xiw_sock_choose_port_late(struct xiw_sock *xs);
u16 xiw_sock_draw_port(const struct xiw_sock *xs);
int xiw_sock_bind_shared(struct xiw_sock *xs,
			 const struct sockaddr_storage *addr, int bound_if);
struct net *xiw_sock_get_net(const struct xiw_sock *xs);
bool xiw_sock_queue_fills(const struct xiw_sock *xs);
int xiw_sock_listen(struct xiw_sock *xs, int backlog);
/* The outcome is reported by state_change. */
int xiw_sock_connect(struct xiw_sock *xs, const struct sockaddr_storage *addr);
int xiw_sock_accept(struct xiw_sock *listener, struct xiw_sock **xs);
struct in6_addr xiw_sock_peer(const struct xiw_sock *xs);
int xiw_sock_local(struct xiw_sock *xs, struct sockaddr_storage *local);
int xiw_sock_names(struct xiw_sock *xs, struct sockaddr_storage *local,
		   struct sockaddr_storage *remote);
void xiw_sock_set_tos(struct xiw_sock *xs, u8 tos);
void xiw_sock_set_silence(struct xiw_sock *xs, u32 silence_ms);
void xiw_sock_shutdown(struct xiw_sock *xs);
void xiw_sock_release(struct xiw_sock *xs, bool abort);

/* MPA startup frames */
int xiw_sock_send_buf(struct xiw_sock *xs, const void *buf, size_t len);
int xiw_sock_recv_buf(struct xiw_sock *xs, void *buf, size_t len);
int xiw_sock_error(struct xiw_sock *xs);
void xiw_sock_discard(struct xiw_sock *xs);
u32 xiw_sock_taken(const struct xiw_sock *xs);
u32 xiw_sock_acked(const struct xiw_sock *xs);

/* The port is at the same offset in IPv4 and IPv6 addresses. */
static inline __be16 xiw_sock_port_of(const struct sockaddr_storage *addr)
{
	return ((const struct sockaddr_in *)addr)->sin_port;
}

static inline void xiw_sock_set_port(struct sockaddr_storage *addr, __be16 port)
{
	((struct sockaddr_in *)addr)->sin_port = port;
}

/* For other protocols */
struct xiw_sock *xiw_sock_take_over(struct socket *sock,
				    const struct xiw_sock *parent,
				    const struct xiw_sock_proto *proto);
void xiw_sock_listener_event(struct sock *sk);
int xiw_sock_charge(struct sock *sk, struct mem_cgroup *memcg, u32 queued);
struct mem_cgroup *xiw_sock_memcg(const struct sock *sk);
void xiw_sock_free(struct xiw_llp *llp);

/* hold.c */
int xiw_hold_module_init(void);
void xiw_hold_module_exit(void);
struct xiw_hold *xiw_hold_get(struct net *net,
			      const struct sockaddr_storage *addr,
			      int bound_if, bool v6only);
void xiw_hold_put(struct xiw_hold *hold);
bool xiw_hold_use(struct xiw_hold *hold, const struct xiw_dev *dev);
void xiw_hold_unuse(struct xiw_hold *hold, const struct xiw_dev *dev);

#endif /* _XIW_SOCK_H */
