// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * One end of a test between two RDMA devices:
 *
 *	pair -s|-c CASE ADDRESS PORT
 *
 * The server (-s) listens at the address, says "ready", and both carry out
 * their part of the case. Exit status 0 if all was as it should be, KSFT_SKIP
 * if the device cannot do this, else KSFT_FAIL.
 *
 * The client sends first: on iWARP a server has to wait for that.
 */
#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "../kselftest.h"

#define SIZE		0x100000
#define WINDOW		16
#define MANY		32
#define CROWD		16

/*
 * The buffer has four parts: what is sent, what is received, what the peer
 * accesses, and control messages.
 */
enum part { OUT, IN, REMOTE, CONTROL, PARTS };

struct end {
	bool server;
	const char *address;
	const char *port;
	struct rdma_cm_id *listen;
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	unsigned char *buf;
};

/* Where the peer may read and write. */
struct grant {
	uint64_t addr;
	uint32_t rkey;
};

#define check(cond, ...)					\
	do {							\
		if (!(cond))					\
			err(KSFT_FAIL, __VA_ARGS__);		\
	} while (0)

static unsigned char *part(const struct end *e, enum part p)
{
	return e->buf + p * SIZE;
}

static void fill(unsigned char *buf, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		buf[i] = (i * 7 + (i >> 8) * 13 + seed) & 0xff;
}

static bool is_filled(const unsigned char *buf, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (buf[i] != ((i * 7 + (i >> 8) * 13 + seed) & 0xff))
			return false;
	return true;
}

/*
 * Connections
 */

static struct rdma_addrinfo *resolve(const struct end *e)
{
	struct rdma_addrinfo hints = {
		.ai_port_space = RDMA_PS_TCP,
		.ai_flags = RAI_NUMERICHOST | (e->server ? RAI_PASSIVE : 0),
	};
	struct rdma_addrinfo *info;

	check(!rdma_getaddrinfo(e->address, e->port, &hints, &info),
	      "no address %s", e->address);
	return info;
}

static struct rdma_cm_id *create(const struct end *e)
{
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = WINDOW,
			.max_recv_wr = WINDOW,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.sq_sig_all = 1,
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_addrinfo *info = resolve(e);
	struct rdma_cm_id *id;

	check(!rdma_create_ep(&id, info, NULL, &attr), "no endpoint");
	rdma_freeaddrinfo(info);
	return id;
}

static void register_buf(struct end *e)
{
	e->buf = calloc(PARTS, SIZE);
	check(e->buf, "no memory");
	e->mr = ibv_reg_mr(e->id->pd, e->buf, PARTS * SIZE,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_WRITE);
	check(e->mr, "no memory region");
}

static void post_recv(struct end *e, enum part p, size_t offset, size_t len)
{
	check(!rdma_post_recv(e->id, NULL, part(e, p) + offset, len, e->mr),
	      "cannot post a receive");
}

static void listen_at(struct end *e, int backlog)
{
	e->listen = create(e);
	check(!rdma_listen(e->listen, backlog), "cannot listen");
	puts("ready");
	fflush(stdout);
}

static void take_request(struct end *e)
{
	check(!rdma_get_request(e->listen, &e->id), "no request");
}

static struct rdma_conn_param param(void)
{
	return (struct rdma_conn_param) {
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
}

/* Both ends have a receive of the whole input when the connection stands. */
static void connect_ends(struct end *e)
{
	struct rdma_conn_param p = param();

	if (e->server) {
		listen_at(e, 0);
		take_request(e);
	} else {
		e->id = create(e);
	}
	register_buf(e);
	post_recv(e, IN, 0, SIZE);
	if (e->server)
		check(!rdma_accept(e->id, &p), "cannot accept");
	else
		check(!rdma_connect(e->id, &p), "cannot connect");
}

static void wait_event(struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	check(!rdma_get_cm_event(id->channel, &event), "no event");
	check(event->event == type, "event %s instead of %s",
	      rdma_event_str(event->event), rdma_event_str(type));
	rdma_ack_cm_event(event);
}

/*
 * The call takes the event itself, as the identifier is synchronous. It fails
 * if the peer was first: then the event is still to be taken.
 */
static void disconnect(struct end *e)
{
	if (rdma_disconnect(e->id)) {
		wait_event(e->id, RDMA_CM_EVENT_DISCONNECTED);
		return;
	}
	check(e->id->event->event == RDMA_CM_EVENT_DISCONNECTED, "event %s",
	      rdma_event_str(e->id->event->event));
}

/*
 * Messages
 */

static enum ibv_wc_status send_status(struct end *e)
{
	struct ibv_wc wc;

	check(rdma_get_send_comp(e->id, &wc) == 1, "no send completion");
	return wc.status;
}

static void sent(struct end *e)
{
	enum ibv_wc_status status = send_status(e);

	check(status == IBV_WC_SUCCESS, "send: %s", ibv_wc_status_str(status));
}

static struct ibv_wc received(struct end *e)
{
	struct ibv_wc wc;

	check(rdma_get_recv_comp(e->id, &wc) == 1, "no receive completion");
	return wc;
}

static void send_part(struct end *e, enum part p, size_t len)
{
	check(!rdma_post_send(e->id, NULL, part(e, p), len, e->mr, 0),
	      "cannot post a send");
	sent(e);
}

/* Takes a message into the first receive, and posts that again. */
static size_t recv_part(struct end *e)
{
	struct ibv_wc wc = received(e);

	check(wc.status == IBV_WC_SUCCESS, "receive: %s",
	      ibv_wc_status_str(wc.status));
	check(wc.opcode == IBV_WC_RECV, "opcode %d", wc.opcode);
	return wc.byte_len;
}

static void say(struct end *e)
{
	send_part(e, CONTROL, 1);
}

static void hear(struct end *e)
{
	check(recv_part(e) == 1, "another message");
	post_recv(e, IN, 0, SIZE);
}

/* The server grants the client access; the client asks for it. */
static struct grant exchange(struct end *e)
{
	struct grant grant;

	if (e->server) {
		hear(e);
		grant.addr = (uintptr_t)part(e, REMOTE);
		grant.rkey = e->mr->rkey;
		memcpy(part(e, CONTROL), &grant, sizeof(grant));
		send_part(e, CONTROL, sizeof(grant));
	} else {
		say(e);
		check(recv_part(e) == sizeof(grant), "no grant");
		memcpy(&grant, part(e, IN), sizeof(grant));
		post_recv(e, IN, 0, SIZE);
	}
	return grant;
}

/*
 * Cases of connections
 */

static void closes(struct end *e, bool first)
{
	connect_ends(e);
	if (e->server)
		hear(e);
	else
		say(e);
	if (first)
		disconnect(e);
	else
		wait_event(e->id, RDMA_CM_EVENT_DISCONNECTED);
}

static void case_client_closes(struct end *e)
{
	closes(e, !e->server);
}

static void case_server_closes(struct end *e)
{
	closes(e, e->server);
}

#define PRIVATE_LEN	48

static void check_private(const struct rdma_cm_id *id, unsigned int seed)
{
	const struct rdma_conn_param *p = &id->event->param.conn;

	/* InfiniBand's is padded. */
	check(p->private_data_len >= PRIVATE_LEN, "%u bytes of private data",
	      p->private_data_len);
	check(is_filled(p->private_data, PRIVATE_LEN, seed),
	      "other private data");
}

static void case_private_data(struct end *e)
{
	unsigned char data[PRIVATE_LEN];
	struct rdma_conn_param p = param();

	p.private_data = data;
	p.private_data_len = sizeof(data);
	fill(data, sizeof(data), e->server);
	if (e->server) {
		listen_at(e, 0);
		take_request(e);
		check_private(e->id, false);
		register_buf(e);
		post_recv(e, IN, 0, SIZE);
		check(!rdma_accept(e->id, &p), "cannot accept");
		hear(e);
	} else {
		e->id = create(e);
		register_buf(e);
		post_recv(e, IN, 0, SIZE);
		check(!rdma_connect(e->id, &p), "cannot connect");
		check_private(e->id, true);
		say(e);
	}
	disconnect(e);
}

static void case_reject(struct end *e)
{
	struct rdma_conn_param p = param();

	if (e->server) {
		listen_at(e, 0);
		take_request(e);
		check(!rdma_reject(e->id, "no", 2), "cannot reject");
		return;
	}
	e->id = create(e);
	check(rdma_connect(e->id, &p), "connected");
	check(errno == ECONNREFUSED, "not refused");
	check(e->id->event->event == RDMA_CM_EVENT_REJECTED, "event %s",
	      rdma_event_str(e->id->event->event));
	check(e->id->event->param.conn.private_data_len >= 2 &&
	      !memcmp(e->id->event->param.conn.private_data, "no", 2),
	      "no reason");
}

/* There is no listener. */
static void case_refused(struct end *e)
{
	struct rdma_conn_param p = param();

	if (e->server) {
		puts("ready");
		return;
	}
	e->id = create(e);
	check(rdma_connect(e->id, &p), "connected");
}

/* One after the other, each with a message. */
static void case_many(struct end *e)
{
	struct rdma_conn_param p = param();
	int i;

	if (e->server)
		listen_at(e, 0);
	for (i = 0; i < MANY; i++) {
		if (e->server)
			take_request(e);
		else
			e->id = create(e);
		register_buf(e);
		post_recv(e, IN, 0, SIZE);
		if (e->server) {
			check(!rdma_accept(e->id, &p), "accept %d", i);
			hear(e);
		} else {
			check(!rdma_connect(e->id, &p), "connect %d", i);
			say(e);
		}
		disconnect(e);
		ibv_dereg_mr(e->mr);
		free(e->buf);
		rdma_destroy_ep(e->id);
	}
}

static struct rdma_cm_id *connect_on(const struct end *e,
				     struct rdma_event_channel *channel)
{
	struct rdma_conn_param p = param();
	struct rdma_cm_id *id = create(e);

	check(!rdma_migrate_id(id, channel), "migrate");
	check(!rdma_connect(id, &p), "connect");
	return id;
}

/*
 * A request for which the listener has no room waits or is refused, depending
 * on the driver and on the server's progress; InfiniBand drops it, and repeats
 * it after four seconds. Connects again in place of a refused one; true if it
 * was established.
 */
static bool crowd_event(const struct end *e,
			struct rdma_event_channel *channel,
			struct rdma_cm_id **id)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *refused;
	int i;

	check(!rdma_get_cm_event(channel, &event), "no event");
	if (event->event != RDMA_CM_EVENT_REJECTED) {
		check(event->event == RDMA_CM_EVENT_ESTABLISHED ||
		      event->event == RDMA_CM_EVENT_CONNECT_RESPONSE,
		      "event %s, status %d", rdma_event_str(event->event),
		      event->status);
		rdma_ack_cm_event(event);
		return true;
	}
	refused = event->id;
	rdma_ack_cm_event(event);
	for (i = 0; id[i] != refused; i++)
		;
	rdma_destroy_ep(refused);
	id[i] = connect_on(e, channel);
	return false;
}

static void crowd_serve(struct end *e)
{
	struct rdma_conn_param p = param();
	struct rdma_cm_id *id[CROWD];
	int i;

	listen_at(e, 4);
	for (i = 0; i < CROWD; i++) {
		take_request(e);
		id[i] = e->id;
		check(!rdma_accept(id[i], &p), "accept %d", i);
	}
	for (i = 0; i < CROWD; i++) {
		wait_event(id[i], RDMA_CM_EVENT_DISCONNECTED);
		rdma_destroy_ep(id[i]);
	}
}

/* All at once, of which the listener has room for a few. */
static void case_backlog(struct end *e)
{
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id[CROWD];
	int stand = 0;
	int i;

	if (e->server)
		return crowd_serve(e);
	channel = rdma_create_event_channel();
	check(channel, "no channel");
	for (i = 0; i < CROWD; i++)
		id[i] = connect_on(e, channel);
	while (stand < CROWD)
		stand += crowd_event(e, channel, id);
	for (i = 0; i < CROWD; i++)
		rdma_disconnect(id[i]);
}

/* For a client that is killed. */
static void case_silent(struct end *e)
{
	struct rdma_conn_param p = param();

	if (e->server) {
		listen_at(e, 0);
		take_request(e);
		puts("request");
		fflush(stdout);
		pause();
	} else {
		e->id = create(e);
		rdma_connect(e->id, &p);
	}
}

/*
 * Cases of verbs
 */

static const size_t sizes[] = { 0, 1, 63, 64, 1500, 4096, 65536, SIZE - 3,
				SIZE };

static void case_send(struct end *e)
{
	unsigned int i;

	connect_ends(e);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (e->server) {
			check(recv_part(e) == sizes[i], "another length");
			check(is_filled(part(e, IN), sizes[i], i),
			      "other data of %zu bytes", sizes[i]);
			memset(part(e, IN), 0, SIZE);
			post_recv(e, IN, 0, SIZE);
			say(e);
		} else {
			fill(part(e, OUT), sizes[i], i);
			send_part(e, OUT, sizes[i]);
			hear(e);
		}
	}
	disconnect(e);
}

static void case_write(struct end *e)
{
	struct grant grant;
	unsigned int i;

	connect_ends(e);
	grant = exchange(e);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (e->server) {
			/* What was written is there when this arrives. */
			hear(e);
			check(is_filled(part(e, REMOTE), sizes[i], i),
			      "other data of %zu bytes", sizes[i]);
			memset(part(e, REMOTE), 0, SIZE);
			say(e);
		} else {
			fill(part(e, OUT), sizes[i], i);
			check(!rdma_post_write(e->id, NULL, part(e, OUT),
					       sizes[i], e->mr, 0, grant.addr,
					       grant.rkey), "post");
			check(!rdma_post_send(e->id, NULL, part(e, CONTROL), 1,
					      e->mr, 0), "post");
			sent(e);
			sent(e);
			hear(e);
		}
	}
	disconnect(e);
}

static void case_read(struct end *e)
{
	struct grant grant;
	unsigned int i;

	connect_ends(e);
	if (e->server)
		fill(part(e, REMOTE), SIZE, 5);
	grant = exchange(e);
	for (i = 0; !e->server && i < ARRAY_SIZE(sizes); i++) {
		memset(part(e, OUT), 0, SIZE);
		check(!rdma_post_read(e->id, NULL, part(e, OUT), sizes[i],
				      e->mr, 0, grant.addr, grant.rkey), "post");
		sent(e);
		check(is_filled(part(e, OUT), sizes[i], 5),
		      "other data of %zu bytes", sizes[i]);
	}
	if (e->server)
		hear(e);
	else
		say(e);
	disconnect(e);
}

static void case_atomic(struct end *e)
{
	struct ibv_sge sge = { .length = sizeof(uint64_t) };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_device_attr attr;
	struct ibv_send_wr *bad;
	struct ibv_mr *atomic;
	struct grant grant;
	unsigned int i;
	uint64_t *sum;

	connect_ends(e);
	check(!ibv_query_device(e->id->verbs, &attr), "no attributes");
	if (attr.atomic_cap == IBV_ATOMIC_NONE) {
		fputs("the device has no atomics\n", stderr);
		exit(KSFT_SKIP);
	}
	sum = (uint64_t *)part(e, REMOTE);
	atomic = ibv_reg_mr(e->id->pd, sum, SIZE, IBV_ACCESS_LOCAL_WRITE |
			    IBV_ACCESS_REMOTE_ATOMIC);
	check(atomic, "no memory region");
	if (e->server) {
		hear(e);
		grant = (struct grant) { (uintptr_t)sum, atomic->rkey };
		memcpy(part(e, CONTROL), &grant, sizeof(grant));
		send_part(e, CONTROL, sizeof(grant));
		hear(e);
		check(*sum == 300, "%llu instead of 300",
		      (unsigned long long)*sum);
		return disconnect(e);
	}
	grant = exchange(e);
	sge.addr = (uintptr_t)part(e, OUT);
	sge.lkey = e->mr->lkey;
	wr.wr.atomic.remote_addr = grant.addr;
	wr.wr.atomic.rkey = grant.rkey;
	wr.wr.atomic.compare_add = 3;
	for (i = 0; i < 100; i++) {
		check(!ibv_post_send(e->id->qp, &wr, &bad), "post");
		sent(e);
		check(*(uint64_t *)part(e, OUT) == 3 * i, "wrong old value");
	}
	say(e);
	disconnect(e);
}

/* Completions are in the order of the requests, of different kinds. */
static void case_order(struct end *e)
{
	struct grant grant;
	struct ibv_wc wc;
	uintptr_t i;

	connect_ends(e);
	grant = exchange(e);
	if (e->server) {
		hear(e);
		hear(e);
		return disconnect(e);
	}
	for (i = 0; i < WINDOW - 1; i++) {
		void *context = (void *)i;

		if (i % 3)
			check(!rdma_post_write(e->id, context, part(e, OUT),
					       i * 1000, e->mr, 0, grant.addr,
					       grant.rkey), "post");
		else
			check(!rdma_post_read(e->id, context, part(e, OUT),
					      i * 1000, e->mr, 0, grant.addr,
					      grant.rkey), "post");
	}
	for (i = 0; i < WINDOW - 1; i++) {
		check(rdma_get_send_comp(e->id, &wc) == 1, "no completion");
		check(wc.status == IBV_WC_SUCCESS, "request %zu: %s", i,
		      ibv_wc_status_str(wc.status));
		check(wc.wr_id == i, "%zu behind %zu", (size_t)wc.wr_id, i);
	}
	say(e);
	say(e);
	disconnect(e);
}

/* Each receive that was posted completes once. */
static void case_flush(struct end *e)
{
	struct ibv_wc wc;
	int i;

	connect_ends(e);
	for (i = 1; i < WINDOW; i++)
		post_recv(e, IN, i, 1);
	if (e->server)
		hear(e);
	else
		say(e);
	disconnect(e);
	for (i = 0; i < WINDOW; i++) {
		wc = received(e);
		check(wc.status == IBV_WC_WR_FLUSH_ERR, "receive %d: %s", i,
		      ibv_wc_status_str(wc.status));
	}
	check(!ibv_poll_cq(e->id->recv_cq, 1, &wc), "one too many");
}

/*
 * On iWARP the fault ends the connection, on InfiniBand only the queue pair of
 * the client, which has to disconnect.
 */
static void ends_by_fault(struct end *e)
{
	struct ibv_wc wc;

	if (e->server)
		wait_event(e->id, RDMA_CM_EVENT_DISCONNECTED);
	else
		disconnect(e);
	wc = received(e);
	check(wc.status != IBV_WC_SUCCESS, "the connection goes on");
}

static void case_short_receive(struct end *e)
{
	connect_ends(e);
	if (e->server) {
		/* The one that is there takes this. */
		check(recv_part(e) == 1, "another message");
		post_recv(e, IN, 0, 100);
		say(e);
		memset(part(e, IN), 0, SIZE);
		ends_by_fault(e);
		check(!part(e, IN)[100], "written behind the receive");
		return;
	}
	say(e);
	hear(e);
	memset(part(e, OUT), 1, 200);
	check(!rdma_post_send(e->id, NULL, part(e, OUT), 200, e->mr, 0),
	      "post");
	/* On iWARP it is complete as soon as it was sent. */
	send_status(e);
	ends_by_fault(e);
}

static void case_bad_rkey(struct end *e)
{
	struct grant grant;

	connect_ends(e);
	grant = exchange(e);
	if (e->server) {
		ends_by_fault(e);
		check(!part(e, REMOTE)[0], "written without a right");
		return;
	}
	memset(part(e, OUT), 1, 64);
	check(!rdma_post_write(e->id, NULL, part(e, OUT), 64, e->mr, 0,
			       grant.addr, grant.rkey ^ 0x5a00), "post");
	send_status(e);
	ends_by_fault(e);
}

#define CASE(name) { #name, case_##name }

static const struct {
	const char *name;
	void (*run)(struct end *e);
} cases[] = {
	CASE(client_closes),
	CASE(server_closes),
	CASE(private_data),
	CASE(reject),
	CASE(refused),
	CASE(many),
	CASE(backlog),
	CASE(silent),
	CASE(send),
	CASE(write),
	CASE(read),
	CASE(atomic),
	CASE(order),
	CASE(flush),
	CASE(short_receive),
	CASE(bad_rkey),
};

int main(int argc, char **argv)
{
	struct end e = {};
	unsigned int i;

	if (argc != 5 || (strcmp(argv[1], "-s") && strcmp(argv[1], "-c"))) {
		fprintf(stderr, "usage: %s -s|-c CASE ADDRESS PORT\n", argv[0]);
		return KSFT_FAIL;
	}
	e.server = !strcmp(argv[1], "-s");
	e.address = argv[3];
	e.port = argv[4];
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (strcmp(argv[2], cases[i].name))
			continue;
		cases[i].run(&e);
		return KSFT_PASS;
	}
	fprintf(stderr, "there is no case '%s'\n", argv[2]);
	return KSFT_FAIL;
}
