// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connection set-up and teardown through the RDMA connection manager: private
 * data, rejects, refusals, listeners, every order of closing, and what a
 * silent or vanishing TCP client may not do to others.
 */
#include "xt.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MANY		12
#define MSG		100

static const struct xt_opts usual = XT_OPTS;

/* Makes a listener at side a, and returns its address. */
static struct sockaddr_storage listen_at_a(struct xt_end *listener)
{
	struct sockaddr_storage sa = xt_addr(&xt_a, 0);

	xt_id(listener, &xt_a);
	return xt_addr(&xt_a, xt_listen(listener, &sa, 64));
}

/* Prepares an active end: resolves the address, and makes a queue pair. */
static void prepare(struct xt_end *e, const struct sockaddr_storage *to)
{
	xt_id(e, &xt_b);
	xt_resolve(e, to);
	xt_qp(e, &usual);
}

/* Makes an active end, which sends its request. */
static void request(struct xt_end *e, const struct sockaddr_storage *to)
{
	prepare(e, to);
	xt_dial(e, &usual, NULL, 0);
}

/* Takes the next request of LISTENER and gives it a queue pair. */
static void take(struct xt_end *e, struct xt_end *listener, struct xt_event *ev)
{
	xt_expect(listener, RDMA_CM_EVENT_CONNECT_REQUEST, ev);
	xt_adopt(e, &xt_a, ev->id);
	xt_qp(e, &usual);
}

static void accepted(struct xt_pair *p)
{
	xt_answer(&p->a, &usual, NULL, 0);
	xt_expect(&p->a, RDMA_CM_EVENT_ESTABLISHED, NULL);
	xt_expect(&p->b, RDMA_CM_EVENT_ESTABLISHED, NULL);
}

/* Sends a message from one end to the other. */
static void talk_one_way(struct xt_end *from, struct xt_end *to,
			 struct xt_buf *out, struct xt_buf *in, __u64 seed)
{
	struct ibv_sge sge = xt_sge(out, 0, MSG);
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, seed, &sge, 1);
	struct ibv_wc wc;

	xt_fill(out->p, MSG, seed);
	xt_send(from, &wr);
	xt_wc_ok(from->scq, seed);
	wc = xt_wc_ok(to->rcq, seed);
	XT_EQ(wc.byte_len, MSG);
	XT_SAME(in->p, MSG, seed);
}

static void talk(struct xt_pair *p, __u64 seed)
{
	struct xt_buf a = xt_buf(&p->a, MSG, XT_LOCAL);
	struct xt_buf b = xt_buf(&p->b, MSG, XT_LOCAL);
	struct ibv_sge sge_a = xt_sge(&a, 0, MSG);
	struct ibv_sge sge_b = xt_sge(&b, 0, MSG);

	xt_recv(&p->a, seed, &sge_a, 1);
	xt_recv(&p->b, seed + 1, &sge_b, 1);
	talk_one_way(&p->b, &p->a, &b, &a, seed);
	talk_one_way(&p->a, &p->b, &a, &b, seed + 1);
	xt_buf_free(&a);
	xt_buf_free(&b);
}

/* Connects to LISTENER, sends a message in each direction, and disconnects. */
static void whole_connection(struct xt_end *listener,
			     const struct sockaddr_storage *sa, __u64 seed)
{
	struct xt_event ev;
	struct xt_pair p;

	request(&p.b, sa);
	take(&p.a, listener, &ev);
	accepted(&p);
	talk(&p, seed);
	xt_hang_up(&p, seed & 1 ? &p.a : &p.b);
}

/* ---- set-up ------------------------------------------------------------ */

static void test_cycle(void)
{
	struct sockaddr_storage sa;
	struct xt_end listener;
	int n = xt_count(200);
	int i;

	sa = listen_at_a(&listener);
	for (i = 0; i < n; i++)
		whole_connection(&listener, &sa, i);
	xt_close(&listener);
}

static void private_data_once(unsigned int ask, unsigned int reply)
{
	struct sockaddr_storage sa;
	struct xt_end listener;
	struct xt_event ev;
	struct xt_pair p;
	__u8 data[256];

	sa = listen_at_a(&listener);
	prepare(&p.b, &sa);
	xt_fill(data, sizeof(data), ask);
	xt_dial(&p.b, &usual, data, ask);
	take(&p.a, &listener, &ev);
	XT_EQ(ev.data_len, ask);
	XT_SAME(ev.data, ask, ask);
	xt_fill(data, sizeof(data), reply + 1000);
	xt_answer(&p.a, &usual, data, reply);
	xt_expect(&p.a, RDMA_CM_EVENT_ESTABLISHED, NULL);
	xt_expect(&p.b, RDMA_CM_EVENT_ESTABLISHED, &ev);
	XT_EQ(ev.data_len, reply);
	XT_SAME(ev.data, reply, reply + 1000);
	talk(&p, 1);
	xt_hang_up(&p, &p.b);
	xt_close(&listener);
}

static void test_private_data(void)
{
	static const unsigned int sizes[] = { 0, 1, 3, 4, 5, 127, 252, 255 };
	size_t i;

	for (i = 0; i < XT_NELEM(sizes); i++)
		private_data_once(sizes[i], sizes[XT_NELEM(sizes) - 1 - i]);
}

static void reject_once(unsigned int len)
{
	struct sockaddr_storage sa;
	struct xt_end listener;
	struct xt_event ev;
	struct xt_end b;
	__u8 data[256];

	sa = listen_at_a(&listener);
	request(&b, &sa);
	xt_expect(&listener, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	xt_fill(data, sizeof(data), len);
	XT_OK(rdma_reject(ev.id, data, len));
	XT_OK(rdma_destroy_id(ev.id));
	xt_expect(&b, RDMA_CM_EVENT_REJECTED, &ev);
	XT_EQ(ev.status, -ECONNREFUSED);
	XT_EQ(ev.data_len, len);
	XT_SAME(ev.data, len, len);
	xt_close(&b);
	whole_connection(&listener, &sa, len);
	xt_close(&listener);
}

static void test_reject(void)
{
	static const unsigned int sizes[] = { 0, 1, 4, 255 };
	size_t i;

	for (i = 0; i < XT_NELEM(sizes); i++)
		reject_once(sizes[i]);
}

static void test_refused(void)
{
	struct sockaddr_storage sa;
	struct xt_end listener;
	struct xt_event ev;
	struct xt_end b;

	/* A port that was just released, so that no program listens there. */
	sa = listen_at_a(&listener);
	xt_close(&listener);
	request(&b, &sa);
	xt_expect(&b, RDMA_CM_EVENT_REJECTED, &ev);
	XT_EQ(ev.status, -ECONNREFUSED);
	XT_EQ(ev.data_len, 0);
	xt_close(&b);
}

static void test_wildcard(void)
{
	struct sockaddr_storage any = {};
	struct sockaddr_storage sa;
	struct xt_end listener;
	struct xt_event ev;
	struct xt_pair p;

	/* All address bytes zero is the wildcard of both families. */
	any.ss_family = xt_a.sa.ss_family;
	xt_id(&listener, &xt_a);
	sa = xt_addr(&xt_a, xt_listen(&listener, &any, 8));
	request(&p.b, &sa);
	take(&p.a, &listener, &ev);
	accepted(&p);
	XT_CHECK(!memcmp(&p.a.id->route.addr.src_storage, &sa,
			 xt_addr_len(&sa)),
		 "the connection has another local address");
	talk(&p, 7);
	xt_hang_up(&p, &p.a);
	xt_close(&listener);
}

static void test_bound(void)
{
	struct sockaddr_storage other = xt_addr(&xt_other, 0);
	struct sockaddr_storage sa;
	struct xt_end listener;
	struct xt_event ev;
	struct xt_end b;
	int port;

	XT_CHECK(other.ss_family, "the case needs -o");
	xt_id(&listener, &xt_a);
	port = xt_listen(&listener, &other, 1);
	sa = xt_addr(&xt_a, port);
	request(&b, &sa);
	xt_expect(&b, RDMA_CM_EVENT_REJECTED, &ev);
	XT_EQ(ev.status, -ECONNREFUSED);
	xt_close(&b);
	other = xt_addr(&xt_other, port);
	whole_connection(&listener, &other, 1);
	xt_close(&listener);
}

static void test_two_listeners(void)
{
	struct sockaddr_storage first_sa;
	struct sockaddr_storage second_sa;
	struct xt_end second;
	struct xt_end first;
	struct xt_end clash;

	first_sa = listen_at_a(&first);
	second_sa = listen_at_a(&second);
	xt_id(&clash, &xt_a);
	XT_CHECK(rdma_bind_addr(clash.id, (struct sockaddr *)&first_sa) ||
		 rdma_listen(clash.id, 1), "two listeners at one address");
	xt_close(&clash);
	whole_connection(&second, &second_sa, 2);
	whole_connection(&first, &first_sa, 1);
	xt_close(&first);
	whole_connection(&second, &second_sa, 3);
	xt_close(&second);
}

static void test_read_limits(void)
{
	struct xt_opts ob = XT_OPTS;
	struct xt_opts oa = XT_OPTS;
	struct ibv_qp_init_attr init;
	struct sockaddr_storage sa;
	struct ibv_qp_attr attr;
	struct xt_end listener;
	struct xt_event ev;
	struct xt_pair p;

	/*
	 * Each end receives the depths of the other one, and does not exceed
	 * them.
	 */
	ob.ird = 5;
	ob.ord = 3;
	oa.ird = 3;
	oa.ord = 2;
	sa = listen_at_a(&listener);
	prepare(&p.b, &sa);
	xt_dial(&p.b, &ob, NULL, 0);
	take(&p.a, &listener, &ev);
	XT_EQ(ev.initiator_depth, 5);
	XT_EQ(ev.responder_resources, 3);
	xt_answer(&p.a, &oa, NULL, 0);
	xt_expect(&p.a, RDMA_CM_EVENT_ESTABLISHED, NULL);
	xt_expect(&p.b, RDMA_CM_EVENT_ESTABLISHED, &ev);
	XT_EQ(ev.initiator_depth, 3);
	XT_EQ(ev.responder_resources, 2);
	XT_OK(ibv_query_qp(p.b.qp, &attr, IBV_QP_MAX_QP_RD_ATOMIC |
			   IBV_QP_STATE, &init));
	XT_EQ(attr.qp_state, IBV_QPS_RTS);
	XT_CHECK(attr.max_rd_atomic <= 3, "ORD %u", attr.max_rd_atomic);
	talk(&p, 9);
	xt_hang_up(&p, &p.b);
	xt_close(&listener);
}

static void test_elsewhere(void)
{
	struct rdma_conn_param param = { .initiator_depth = 1 };
	struct sockaddr_storage sa;
	struct xt_end listener;
	struct xt_event ev;
	struct xt_pair p;

	/* The request is made from a process in the other namespace. */
	sa = listen_at_a(&listener);
	prepare(&p.b, &sa);
	xt_enter(&xt_a);
	XT_OK(rdma_connect(p.b.id, &param));
	take(&p.a, &listener, &ev);
	accepted(&p);
	talk(&p, 4);
	xt_hang_up(&p, &p.b);
	xt_close(&listener);
}

static void test_passive_posts_first(void)
{
	struct xt_buf from;
	struct xt_buf into;
	struct sockaddr_storage sa;
	struct xt_end listener;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct xt_event ev;
	struct xt_pair p;

	/* A message may be held back, but neither lost nor out of order. */
	sa = listen_at_a(&listener);
	prepare(&p.b, &sa);
	into = xt_buf(&p.b, MSG, XT_LOCAL);
	sge = xt_sge(&into, 0, MSG);
	xt_recv(&p.b, 50, &sge, 1);
	xt_dial(&p.b, &usual, NULL, 0);
	take(&p.a, &listener, &ev);
	from = xt_buf(&p.a, MSG, XT_LOCAL);
	sge = xt_sge(&from, 0, MSG);
	xt_recvs(&p.a, 51, 1);
	accepted(&p);
	xt_fill(from.p, MSG, 50);
	wr = xt_wr(IBV_WR_SEND, 50, &sge, 1);
	xt_send(&p.a, &wr);

	wr = xt_wr(IBV_WR_SEND, 51, NULL, 0);
	xt_send(&p.b, &wr);
	xt_wc_ok(p.b.scq, 51);
	XT_EQ(xt_wc_ok(p.a.rcq, 51).byte_len, 0);
	xt_wc_ok(p.a.scq, 50);
	XT_EQ(xt_wc_ok(p.b.rcq, 50).byte_len, MSG);
	XT_SAME(into.p, MSG, 50);
	xt_buf_free(&from);
	xt_buf_free(&into);
	xt_hang_up(&p, &p.a);
	xt_close(&listener);
}

/* ---- closing ----------------------------------------------------------- */

static void close_by(bool a, bool b)
{
	struct xt_pair p;

	xt_pair(&p, NULL, NULL);
	talk(&p, 3);
	xt_recvs(&p.a, 10, 5);
	xt_recvs(&p.b, 20, 5);
	if (a)
		XT_OK(rdma_disconnect(p.a.id));
	/* The disconnect at a may have ended the connection for b, too. */
	if (b && rdma_disconnect(p.b.id) && !a)
		XT_CHECK(false, "disconnect: %m");
	xt_expect(&p.a, RDMA_CM_EVENT_DISCONNECTED, NULL);
	xt_expect(&p.b, RDMA_CM_EVENT_DISCONNECTED, NULL);
	xt_flushed(p.a.rcq, 10, 5);
	xt_flushed(p.b.rcq, 20, 5);
	xt_close(&p.a);
	xt_close(&p.b);
}

static void test_close_by_active(void)
{
	close_by(false, true);
}

static void test_close_by_passive(void)
{
	close_by(true, false);
}

static void test_close_by_both(void)
{
	close_by(true, true);
}

static void test_close_by_destroy(void)
{
	struct xt_pair p;

	/* Destroys the queue pair and the identifier without a disconnect. */
	xt_pair(&p, NULL, NULL);
	xt_recvs(&p.a, 10, 5);
	xt_close(&p.b);
	xt_expect(&p.a, RDMA_CM_EVENT_DISCONNECTED, NULL);
	xt_flushed(p.a.rcq, 10, 5);
	xt_close(&p.a);
}

static void test_close_under_load(void)
{
	struct xt_opts o = XT_OPTS;
	struct ibv_send_wr wr;
	struct xt_buf from;
	struct xt_buf to;
	struct ibv_sge sge;
	struct xt_pair p;
	struct ibv_wc wc;
	unsigned int i;
	bool flushed = false;

	xt_pair(&p, &o, &o);
	from = xt_buf(&p.b, 16384, XT_LOCAL);
	to = xt_buf(&p.a, 16384, XT_REMOTE);
	sge = xt_sge(&from, 0, 16384);
	for (i = 0; i < 32; i++) {
		wr = xt_wr_to(i & 1 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, i,
			      &sge, 1, &to, 0);
		xt_send(&p.b, &wr);
	}
	XT_OK(rdma_disconnect(p.a.id));
	xt_expect(&p.a, RDMA_CM_EVENT_DISCONNECTED, NULL);
	xt_expect(&p.b, RDMA_CM_EVENT_DISCONNECTED, NULL);
	for (i = 0; i < 32; i++) {
		xt_wait(p.b.scq, &wc);
		XT_EQ(wc.wr_id, i);
		XT_CHECK(!flushed || wc.status != IBV_WC_SUCCESS,
			 "WR %u succeeded after one that did not", i);
		flushed = wc.status != IBV_WC_SUCCESS;
	}
	XT_EQ(ibv_poll_cq(p.b.scq, 1, &wc), 0);
	XT_GUARDS(&to);
	XT_GUARDS(&from);
	xt_buf_free(&from);
	xt_buf_free(&to);
	xt_close(&p.a);
	xt_close(&p.b);
}

/* ---- many connections -------------------------------------------------- */

static void test_many(void)
{
	static struct xt_pair p[MANY];
	struct sockaddr_storage sa;
	struct xt_end listener;
	struct xt_end passive;
	struct xt_event ev;
	int port;
	int i;
	int j;

	/* Begin all connects before the first request is read. */
	sa = listen_at_a(&listener);
	for (i = 0; i < MANY; i++)
		request(&p[i].b, &sa);
	for (i = 0; i < MANY; i++) {
		take(&passive, &listener, &ev);
		port = ntohs(rdma_get_dst_port(passive.id));
		for (j = 0; j < MANY; j++)
			if (ntohs(rdma_get_src_port(p[j].b.id)) == port)
				break;
		XT_CHECK(j < MANY && !p[j].a.id, "a request from port %d",
			 port);
		p[j].a = passive;
	}
	for (i = 0; i < MANY; i++)
		accepted(&p[i]);
	for (i = 0; i < MANY; i++)
		talk(&p[i], 10 * i);
	for (i = 0; i < MANY; i += 2)
		xt_hang_up(&p[i], i & 2 ? &p[i].a : &p[i].b);
	for (i = 1; i < MANY; i += 2)
		talk(&p[i], 1000 * i);
	for (i = 1; i < MANY; i += 2)
		xt_hang_up(&p[i], i & 2 ? &p[i].a : &p[i].b);
	xt_close(&listener);
}

/* ---- peers that go away ------------------------------------------------ */

static void test_client_gone_before_accept(void)
{
	struct rdma_conn_param param = {};
	struct sockaddr_storage sa;
	struct xt_end listener;
	struct xt_event ev;
	struct xt_end a;
	struct xt_end b;

	sa = listen_at_a(&listener);
	request(&b, &sa);
	take(&a, &listener, &ev);
	xt_close(&b);
	/*
	 * Either the accept fails or an event ends the connection, which may
	 * look established until the peer's end has arrived.
	 */
	if (!rdma_accept(a.id, &param)) {
		do {
			xt_next_event(&a, &ev);
		} while (ev.type == RDMA_CM_EVENT_ESTABLISHED);
		XT_CHECK(ev.type == RDMA_CM_EVENT_DISCONNECTED ||
			 ev.type == RDMA_CM_EVENT_CONNECT_ERROR,
			 "event %s", rdma_event_str(ev.type));
	}
	xt_close(&a);
	whole_connection(&listener, &sa, 8);
	xt_close(&listener);
}

static void test_listener_gone_before_accept(void)
{
	struct sockaddr_storage sa;
	struct xt_end listener;
	struct xt_event ev;
	struct xt_end b;

	sa = listen_at_a(&listener);
	request(&b, &sa);
	/* Wait until the request has arrived, but do not read its event. */
	XT_HERE();
	while (!xt_readable(listener.ch->fd))
		sched_yield();
	xt_close(&listener);
	xt_next_event(&b, &ev);
	XT_CHECK(ev.type == RDMA_CM_EVENT_REJECTED ||
		 ev.type == RDMA_CM_EVENT_CONNECT_ERROR ||
		 ev.type == RDMA_CM_EVENT_UNREACHABLE,
		 "event %s", rdma_event_str(ev.type));
	XT_CHECK(ev.status < 0, "status %d", ev.status);
	xt_close(&b);
}

/* Opens a TCP connection from side b. */
static int tcp_connect(const struct sockaddr_storage *sa)
{
	int fd;

	xt_enter(&xt_b);
	fd = socket(sa->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	XT_CHECK(fd >= 0, "socket: %m");
	XT_OK(connect(fd, (struct sockaddr *)sa, xt_addr_len(sa)));
	return fd;
}

/*
 * iw_cm drops requests that it has not passed on when a listener ends. kmemleak
 * checks their memory; this case checks that the peers need not wait for an
 * answer.
 */
static void test_listener_restarts(void)
{
	static const char ask[20] = "MPA ID Req Frame\x40\x01\x00\x64";
	struct sockaddr_storage sa;
	struct xt_end listener;
	struct xt_event ev;
	char frame[sizeof(ask) + 100];
	char got[sizeof(ask) + 1];
	int fd[8];
	size_t i;
	int round;

	memcpy(frame, ask, sizeof(ask));
	xt_fill(frame + sizeof(ask), sizeof(frame) - sizeof(ask), 9);
	for (round = 0; round < 10; round++) {
		sa = listen_at_a(&listener);
		for (i = 0; i < XT_NELEM(fd); i++) {
			fd[i] = tcp_connect(&sa);
			XT_EQ(send(fd[i], frame, sizeof(frame), MSG_NOSIGNAL),
			      sizeof(frame));
		}
		/* Close the listener at another moment in each round. */
		if (round & 1)
			xt_expect(&listener, RDMA_CM_EVENT_CONNECT_REQUEST,
				  &ev);
		for (i = 0; i < (size_t)round % 7; i++)
			sched_yield();
		if (round & 1)
			XT_OK(rdma_destroy_id(ev.id));
		xt_close(&listener);
		for (i = 0; i < XT_NELEM(fd); i++) {
			XT_CHECK(recv(fd[i], got, sizeof(got), 0) <=
				 (ssize_t)sizeof(ask), "more than a Reply");
			close(fd[i]);
		}
	}
}

static void tcp_reset(int fd)
{
	struct linger now = { .l_onoff = 1 };

	XT_OK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)));
	close(fd);
}

static void test_raw_close(void)
{
	struct sockaddr_storage sa;
	struct xt_end listener;
	int i;

	sa = listen_at_a(&listener);
	for (i = 0; i < 8; i++) {
		if (i & 1)
			tcp_reset(tcp_connect(&sa));
		else
			close(tcp_connect(&sa));
	}
	whole_connection(&listener, &sa, 1);
	xt_close(&listener);
}

static void test_raw_silent(void)
{
	static const char some[] = "MPA ID R";
	struct sockaddr_storage sa;
	struct xt_end listener;
	int silent[4];
	size_t i;

	/* Peers that stay silent after 0, 2, 4, ... bytes of a Request. */
	sa = listen_at_a(&listener);
	for (i = 0; i < XT_NELEM(silent); i++) {
		silent[i] = tcp_connect(&sa);
		XT_EQ(send(silent[i], some, 2 * i, 0), 2 * i);
	}
	for (i = 0; i < 4; i++)
		whole_connection(&listener, &sa, i);
	xt_close(&listener);
	for (i = 0; i < XT_NELEM(silent); i++)
		close(silent[i]);
}

/*
 * Connections of one peer, whose Requests arrive in reverse order. Those before
 * FIRST send none. They are reported in the order of their connections.
 */
static void requests_in_reverse(__u8 first)
{
	static const char ask[20] = "MPA ID Req Frame\x40\x01\x00\x01";
	struct sockaddr_storage sa;
	struct xt_end listener;
	struct xt_event ev;
	int fds[5];
	__u8 i;

	sa = listen_at_a(&listener);
	for (i = 0; i < XT_NELEM(fds); i++)
		fds[i] = tcp_connect(&sa);
	while (i-- > first) {
		XT_EQ(send(fds[i], ask, sizeof(ask), MSG_MORE), sizeof(ask));
		XT_EQ(send(fds[i], &i, 1, 0), 1);
	}
	for (i = first; i < XT_NELEM(fds); i++) {
		xt_expect(&listener, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
		XT_EQ(ev.data_len, 1);
		XT_EQ(ev.data[0], i);
		XT_OK(rdma_reject(ev.id, NULL, 0));
		XT_OK(rdma_destroy_id(ev.id));
	}
	xt_close(&listener);
	for (i = 0; i < XT_NELEM(fds); i++)
		close(fds[i]);
}

static void test_raw_order(void)
{
	requests_in_reverse(0);
}

static void test_raw_order_silent(void)
{
	requests_in_reverse(1);
}

static void test_raw_garbage(void)
{
	struct sockaddr_storage sa;
	struct xt_end listener;
	char junk[64];
	int fd;

	sa = listen_at_a(&listener);
	fd = tcp_connect(&sa);
	xt_fill(junk, sizeof(junk), 66);
	XT_EQ(send(fd, junk, sizeof(junk), 0), sizeof(junk));
	/* The answer is an end of the stream or a reset, never a byte. */
	XT_CHECK(recv(fd, junk, sizeof(junk), 0) <= 0, "an answer to garbage");
	close(fd);
	XT_CHECK(!xt_readable(listener.ch->fd), "an event for garbage");
	whole_connection(&listener, &sa, 5);
	xt_close(&listener);
}

static void test_raw_reject(void)
{
	static const char ask[20] = "MPA ID Req Frame\x40\x01\x00";
	static const char want[20] = "MPA ID Rep Frame\x60\x01\x00\x09";
	struct sockaddr_storage sa;
	struct xt_end listener;
	struct xt_event ev;
	char got[64];
	int fd;

	/* The peer of a reject receives the Reply, then a clean FIN. */
	sa = listen_at_a(&listener);
	fd = tcp_connect(&sa);
	XT_EQ(send(fd, ask, sizeof(ask), 0), sizeof(ask));
	xt_expect(&listener, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	XT_EQ(ev.data_len, 0);
	XT_OK(rdma_reject(ev.id, "no thanks", 9));
	XT_OK(rdma_destroy_id(ev.id));
	XT_EQ(recv(fd, got, sizeof(want) + 9, MSG_WAITALL), sizeof(want) + 9);
	XT_CHECK(!memcmp(got, want, 16) && (got[16] & 0x20) && got[17] == 1 &&
		 !memcmp(got + 18, want + 18, 2), "another Reply");
	XT_CHECK(!memcmp(got + sizeof(want), "no thanks", 9),
		 "other private data");
	XT_EQ(recv(fd, got, sizeof(got), 0), 0);
	close(fd);
	whole_connection(&listener, &sa, 6);
	xt_close(&listener);
}

/*
 * Accepts a Request for the peer-to-peer model from a TCP client. The client
 * sends no RTR, so the connection is not established.
 */
static int half_accepted(struct xt_end *listener, struct xt_end *e)
{
	static const char ask[24] =
		"MPA ID Req Frame\x50\x02\x00\x04\xc0\x01\xc0\x01";
	struct sockaddr_storage sa = listen_at_a(listener);
	struct xt_event ev;
	char reply[24];
	int fd;

	fd = tcp_connect(&sa);
	XT_EQ(send(fd, ask, sizeof(ask), 0), sizeof(ask));
	take(e, listener, &ev);
	xt_answer(e, &usual, NULL, 0);
	XT_EQ(recv(fd, reply, sizeof(reply), MSG_WAITALL), sizeof(reply));
	return fd;
}

/* A second accept gets an error, and has no other effect. */
static void accept_again(bool other_qp)
{
	struct rdma_conn_param param = { .responder_resources = 1 };
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *other = NULL;
	struct xt_end listener;
	struct xt_end e;
	char byte;
	int fd;

	fd = half_accepted(&listener, &e);
	attr.send_cq = e.scq;
	attr.recv_cq = e.rcq;
	if (other_qp) {
		other = XT_PTR(ibv_create_qp(e.pd, &attr));
		e.id->qp = other;
	}
	XT_CHECK(rdma_accept(e.id, &param), "accepted twice");
	XT_CHECK(rdma_accept(e.id, &param), "accepted a third time");
	e.id->qp = e.qp;
	XT_CHECK(recv(fd, &byte, 1, 0) <= 0, "more than a Reply");
	close(fd);
	if (other)
		XT_OK(ibv_destroy_qp(other));
	xt_close(&e);
	xt_close(&listener);
}

static void test_accept_again(void)
{
	accept_again(false);
	accept_again(true);
}

static void test_reject_accepted(void)
{
	struct xt_end listener;
	struct xt_end e;
	char byte;
	int fd;

	fd = half_accepted(&listener, &e);
	/* Where iw_cm refuses a second answer, the accept stays. */
	XT_EQ(rdma_reject(e.id, NULL, 0) ? errno : 0,
	      xt_patched() ? EINVAL : 0);
	XT_CHECK(recv(fd, &byte, 1, 0) <= 0, "more than a Reply");
	close(fd);
	XT_CHECK(rdma_reject(e.id, NULL, 0), "rejected twice");
	xt_close(&e);
	xt_close(&listener);
}

static const struct xt_case cases[] = {
	{ "cycle", "connections set up, used and closed in a row",
	  test_cycle },
	{ "private-data", "private data of 0 to 255 bytes arrives exact",
	  test_private_data },
	{ "reject", "a reject arrives with its private data",
	  test_reject },
	{ "refused", "a port without listener refuses",
	  test_refused },
	{ "wildcard", "a wildcard listener is reached",
	  test_wildcard },
	{ "bound", "a listener at another address is not reached",
	  test_bound },
	{ "two-listeners", "listeners do not disturb each other",
	  test_two_listeners },
	{ "read-limits", "IRD and ORD are reported and obeyed",
	  test_read_limits },
	{ "elsewhere", "a connection is made from another namespace",
	  test_elsewhere },
	{ "passive-first", "a send posted first by the passive end arrives",
	  test_passive_posts_first },
	{ "close-active", "the active end disconnects",
	  test_close_by_active },
	{ "close-passive", "the passive end disconnects",
	  test_close_by_passive },
	{ "close-both", "both ends disconnect",
	  test_close_by_both },
	{ "close-destroy", "one end destroys its queue pair",
	  test_close_by_destroy },
	{ "close-load", "a disconnect under load completes each WR once",
	  test_close_under_load },
	{ "many", "simultaneous connections keep apart",
	  test_many },
	{ "client-gone", "the client leaves before the accept",
	  test_client_gone_before_accept },
	{ "listener-gone", "the listener leaves before the accept",
	  test_listener_gone_before_accept },
	{ "listener-restarts", "requests to a listener that ends are answered",
	  test_listener_restarts },
	{ "raw-close", "TCP clients that only close leave the listener alone",
	  test_raw_close },
	{ "raw-silent", "silent TCP clients delay no other connection",
	  test_raw_silent },
	{ "raw-order", "one peer's requests come in the order of its connects",
	  test_raw_order },
	{ "raw-order-silent", "even if an older one never has a request",
	  test_raw_order_silent },
	{ "raw-garbage", "garbage instead of a request is hung up on",
	  test_raw_garbage },
	{ "raw-reject", "a reject is a Reply and an orderly end",
	  test_raw_reject },
	{ "accept-again", "accepting twice harms no connection",
	  test_accept_again },
	{ "reject-accepted", "nor does rejecting what was accepted",
	  test_reject_accepted },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
