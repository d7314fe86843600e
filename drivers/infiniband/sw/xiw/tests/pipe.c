// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A lower layer without a network; see pipe.h. It implements llp.h and tests
 * the limits of that interface: it makes unnecessary callbacks, accepts few
 * bytes at a time, and delivers packets that consist of several pieces.
 */
#include "pipe.h"

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/unaligned.h>

#include "proto/mpa.h"

enum {
	DUE_DATA,
	DUE_SPACE,
	DUE_STATE,
};

static struct pipe_end *to_end(const struct xiw_llp *llp)
{
	return container_of(llp, struct pipe_end, llp);
}

/* The stream's lock is held. */
static void run_callbacks(struct pipe_end *e)
{
	if (e->busy)
		return;
	e->busy = true;
	while (READ_ONCE(e->due)) {
		const struct xiw_llp_events *events = e->events;
		unsigned long due = xchg(&e->due, 0);

		if (!events)
			break;
		if (due & BIT(DUE_DATA))
			events->data_ready(&e->llp, e->ctx);
		if (due & BIT(DUE_SPACE))
			events->write_space(&e->llp, e->ctx);
		if (due & BIT(DUE_STATE))
			events->state_change(&e->llp, e->ctx);
	}
	e->busy = false;
}

/* Run or queue the callback for @what. Any context. */
static void announce(struct pipe_end *e, int what)
{
	set_bit(what, &e->due);
	queue_work(system_unbound_wq, &e->work);
}

/* Not called: a case keeps the first reference. */
static void pipe_free(struct xiw_llp *llp)
{
}

static void end_lock(struct xiw_llp *llp)
{
	struct pipe_end *e = to_end(llp);

	spin_lock_bh(&e->lock);
	while (e->owned) {
		spin_unlock_bh(&e->lock);
		wait_event(e->unowned, !READ_ONCE(e->owned));
		spin_lock_bh(&e->lock);
	}
	WRITE_ONCE(e->owned, true);
	spin_unlock_bh(&e->lock);
}

static void end_unlock(struct xiw_llp *llp)
{
	struct pipe_end *e = to_end(llp);

	run_callbacks(e);
	spin_lock_bh(&e->lock);
	WRITE_ONCE(e->owned, false);
	spin_unlock_bh(&e->lock);
	wake_up(&e->unowned);
}

static bool end_trylock_bh(struct xiw_llp *llp)
{
	struct pipe_end *e = to_end(llp);

	if (!spin_trylock_bh(&e->lock))
		return false;
	if (e->owned) {
		spin_unlock_bh(&e->lock);
		return false;
	}
	/* The lock stays held; sparse cannot follow a conditional lock. */
	__release(&e->lock);
	return true;
}

static void end_unlock_bh(struct xiw_llp *llp)
{
	struct pipe_end *e = to_end(llp);

	run_callbacks(e);
	__acquire(&e->lock);
	spin_unlock_bh(&e->lock);
}

static void pipe_set_events(struct xiw_llp *llp,
			    const struct xiw_llp_events *events, void *ctx)
{
	struct pipe_end *e = to_end(llp);

	end_lock(llp);
	e->events = events;
	e->ctx = ctx;
	WRITE_ONCE(e->due, 0);
	end_unlock(llp);
}

static int pipe_charge(struct xiw_llp *llp, struct mem_cgroup *memcg)
{
	return 0;
}

static void pipe_record_flow(const struct xiw_llp *llp)
{
	atomic_inc(&to_end(llp)->flows);
}

static bool pipe_can_flush(const struct xiw_llp *llp)
{
	const struct pipe_end *e = to_end(llp);

	return e->owned && !e->busy;
}

static void pipe_flush_backlog(struct xiw_llp *llp)
{
	cond_resched();
}

static void end_work(struct work_struct *work)
{
	struct pipe_end *e = container_of(work, struct pipe_end, work);

	end_lock(&e->llp);
	end_unlock(&e->llp);
}

/* Loses the connection; bytes in flight are still delivered. */
static void lose(struct pipe_end *e)
{
	WRITE_ONCE(e->lost, true);
	WRITE_ONCE(e->peer->lost, true);
	announce(e, DUE_STATE);
	announce(e->peer, DUE_STATE);
}

/*
 * @len bytes, in one to three pieces. The last of three may follow the second
 * one in its memory.
 */
static struct sk_buff *new_part(struct pipe_end *e, const u8 *src, u32 len)
{
	u32 linear = prandom_u32_state(&e->rnd) % (len + 1);
	struct sk_buff *skb = alloc_skb(linear + 1, GFP_ATOMIC);
	bool joined = prandom_u32_state(&e->rnd) % 2;
	struct page *page = NULL;
	u32 done, n, off;
	int i;

	if (!skb)
		return NULL;
	skb_put_data(skb, src, linear);
	for (i = 0, done = linear; done < len; done += n, i++) {
		n = i ? len - done : 1 + prandom_u32_state(&e->rnd) %
				     (len - done);
		off = i && joined ? done - linear : 0;
		if (off)
			get_page(page);
		else
			page = alloc_pages(GFP_ATOMIC | __GFP_COMP,
					   get_order(joined ? len : n));
		if (!page) {
			kfree_skb(skb);
			return NULL;
		}
		memcpy(page_address(page) + off, src + done, n);
		skb_add_rx_frag(skb, i, page, off, n, n);
	}
	return skb;
}

static void hang_below(struct sk_buff *skb, struct sk_buff *list)
{
	skb_shinfo(skb)->frag_list = list;
	for (; list; list = list->next) {
		skb->len += list->len;
		skb->data_len += list->len;
		skb->truesize += list->truesize;
	}
}

/*
 * A packet of @len bytes: in one part, or in a list, or in a nested list,
 * like a packet of nested fragments.
 */
static struct sk_buff *new_packet(struct pipe_end *e, const u8 *src, u32 len)
{
	u32 shape = prandom_u32_state(&e->rnd) % 4;
	struct sk_buff *part[3];
	u32 third = len / 3;
	u32 i;

	if (shape > 1)
		return new_part(e, src, len);
	for (i = 0; i < 3; i++) {
		part[i] = new_part(e, src + i * third,
				   i < 2 ? third : len - 2 * third);
		if (!part[i])
			goto err;
	}
	if (shape)
		hang_below(part[1], part[2]);
	else
		part[1]->next = part[2];
	hang_below(part[0], part[1]);
	return part[0];

err:
	while (i--)
		kfree_skb(part[i]);
	return NULL;
}

/* Number of bytes to accept at once */
static u32 cut(struct pipe_end *e, u32 len)
{
	u32 most = min_t(u32, len, 32 * 1024);

	switch (prandom_u32_state(&e->rnd) % 4) {
	case 0:
		return 1 + prandom_u32_state(&e->rnd) % min_t(u32, most, 64);
	case 1:
		return 1 + prandom_u32_state(&e->rnd) % most;
	default:
		return most;
	}
}

static u32 room(struct pipe_end *e)
{
	int room = PIPE_WINDOW - atomic_read(&e->peer->unread);

	return max(room, 0);
}

static int send_some(struct pipe_end *e, const u8 *src, u32 len)
{
	struct sk_buff *skb;

	if (READ_ONCE(e->lost) || READ_ONCE(e->broken) || e->fin)
		return -EPIPE;
	len = min(len, room(e));
	if (!len)
		return -EAGAIN;
	len = cut(e, len);
	if (e->breaks)
		len = min_t(s64, len, e->left);
	skb = len ? new_packet(e, src, len) : NULL;
	if (len && !skb)
		return -EAGAIN;
	if (skb) {
		atomic_add(len, &e->peer->unread);
		skb_queue_tail(&e->peer->rxq, skb);
		announce(e->peer, DUE_DATA);
	}
	e->left -= len;
	if (e->breaks && e->left <= 0)
		lose(e);
	return len ? len : -EPIPE;
}

/*
 * Not all bytes were accepted: announce room as soon as there are more than
 * @least bytes.
 */
static void promise_room(struct pipe_end *e, u32 least)
{
	atomic_set(&e->blocked, 1);
	/* The peer may have made room before it could see @blocked. */
	smp_mb__after_atomic();
	if (room(e) > least)
		announce(e, DUE_SPACE);
}

static int pipe_send(struct xiw_llp *llp, struct bio_vec *bv, unsigned int nr,
		     size_t len, enum xiw_llp_push push)
{
	struct pipe_end *e = to_end(llp);
	int done = 0;
	int ret = 0;

	while (nr--) {
		ret = send_some(e, (u8 *)page_address(bv->bv_page) +
				   bv->bv_offset, bv->bv_len);
		if (ret < 0)
			break;
		done += ret;
		if (ret < bv->bv_len)
			break;
		bv++;
	}
	if (done < len && (ret >= 0 || ret == -EAGAIN))
		promise_room(e, 0);
	return done ? done : ret;
}

/*
 * Sends the FPDU at @src as a chunk, without its length. Returns the length of
 * the FPDU or a negative errno.
 */
static int send_chunk(struct pipe_end *e, u8 *src)
{
	u32 len = XIW_MPA_LEN_FIELD + get_unaligned_be16(src);
	struct sk_buff *skb;

	if (READ_ONCE(e->lost) || e->fin)
		return -EPIPE;
	put_unaligned_be16(prandom_u32_state(&e->rnd), src);
	skb = room(e) < len ? NULL : new_part(e, src, len);
	if (!skb)
		return -EAGAIN;
	atomic_add(len, &e->peer->unread);
	skb_queue_tail(&e->peer->rxq, skb);
	announce(e->peer, DUE_DATA);
	return ALIGN(len, 4) + XIW_MPA_CRC_LEN;
}

/* Contiguous copy of the vectors; NULL without memory. */
static u8 *flatten(const struct bio_vec *bv, unsigned int nr, size_t len)
{
	u8 *buf = kmalloc(len, GFP_ATOMIC);
	u8 *dst = buf;

	for (; buf && nr; nr--, bv++) {
		memcpy(dst, (u8 *)page_address(bv->bv_page) + bv->bv_offset,
		       bv->bv_len);
		dst += bv->bv_len;
	}
	return buf;
}

/* As over SCTP: the batch consists of whole FPDUs. */
static int pipe_send_chunks(struct xiw_llp *llp, struct bio_vec *bv,
			    unsigned int nr, size_t len,
			    enum xiw_llp_push push)
{
	struct pipe_end *e = to_end(llp);
	u8 *buf = flatten(bv, nr, len);
	int ret = buf ? 0 : -EAGAIN;
	int done = 0;

	while (ret >= 0 && done < len) {
		ret = send_chunk(e, buf + done);
		done += max(ret, 0);
	}
	kfree(buf);
	if (ret == -EAGAIN)
		/* A chunk that still does not fit would be tried for ever. */
		promise_room(e, PIPE_WINDOW / 3);
	return done ? done : ret;
}

static void pipe_space(const struct xiw_llp *llp, struct xiw_llp_space *space)
{
	struct pipe_end *e = to_end(llp);

	space->emss = READ_ONCE(e->emss);
	space->tail_fill = prandom_u32_state(&e->rnd) % space->emss;
	space->sndbuf = PIPE_WINDOW;
}

static bool pipe_idle(const struct xiw_llp *llp)
{
	return !atomic_read(&to_end(llp)->peer->unread);
}

/* Bytes of a packet consumed so far; the control buffer starts as zero. */
static u32 *taken_of(struct sk_buff *skb)
{
	return (u32 *)skb->cb;
}

static int pipe_read(struct xiw_llp *llp, sk_read_actor_t actor, void *arg)
{
	read_descriptor_t desc = { .arg.data = arg, .count = 1 };
	struct pipe_end *e = to_end(llp);
	bool was_busy = e->busy;
	struct sk_buff *skb;
	int done = 0;
	u32 *taken;
	u32 n;

	e->busy = true;
	while (!READ_ONCE(e->held) && (skb = skb_peek(&e->rxq))) {
		taken = taken_of(skb);
		n = actor(&desc, skb, *taken, skb->len - *taken);
		done += n;
		*taken += n;
		atomic_sub(n, &e->unread);
		if (*taken < skb->len)
			break;
		skb_unlink(skb, &e->rxq);
		kfree_skb(skb);
	}
	e->busy = was_busy;
	if (done && atomic_read(&e->unread) < PIPE_WINDOW * 2 / 3 &&
	    atomic_xchg(&e->peer->blocked, 0))
		announce(e->peer, DUE_SPACE);
	/* Both FINs may have been sent. */
	if (done && READ_ONCE(e->peer->fin))
		announce(e, DUE_STATE);
	return done;
}

static int pipe_unread(struct xiw_llp *llp)
{
	return atomic_read(&to_end(llp)->unread);
}

static enum xiw_llp_status pipe_status(struct xiw_llp *llp)
{
	struct pipe_end *e = to_end(llp);

	if (READ_ONCE(e->broken))
		return XIW_LLP_BROKEN;
	if (atomic_read(&e->unread))
		return XIW_LLP_OPEN;
	if (READ_ONCE(e->lost))
		return XIW_LLP_LOST;
	if (!READ_ONCE(e->peer->fin))
		return XIW_LLP_OPEN;
	return READ_ONCE(e->fin) ? XIW_LLP_CLOSED : XIW_LLP_PEER_CLOSED;
}

static const struct xiw_llp_ops pipe_ops = {
	.free = pipe_free,
	.lock = end_lock,
	.unlock = end_unlock,
	.trylock_bh = end_trylock_bh,
	.unlock_bh = end_unlock_bh,
	.set_events = pipe_set_events,
	.charge = pipe_charge,
	.record_flow = pipe_record_flow,
	.can_flush = pipe_can_flush,
	.flush_backlog = pipe_flush_backlog,
	.send = pipe_send,
	.space = pipe_space,
	.idle = pipe_idle,
	.read = pipe_read,
	.unread = pipe_unread,
	.status = pipe_status,
};

static void end_init(struct pipe_end *e, struct pipe_end *peer, u64 seed)
{
	memset(e, 0, sizeof(*e));
	xiw_llp_init(&e->llp, &pipe_ops);
	e->peer = peer;
	spin_lock_init(&e->lock);
	init_waitqueue_head(&e->unowned);
	INIT_WORK(&e->work, end_work);
	skb_queue_head_init(&e->rxq);
	prandom_seed_state(&e->rnd, seed);
	e->emss = PIPE_EMSS;
}

/* Initialise a pipe; @seed determines the cuts. */
void pipe_init(struct pipe_end *a, struct pipe_end *b, u64 seed)
{
	end_init(a, b, seed);
	end_init(b, a, ~seed);
}

/* Let this end send and receive chunks, see struct xiw_llp_ops. */
void pipe_use_chunks(struct pipe_end *e)
{
	e->ops = pipe_ops;
	e->ops.chunks = true;
	e->ops.send = pipe_send_chunks;
	e->llp.ops = &e->ops;
}

/* Lose the connection after @bytes more bytes sent from this end. */
void pipe_break_after(struct pipe_end *e, u32 bytes)
{
	e->left = bytes;
	e->breaks = true;
}

/* Let this end find a fault of its peer, see XIW_LLP_BROKEN. */
void pipe_fault(struct pipe_end *e)
{
	WRITE_ONCE(e->broken, true);
	announce(e, DUE_STATE);
}

/* Hold back or release data sent by the peer. */
void pipe_hold(struct pipe_end *e, bool held)
{
	WRITE_ONCE(e->held, held);
	if (!held)
		announce(e, DUE_DATA);
}

/* Deliver bytes as if the peer had sent them; false without memory. */
bool pipe_feed(struct pipe_end *e, const u8 *src, u32 len)
{
	struct sk_buff *skb = new_packet(e->peer, src, len);

	if (!skb)
		return false;
	atomic_add(len, &e->unread);
	skb_queue_tail(&e->rxq, skb);
	announce(e, DUE_DATA);
	return true;
}

/* Sends FIN. */
void pipe_shutdown(struct pipe_end *e)
{
	WRITE_ONCE(e->fin, true);
	announce(e, DUE_STATE);
	announce(e->peer, DUE_STATE);
}

/* Neither end may be in use. */
void pipe_exit(struct pipe_end *a, struct pipe_end *b)
{
	cancel_work_sync(&a->work);
	cancel_work_sync(&b->work);
	skb_queue_purge(&a->rxq);
	skb_queue_purge(&b->rxq);
}
