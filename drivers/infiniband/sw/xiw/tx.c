// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Transmit engine: lays messages out as FPDUs, one behind the other across
 * work requests, and hands them to the socket in trains of many FPDUs.
 *
 * All payload is copied into pages of our own, so that what TCP holds for
 * retransmission can never change under it and a completed buffer belongs to
 * the consumer again. The copy is what the CRC is computed over.
 *
 * DOC: who runs the engine
 *
 * The engine runs under the socket lock, in whatever context has something
 * for it to do: the poster's own, the receive pass, the socket's write_space
 * callback, or the retry work. tx.run says how things stand. A poster sets
 * KICK; if a bit was set before, somebody is at work or will come back, and
 * nothing more has to be done. Otherwise the poster takes the lock and runs
 * the engine, or, when it must not sleep and the lock is taken, leaves that
 * to the retry work. The engine exchanges the word for RUNNING before each
 * look at the queue and may leave it at zero only by a compare-and-exchange
 * that proves that nobody kicked since.
 *
 * When the socket is full, or requests wait for a response, RUNNING stays
 * set: write_space or the receive pass is certain to run the engine again.
 * Room is found by the ACK that makes it, in softirq context. Up to two thirds
 * of TCP's buffer are still unsent or in flight then, so there is time to leave
 * the copying to the retry work, which any CPU can do.
 *
 * A user process that posts while earlier data is still in flight, or right
 * after its last post was taken care of, is likely to go on. Then RUNNING stays
 * set for a short time, too, together with WINDOW: what is posted meanwhile
 * without a system call leaves as one train, when the process enters the kernel
 * because it has nothing left to do but wait for completions, or when a timer
 * runs the engine, whatever comes first. A process that waits for each request
 * before it posts the next one does not go on.
 *
 * DOC: how long a turn is
 *
 * Whoever holds the socket lock keeps others from it. Where it is held as a
 * spinlock, that is in softirqs, in the timer, and for kernel consumers, which
 * post from any context, this CPU does nothing else meanwhile, and another one
 * may spin. Such a turn ends after XIW_TURN_BYTES or XIW_TURN_STEPS, whatever
 * comes first, each for sending and for taking; a step is an FPDU, or a request
 * that sends nothing. Then the retry work goes on, or that of the receive side.
 * Until it does, which tx.deferred and rx.deferred tell, packets and posts do
 * not begin another turn of this kind. No more ring entries are fetched than
 * there are steps left, nor more requests completed at once than a turn has
 * steps.
 *
 * A process, or a work item, that owns the lock has turns several times as
 * long, for they can be interrupted. What TCP receives meanwhile, ACKs above
 * all, goes to the socket's backlog, which is let in behind each train. A
 * callback may have been called for the backlog, which must not be processed
 * within itself, so callbacks have the short turns, too.
 */

#include <linux/crc32c.h>
#include <linux/mm.h>

#include "compat.h"
#include "cq.h"
#include "device.h"
#include "mem.h"
#include "qp.h"
#include "sock.h"
#include "trace.h"

enum tx_outcome {
	TX_IDLE,	/* nothing left that could be sent */
	TX_BLOCKED,	/* the socket or the retry work will call again */
};

static u8 *cursor(const struct xiw_tx *tx)
{
	return (u8 *)page_address(tx->buf.page) + tx->buf.off;
}

/*
 * How much memory to get for the message in progress: a block for a whole
 * train if more is queued behind it, else what the rest of it needs.
 */
static u32 block_order(const struct xiw_qp *qp, u32 want)
{
	const struct xiw_tx *tx = &qp->tx;
	u64 need = tx->msg.len - tx->offset;

	if (READ_ONCE(qp->sq.prod) != qp->sq.next)
		need += XIW_TX_TRAIN_BYTES;
	/* headers, CRC, Markers */
	need += need / 16 + want;
	return min_t(u32, get_order(need), XIW_TX_TRAIN_ORDER);
}

/*
 * Room for an FPDU of up to @want bytes in one piece. Bulk goes into blocks
 * that hold a whole train, small messages share single pages.
 */
static u32 reserve(struct xiw_qp *qp, u32 want)
{
	struct xiw_tx *tx = &qp->tx;
	u32 room = xiw_txbuf_room(&tx->buf);
	u32 order;

	if (room >= want)
		return room;
	/* The rest of the train goes first, then its block is free. */
	if (tx->train_len && tx->buf.page && compound_order(tx->buf.page))
		return 0;
	order = want <= PAGE_SIZE / 4 && tx->msg.len <= PAGE_SIZE / 4 ?
		0 : block_order(qp, want);
	if (order && xiw_txbuf_get(&tx->buf, order))
		return xiw_txbuf_room(&tx->buf);
	return xiw_txbuf_get(&tx->buf, 0) ? xiw_txbuf_room(&tx->buf) : 0;
}

/* The bytes up to @len at the cursor join the train. */
static void commit(struct xiw_tx *tx, u32 len)
{
	u32 last = tx->vec_first + tx->vec_count - 1;
	struct xiw_txbuf *buf = &tx->buf;
	struct bio_vec *bv;

	bv = tx->vec_count ? &tx->vec[last % XIW_TX_VECS] : NULL;
	if (bv && bv->bv_page == buf->page &&
	    bv->bv_offset + bv->bv_len == buf->off) {
		bv->bv_len += len;
	} else {
		bv = &tx->vec[(tx->vec_first + tx->vec_count++) % XIW_TX_VECS];
		get_page(buf->page);
		bvec_set_page(bv, buf->page, len, buf->off);
	}
	buf->off += len;
	tx->train_len += len;
}

/* Copies @len bytes from the gather list of the request in progress. */
static bool gather(struct xiw_qp *qp, u8 *dst, u32 len)
{
	struct xiw_tx *tx = &qp->tx;
	struct xiw_swr *wr = tx->wr;
	struct xiw_mem_ref ref;

	if (wr->flags & XIW_SQE_INLINE) {
		memcpy(dst, (u8 *)wr->sge + tx->offset, len);
		return true;
	}
	while (len) {
		const struct xiw_sge *sge = &wr->sge[tx->sge];
		u64 addr = sge->addr + tx->sge_off;
		u32 n = min(len, sge->length - tx->sge_off);

		if (n) {
			if (xiw_mem_get(&tx->mem, sge->lkey, 0, addr, n,
					&ref) != XIW_MEM_OK)
				return false;
			xiw_mem_read(&ref, addr, dst, n);
			xiw_mem_put(&ref);
		}
		dst += n;
		len -= n;
		tx->sge_off += n;
		if (tx->sge_off == sge->length) {
			tx->sge++;
			tx->sge_off = 0;
		}
	}
	return true;
}

static bool gather_response(struct xiw_qp *qp, u8 *dst, u32 len)
{
	struct xiw_req *req = &qp->irq[qp->irq_head & qp->irq_mask];
	enum xiw_mem_status status;
	struct xiw_mem_ref ref;
	u64 addr;

	/* A Read of nothing names no memory (RFC 5040 section 5.2.1). */
	if (!len)
		return true;
	addr = req->read.src_to + qp->tx.offset;
	/* The STag may have been revoked since the request was checked. */
	status = xiw_mem_get(&qp->tx.mem, req->read.src_stag,
			     IB_ACCESS_REMOTE_READ, addr, len, &ref);
	if (status == XIW_MEM_OK) {
		xiw_mem_read(&ref, addr, dst, len);
		xiw_mem_put(&ref);
		return true;
	}
	xiw_sendq_blame(qp, xiw_mem_reason(status, XIW_ACCESS_SOURCE), req,
			qp->tx.offset);
	return false;
}

/* The part of the message in progress that belongs into this segment. */
static bool payload(struct xiw_qp *qp, u8 *dst, u32 len)
{
	struct xiw_tx *tx = &qp->tx;

	if (tx->body_len) {
		memcpy(dst, tx->body + tx->offset, len);
		return true;
	}
	switch (tx->source) {
	case XIW_TX_SQ:
		if (gather(qp, dst, len))
			return true;
		xiw_sq_fail(qp, tx->wr, IB_WC_LOC_PROT_ERR);
		return false;
	case XIW_TX_RESPONSE:
		return gather_response(qp, dst, len);
	default:
		return true;
	}
}

/*
 * Spreads an FPDU of @len bytes that lies @gap bytes behind @dst, so that the
 * Markers find their places in between (RFC 5044 section 4.3).
 */
static void spread_markers(struct xiw_tx *tx, u8 *dst, u32 gap, u32 len)
{
	u8 *src = dst + gap;
	u32 n;

	while (len) {
		n = min(xiw_mpa_tx_room(&tx->mpa), len);
		if (!n) {
			xiw_mpa_tx_marker(&tx->mpa, dst);
			dst += XIW_MPA_MARKER_LEN;
			continue;
		}
		memmove(dst, src, n);
		xiw_mpa_tx_advance(&tx->mpa, n);
		dst += n;
		src += n;
		len -= n;
	}
}

/*
 * Completes the FPDU at the cursor: padding, Markers, CRC. @gap bytes were
 * left free before it for the Markers. Returns its length.
 */
static u32 seal(struct xiw_tx *tx, u8 *fpdu, u32 ulpdu_len, u32 gap)
{
	u32 pad = xiw_mpa_pad(ulpdu_len);
	u32 body = XIW_MPA_LEN_FIELD + ulpdu_len + pad;
	u32 len = xiw_mpa_tx_begin(&tx->mpa, ulpdu_len);
	__le32 crc = 0;
	u8 *end;

	put_unaligned_be16(ulpdu_len, fpdu + gap);
	if (pad)
		memset(fpdu + gap + body - pad, 0, pad);
	/* The CRC field moves with the rest and is filled in afterwards. */
	if (tx->mpa.markers)
		spread_markers(tx, fpdu, gap, body + XIW_MPA_CRC_LEN);
	else
		xiw_mpa_tx_advance(&tx->mpa, len);

	end = fpdu + len - XIW_MPA_CRC_LEN;
	if (tx->crc)
		crc = cpu_to_le32(~crc32c(~0, fpdu, end - fpdu));
	memcpy(end, &crc, XIW_MPA_CRC_LEN);
	return len;
}

static bool build_term(struct xiw_qp *qp)
{
	struct xiw_tx *tx = &qp->tx;
	u32 gap = tx->mpa.markers ? 2 * XIW_MPA_MARKER_LEN : 0;
	u32 len = xiw_mpa_fpdu_len(tx->term_len) + gap;

	if (xiw_txbuf_room(&tx->buf) < len && !xiw_txbuf_get(&tx->buf, 0))
		return false;
	gap = XIW_MPA_MARKER_LEN *
	      (tx->mpa.markers ?
	       xiw_mpa_marker_count(tx->mpa.pos, tx->term_len) : 0);
	memcpy(cursor(tx) + gap + XIW_MPA_LEN_FIELD, tx->term_ulpdu,
	       tx->term_len);
	len = seal(tx, cursor(tx), tx->term_len, gap);
	commit(tx, len);
	tx->pos += len;
	xiw_sendq_laid_out(qp);
	return true;
}

/* An FPDU of several segments has fewer where a block comes to its end. */
static u32 unit_here(const struct xiw_tx *tx)
{
	u32 room = xiw_txbuf_room(&tx->buf);

	if (!tx->train_len || tx->fill || room < tx->emss || room >= tx->unit ||
	    !compound_order(tx->buf.page))
		return tx->unit;
	return rounddown(room, tx->emss);
}

/*
 * One more FPDU of the message in progress. False: no room in this train, no
 * memory, or the stream failed, which the caller tells apart by tx.source.
 */
static bool build_fpdu(struct xiw_qp *qp)
{
	struct xiw_tx *tx = &qp->tx;
	struct xiw_seg seg;
	u32 ulpdu_len;
	u32 limit;
	u32 want;
	u32 room;
	u32 gap;
	u32 len;
	u8 *at;

	if (tx->source == XIW_TX_TERM)
		return build_term(qp);

	limit = xiw_segment_limit(unit_here(tx), tx->fill, tx->mpa.markers);
	xiw_segment_next(&tx->msg, tx->offset, limit, &seg);
	want = xiw_mpa_fpdu_len(seg.hdr_len + seg.len);
	if (tx->mpa.markers)
		want += XIW_MPA_MARKER_LEN *
			xiw_mpa_marker_count(tx->mpa.pos,
					     seg.hdr_len + seg.len);
	room = reserve(qp, want);
	if (room < want) {
		/* Memory is short: a smaller FPDU is as good. */
		if (room < PAGE_SIZE / 2)
			return false;
		limit = xiw_mpa_mulpdu(PAGE_SIZE / 2, tx->mpa.markers);
		xiw_segment_next(&tx->msg, tx->offset, limit, &seg);
	}
	ulpdu_len = seg.hdr_len + seg.len;
	gap = tx->mpa.markers ? XIW_MPA_MARKER_LEN *
	      xiw_mpa_marker_count(tx->mpa.pos, ulpdu_len) : 0;
	at = cursor(tx);
	xiw_segment_encode(&tx->msg, &seg, at + gap + XIW_MPA_LEN_FIELD);
	if (!payload(qp, at + gap + XIW_MPA_LEN_FIELD + seg.hdr_len, seg.len))
		return false;

	len = seal(tx, at, ulpdu_len, gap);
	commit(tx, len);
	tx->pos += len;
	tx->fill = (tx->fill + len) % tx->unit;
	tx->offset += seg.len;
	xiw_turn_charge(&tx->turn, len);
	xiw_stat_inc(qp->dev, XIW_STAT_TX_FPDU);
	if (seg.last)
		xiw_sendq_laid_out(qp);
	return true;
}

static void build_train(struct xiw_qp *qp)
{
	struct xiw_tx *tx = &qp->tx;

	tx->emss = xiw_sock_emss_locked(qp->xs);
	/* Wherever TCP is in its segment, the unit ends with another one. */
	tx->unit = tx->emss * qp->conn.fpdu_segments;
	tx->fill = xiw_sock_tail_fill_locked(qp->xs);
	while (tx->train_len < XIW_TX_TRAIN_BYTES &&
	       tx->vec_count < XIW_TX_VECS && !xiw_turn_over(&tx->turn)) {
		if (tx->source == XIW_TX_NONE) {
			if (!xiw_sendq_next(qp))
				break;
			/* Local requests may have been the rest of the turn. */
			continue;
		}
		if (!build_fpdu(qp) && tx->source != XIW_TX_NONE)
			break;
	}
}

static void train_sent(struct xiw_qp *qp, u32 len)
{
	struct xiw_tx *tx = &qp->tx;

	tx->sent += len;
	tx->train_len -= len;
	xiw_stat_add(qp->dev, XIW_STAT_TX_BYTES, len);
	while (len) {
		struct bio_vec *bv = &tx->vec[tx->vec_first];
		u32 n = min(len, bv->bv_len);

		bv->bv_offset += n;
		bv->bv_len -= n;
		len -= n;
		if (!bv->bv_len) {
			put_page(bv->bv_page);
			tx->vec_first = (tx->vec_first + 1) % XIW_TX_VECS;
			tx->vec_count--;
		}
	}
	if (!tx->vec_count)
		tx->vec_first = 0;
	xiw_sq_complete(qp);
	if (tx->term_sent && !tx->train_len)
		xiw_qp_event(qp, XIW_QPE_TERM_SENT);
}

static int send_train(struct xiw_qp *qp)
{
	struct xiw_tx *tx = &qp->tx;
	struct bio_vec vec[XIW_TX_VECS];
	u32 len = tx->train_len;
	u32 i;
	int ret;

	for (i = 0; i < tx->vec_count; i++)
		vec[i] = tx->vec[(tx->vec_first + i) % XIW_TX_VECS];
	xiw_stat_inc(qp->dev, XIW_STAT_TX_SENDMSG);
	/* More of this very message follows for certain: let TCP wait. */
	ret = xiw_sock_send_locked(qp->xs, vec, tx->vec_count, len,
				   tx->source != XIW_TX_NONE &&
				   tx->offset < tx->msg.len);
	trace_tx_train(qp, len, ret);
	if (ret > 0)
		train_sent(qp, ret);
	return ret < 0 ? ret : ret == len ? 0 : -EAGAIN;
}

/**
 * xiw_tx_again() - run the engine in process context
 * @qp: queue pair
 * @delay: jiffies from now
 *
 * Context: Any.
 */
void xiw_tx_again(struct xiw_qp *qp, unsigned long delay)
{
	xiw_qp_queue_delayed(qp, &qp->tx.retry, delay);
}

/* The turn is over. */
static void defer(struct xiw_qp *qp)
{
	qp->tx.deferred = true;
	xiw_tx_again(qp, 0);
}

/* Until nothing is left, or the turn is over. */
static enum tx_outcome drain(struct xiw_qp *qp, bool yield)
{
	struct xiw_tx *tx = &qp->tx;
	int ret;

	for (;;) {
		if (!tx->train_len)
			build_train(qp);
		if (!tx->train_len)
			break;
		ret = send_train(qp);
		if (ret == -EAGAIN) {
			xiw_stat_inc(qp->dev, XIW_STAT_TX_BLOCKED);
			/* With nothing in flight no ACK will wake us. */
			if (xiw_sock_idle_locked(qp->xs)) {
				xiw_stat_inc(qp->dev, XIW_STAT_TX_NOMEM);
				xiw_tx_again(qp, 1);
			}
			return TX_BLOCKED;
		}
		if (ret < 0) {
			/* If that is not its end, which state_change tells. */
			if (xiw_sock_status(qp->xs) == XIW_SOCK_OPEN)
				xiw_tx_again(qp, 1);
			return TX_BLOCKED;
		}
		if (yield)
			xiw_sock_yield_locked(qp->xs);
	}
	if (xiw_turn_over(&tx->turn)) {
		defer(qp);
		return TX_BLOCKED;
	}
	if (tx->source != XIW_TX_NONE) {
		/* A message in progress, but no memory for its next FPDU. */
		xiw_stat_inc(qp->dev, XIW_STAT_TX_NOMEM);
		xiw_tx_again(qp, 1);
		return TX_BLOCKED;
	}
	return xiw_sendq_waits(qp) ? TX_BLOCKED : TX_IDLE;
}

/*
 * Is it likely that the process posts more without waiting for anything? Time
 * alone does not tell: within one machine the peer's answer may have come
 * before the engine was left.
 */
static bool is_stream(const struct xiw_qp *qp)
{
	const struct xiw_tx *tx = &qp->tx;

	if (qp->kernel)
		return false;
	if (!xiw_sock_idle_locked(qp->xs))
		return true;
	return tx->heard == qp->rx.heard &&
	       ktime_get_ns() - tx->left_at < XIW_TX_STREAM_NS;
}

/*
 * There was but one request, from @first on, and when it completed the process
 * had taken all other completions: it waited for them, and does for this one.
 */
static bool waits_for_each(const struct xiw_qp *qp, u32 first)
{
	const struct xiw_sq *sq = &qp->sq;

	return !qp->kernel && sq->next - first == 1 &&
	       READ_ONCE(qp->scq->lone) &&
	       xiw_sq_wr(sq, first)->flags & XIW_SQE_SIGNALED;
}

/*
 * The process is posting in a stream: spare it the doorbell and look again in
 * a moment. Only after a run that found something, so it ends by itself.
 */
static bool stay_on(struct xiw_qp *qp, bool stream, u64 pos)
{
	struct xiw_tx *tx = &qp->tx;

	if (!stream || tx->pos == pos || tx->fin ||
	    READ_ONCE(qp->state) != XIW_QPS_RTS)
		return false;
	xiw_sq_want_doorbell(&qp->sq, XIW_RING_LAZY_DB);
	/* As in go_idle(): posted without an announcement, or kicked. */
	if (!xiw_sq_ring_empty(&qp->sq) ||
	    atomic_cmpxchg(&tx->run, XIW_TX_RUNNING,
			   XIW_TX_RUNNING | XIW_TX_WINDOW) != XIW_TX_RUNNING) {
		xiw_sq_want_doorbell(&qp->sq, 0);
		return false;
	}
	hrtimer_start(&tx->window, ns_to_ktime(XIW_TX_WINDOW_NS),
		      HRTIMER_MODE_REL_SOFT);
	return true;
}

/**
 * xiw_tx_fin() - a graceful close need not wait any longer
 * @qp: queue pair with nothing left that could be sent; nothing happens unless
 *	it is closing, or if the FIN is out
 *
 * Context: Socket lock held.
 */
void xiw_tx_fin(struct xiw_qp *qp)
{
	struct xiw_tx *tx = &qp->tx;

	if (!tx->fin || tx->fin_done)
		return;
	tx->fin_done = true;
	xiw_qp_request(qp, XIW_EP_SHUTDOWN);
}

/*
 * True if the engine may leave; false if there is news. Whether to close is
 * looked at before the queue: so whatever a consumer posted before it closed
 * is seen, and sent before the FIN.
 */
static bool go_idle(struct xiw_qp *qp)
{
	struct xiw_tx *tx = &qp->tx;
	bool idle;
	bool fin;

	/* Pairs with the release in take_step(). */
	fin = smp_load_acquire(&tx->fin);
	xiw_sq_want_doorbell(&qp->sq, XIW_RING_NEED_DB);
	idle = xiw_sendq_none_posted(qp) &&
	       atomic_cmpxchg(&tx->run, XIW_TX_RUNNING, 0) == XIW_TX_RUNNING;
	/* A corrupt ring or a dead stream never becomes empty. */
	if (!idle && READ_ONCE(qp->state) != XIW_QPS_RTS &&
	    READ_ONCE(qp->state) != XIW_QPS_CLOSING) {
		atomic_set(&tx->run, 0);
		idle = true;
	}
	if (!idle)
		xiw_sq_want_doorbell(&qp->sq, 0);
	else if (fin && xiw_sendq_empty(qp))
		xiw_tx_fin(qp);
	return idle;
}

/**
 * xiw_tx_run_locked() - transmit what can be transmitted
 * @qp: queue pair with a stream attached
 *
 * Context: Socket lock held; process context or softirq. Does not sleep.
 */
void xiw_tx_run_locked(struct xiw_qp *qp)
{
	bool yield = xiw_sock_can_yield_locked(qp->xs);
	u32 times = yield ? XIW_TURN_LONG_TX : 1;
	struct xiw_tx *tx = &qp->tx;
	enum tx_outcome outcome;
	bool stream;
	bool waited;
	u32 fetched;
	u32 first;
	u64 pos;

	/*
	 * TCP may process its backlog, or find room, while it takes a train;
	 * what that calls ends up here again. The outer call goes on.
	 */
	if (tx->active || (tx->deferred && !yield)) {
		atomic_or(XIW_TX_KICK, &tx->run);
		return;
	}
	tx->active = true;
	tx->deferred = false;
	xiw_turn_begin(&tx->turn, times);
	fetched = READ_ONCE(qp->sq.prod);
	/* More may be complete than was told of in one turn. */
	xiw_sq_complete(qp);
	stream = is_stream(qp);
	pos = tx->pos;
	first = qp->sq.next;
	waited = tx->waits;
	xiw_sq_want_doorbell(&qp->sq, 0);
	do {
		/* Whoever kicks again and again does not keep the lock busy. */
		if (xiw_turn_over(&tx->turn)) {
			defer(qp);
			break;
		}
		xiw_turn_charge(&tx->turn, 0);
		atomic_xchg(&tx->run, XIW_TX_RUNNING);
		outcome = drain(qp, yield);
		/* Twice: the last one of a batch may look like that. */
		if (qp->sq.next != first)
			tx->waits = waits_for_each(qp, first);
		if (outcome == TX_BLOCKED ||
		    stay_on(qp, stream && !(waited && tx->waits), pos))
			break;
	} while (!go_idle(qp));
	tx->active = false;
	trace_tx_turn(qp, &tx->turn, times, READ_ONCE(qp->sq.prod) - fetched);
}

/* For a poster. What the peer's answers set off says nothing of a stream. */
static void run_posted(struct xiw_qp *qp)
{
	u32 heard = qp->rx.heard;

	xiw_tx_run_locked(qp);
	qp->tx.heard = heard;
	if (!qp->kernel)
		qp->tx.left_at = ktime_get_ns();
}

static void run_sleeping(struct xiw_qp *qp)
{
	struct xiw_sock *xs = xiw_qp_lock_stream(qp);

	if (!xs)
		return;
	run_posted(qp);
	xiw_qp_unlock_stream(xs);
}

/* Softirq context, so the lock may be had or not, but not waited for. */
static void run_now_or_soon(struct xiw_qp *qp)
{
	struct xiw_sock *xs = xiw_qp_get_sock(qp);

	if (!xs)
		return;
	if (xiw_sock_trylock_bh(xs)) {
		if (qp->xs == xs)
			run_posted(qp);
		xiw_sock_unlock_bh(xs);
	} else {
		xiw_tx_again(qp, 0);
	}
	xiw_sock_put(xs);
}

/* Stopping the transmit side cancels the timer, so it holds no reference. */
static enum hrtimer_restart tx_window(struct hrtimer *timer)
{
	run_now_or_soon(container_of(timer, struct xiw_qp, tx.window));
	return HRTIMER_NORESTART;
}

static void tx_retry(struct work_struct *work)
{
	struct xiw_qp *qp = container_of(to_delayed_work(work), struct xiw_qp,
					 tx.retry);

	run_sleeping(qp);
	xiw_qp_put(qp);
}

/**
 * xiw_tx_space() - the socket was full and has room again
 * @qp: queue pair with a stream attached
 *
 * Context: Socket lock held; process context or softirq. Does not sleep.
 */
void xiw_tx_space(struct xiw_qp *qp)
{
	/* A NAPI thread counts, too. */
	if (in_softirq())
		xiw_tx_again(qp, 0);
	else
		xiw_tx_run_locked(qp);
}

/**
 * xiw_tx_kick() - something was posted
 * @qp: queue pair, with or without a stream
 * @may_sleep: the caller is a system call
 *
 * Context: Any, with interrupts on or off.
 */
void xiw_tx_kick(struct xiw_qp *qp, bool may_sleep)
{
	int was = atomic_fetch_or(XIW_TX_KICK, &qp->tx.run);

	/* In the window nobody is at work; do not wait for the timer. */
	if (was && was != (XIW_TX_RUNNING | XIW_TX_WINDOW))
		return;
	if (may_sleep) {
		run_sleeping(qp);
		return;
	}
	/* TCP's transmit path needs softirqs to be manageable. */
	if (irqs_disabled() || in_hardirq()) {
		xiw_tx_again(qp, 0);
		return;
	}
	run_now_or_soon(qp);
}

/**
 * xiw_tx_init() - set up the transmit side of a new queue pair
 * @qp: queue pair
 *
 * Context: Any.
 */
void xiw_tx_init(struct xiw_qp *qp)
{
	/* Without a stream there is nobody to be kicked. */
	atomic_set(&qp->tx.run, XIW_TX_RUNNING);
	INIT_DELAYED_WORK(&qp->tx.retry, tx_retry);
	xiw_txbuf_init(&qp->tx.buf);
	hrtimer_setup(&qp->tx.window, tx_window, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
}

/**
 * xiw_tx_start() - set the transmit side to the beginning of a stream
 * @qp: queue pair with @qp->conn filled in, not yet visible to the socket
 *
 * Context: Any.
 */
void xiw_tx_start(struct xiw_qp *qp)
{
	const struct xiw_mpa_agreed *agreed = &qp->conn.agreed;
	struct xiw_tx *tx = &qp->tx;
	u32 qn;

	xiw_mpa_tx_init(&tx->mpa, agreed->tx_markers);
	xiw_mem_view_init(&tx->mem, qp->dev, qp->ibqp.pd, qp->qpn,
			  qp->kernel);
	tx->deferred = false;
	tx->imm_sent = false;
	tx->pos = 0;
	tx->sent = 0;
	tx->crc = agreed->crc;
	tx->fenced = !qp->conn.initiator;
	tx->rtr = qp->conn.initiator ? agreed->rtr_send : 0;
	tx->source = XIW_TX_NONE;
	for (qn = 0; qn < XIW_QN_COUNT; qn++)
		tx->msn[qn] = XIW_MSN_FIRST;
}

/**
 * xiw_tx_stop() - give back what the transmit side holds
 * @qp: queue pair whose stream was detached
 *
 * Context: Sleeps. The caller owns the transmit side.
 */
void xiw_tx_stop(struct xiw_qp *qp)
{
	struct xiw_tx *tx = &qp->tx;

	hrtimer_cancel(&tx->window);
	xiw_qp_cancel_delayed(qp, &tx->retry);
	while (tx->vec_count) {
		put_page(tx->vec[tx->vec_first].bv_page);
		tx->vec_first = (tx->vec_first + 1) % XIW_TX_VECS;
		tx->vec_count--;
	}
	tx->train_len = 0;
	xiw_txbuf_stop(qp);
	tx->source = XIW_TX_NONE;
}
