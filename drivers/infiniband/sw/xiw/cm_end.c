// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How connections end, whichever side they began on: the graceful close, which
 * waits for what is left to be sent, the abort, and the time in which a closed
 * connection waits for the peer's FIN. iw_cm hears exactly one CLOSE.
 */
#include "cm.h"

#include "dev.h"
#include "ep.h"
#include "qp.h"
#include "sock.h"

/*
 * The stream is over: flush first, so that whoever hears of it finds
 * everything completed. iw_cm insists on hearing that a connection was
 * established before it hears of its end.
 */
static void end_stream(struct xiw_ep *ep)
{
	xiw_ep_clear_timer(ep);
	xiw_conn_detach_qp(ep);
	if (ep->user->ended)
		ep->user->ended(ep);
}

/**
 * xiw_end_close() - the stream is over
 * @ep: endpoint with a stream
 *
 * A consumer may give up while TCP has no room for a Terminate. With a FIN the
 * peer would take a fault for an orderly end, so the connection is reset.
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_end_close(struct xiw_ep *ep)
{
	end_stream(ep);
	return ep->mute ? XIW_EPS_DEAD : xiw_end_linger(ep);
}

/**
 * xiw_end_abort() - the stream is over, the connection is reset
 * @ep: endpoint with a stream
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_end_abort(struct xiw_ep *ep)
{
	end_stream(ep);
	return XIW_EPS_DEAD;
}

/*
 * Grows while the peer takes what was sent, or sends what somebody is there to
 * receive.
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
 * A slow network may need longer than the timer to carry what is left. A peer
 * can feign that, by taking an octet now and then, but not for ever; and not at
 * all if there never was a connection.
 */
static bool end_gets_on(struct xiw_ep *ep)
{
	if (end_progress_of(ep) == ep->progress || !ep->extensions)
		return false;
	ep->extensions--;
	end_start(ep);
	return true;
}

/**
 * xiw_end_stalled() - the timer of a connection expired
 * @ep: endpoint with a stream; it closes, or the first FPDU did not come
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_end_stalled(struct xiw_ep *ep)
{
	if (ep->closing && end_gets_on(ep))
		return ep->state;
	xiw_stat_inc(ep->dev->stats, XIW_STAT_CONN_TIMEOUT);
	if (ep->qp)
		xiw_stream_event(&ep->qp->stream, XIW_QPE_CLOSE_TIMEOUT);
	return xiw_end_abort(ep);
}

/**
 * xiw_end_shutdown() - everything is sent, now the FIN
 * @ep: endpoint with a stream
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_end_shutdown(struct xiw_ep *ep)
{
	xiw_sock_shutdown(ep->xs);
	return ep->state;
}

/**
 * xiw_end_close_timer() - a graceful close has begun
 * @ep: endpoint with a stream
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_end_close_timer(struct xiw_ep *ep)
{
	ep->closing = true;
	end_start(ep);
	return ep->state;
}

/*
 * Lingering
 *
 * A peer that is still sending must not be answered by a reset, which TCP
 * sends when data arrives for a connection that nobody has any more: with it
 * the peer could lose a Terminate that it has not read, RFC 5040 section 6.2.1.
 * So the endpoint stays for a time, and discards. Everything else can be left
 * to TCP, which limits what it carries on with for nobody: tcp_max_orphans,
 * tcp_orphan_retries, tcp_fin_timeout.
 */

/* Closing with unread data would reset what is still under way. */
static bool end_peer_closed(struct xiw_ep *ep)
{
	xiw_sock_discard(ep->xs);
	return xiw_conn_status(ep) != XIW_LLP_OPEN;
}

static bool end_has_to_go(struct xiw_ep *ep)
{
	struct xiw_dev *dev = ep->dev;
	bool ret;

	spin_lock(&dev->ep_lock);
	ret = list_empty(&ep->place.node);
	spin_unlock(&dev->ep_lock);
	return ret;
}

/* If that is one too many, somebody is taken out, and will notice. */
static void end_join_lingering(struct xiw_ep *ep)
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

/**
 * xiw_end_teardown() - a lingering endpoint ends
 * @ep: any endpoint that ends
 *
 * Context: The endpoint is locked.
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

/**
 * xiw_end_hand_over() - TCP does the rest
 * @ep: endpoint that has reported everything
 *
 * A FIN follows what was sent. What the peer sends from now on resets the
 * connection.
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_end_hand_over(struct xiw_ep *ep)
{
	xiw_sock_release(ep->xs, false);
	ep->xs = NULL;
	return XIW_EPS_DEAD;
}

/**
 * xiw_end_linger_sock() - something happened to a lingering connection
 * @ep: endpoint that lingers
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_end_linger_sock(struct xiw_ep *ep)
{
	return end_peer_closed(ep) || end_has_to_go(ep) ? xiw_end_hand_over(ep)
							: XIW_EPS_LINGER;
}

/**
 * xiw_end_linger_timer() - the peer's FIN took too long
 * @ep: endpoint that lingers
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_end_linger_timer(struct xiw_ep *ep)
{
	return end_gets_on(ep) ? XIW_EPS_LINGER : xiw_end_hand_over(ep);
}

/**
 * xiw_end_linger() - close in good order, with nobody waiting for it
 * @ep: endpoint that has reported everything
 *
 * Context: The endpoint is locked.
 * Return: Next state.
 */
enum xiw_ep_state xiw_end_linger(struct xiw_ep *ep)
{
	end_start(ep);
	xiw_conn_own_sock(ep, ep->xs);
	xiw_sock_shutdown(ep->xs);
	if (end_peer_closed(ep))
		return xiw_end_hand_over(ep);
	end_join_lingering(ep);
	return XIW_EPS_LINGER;
}
