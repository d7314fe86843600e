// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How connections end, whichever side they began on: the graceful close, which
 * waits for what is left to be sent, the abort, and the time in which a closed
 * connection waits for the peer's FIN. iw_cm hears exactly one CLOSE.
 */

#include "cm.h"
#include "device.h"
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
	xiw_ep_detach_qp(ep);
	if (ep->state == XIW_EPS_RTR)
		xiw_ep_report(ep, IW_CM_EVENT_ESTABLISHED, 0, NULL, 0);
	xiw_ep_report(ep, IW_CM_EVENT_CLOSE, 0, NULL, 0);
	xiw_ep_drop_cm_id(ep);
}

/**
 * xiw_end_close() - the stream is over
 * @ep: endpoint with a stream
 *
 * Context: Has the turn.
 * Return: Next state.
 */
enum xiw_ep_state xiw_end_close(struct xiw_ep *ep)
{
	end_stream(ep);
	return xiw_end_linger(ep);
}

/**
 * xiw_end_abort() - the stream is over, the connection is reset
 * @ep: endpoint with a stream
 *
 * Context: Has the turn.
 * Return: Next state.
 */
enum xiw_ep_state xiw_end_abort(struct xiw_ep *ep)
{
	end_stream(ep);
	return XIW_EPS_DEAD;
}

/* Grows while the peer takes what was sent, or answers what was asked. */
static u32 progress_of(const struct xiw_ep *ep)
{
	return xiw_sock_acked(ep->xs) +
	       (ep->qp ? READ_ONCE(ep->qp->rx.answers) : 0);
}

static void begin_end(struct xiw_ep *ep)
{
	ep->progress = progress_of(ep);
	xiw_ep_set_timer(ep, ep->policy.close_ms);
}

/*
 * A slow network may need longer than the timer to carry what is left. A peer
 * can feign that, by taking an octet now and then, but not for ever; and not at
 * all if there never was a connection.
 */
static bool end_gets_on(struct xiw_ep *ep)
{
	if (progress_of(ep) == ep->progress || !ep->extensions)
		return false;
	ep->extensions--;
	begin_end(ep);
	return true;
}

/**
 * xiw_end_stalled() - the timer of a connection expired
 * @ep: endpoint with a stream; it closes, or the first FPDU did not come
 *
 * Context: Has the turn.
 * Return: Next state.
 */
enum xiw_ep_state xiw_end_stalled(struct xiw_ep *ep)
{
	if (ep->closing && end_gets_on(ep))
		return ep->state;
	xiw_stat_inc(ep->dev, XIW_STAT_CONN_TIMEOUT);
	if (ep->qp)
		xiw_qp_event(ep->qp, XIW_QPE_CLOSE_TIMEOUT);
	return xiw_end_abort(ep);
}

/**
 * xiw_end_shutdown() - everything is sent, now the FIN
 * @ep: endpoint with a stream
 *
 * Context: Has the turn.
 * Return: Next state.
 */
enum xiw_ep_state xiw_end_shutdown(struct xiw_ep *ep)
{
	xiw_sock_shutdown(ep->xs);
	return ep->state;
}

/**
 * xiw_end_peer_closed() - the peer will send nothing more
 * @ep: endpoint with a stream
 *
 * Context: Has the turn.
 * Return: Next state.
 */
enum xiw_ep_state xiw_end_peer_closed(struct xiw_ep *ep)
{
	if (!ep->told_disconnect)
		xiw_ep_report(ep, IW_CM_EVENT_DISCONNECT, 0, NULL, 0);
	ep->told_disconnect = true;
	return ep->state;
}

/**
 * xiw_end_close_timer() - a graceful close has begun
 * @ep: endpoint with a stream
 *
 * Context: Has the turn.
 * Return: Next state.
 */
enum xiw_ep_state xiw_end_close_timer(struct xiw_ep *ep)
{
	ep->closing = true;
	begin_end(ep);
	return ep->state;
}

/**
 * xiw_end_linger_sock() - something happened to a lingering connection
 * @ep: endpoint that lingers
 *
 * Context: Has the turn.
 * Return: Next state.
 */
enum xiw_ep_state xiw_end_linger_sock(struct xiw_ep *ep)
{
	/* Closing with unread data would reset what is still under way. */
	xiw_sock_discard(ep->xs);
	switch (xiw_sock_status(ep->xs)) {
	case XIW_SOCK_PEER_CLOSED:
	case XIW_SOCK_LOST:
		xiw_sock_release(ep->xs, false);
		ep->xs = NULL;
		return XIW_EPS_DEAD;
	default:
		return XIW_EPS_LINGER;
	}
}

/**
 * xiw_end_linger_timer() - the peer's FIN took too long
 * @ep: endpoint that lingers
 *
 * Context: Has the turn.
 * Return: Next state.
 */
enum xiw_ep_state xiw_end_linger_timer(struct xiw_ep *ep)
{
	return end_gets_on(ep) ? XIW_EPS_LINGER : XIW_EPS_DEAD;
}

/**
 * xiw_end_linger() - close in good order, with nobody waiting for it
 * @ep: endpoint that has reported everything
 *
 * Context: Has the turn.
 * Return: Next state.
 */
enum xiw_ep_state xiw_end_linger(struct xiw_ep *ep)
{
	begin_end(ep);
	xiw_ep_own_sock(ep, ep->xs);
	xiw_sock_shutdown(ep->xs);
	return xiw_end_linger_sock(ep);
}
