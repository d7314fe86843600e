// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receive side: passes verified FPDUs from the framing to the delivery, one
 * after the other.
 *
 * Runs under the socket lock, in the socket's data_ready callback or, after a
 * pause, in process context.
 *
 * When no receive is posted for a Send, reading stops (RNR wait): TCP's window
 * closes and stops the peer until a receive is posted or the wait expires. It
 * stops in the same way while a segment waits for pages of memory on demand,
 * without a limit of time.
 */

/**
 * DOC: Inline and bulk receive
 *
 * The callback runs on the CPU that has received the packets, which is also
 * that of a sender on the same host. Small amounts of data are processed there
 * at once, as nothing is faster. Bulk data is left to a work item, so that one
 * CPU receives packets while another one verifies and places their data. That
 * needs a stream of data: if both sides wait for each other's messages, a work
 * item only adds its delay. So up to a basic budget is processed at once if
 * this side has sent something since the last bulk data, all that it has sent
 * was acknowledged, and it waits for no more than one response.
 * rx.deferred is set from when the work is queued, or offered to a busy-polling
 * process (busy_poll.c), until it finds no more data. While it is set, all
 * other contexts leave received data to the work. For work budgets see tx.c.
 */

#include "engine.h"

#include <kunit/visibility.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/skbuff.h>

#include "llp/fpdu.h"
#include "llp/llp.h"
#include "proto/opcode.h"
#include "trace.h"

/*
 * Capability probe: the first FPDU of the peer may announce what it supports
 * beyond the RFCs. A Responder then answers with the same FPDU that an
 * Initiator sends as RTR. No other FPDU precedes it, as the fence has just been
 * lifted.
 */
static bool rx_handle_probe(struct xiw_stream *s, const struct xiw_ddp_hdr *h)
{
	u32 bits = s->conn.probe ? xiw_nego_probe_bits(h) : 0;

	if (!bits)
		return false;
	if (bits & XIW_PROBE_LONG)
		s->tx.mpa.segments = 0;
	if (bits & XIW_PROBE_SEND_IMM)
		s->conn.send_imm = true;
	if (!s->conn.initiator)
		s->tx.rtr = XIW_RTR_WRITE;
	s->tx.mixes = true;
	return true;
}

/*
 * The first verified FPDU lifts the MPA fence of a Responder, whatever its
 * content (RFC 5044 section 7.1.2 rule 4). An RTR is not delivered.
 */
static enum xiw_nego_first
rx_first_fpdu(struct xiw_stream *s, struct xiw_fpdu *f, enum xiw_reason reason)
{
	u8 body[XIW_READ_REQ_LEN] = {};
	struct xiw_fpdu peek = *f;
	enum xiw_nego_first what;

	s->rx.first = false;
	s->rx.run_tx = true;
	if (s->conn.initiator)
		return reason == XIW_OK && rx_handle_probe(s, &f->h)
			       ? XIW_FIRST_RTR
			       : XIW_FIRST_MESSAGE;
	if (reason == XIW_OK)
		xiw_fpdu_copy(&peek, body,
			      min_t(u32, sizeof(body), f->h.payload_len));
	what = xiw_nego_first_fpdu(&s->conn.nego, f->ulpdu_len,
				   reason == XIW_OK ? &f->h : NULL, body);
	if (what == XIW_FIRST_RTR && f->ulpdu_len && !f->h.tagged)
		s->rx.queue[XIW_QN_SEND].msn++;
	if (what == XIW_FIRST_RTR && reason == XIW_OK)
		rx_handle_probe(s, &f->h);
	s->ops->first_fpdu(s);
	return what;
}

static void rx_attribute_fault(struct xiw_stream *s, const struct xiw_fpdu *f,
			       enum xiw_reason reason)
{
	struct xiw_term_offender off = { .ulpdu_len = f->ulpdu_len };

	memcpy(off.hdr, f->hdr, sizeof(off.hdr));
	xiw_stream_fault(s, reason, &off);
}

/* Out of line: a compiler that zeroes variables would always zero @at. */
static noinline void rx_collect_header(struct xiw_fpdu *f)
{
	u32 len = min_t(u32, f->ulpdu_len, sizeof(f->hdr));
	struct xiw_fpdu at = *f;

	memset(f->hdr, 0, sizeof(f->hdr));
	xiw_fpdu_skip(&at, XIW_MPA_LEN_FIELD);
	xiw_fpdu_copy(&at, f->hdr, len);
}

static void rx_read_header(struct xiw_fpdu *f)
{
	/* Usually the header is contiguous. */
	if (f->ulpdu_len >= sizeof(f->hdr) &&
	    f->vec->iov_len >= XIW_MPA_LEN_FIELD + sizeof(f->hdr))
		xiw_copy_once(f->hdr, f->vec->iov_base + XIW_MPA_LEN_FIELD,
			      sizeof(f->hdr));
	else
		rx_collect_header(f);
}

static enum xiw_deliver rx_check_and_deliver(struct xiw_stream *s)
{
	struct xiw_rx *rx = &s->rx;
	struct xiw_fpdu *f = &rx->fpdu;
	enum xiw_reason reason;
	enum xiw_deliver ret;

	f->vec = rx->mpa.vec;
	f->off = 0;
	f->ulpdu_len = rx->mpa.ulpdu_len;
	rx_read_header(f);
	reason = xiw_ddp_decode(f->hdr, f->ulpdu_len, s->env->features, &f->h);
	if (reason == XIW_OK)
		xiw_fpdu_skip(f, XIW_MPA_LEN_FIELD + f->h.payload_off);

	if (rx->first && rx_first_fpdu(s, f, reason) == XIW_FIRST_RTR)
		return XIW_DELIVER_OK;
	if (reason != XIW_OK) {
		rx_attribute_fault(s, f, reason);
		return XIW_DELIVER_DEAD;
	}
	ret = xiw_deliver(s, f);
	if (ret == XIW_DELIVER_STALL)
		return ret;
	trace_rx_fpdu(s->id, &f->h, f->ulpdu_len);
	rx->requests += !xiw_rdmap_is_response(f->h.opcode);
	xiw_stat_inc(s->env->stats, XIW_STAT_RX_FPDU);
	xiw_stat_add(s->env->stats, XIW_STAT_RX_BYTES, f->ulpdu_len);
	return ret;
}

/* Processes the FPDU that the framing has found; describes it in rx.fpdu. */
static enum xiw_deliver rx_take_fpdu(struct xiw_stream *s)
{
	enum xiw_deliver ret = rx_check_and_deliver(s);

	if (ret != XIW_DELIVER_STALL)
		xiw_rx_mpa_done(&s->rx.mpa);
	return ret;
}

static void rx_bad_crc(struct xiw_stream *s)
{
	xiw_stat_inc(s->env->stats, XIW_STAT_CRC_ERROR);
	xiw_stream_fault(s, XIW_MPA_BAD_CRC, NULL);
}

/* Retries when there is no memory for an FPDU in pieces. */
static void rx_try_later(struct xiw_stream *s)
{
	xiw_stat_inc(s->env->stats, XIW_STAT_RX_NOMEM);
	xiw_stream_rx_again(s, 1);
}

static bool rx_may_go_on(const struct xiw_rx *rx)
{
	return !rx->dead && !rx->stalled && !xiw_budget_spent(&rx->budget);
}

/*
 * Takes the next FPDU of a packet, or a part of it, and the FPDUs behind it
 * that continue its message; false ends this pass.
 */
static bool rx_take_next(struct xiw_stream *s, struct xiw_rx_pos *p)
{
	enum xiw_deliver ret = XIW_DELIVER_STALL;
	struct xiw_rx *rx = &s->rx;
	u32 left = p->left;
	bool more = true;

	switch (xiw_rx_mpa_next(&rx->mpa, p)) {
	case XIW_RX_FPDU:
		ret = rx_take_fpdu(s);
		if (ret == XIW_DELIVER_STALL && !rx->mpa.ready)
			p->left = left;
		break;
	case XIW_RX_CRC:
		rx_bad_crc(s);
		break;
	case XIW_RX_MARKER:
		xiw_stream_fault(s, XIW_MPA_BAD_MARKER, NULL);
		break;
	case XIW_RX_NOMEM:
		rx_try_later(s);
		more = false;
		break;
	case XIW_RX_MORE:
		break;
	}
	xiw_budget_charge(&rx->budget, left - p->left);
	if (ret == XIW_DELIVER_OK && !rx->fpdu.h.last && rx_may_go_on(rx))
		xiw_place_series(s, p);
	return more && rx_may_go_on(rx);
}

static int rx_actor(read_descriptor_t *desc, struct sk_buff *skb,
		    unsigned int off, size_t len)
{
	struct xiw_stream *s = desc->arg.data;
	struct xiw_rx *rx = &s->rx;
	struct xiw_rx_pos p;

	/* Payload in device memory, which the CPU cannot read. */
	if (!skb_frags_readable(skb)) {
		xiw_stream_fault(s, XIW_LOCAL_FAULT, NULL);
		return len;
	}
	if (!xiw_rx_flatten(skb)) {
		rx_try_later(s);
		return 0;
	}
	xiw_rx_pos_init(&p, skb, off, len);
	if (!rx->dead && !rx->stalled && !xiw_budget_spent(&rx->budget))
		while (p.left && rx_take_next(s, &p))
			;
	if (rx->mpa.grown) {
		rx->mpa.grown = false;
		xiw_stream_trim_later(s);
	}
	/* RFC 5041 section 7.1: after an error, drop silently. */
	return rx->dead ? len : len - p.left;
}

/* Actor for packets that are one FPDU each, see chunks in struct xiw_llp_ops */
static int rx_chunk_actor(read_descriptor_t *desc, struct sk_buff *skb,
			  unsigned int off, size_t len)
{
	struct xiw_stream *s = desc->arg.data;
	struct xiw_rx *rx = &s->rx;

	if (rx->dead)
		return len;
	if (!rx_may_go_on(rx))
		return 0;
	if (!xiw_rx_mpa_take_chunk(&rx->mpa, skb)) {
		xiw_stream_fault(s, XIW_LOCAL_FAULT, NULL);
		return len;
	}
	if (rx_take_fpdu(s) == XIW_DELIVER_STALL)
		return 0;
	xiw_budget_charge(&rx->budget, len);
	return len;
}

/* A FIN is clean if no message is incomplete and no request outstanding. */
static bool rx_at_boundary(struct xiw_stream *s)
{
	const struct xiw_rx *rx = &s->rx;
	u32 qn;

	for (qn = 0; qn < XIW_QN_COUNT; qn++)
		if (rx->queue[qn].open)
			return false;
	return !rx->mpa.have && !rx->write_bytes &&
	       s->orq_head == s->orq_tail;
}

static void rx_peer_closed(struct xiw_stream *s)
{
	if (s->rx.end != XIW_RX_OPEN)
		return;
	s->rx.end = XIW_RX_PEER_CLOSED;
	xiw_stream_event(s, rx_at_boundary(s) ? XIW_QPE_PEER_FIN
					      : XIW_QPE_PEER_FIN_DIRTY);
	/*
	 * Requests behind the MPA fence can no longer be sent; they are flushed
	 * when both FINs have been exchanged.
	 */
	if (xiw_stream_is_fenced(s))
		xiw_tx_fin(s);
	/* This side's FIN is sent when the engine finds nothing left. */
	s->rx.run_tx = true;
}

static void rx_connection_gone(struct xiw_stream *s, bool lost)
{
	if (s->rx.end == XIW_RX_GONE)
		return;
	s->rx.end = XIW_RX_GONE;
	if (lost)
		xiw_stat_inc(s->env->stats, XIW_STAT_LLP_LOST);
	xiw_stream_event(s, lost ? XIW_QPE_LLP_LOST : XIW_QPE_LLP_CLOSED);
}

/*
 * The lower layer has found a fault of the peer, for which there is no
 * Terminate, and closes the connection. The second event is for a stream that
 * had ended before.
 */
static void rx_connection_broken(struct xiw_stream *s)
{
	if (s->rx.end == XIW_RX_GONE)
		return;
	s->rx.end = XIW_RX_GONE;
	xiw_stat_inc(s->env->stats, XIW_STAT_PROTO_ERROR);
	xiw_stream_event(s, XIW_QPE_FAULT_SILENT);
	xiw_stream_event(s, XIW_QPE_LLP_LOST);
}

static void rx_check_end(struct xiw_stream *s)
{
	enum xiw_llp_status status = s->llp->ops->status(s->llp);

	if (status == XIW_LLP_BROKEN)
		rx_connection_broken(s);
	if (status == XIW_LLP_LOST)
		rx_connection_gone(s, true);
	if (status != XIW_LLP_PEER_CLOSED && status != XIW_LLP_CLOSED)
		return;
	/* A message that waits for its receive precedes the FIN. */
	if (s->rx.mpa.ready && s->rx.stalled)
		return;
	/* If both FINs are exchanged, the connection has ended, too. */
	rx_peer_closed(s);
	if (status == XIW_LLP_CLOSED)
		rx_connection_gone(s, false);
}

/* Leaves all received data to the work, or to a busy-polling process. */
static void rx_defer(struct xiw_stream *s)
{
	s->rx.deferred = true;
	xiw_busy_poll_post_rx(s);
}

/* Do both sides send one message at a time? See above. */
static bool rx_is_dialog(struct xiw_stream *s)
{
	u64 pos = s->rx.bulk_pos;

	s->rx.bulk_pos = s->tx.sent;
	return s->tx.sent != pos && s->orq_tail - s->orq_head <= 1 &&
	       s->llp->ops->idle(s->llp);
}

/* Is there so much data that a work item should process it? */
static bool rx_is_bulk(struct xiw_stream *s)
{
	int unread;

	if (s->rx.stalled || s->rx.dead)
		return false;
	unread = s->llp->ops->unread(s->llp);
	return unread > XIW_RX_INLINE_BYTES &&
	       (!rx_is_dialog(s) || unread > XIW_BUDGET_BYTES);
}

/*
 * Takes received data, within @weight times the basic work budget. True if the
 * budget was used up: then rx.deferred is set, and the caller continues with
 * the rest.
 */
static bool rx_take(struct xiw_stream *s, u32 weight)
{
	const struct xiw_llp_ops *ops = s->llp->ops;
	struct xiw_rx *rx = &s->rx;
	bool over;

	xiw_budget_begin(&rx->budget, weight);
	if (rx->mpa.ready && !rx->stalled && !rx->dead)
		rx_take_fpdu(s);
	/* No RDMA stream uses urgent data. */
	if (!rx->stalled &&
	    ops->read(s->llp, ops->chunks ? rx_chunk_actor : rx_actor, s) ==
		    -EPROTO)
		xiw_stream_event(s, XIW_QPE_FAULT_SILENT);
	trace_rx_budget(s->id, weight,
			weight * XIW_BUDGET_BYTES - rx->budget.bytes,
			weight * XIW_BUDGET_COST - rx->budget.cost, 0);
	over = xiw_budget_spent(&rx->budget);
	rx->deferred = over;
	rx_check_end(s);
	if (rx->run_tx) {
		rx->run_tx = false;
		xiw_tx_run_locked(s);
	}
	return over;
}

/**
 * xiw_rx_run_locked() - process received data
 * @s: stream attached to a socket
 */
void xiw_rx_run_locked(struct xiw_stream *s)
{
	if (s->rx.deferred)
		return;
	if (rx_is_bulk(s) || rx_take(s, 1))
		rx_defer(s);
}

/**
 * xiw_rx_bulk_locked() - process the data that was left to work
 * @s: stream attached to a socket
 *
 * Context: Socket lock held; process context.
 */
void xiw_rx_bulk_locked(struct xiw_stream *s)
{
	u32 left = XIW_BUDGET_WORK_RX;

	while (rx_take(s, XIW_BUDGET_WORK)) {
		if (!--left) {
			rx_defer(s);
			break;
		}
		s->llp->ops->flush_backlog(s->llp);
	}
}

/*
 * A stream in an RNR wait for an SRQ keeps its position until it has tried to
 * take a receive: an entry may be reserved for it, and if not, it continues to
 * wait in the same position. So the attempt is made at once, however much data
 * is unread.
 */
static void rx_run_again(struct xiw_stream *s)
{
	if (!s->rx.stalled) {
		xiw_rx_run_locked(s);
		return;
	}
	WRITE_ONCE(s->rx.stalled, false);
	s->rx.rnr_waits = false;
	if (rx_take(s, 1))
		rx_defer(s);
	if (!s->rx.stalled)
		s->ops->rnr_end(s);
}

/**
 * xiw_rx_close_locked() - limit an RNR wait when this side closes
 * @s: stream attached to a socket
 *
 * Context: Socket lock held; process context.
 */
void xiw_rx_close_locked(struct xiw_stream *s)
{
	unsigned long wait = msecs_to_jiffies(xiw_deliver_rnr_ms(s));

	if (!s->rx.rnr_waits || READ_ONCE(s->state) != XIW_QPS_CLOSING ||
	    !cancel_delayed_work(&s->rx.rnr_timer))
		return;
	s->rx.rnr_end = jiffies + wait;
	xiw_stream_queue_delayed(s, &s->rx.rnr_timer, wait);
	/* The reference of the cancelled work */
	s->ops->put(s);
}

/**
 * xiw_rx_unstall_locked() - end an RNR wait when no more receives will follow
 * @s: stream attached to a socket, after xiw_stream_forget()
 *
 * The waiting message and all data after it are dropped, up to the peer's FIN.
 *
 * Context: Socket lock held; process context.
 */
void xiw_rx_unstall_locked(struct xiw_stream *s)
{
	if (s->rx.stalled)
		rx_run_again(s);
}

static void rx_work(struct work_struct *work)
{
	struct xiw_stream *s = container_of(to_delayed_work(work),
					    struct xiw_stream, rx.work);
	struct xiw_llp *llp = xiw_stream_lock(s);

	if (llp) {
		if (s->rx.deferred && !s->rx.stalled)
			xiw_rx_bulk_locked(s);
		else
			rx_run_again(s);
		xiw_stream_unlock(llp);
	}
	s->ops->put(s);
}

/* After a close by this side the wait is not extended. */
static unsigned long rx_rnr_until(struct xiw_stream *s)
{
	if (READ_ONCE(s->state) == XIW_QPS_CLOSING)
		return s->rx.rnr_end;
	return s->ops->rnr_until(s, s->rx.rnr_end);
}

static void rx_rnr_expired(struct work_struct *work)
{
	struct xiw_stream *s = container_of(to_delayed_work(work),
					    struct xiw_stream, rx.rnr_timer);
	struct xiw_llp *llp = xiw_stream_lock(s);
	unsigned long until;

	/* Only an RNR wait is limited. */
	if (llp && s->rx.rnr_waits) {
		until = rx_rnr_until(s);
		if (time_before(jiffies, until)) {
			xiw_stream_queue_delayed(s, &s->rx.rnr_timer,
						 until - jiffies);
		} else {
			s->rx.rnr_expired = true;
			rx_run_again(s);
			s->rx.rnr_expired = false;
		}
	}
	if (llp)
		xiw_stream_unlock(llp);
	s->ops->put(s);
}

/**
 * xiw_rx_posted() - run the receive side after a receive was posted
 * @s: stream that may be waiting for it
 *
 * Context: Any.
 */
void xiw_rx_posted(struct xiw_stream *s)
{
	if (READ_ONCE(s->rx.stalled))
		xiw_stream_rx_again(s, 0);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_rx_posted);

/**
 * xiw_rx_init() - set up the receive side of a new stream
 * @s: stream, zeroed but for what its owner has set
 *
 * Context: Any.
 */
void xiw_rx_init(struct xiw_stream *s)
{
	struct xiw_rx *rx = &s->rx;

	rx->mpa.stats = s->env->stats;
	rx->mpa.memcg = s->memcg;
	xiw_page_wait_init(&rx->pages, s, s->memcg, xiw_stream_rx_again);
	INIT_DELAYED_WORK(&rx->work, rx_work);
	INIT_DELAYED_WORK(&rx->rnr_timer, rx_rnr_expired);
}

/**
 * xiw_rx_start() - reset the receive side for a new stream
 * @s: stream with @s->conn filled in, not yet visible to the socket
 *
 * Context: Sleeps.
 * Return: 0 or -ENOMEM.
 */
int xiw_rx_start(struct xiw_stream *s)
{
	const struct xiw_mpa_nego *nego = &s->conn.nego;
	struct xiw_rx *rx = &s->rx;
	u32 qn;

	rx->first = true;
	WRITE_ONCE(rx->dead, false);
	WRITE_ONCE(rx->stalled, false);
	rx->rnr_waits = false;
	rx->end = XIW_RX_OPEN;
	rx->run_tx = false;
	rx->deferred = false;
	rx->bulk_pos = 0;
	rx->write_bytes = 0;
	rx->last_write = 0;
	rx->with_imm = false;
	for (qn = 0; qn < XIW_QN_COUNT; qn++)
		xiw_ddp_queue_init(&rx->queue[qn]);
	return xiw_rx_mpa_start(&rx->mpa, nego->rx_markers, nego->crc);
}

/**
 * xiw_rx_stop() - release the resources of the receive side
 * @s: stream that was detached
 *
 * Context: Sleeps. The caller owns the receive side.
 */
void xiw_rx_stop(struct xiw_stream *s)
{
	struct xiw_rx *rx = &s->rx;

	/* It queues the work. */
	xiw_page_in_stop(&rx->pages);
	xiw_stream_cancel_delayed(s, &rx->work);
	xiw_stream_cancel_delayed(s, &rx->rnr_timer);
	if (rx->stalled)
		s->ops->rnr_end(s);
	WRITE_ONCE(rx->stalled, false);
	xiw_rx_mpa_stop(&rx->mpa);
}
