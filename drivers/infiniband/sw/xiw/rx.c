// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receive side: bytes of the stream to complete, verified FPDUs.
 *
 * Runs under the socket lock, in the socket's data_ready callback or, after a
 * pause, in process context. An FPDU that lies within one skb is used where
 * it is; one that arrived in pieces, or with Markers in it, is put together
 * first. Nothing of an FPDU is looked at before its CRC was checked.
 *
 * When a Send finds no receive posted, reading stops: TCP's window closes and
 * holds the peer back until a receive is posted or the wait is over.
 *
 * DOC: where the work is done
 *
 * The callback comes on the CPU that took the packets in, which on one machine
 * is also the sender's. Little data is taken there and then: nothing is as
 * fast. Bulk is left to a work item, so that one CPU receives packets while
 * another one checks and places what is in them. rx.deferred is set from then
 * until the work has the socket lock; who finds it set leaves everything to the
 * work. How long turns are stands in tx.c.
 */

#include <linux/crc32c.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/skbuff.h>

#include "cm.h"
#include "device.h"
#include "qp.h"
#include "sock.h"
#include "trace.h"

/* A position in an skb: fragments are walked once, never from the start. */
struct skb_pos {
	const struct sk_buff *head;
	const struct sk_buff *skb;	/* @head or a member of its frag_list */
	int frag;			/* -1: linear part */
	u32 off;			/* in the linear part or fragment */
};

static void pos_init(struct skb_pos *p, const struct sk_buff *skb)
{
	p->head = skb;
	p->skb = skb;
	p->frag = -1;
	p->off = 0;
}

/* What lies at the position, in one piece; 0 behind the end. */
static u32 pos_piece(struct skb_pos *p, u8 **data)
{
	while (p->skb) {
		const struct skb_shared_info *info = skb_shinfo(p->skb);
		u32 len;

		if (p->frag < 0) {
			len = skb_headlen(p->skb);
			*data = p->skb->data + p->off;
		} else {
			len = skb_frag_size(&info->frags[p->frag]);
			*data = (u8 *)skb_frag_address(&info->frags[p->frag]) +
				p->off;
		}
		if (p->off < len)
			return len - p->off;
		p->off -= len;
		if (++p->frag < info->nr_frags)
			continue;
		p->frag = -1;
		p->skb = p->skb == p->head ? info->frag_list : p->skb->next;
	}
	return 0;
}

/**
 * xiw_fpdu_chunk() - what lies at the read position, in one piece
 * @f: FPDU with octets left to read
 * @data: set to the octets
 *
 * Context: As the FPDU's owner.
 * Return: Octets at @data, at least one.
 */
size_t xiw_fpdu_chunk(const struct xiw_fpdu *f, const void **data)
{
	*data = (const u8 *)f->vec->iov_base + f->off;
	return f->vec->iov_len - f->off;
}

/**
 * xiw_fpdu_skip() - move the read position
 * @f: FPDU
 * @len: octets, at most what is left
 *
 * Context: As the FPDU's owner.
 */
void xiw_fpdu_skip(struct xiw_fpdu *f, size_t len)
{
	f->off += len;
	while (len && f->off >= f->vec->iov_len) {
		f->off -= f->vec->iov_len;
		f->vec++;
		if (!f->off)
			break;
	}
}

/**
 * xiw_fpdu_copy() - read octets
 * @f: FPDU
 * @dst: where to
 * @len: octets, at most what is left
 *
 * Context: As the FPDU's owner.
 */
void xiw_fpdu_copy(struct xiw_fpdu *f, void *dst, size_t len)
{
	const void *data;

	while (len) {
		size_t n = min(len, xiw_fpdu_chunk(f, &data));

		memcpy(dst, data, n);
		xiw_fpdu_skip(f, n);
		dst += n;
		len -= n;
	}
}

static bool crc_good(struct xiw_rx *rx, u32 len)
{
	struct xiw_fpdu f = { .vec = rx->vec };
	u32 left = len - XIW_MPA_CRC_LEN;
	u32 crc = ~0;
	__le32 wire;

	while (left) {
		const void *data;
		u32 n = min_t(u32, left, xiw_fpdu_chunk(&f, &data));

		crc = crc32c(crc, data, n);
		xiw_fpdu_skip(&f, n);
		left -= n;
	}
	xiw_fpdu_copy(&f, &wire, sizeof(wire));
	return le32_to_cpu(wire) == ~crc;
}

/*
 * The MPA fence of a Responder falls with the first verified FPDU, whatever
 * is in it (RFC 5044 section 7.1.2 rule 4). An RTR goes no further.
 */
static enum xiw_nego_first first_fpdu(struct xiw_qp *qp, struct xiw_fpdu *f,
				      enum xiw_reason reason)
{
	u8 body[XIW_READ_REQ_LEN] = {};
	struct xiw_fpdu peek = *f;
	enum xiw_nego_first what;

	qp->rx.first = false;
	if (qp->conn.initiator)
		return XIW_FIRST_MESSAGE;
	qp->tx.fenced = false;
	qp->rx.poke_tx = true;
	if (reason == XIW_OK)
		xiw_fpdu_copy(&peek, body,
			      min_t(u32, sizeof(body), f->h.payload_len));
	what = xiw_nego_first_fpdu(&qp->conn.agreed, f->ulpdu_len,
				   reason == XIW_OK ? &f->h : NULL, body);
	if (what == XIW_FIRST_RTR && f->ulpdu_len && !f->h.tagged)
		qp->rx.queue[XIW_QN_SEND].msn++;
	xiw_qp_request(qp, XIW_EP_FIRST_FPDU);
	return what;
}

static void blame_segment(struct xiw_qp *qp, const struct xiw_fpdu *f,
			  enum xiw_reason reason)
{
	struct xiw_term_offender off = { .ulpdu_len = f->ulpdu_len };

	memcpy(off.hdr, f->hdr, sizeof(off.hdr));
	xiw_qp_fault(qp, reason, &off);
}

static void read_header(struct xiw_fpdu *f)
{
	u32 len = min_t(u32, f->ulpdu_len, sizeof(f->hdr));
	struct xiw_fpdu at = { .vec = f->vec };

	/* Nearly always it lies in one piece. */
	if (len == sizeof(f->hdr) &&
	    f->vec->iov_len >= XIW_MPA_LEN_FIELD + sizeof(f->hdr)) {
		memcpy(f->hdr, f->vec->iov_base + XIW_MPA_LEN_FIELD,
		       sizeof(f->hdr));
		return;
	}
	xiw_fpdu_skip(&at, XIW_MPA_LEN_FIELD);
	xiw_fpdu_copy(&at, f->hdr, len);
}

/* One complete FPDU of @len octets in rx.vec, Markers removed. */
static enum xiw_deliver take_fpdu(struct xiw_qp *qp, u32 ulpdu_len)
{
	struct xiw_fpdu f = { .vec = qp->rx.vec, .ulpdu_len = ulpdu_len };
	enum xiw_reason reason;
	enum xiw_deliver ret;

	read_header(&f);
	reason = xiw_ddp_decode(f.hdr, ulpdu_len, qp->rx.features, &f.h);
	if (reason == XIW_OK)
		xiw_fpdu_skip(&f, XIW_MPA_LEN_FIELD + f.h.payload_off);

	if (qp->rx.first) {
		enum xiw_nego_first what = first_fpdu(qp, &f, reason);

		if (what == XIW_FIRST_RTR)
			return XIW_DELIVER_OK;
	}
	if (reason != XIW_OK) {
		blame_segment(qp, &f, reason);
		return XIW_DELIVER_DEAD;
	}
	ret = xiw_deliver(qp, &f);
	if (ret != XIW_DELIVER_STALL) {
		trace_rx_fpdu(qp, &f);
		qp->rx.heard++;
		xiw_stat_inc(qp->dev, XIW_STAT_RX_FPDU);
		xiw_stat_add(qp->dev, XIW_STAT_RX_BYTES, ulpdu_len);
	}
	return ret;
}

static enum xiw_deliver check_and_take(struct xiw_qp *qp, u32 ulpdu_len,
				       u32 len)
{
	if (qp->rx.crc && !crc_good(&qp->rx, len)) {
		xiw_stat_inc(qp->dev, XIW_STAT_CRC_ERROR);
		xiw_qp_fault(qp, XIW_MPA_BAD_CRC, NULL);
		return XIW_DELIVER_DEAD;
	}
	return take_fpdu(qp, ulpdu_len);
}

/* Describe the next @len octets at @p in rx.vec; false if they need more. */
static bool map_skb(struct xiw_rx *rx, struct skb_pos *p, u32 len)
{
	rx->vec_count = 0;
	while (len) {
		u8 *data;
		u32 n = min(len, pos_piece(p, &data));

		if (!n || rx->vec_count == XIW_RX_VECS)
			return false;
		rx->vec[rx->vec_count].iov_base = data;
		rx->vec[rx->vec_count++].iov_len = n;
		p->off += n;
		len -= n;
	}
	return true;
}

static bool peek_be16(struct skb_pos p, u32 left, u16 *value)
{
	u8 bytes[2];
	u8 *data;
	int i;

	if (left < sizeof(bytes))
		return false;
	for (i = 0; i < 2; i++) {
		if (!pos_piece(&p, &data))
			return false;
		bytes[i] = *data;
		p.off++;
	}
	*value = get_unaligned_be16(bytes);
	return true;
}

/* Where the octet at @off of an FPDU in pieces goes, and the room there. */
static u8 *piece_at(struct xiw_rx *rx, u32 off, u32 *room)
{
	struct xiw_qp *qp = container_of(rx, struct xiw_qp, rx);
	struct page **page = &rx->pages[off / PAGE_SIZE];

	if (rx->linear) {
		*room = XIW_RX_PAGES * PAGE_SIZE - off;
		return rx->linear + off;
	}
	rx->pages_used = max_t(u32, rx->pages_used, off / PAGE_SIZE + 1);
	if (!*page) {
		*page = xiw_qp_alloc_pages(qp, GFP_ATOMIC | __GFP_NOWARN, 0);
		xiw_trim_later(qp);
	}
	*room = PAGE_SIZE - offset_in_page(off);
	return *page ? (u8 *)page_address(*page) + offset_in_page(off) : NULL;
}

/* Moves @len octets from @p behind what is there; how many it managed. */
static u32 collect(struct xiw_rx *rx, struct skb_pos *p, u32 len)
{
	u32 done = 0;

	while (done < len) {
		u32 room;
		u8 *data;
		u8 *dst = piece_at(rx, rx->have, &room);
		u32 n = min(len - done, pos_piece(p, &data));

		if (!dst || !n)
			break;
		n = min(n, room);
		memcpy(dst, data, n);
		p->off += n;
		rx->have += n;
		done += n;
	}
	return done;
}

static void map_pieces(struct xiw_rx *rx, u32 len)
{
	u32 off;

	rx->vec_count = 0;
	for (off = 0; off < len; rx->vec_count++) {
		u32 room;
		u8 *data = piece_at(rx, off, &room);
		u32 n = min(room, len - off);

		rx->vec[rx->vec_count].iov_base = data;
		rx->vec[rx->vec_count].iov_len = n;
		off += n;
	}
}

/*
 * All octets of an FPDU that came in pieces are there: verify it and take the
 * Markers out, once, even if it has to wait for a receive afterwards.
 */
static bool finish_pieces(struct xiw_qp *qp)
{
	struct xiw_rx *rx = &qp->rx;

	map_pieces(rx, rx->need);
	if (rx->crc && !crc_good(rx, rx->need)) {
		xiw_stat_inc(qp->dev, XIW_STAT_CRC_ERROR);
		xiw_qp_fault(qp, XIW_MPA_BAD_CRC, NULL);
		return false;
	}
	if (rx->linear) {
		rx->need = xiw_mpa_rx_strip(&rx->mpa, rx->linear, rx->need);
		rx->have = rx->need;
		map_pieces(rx, rx->need);
	} else {
		xiw_mpa_rx_advance(&rx->mpa, rx->need);
	}
	/* Only behind a good CRC does a Marker mean anything. */
	if (rx->mpa.mismatch) {
		xiw_qp_fault(qp, XIW_MPA_BAD_MARKER, NULL);
		return false;
	}
	rx->ready = true;
	return true;
}

static enum xiw_deliver take_ready(struct xiw_qp *qp)
{
	struct xiw_rx *rx = &qp->rx;
	enum xiw_deliver ret;
	u8 *data;
	u32 room;

	data = piece_at(rx, 0, &room);
	ret = take_fpdu(qp, get_unaligned_be16(data));
	if (ret == XIW_DELIVER_STALL)
		return ret;
	rx->ready = false;
	rx->have = 0;
	rx->need = 0;
	return ret;
}

static u32 split_len(struct xiw_rx *rx, u32 head)
{
	u32 room;
	u8 *data = piece_at(rx, 0, &room);

	return xiw_mpa_rx_fpdu_len(&rx->mpa,
				   get_unaligned_be16(data + head - 2));
}

/* Continue an FPDU that comes in pieces. Returns octets consumed. */
static u32 take_split(struct xiw_qp *qp, struct skb_pos *p, u32 left,
		      enum xiw_deliver *ret)
{
	struct xiw_rx *rx = &qp->rx;
	u32 done = 0;

	if (!rx->have)
		xiw_stat_inc(qp->dev, XIW_STAT_RX_SPLIT);
	if (!rx->need) {
		u32 head = xiw_mpa_rx_begin(&rx->mpa);

		if (rx->have < head)
			done = collect(rx, p, min(left, head - rx->have));
		if (rx->have < head)
			return done;
		rx->need = split_len(rx, head);
	}
	done += collect(rx, p, min(left - done, rx->need - rx->have));
	if (rx->have == rx->need && finish_pieces(qp))
		*ret = take_ready(qp);
	return done;
}

/* The FPDU that begins at @p, if all of it is in this skb. */
static u32 take_in_place(struct xiw_qp *qp, struct skb_pos *p, u32 left,
			 enum xiw_deliver *ret)
{
	struct xiw_rx *rx = &qp->rx;
	struct skb_pos start;
	u16 ulpdu_len;
	u32 piece;
	u8 *data;
	u32 len;

	piece = min(left, pos_piece(p, &data));
	if (piece >= sizeof(ulpdu_len))
		ulpdu_len = get_unaligned_be16(data);
	else if (!peek_be16(*p, left, &ulpdu_len))
		return take_split(qp, p, left, ret);
	len = xiw_mpa_fpdu_len(ulpdu_len);
	start = *p;
	if (len <= piece) {
		rx->vec[0].iov_base = data;
		rx->vec[0].iov_len = len;
		rx->vec_count = 1;
		p->off += len;
	} else if (len > left || !map_skb(rx, p, len)) {
		*p = start;
		return take_split(qp, p, left, ret);
	}
	*ret = check_and_take(qp, ulpdu_len, len);
	if (*ret == XIW_DELIVER_STALL)
		return 0;
	return len;
}

static int rx_actor(void *arg, struct sk_buff *skb, unsigned int off,
		    size_t len)
{
	enum xiw_deliver ret = XIW_DELIVER_OK;
	struct xiw_qp *qp = arg;
	struct xiw_rx *rx = &qp->rx;
	struct skb_pos p;
	u32 left = len;
	u32 n;

	/* Device memory, of which this CPU sees nothing but the headers. */
	if (!skb_frags_readable(skb)) {
		xiw_qp_fault(qp, XIW_LOCAL_FAULT, NULL);
		return len;
	}
	pos_init(&p, skb);
	p.off = off;
	while (left && !rx->dead && !rx->stalled &&
	       !xiw_turn_over(&rx->turn)) {
		if (rx->have || rx->linear)
			n = take_split(qp, &p, left, &ret);
		else
			n = take_in_place(qp, &p, left, &ret);
		left -= n;
		xiw_turn_charge(&rx->turn, n);
		if (!n)
			break;
	}
	/* RFC 5041 section 7.1: after an error, drop silently. */
	if (rx->dead)
		return len;
	if (left && !rx->stalled && !xiw_turn_over(&rx->turn)) {
		/* No memory for an FPDU in pieces. */
		xiw_stat_inc(qp->dev, XIW_STAT_RX_NOMEM);
		xiw_rx_again(qp, 1);
	}
	return len - left;
}

/* Between messages, with nothing outstanding: a FIN here is graceful. */
static bool at_rest(struct xiw_qp *qp)
{
	const struct xiw_rx *rx = &qp->rx;
	u32 qn;

	for (qn = 0; qn < XIW_QN_COUNT; qn++)
		if (rx->queue[qn].open)
			return false;
	return !rx->have && !rx->write_bytes &&
	       qp->orq_head == qp->orq_tail;
}

static void peer_closed(struct xiw_qp *qp)
{
	if (qp->rx.peer_closed)
		return;
	qp->rx.peer_closed = true;
	xiw_qp_event(qp, at_rest(qp) ? XIW_QPE_PEER_FIN :
		     XIW_QPE_PEER_FIN_DIRTY);
	/*
	 * What the MPA fence holds back can never be sent now: it is flushed
	 * when both FINs have been exchanged.
	 */
	if (qp->tx.fenced)
		xiw_tx_fin(qp);
	/* Our own FIN goes out when the engine finds nothing left. */
	qp->rx.poke_tx = true;
}

static void lower_layer_gone(struct xiw_qp *qp)
{
	if (qp->rx.lost)
		return;
	qp->rx.lost = true;
	if (!xiw_sock_orderly(qp->xs)) {
		xiw_stat_inc(qp->dev, XIW_STAT_LLP_LOST);
		xiw_qp_event(qp, XIW_QPE_LLP_LOST);
		return;
	}
	/* The peer's FIN may have been the last of both. */
	peer_closed(qp);
	xiw_qp_event(qp, XIW_QPE_LLP_CLOSED);
}

static void check_end(struct xiw_qp *qp)
{
	enum xiw_sock_status status = xiw_sock_status(qp->xs);

	/* A message that waits for its receive came before the FIN. */
	if (qp->rx.ready && qp->rx.stalled &&
	    (status == XIW_SOCK_PEER_CLOSED || xiw_sock_orderly(qp->xs)))
		return;
	if (status == XIW_SOCK_PEER_CLOSED)
		peer_closed(qp);
	else if (status == XIW_SOCK_LOST)
		lower_layer_gone(qp);
}

/* Leaves everything to the work item. */
static void defer(struct xiw_qp *qp)
{
	qp->rx.deferred = true;
	xiw_qp_queue_work(qp, xiw_wq, &qp->rx.bulk);
}

static bool is_bulk(const struct xiw_qp *qp)
{
	return !qp->rx.stalled && !qp->rx.dead &&
	       xiw_sock_unread_locked(qp->xs) > XIW_RX_INLINE_BYTES;
}

/* Takes what has arrived; what is left after @times short turns, the work. */
static void take(struct xiw_qp *qp, u32 times)
{
	struct xiw_rx *rx = &qp->rx;

	xiw_turn_begin(&rx->turn, times);
	if (rx->ready && !rx->stalled && !rx->dead)
		take_ready(qp);
	if (!rx->stalled) {
		/* No RDMA stream uses urgent data, and TCP stops at it. */
		if (xiw_sock_urgent_locked(qp->xs))
			xiw_qp_event(qp, XIW_QPE_FAULT_SILENT);
		else
			xiw_sock_read_locked(qp->xs, rx_actor, qp);
	}
	trace_rx_turn(qp, &rx->turn, times, 0);
	if (xiw_turn_over(&rx->turn))
		defer(qp);
	check_end(qp);
	if (rx->poke_tx) {
		rx->poke_tx = false;
		xiw_tx_run_locked(qp);
	}
}

/**
 * xiw_rx_run_locked() - take what has arrived
 * @qp: queue pair with a stream attached
 *
 * Context: Socket lock held; process context or softirq. Does not sleep.
 */
void xiw_rx_run_locked(struct xiw_qp *qp)
{
	if (qp->rx.deferred)
		return;
	if (is_bulk(qp))
		defer(qp);
	else
		take(qp, 1);
}

static void rx_bulk(struct work_struct *work)
{
	struct xiw_qp *qp = container_of(work, struct xiw_qp, rx.bulk);
	struct xiw_sock *xs = xiw_qp_lock_stream(qp);

	if (xs) {
		qp->rx.deferred = false;
		take(qp, XIW_TURN_LONG_RX);
		xiw_qp_unlock_stream(xs);
	}
	xiw_qp_put(qp);
}

/**
 * xiw_rx_again() - run the receive side in process context
 * @qp: queue pair
 * @delay: jiffies from now
 *
 * Context: Any.
 */
void xiw_rx_again(struct xiw_qp *qp, unsigned long delay)
{
	xiw_qp_queue_delayed(qp, &qp->rx.kick, delay);
}

/*
 * Does not leave the line of an SRQ before it has tried: it may have been woken
 * for an entry that is kept for it, and if not, it goes on where it stood.
 */
static void run_again(struct xiw_qp *qp)
{
	bool was_stalled = qp->rx.stalled;

	WRITE_ONCE(qp->rx.stalled, false);
	xiw_rx_run_locked(qp);
	if (was_stalled && !qp->rx.stalled)
		xiw_recv_wait_end(qp);
}

static void rx_kick(struct work_struct *work)
{
	struct xiw_qp *qp = container_of(to_delayed_work(work), struct xiw_qp,
					 rx.kick);
	struct xiw_sock *xs = xiw_qp_lock_stream(qp);

	if (xs) {
		qp->rx.gave_up = false;
		run_again(qp);
		xiw_qp_unlock_stream(xs);
	}
	xiw_qp_put(qp);
}

/*
 * Who waits in line for an entry of an SRQ waits for as long as its turn comes
 * nearer: each one that is woken stood before it, so that has an end.
 */
static unsigned long patient_until(const struct xiw_qp *qp)
{
	unsigned long until = qp->rx.late_at;
	unsigned long moved;

	if (!qp->srq)
		return until;
	moved = READ_ONCE(qp->srq->moved_at) +
		msecs_to_jiffies(READ_ONCE(qp->dev->late_recv_ms));
	return time_after(moved, until) ? moved : until;
}

static void rx_late(struct work_struct *work)
{
	struct xiw_qp *qp = container_of(to_delayed_work(work), struct xiw_qp,
					 rx.late);
	struct xiw_sock *xs = xiw_qp_lock_stream(qp);
	unsigned long until;

	if (xs && qp->rx.stalled) {
		until = patient_until(qp);
		if (time_before(jiffies, until)) {
			xiw_qp_queue_delayed(qp, &qp->rx.late,
					     until - jiffies);
		} else {
			qp->rx.gave_up = true;
			run_again(qp);
		}
	}
	if (xs)
		xiw_qp_unlock_stream(xs);
	xiw_qp_put(qp);
}

/**
 * xiw_rx_posted() - a receive was posted
 * @qp: queue pair that may be waiting for it
 *
 * Context: Any.
 */
void xiw_rx_posted(struct xiw_qp *qp)
{
	if (READ_ONCE(qp->rx.stalled))
		xiw_rx_again(qp, 0);
}

/**
 * xiw_rx_stall() - stop reading until a receive is posted
 * @qp: queue pair
 *
 * Context: Socket lock held.
 */
void xiw_rx_stall(struct xiw_qp *qp)
{
	u32 ms = READ_ONCE(qp->dev->late_recv_ms);

	WRITE_ONCE(qp->rx.stalled, true);
	xiw_stat_inc(qp->dev, XIW_STAT_RX_LATE_RECV);
	/* Woken in vain it goes on waiting, not longer. */
	if (!delayed_work_pending(&qp->rx.late))
		qp->rx.late_at = jiffies + msecs_to_jiffies(ms);
	xiw_qp_queue_delayed(qp, &qp->rx.late, msecs_to_jiffies(ms));
}

static void free_pages_from(struct xiw_rx *rx, u32 first)
{
	u32 i;

	for (i = first; i < XIW_RX_PAGES; i++) {
		if (rx->pages[i])
			__free_page(rx->pages[i]);
		rx->pages[i] = NULL;
	}
}

/**
 * xiw_rx_trim() - give back the pages that were not used of late
 * @qp: queue pair
 *
 * Context: Socket lock held.
 * Return: true if there are others.
 */
bool xiw_rx_trim(struct xiw_qp *qp)
{
	struct xiw_rx *rx = &qp->rx;

	free_pages_from(rx, rx->pages_used);
	/* What is there of an FPDU stays. */
	rx->pages_used = DIV_ROUND_UP(rx->have, PAGE_SIZE);
	return rx->pages[0];
}

/**
 * xiw_rx_init() - set up the receive side of a new queue pair
 * @qp: queue pair
 *
 * Context: Any.
 */
void xiw_rx_init(struct xiw_qp *qp)
{
	INIT_DELAYED_WORK(&qp->rx.kick, rx_kick);
	INIT_WORK(&qp->rx.bulk, rx_bulk);
	INIT_DELAYED_WORK(&qp->rx.late, rx_late);
}

/* Paid for like other memory of the stream, see xiw_qp_alloc_pages(). */
static void *alloc_linear(struct xiw_qp *qp)
{
	struct mem_cgroup *old = set_active_memcg(qp->memcg);
	void *p = kvmalloc(XIW_RX_PAGES * PAGE_SIZE, GFP_KERNEL_ACCOUNT);

	set_active_memcg(old);
	return p;
}

/**
 * xiw_rx_start() - set the receive side to the beginning of a stream
 * @qp: queue pair with @qp->conn filled in, not yet visible to the socket
 *
 * Context: Sleeps.
 * Return: 0 or -ENOMEM.
 */
int xiw_rx_start(struct xiw_qp *qp)
{
	const struct xiw_mpa_agreed *agreed = &qp->conn.agreed;
	struct xiw_rx *rx = &qp->rx;
	u32 qn;

	xiw_mem_view_init(&rx->mem, qp->dev, qp->ibqp.pd, qp->qpn,
			  qp->kernel);
	xiw_mpa_rx_init(&rx->mpa, agreed->rx_markers);
	if (agreed->rx_markers) {
		rx->linear = alloc_linear(qp);
		if (!rx->linear)
			return -ENOMEM;
	}
	rx->features = qp->dev->caps & (XIW_CAP_ATOMIC | XIW_CAP_IMM) ?
		XIW_FEAT_RFC7306 : 0;
	rx->crc = agreed->crc;
	rx->first = true;
	rx->dead = false;
	rx->stalled = false;
	rx->gave_up = false;
	rx->ready = false;
	rx->peer_closed = false;
	rx->lost = false;
	rx->poke_tx = false;
	rx->deferred = false;
	rx->have = 0;
	rx->need = 0;
	rx->recv_active = false;
	rx->write_bytes = 0;
	rx->last_write = 0;
	for (qn = 0; qn < XIW_QN_COUNT; qn++)
		xiw_ddp_queue_init(&rx->queue[qn]);
	return 0;
}

/**
 * xiw_rx_stop() - give back what the receive side holds
 * @qp: queue pair whose stream was detached
 *
 * Context: Sleeps. The caller owns the receive side.
 */
void xiw_rx_stop(struct xiw_qp *qp)
{
	struct xiw_rx *rx = &qp->rx;

	xiw_qp_cancel_delayed(qp, &rx->kick);
	if (cancel_work_sync(&rx->bulk))
		xiw_qp_put(qp);
	xiw_qp_cancel_delayed(qp, &rx->late);
	if (rx->stalled)
		xiw_recv_wait_end(qp);
	rx->stalled = false;
	free_pages_from(rx, 0);
	kvfree(rx->linear);
	rx->linear = NULL;
}
