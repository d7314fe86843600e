// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * One end of a connection under load, see load.h.
 */
#include "load.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEPTH		6
#define BLOCK		8192UL
#define MSG		2000UL
#define RECVS		4
#define LAST		10
#define READ_SEED	4242
#define WRITE_SEED	8484

/* Private data of each end: the memory that the peer may access */
struct offer {
	__u64 addr;
	__u32 rkey;
	__u32 len;
};

/**
 * struct load - an end of a connection under load
 * @data: DEPTH blocks to write from and read into, a message to send, RECVS
 *	messages to receive
 * @open: a block that the peer writes, a block that it reads
 * @busy: slots of @data in use: DEPTH transfers, a Send, RECVS receives
 */
struct load {
	struct xt_end e;
	struct xt_buf data;
	struct xt_buf open;
	struct offer peer;
	bool busy[DEPTH + 1 + RECVS];
	__u64 sent;
	__u64 received;
	__u64 limit;
	__u64 last_ms;
	__u64 gap_ms;
	bool ended;
	bool gone;
	void (*runs)(void);
};

static volatile sig_atomic_t told_to_end;

/* load_end: signal handler that ends the load after some more messages. */
void load_end(int sig)
{
	(void)sig;
	told_to_end = 1;
}

static size_t slot_off(unsigned int slot)
{
	if (slot < DEPTH)
		return slot * BLOCK;
	return DEPTH * BLOCK + (slot - DEPTH) * MSG;
}

static bool is_read(unsigned int slot)
{
	return slot % 3 == 0;
}

static void start(struct load *l, unsigned int slot)
{
	XT_CHECK(!l->busy[slot], "slot %u is busy", slot);
	l->busy[slot] = true;
}

/* Marks the work request of @slot as complete; it must be outstanding. */
static void finish(struct load *l, __u64 slot)
{
	XT_CHECK(slot < XT_NELEM(l->busy) && l->busy[slot],
		 "a completion of %llu, which is not under way", slot);
	l->busy[slot] = false;
}

/*
 * Handles the result of a post. After the removal of a device, calls fail with
 * EIO or ENODEV even before the event is reported.
 */
static void posted(struct load *l, int ret)
{
	if (ret == EIO || ret == ENODEV)
		l->gone = true;
	else
		XT_CHECK(!ret, "post: %s", strerror(ret));
}

static void transfer(struct load *l, unsigned int slot)
{
	struct ibv_sge sge = xt_sge(&l->data, slot_off(slot), BLOCK);
	struct ibv_send_wr wr;

	wr = xt_wr(is_read(slot) ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, slot,
		   &sge, 1);
	wr.wr.rdma.remote_addr = l->peer.addr + (is_read(slot) ? BLOCK : 0);
	wr.wr.rdma.rkey = l->peer.rkey;
	start(l, slot);
	posted(l, xt_try_send(&l->e, &wr));
}

static void receive(struct load *l, unsigned int slot)
{
	struct ibv_sge sge = xt_sge(&l->data, slot_off(slot), MSG);

	start(l, slot);
	posted(l, xt_try_recv(&l->e, slot, &sge, 1));
}

/*
 * Sends the next message, when that of the peer has arrived: it has a receive.
 */
static void send_message(struct load *l)
{
	struct ibv_sge sge = xt_sge(&l->data, slot_off(DEPTH), MSG);
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, DEPTH, &sge, 1);

	xt_fill(l->data.p + slot_off(DEPTH), MSG, l->sent++);
	start(l, DEPTH);
	posted(l, xt_try_send(&l->e, &wr));
}

/* ---- completions ------------------------------------------------------- */

static void completed_send(struct load *l, const struct ibv_wc *wc)
{
	finish(l, wc->wr_id);
	if (wc->status != IBV_WC_SUCCESS || l->ended || wc->wr_id == DEPTH)
		return;
	if (is_read(wc->wr_id))
		XT_SAME(l->data.p + slot_off(wc->wr_id), BLOCK, READ_SEED);
	transfer(l, wc->wr_id);
}

static void note_gap(struct load *l)
{
	__u64 now = xt_now_us() / 1000;

	if (l->received && now - l->last_ms > l->gap_ms)
		l->gap_ms = now - l->last_ms;
	l->last_ms = now;
}

static void completed_receive(struct load *l, const struct ibv_wc *wc)
{
	finish(l, wc->wr_id);
	if (wc->status != IBV_WC_SUCCESS)
		return;
	XT_EQ(wc->byte_len, MSG);
	XT_SAME(l->data.p + slot_off(wc->wr_id), MSG, l->received);
	note_gap(l);
	l->received++;
	if (l->received == 1)
		l->runs();
	if (l->ended)
		return;
	receive(l, wc->wr_id);
	if (told_to_end) {
		told_to_end = 0;
		l->limit = l->received + LAST;
	}
	if (l->limit && l->received >= l->limit) {
		l->limit = 0;
		XT_OK(rdma_disconnect(l->e.id));
	} else if (!l->busy[DEPTH]) {
		send_message(l);
	}
}

/* Returns the number of completions found. */
static int drain(struct load *l)
{
	struct ibv_wc wc;
	int found = 0;

	while (ibv_poll_cq(l->e.scq, 1, &wc) > 0) {
		completed_send(l, &wc);
		found++;
	}
	/* A message is answered only when the last answer has completed. */
	while (!l->busy[DEPTH] && ibv_poll_cq(l->e.rcq, 1, &wc) > 0) {
		completed_receive(l, &wc);
		found++;
	}
	return found;
}

static unsigned int under_way(const struct load *l)
{
	unsigned int n = 0;
	size_t i;

	for (i = 0; i < XT_NELEM(l->busy); i++)
		n += l->busy[i];
	return n;
}

/* ---- events ------------------------------------------------------------ */

static void cq_event(struct load *l, struct ibv_cq *cq, short revents)
{
	struct ibv_cq *which;
	void *context;

	if (!revents)
		return;
	if (ibv_get_cq_event(cq->channel, &which, &context)) {
		XT_CHECK(errno == EIO, "completion event: %m");
		l->gone = true;
		return;
	}
	ibv_ack_cq_events(which, 1);
}

static void cm_event(struct load *l, short revents)
{
	struct xt_event ev;

	if (!revents)
		return;
	xt_next_event(&l->e, &ev);
	switch (ev.type) {
	case RDMA_CM_EVENT_DISCONNECTED:
		l->ended = true;
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		l->gone = true;
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		break;
	default:
		XT_CHECK(false, "event %s (%d)", rdma_event_str(ev.type),
			 ev.status);
	}
}

static void async_event(struct load *l, short revents)
{
	struct ibv_async_event ev;

	if (!revents)
		return;
	if (ibv_get_async_event(l->e.id->verbs, &ev)) {
		XT_CHECK(errno == EIO, "async event: %m");
		l->gone = true;
		return;
	}
	xt_note("async event %s", ibv_event_type_str(ev.event_type));
	if (ev.event_type == IBV_EVENT_DEVICE_FATAL)
		l->gone = true;
	ibv_ack_async_event(&ev);
}

static void wait_for_something(struct load *l)
{
	struct pollfd p[] = {
		{ .fd = l->e.ch->fd, .events = POLLIN },
		{ .fd = l->e.scq->channel->fd, .events = POLLIN },
		{ .fd = l->e.rcq->channel->fd, .events = POLLIN },
		{ .fd = l->e.id->verbs->async_fd, .events = POLLIN },
	};

	XT_HERE();
	if (poll(p, XT_NELEM(p), -1) < 0) {
		XT_CHECK(errno == EINTR, "poll: %m");
		return;
	}
	cm_event(l, p[0].revents);
	if (!l->gone)
		cq_event(l, l->e.scq, p[1].revents);
	if (!l->gone)
		cq_event(l, l->e.rcq, p[2].revents);
	if (!l->gone)
		async_event(l, p[3].revents);
}

/* Arming may fail when the device was just removed; an event follows. */
static void arm(struct ibv_cq *cq)
{
	int ret = ibv_req_notify_cq(cq, 0);

	XT_CHECK(!ret || ret == EIO || ret == ENODEV, "arm: %d", ret);
}

static void run(struct load *l)
{
	while (!l->gone && !(l->ended && !under_way(l))) {
		if (drain(l))
			continue;
		arm(l->e.scq);
		arm(l->e.rcq);
		if (!drain(l))
			wait_for_something(l);
	}
}

/* ---- set-up ------------------------------------------------------------ */

static struct offer memory(struct load *l)
{
	struct offer mine;
	unsigned int i;

	l->data = xt_buf(&l->e, slot_off(XT_NELEM(l->busy)), XT_LOCAL);
	l->open = xt_buf(&l->e, 2 * BLOCK, XT_REMOTE);
	for (i = 0; i < DEPTH; i++)
		if (!is_read(i))
			xt_fill(l->data.p + slot_off(i), BLOCK, WRITE_SEED);
	xt_fill(l->open.p + BLOCK, BLOCK, READ_SEED);
	for (i = 0; i < RECVS; i++)
		receive(l, DEPTH + 1 + i);
	memset(&mine, 0, sizeof(mine));
	mine.addr = (uintptr_t)l->open.p;
	mine.rkey = l->open.mr->rkey;
	mine.len = 2 * BLOCK;
	return mine;
}

static void take_offer(struct load *l, const struct xt_event *ev)
{
	XT_CHECK(ev->data_len >= sizeof(l->peer), "no offer in %u bytes",
		 ev->data_len);
	memcpy(&l->peer, ev->data, sizeof(l->peer));
	XT_EQ(l->peer.len, 2 * BLOCK);
}

static void set_tos(struct xt_end *e, const struct load_opts *lo)
{
	__u8 tos = lo->tos;

	if (tos)
		XT_OK(rdma_set_option(e->id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS,
				      &tos, sizeof(tos)));
}

static void serve(struct load *l, const struct load_opts *lo,
		  const struct xt_opts *o)
{
	struct sockaddr_storage sa = xt_addr(lo->side, lo->port);
	struct xt_end listener;
	struct xt_event ev;
	struct offer mine;

	xt_id(&listener, lo->side);
	set_tos(&listener, lo);
	xt_listen(&listener, &sa, 4);
	if (lo->listens)
		lo->listens();
	xt_expect(&listener, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	take_offer(l, &ev);
	xt_adopt(&l->e, lo->side, ev.id);
	xt_qp(&l->e, o);
	mine = memory(l);
	xt_answer(&l->e, o, &mine, sizeof(mine));
	xt_expect(&l->e, RDMA_CM_EVENT_ESTABLISHED, NULL);
	xt_close(&listener);
}

static void call(struct load *l, const struct load_opts *lo,
		 const struct xt_opts *o)
{
	struct sockaddr_storage sa = xt_addr(lo->peer, lo->port);
	struct xt_event ev;
	struct offer mine;

	xt_id(&l->e, lo->side);
	set_tos(&l->e, lo);
	xt_resolve(&l->e, &sa);
	xt_qp(&l->e, o);
	mine = memory(l);
	xt_dial(&l->e, o, &mine, sizeof(mine));
	xt_expect(&l->e, RDMA_CM_EVENT_ESTABLISHED, &ev);
	take_offer(l, &ev);
	send_message(l);
}

/* The block that the peer writes has only bytes that the peer did write. */
static void check_written(const struct load *l)
{
	static __u8 want[BLOCK];
	size_t i;

	xt_fill(want, BLOCK, WRITE_SEED);
	for (i = 0; i < BLOCK; i++)
		XT_CHECK(!l->open.p[i] || l->open.p[i] == want[i],
			 "byte %zu was written as %02x, not %02x", i,
			 l->open.p[i], want[i]);
}

/* The device has written only within the regions. */
static void check(const struct load *l)
{
	XT_GUARDS(&l->data);
	XT_GUARDS(&l->open);
	XT_SAME(l->open.p + BLOCK, BLOCK, READ_SEED);
	check_written(l);
}

/* load_run: runs a connection; returns when it has ended without an error. */
struct load_result load_run(const struct load_opts *lo)
{
	static struct load l;
	struct xt_opts o = XT_OPTS;
	unsigned int i;

	l.limit = lo->limit;
	l.runs = lo->runs;
	if (lo->passive)
		serve(&l, lo, &o);
	else
		call(&l, lo, &o);
	for (i = 0; i < DEPTH; i++)
		transfer(&l, i);
	run(&l);
	check(&l);
	return (struct load_result){ .gone = l.gone, .received = l.received,
				     .gap_ms = l.gap_ms };
}
