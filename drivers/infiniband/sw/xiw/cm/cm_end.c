// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How connections of either side end: the graceful close, which first sends
 * what is queued, the abort, and the time in which a closed connection waits
 * for the peer's FIN.
 */
#include "cm.h"

#include "dev.h"
#include "llp/sock.h"
#include "qp/ep.h"
#include "qp/qp.h"

/* Flush before the report: the ULP then finds all its requests completed. */
static void end_stream(struct xiw_ep *ep)
{
	xiw_ep_clear_timer(ep);
	xiw_conn_detach_qp(ep);
	if (ep->user->ended)
		ep->user->ended(ep);
}

/*
 * End a stream. If it ended before TCP had room for its Terminate, the
 * connection is reset: with a FIN the peer would take the fault for a graceful
 * end.
 */
enum xiw_ep_state xiw_end_close(struct xiw_ep *ep)
{
	end_stream(ep);
	return ep->mute ? XIW_EPS_DEAD : xiw_end_linger(ep);
}

/* End an endpoint without a stream: there is nothing to flush or to report. */
enum xiw_ep_state xiw_end_die(struct xiw_ep *ep)
{
	return XIW_EPS_DEAD;
}

/*
 * Should the lower layer close the connection of a stream that it has broken?
 * The device does not wait for that while it is removed.
 */
static bool end_closes_broken(const struct xiw_ep *ep)
{
	return xiw_conn_status(ep) == XIW_LLP_BROKEN &&
	       !READ_ONCE(ep->dev->eps_closed);
}

/*
 * End a stream and reset its connection. One that the lower layer has broken is
 * closed: a peer that has the Terminate of its session can end the association
 * in order.
 */
enum xiw_ep_state xiw_end_abort(struct xiw_ep *ep)
{
	bool broken = end_closes_broken(ep);

	end_stream(ep);
	return broken ? xiw_end_linger(ep) : XIW_EPS_DEAD;
}

/*
 * A count that grows while the peer acknowledges data, or sends data to a
 * stream that still receives.
 */
static u32 end_progress_of(const struct xiw_ep *ep)
{
	u32 progress = xiw_sock_acked(ep->xs);

	if (ep->qp && !READ_ONCE(ep->qp->stream.rx.dead))
		progress += xiw_sock_taken(ep->xs);
	return progress;
}

static void end_start(struct xiw_ep *ep)
{
	ep->progress = end_progress_of(ep);
	xiw_ep_set_timer(ep, ep->policy.close_ms);
}

/*
 * A slow network may need longer than the timer to transmit the queued data, so
 * progress extends the timer. The number of extensions is limited, as a peer
 * can feign progress by acknowledging a byte now and then. There are none
 * before the connection was established.
 */
static bool end_extend_timer(struct xiw_ep *ep)
{
	if (end_progress_of(ep) == ep->progress || !ep->extensions)
		return false;
	ep->extensions--;
	end_start(ep);
	return true;
}

/*
 * The timer of a close has expired, or the first FPDU did not arrive in time.
 */
enum xiw_ep_state xiw_end_stalled(struct xiw_ep *ep)
{
	if (ep->closing && end_extend_timer(ep))
		return ep->state;
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_TIMEOUT);
	if (ep->qp)
		xiw_stream_event(&ep->qp->stream, XIW_QPE_CLOSE_TIMEOUT);
	return xiw_end_abort(ep);
}

/* Everything is sent: send the FIN. */
enum xiw_ep_state xiw_end_shutdown(struct xiw_ep *ep)
{
	xiw_sock_shutdown(ep->xs);
	return ep->state;
}

/* A graceful close has begun: limit its time. */
enum xiw_ep_state xiw_end_close_timer(struct xiw_ep *ep)
{
	ep->closing = true;
	end_start(ep);
	return ep->state;
}

/*
 * Lingering
 *
 * TCP resets a connection when data arrives after the socket was closed. The
 * peer could then lose a Terminate that it has not read, RFC 5040 section
 * 6.2.1. So the endpoint discards what arrives for a limited time. The rest is
 * left to TCP, which has limits for sockets without an owner: tcp_max_orphans,
 * tcp_orphan_retries, tcp_fin_timeout.
 */

/* Read first: TCP resets a connection that is closed with unread data. */
static bool end_peer_closed(struct xiw_ep *ep)
{
	enum xiw_llp_status status;

	xiw_sock_discard(ep->xs);
	status = xiw_conn_status(ep);
	return status != XIW_LLP_OPEN && status != XIW_LLP_BROKEN;
}

/* Another endpoint has evicted @ep from the full list of lingering ones. */
static bool end_was_evicted(struct xiw_ep *ep)
{
	struct xiw_dev *dev = ep->dev;
	bool ret;

	spin_lock(&dev->ep_lock);
	ret = list_empty(&ep->place.node);
	spin_unlock(&dev->ep_lock);
	return ret;
}

/*
 * Add @ep to the lingering endpoints. Above the limit, evict one of them; its
 * handler finds that it is no longer in the list.
 */
static void end_add_lingering(struct xiw_ep *ep)
{
	struct xiw_dev *dev = ep->dev;
	struct xiw_peer_entry *victim;

	ep->lingers = true;
	ep->place.peer = xiw_sock_peer(ep->xs);
	spin_lock(&dev->ep_lock);
	xiw_peer_limit_add(&dev->lingering, &ep->place);
	if (dev->lingering.count > XIW_EP_LINGERING) {
		victim = xiw_peer_limit_worst(&dev->lingering, 0);
		xiw_peer_limit_remove(&dev->lingering, victim);
		xiw_ep_raise(container_of(victim, struct xiw_ep, place),
			     XIW_EPE_SOCK);
	}
	spin_unlock(&dev->ep_lock);
}

/*
 * Remove an endpoint that ends from the lingering ones, if it is one of them.
 */
void xiw_end_teardown(struct xiw_ep *ep)
{
	struct xiw_dev *dev = ep->dev;

	if (!ep->lingers)
		return;
	spin_lock(&dev->ep_lock);
	if (!list_empty(&ep->place.node))
		xiw_peer_limit_remove(&dev->lingering, &ep->place);
	spin_unlock(&dev->ep_lock);
}

/*
 * Leave the rest of the close to TCP, which sends a FIN after the queued data.
 * Data that arrives from now on resets the connection.
 */
enum xiw_ep_state xiw_end_hand_over(struct xiw_ep *ep)
{
	xiw_sock_release(ep->xs, false);
	ep->xs = NULL;
	return XIW_EPS_DEAD;
}

/*
 * End a connection without a stream after its last startup frame was sent or
 * received. TCP delivers that frame. SCTP would abort the association, so the
 * endpoint waits until both sides have ended it.
 */
enum xiw_ep_state xiw_end_startup(struct xiw_ep *ep)
{
	return ep->sctp ? xiw_end_linger(ep) : xiw_end_hand_over(ep);
}

/* Handle an event of the socket of a lingering connection. */
enum xiw_ep_state xiw_end_linger_sock(struct xiw_ep *ep)
{
	if (end_peer_closed(ep) || end_was_evicted(ep))
		return xiw_end_hand_over(ep);
	return XIW_EPS_LINGER;
}

/* The peer's FIN did not arrive in time. */
enum xiw_ep_state xiw_end_linger_timer(struct xiw_ep *ep)
{
	return end_extend_timer(ep) ? XIW_EPS_LINGER : xiw_end_hand_over(ep);
}

/* After everything was reported: send the FIN, and wait for the peer's FIN. */
enum xiw_ep_state xiw_end_linger(struct xiw_ep *ep)
{
	end_start(ep);
	xiw_ep_own_sock(ep, ep->xs);
	xiw_sock_shutdown(ep->xs);
	if (end_peer_closed(ep))
		return xiw_end_hand_over(ep);
	end_add_lingering(ep);
	return XIW_EPS_LINGER;
}
