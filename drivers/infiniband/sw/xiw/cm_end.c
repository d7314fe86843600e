// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How connections of either side end: the graceful close, which first sends
 * what is queued, the abort, and the time in which a closed connection waits
 * for the peer's FIN.
 */
#include "cm.h"

#include "dev.h"
#include "ep.h"
#include "qp.h"
#include "sock.h"

/* Flush before the report: the ULP then finds all its requests completed. */
static void end_stream(struct xiw_ep *ep)
{
	xiw_ep_clear_timer(ep);
	xiw_conn_detach_qp(ep);
	if (ep->user->ended)
		ep->user->ended(ep);
}

/*
 * The stream is over. A ULP may close while TCP has no room for a Terminate.
 * With a FIN the peer would take a fault for an orderly end, so the connection
 * is reset.
 */
enum xiw_ep_state xiw_end_close(struct xiw_ep *ep)
{
	end_stream(ep);
	return ep->mute ? XIW_EPS_DEAD : xiw_end_linger(ep);
}

/* There is no stream. */
enum xiw_ep_state xiw_end_die(struct xiw_ep *ep)
{
	return XIW_EPS_DEAD;
}

/* The stream is over, the connection is reset. */
enum xiw_ep_state xiw_end_abort(struct xiw_ep *ep)
{
	end_stream(ep);
	return XIW_EPS_DEAD;
}

/*
 * Grows while the peer acknowledges data, or sends data to a stream that still
 * receives.
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
 * A slow network may need longer than the timer to carry what is queued, so
 * progress extends it. The number of extensions is limited, as a peer can feign
 * progress by taking a byte now and then. There are none before the connection
 * was established.
 */
static bool end_extend_timer(struct xiw_ep *ep)
{
	if (end_progress_of(ep) == ep->progress || !ep->extensions)
		return false;
	ep->extensions--;
	end_start(ep);
	return true;
}

/* The timer expired: of a close, or because the first FPDU did not arrive. */
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

/* A graceful close has begun. */
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
	xiw_sock_discard(ep->xs);
	return xiw_conn_status(ep) != XIW_LLP_OPEN;
}

/* Another endpoint has evicted it from the full list. */
static bool end_was_evicted(struct xiw_ep *ep)
{
	struct xiw_dev *dev = ep->dev;
	bool ret;

	spin_lock(&dev->ep_lock);
	ret = list_empty(&ep->place.node);
	spin_unlock(&dev->ep_lock);
	return ret;
}

/* Above the limit, evict one; its handler sees that it left the list. */
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

/* An endpoint ends, which may have been lingering. */
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
 * Leave the rest to TCP. A FIN follows what was sent. Data that arrives from
 * now on resets the connection.
 */
enum xiw_ep_state xiw_end_hand_over(struct xiw_ep *ep)
{
	xiw_sock_release(ep->xs, false);
	ep->xs = NULL;
	return XIW_EPS_DEAD;
}

/*
 * A connection has got an answer, but no stream. What was sent is left to TCP.
 * SCTP would abort the association, so the endpoint waits until both sides have
 * ended it.
 */
enum xiw_ep_state xiw_end_startup(struct xiw_ep *ep)
{
	return ep->sctp ? xiw_end_linger(ep) : xiw_end_hand_over(ep);
}

/* Something happened to a lingering connection. */
enum xiw_ep_state xiw_end_linger_sock(struct xiw_ep *ep)
{
	if (end_peer_closed(ep) || end_was_evicted(ep))
		return xiw_end_hand_over(ep);
	return XIW_EPS_LINGER;
}

/* The peer's FIN took too long. */
enum xiw_ep_state xiw_end_linger_timer(struct xiw_ep *ep)
{
	return end_extend_timer(ep) ? XIW_EPS_LINGER : xiw_end_hand_over(ep);
}

/* Everything was reported: close in good order, and wait for the peer's FIN. */
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
