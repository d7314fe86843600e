// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A live listener and peers that send it mutated sessions over plain TCP:
 *
 *	xt_sessions -a NS/ADDR -b NS/ADDR -s SEED [-f FIRST] [-n COUNT]
 *
 * The device accepts every connection. Every session, and every connection of
 * the device, has to end in bounded time, and no byte may change around and
 * outside of the regions that the peer may write. Session N of a seed is the
 * same each time; -f N -n 1 repeats it alone.
 */
#include "session.h"
#include "xt.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <netinet/tcp.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS		3
#define PATIENCE	60
#define RECVS		16
#define RECV_LEN	512
#define ROOM		16384
#define OTHER_SEED	77
#define CHECK_EVERY	256

/**
 * struct shared - memory that the processes share
 * @port: port of the listener, 0 until it listens
 * @regions: regions that the sessions may name
 * @stop: all sessions have ended
 * @requests: number of requests that were reported
 * @accepted: number of accepted ones
 * @established: number of established connections
 * @received: number of received messages
 * @refused: number of sessions without a Reply
 */
struct shared {
	volatile int port;
	struct session_region regions[SESSION_REGIONS];
	volatile bool stop;
	volatile unsigned long requests;
	volatile unsigned long accepted;
	volatile unsigned long established;
	volatile unsigned long received;
	volatile unsigned long refused;
};

static struct shared *shared;
static __u64 seed = 1;

/* ---- the device's end -------------------------------------------------- */

static struct xt_end listener;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct xt_buf rw, ro, other, recvs;
static int live;

static void offer(int i, const struct xt_buf *b)
{
	shared->regions[i].stag = b->mr->rkey;
	shared->regions[i].to = (uintptr_t)b->p;
	shared->regions[i].len = b->len;
}

static void serve_up(void)
{
	struct sockaddr_storage sa = xt_addr(&xt_a, 0);
	int all = XT_REMOTE | IBV_ACCESS_REMOTE_ATOMIC;
	struct ibv_comp_channel *comp;
	struct ibv_context *ctx;
	int port;

	xt_id(&listener, &xt_a);
	port = xt_listen(&listener, &sa, 128);
	ctx = listener.id->verbs;
	pd = XT_PTR(ibv_alloc_pd(ctx));
	comp = XT_PTR(ibv_create_comp_channel(ctx));
	cq = XT_PTR(ibv_create_cq(ctx, 8192, NULL, comp, 0));
	XT_OK(ibv_req_notify_cq(cq, 0));
	rw = xt_buf_at(pd, ROOM - 64, 32, all);
	ro = xt_buf_at(pd, ROOM, 0, IBV_ACCESS_REMOTE_READ);
	other = xt_buf_at(XT_PTR(ibv_alloc_pd(ctx)), ROOM, 0, all);
	recvs = xt_buf_at(pd, RECV_LEN, 0, XT_LOCAL);
	xt_fill(ro.p, ro.len, OTHER_SEED);
	xt_fill(other.p, other.len, OTHER_SEED);
	offer(SESSION_RW, &rw);
	offer(SESSION_RO, &ro);
	offer(SESSION_OTHER, &other);
	shared->port = port;
}

static void check_memory(void)
{
	XT_GUARDS(&rw);
	XT_GUARDS(&ro);
	XT_GUARDS(&other);
	XT_GUARDS(&recvs);
	XT_SAME(ro.p, ro.len, OTHER_SEED);
	XT_SAME(other.p, other.len, OTHER_SEED);
}

static void answer(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 4, .max_recv_wr = RECVS,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
	};
	struct rdma_conn_param param = {
		.responder_resources = 8, .initiator_depth = 8,
	};
	struct ibv_sge sge = xt_sge(&recvs, 0, RECV_LEN);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;
	int i;

	shared->requests++;
	XT_OK(rdma_create_qp(id, pd, &attr));
	for (i = 0; i < RECVS; i++)
		XT_OK(ibv_post_recv(id->qp, &wr, &bad));
	live++;
	/* The peer may be gone already. */
	if (!rdma_accept(id, &param)) {
		shared->accepted++;
		return;
	}
	rdma_destroy_qp(id);
	XT_OK(rdma_destroy_id(id));
	live--;
}

static void on_cm_event(void)
{
	struct xt_event ev;

	xt_next_event(&listener, &ev);
	switch (ev.type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		answer(ev.id);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		shared->established++;
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		rdma_destroy_qp(ev.id);
		XT_OK(rdma_destroy_id(ev.id));
		live--;
		break;
	default:
		XT_CHECK(false, "event %s", rdma_event_str(ev.type));
	}
}

static void on_completions(void)
{
	struct ibv_cq *which;
	struct ibv_wc wc;
	void *context;
	int n;

	XT_OK(ibv_get_cq_event(cq->channel, &which, &context));
	ibv_ack_cq_events(which, 1);
	XT_OK(ibv_req_notify_cq(cq, 0));
	while ((n = ibv_poll_cq(cq, 1, &wc)) > 0)
		if (wc.status == IBV_WC_SUCCESS)
			shared->received++;
	XT_CHECK(!n, "poll: %d", n);
}

static void on_async(void)
{
	struct ibv_async_event ev;

	XT_OK(ibv_get_async_event(listener.id->verbs, &ev));
	ibv_ack_async_event(&ev);
}

static void serve(void)
{
	struct pollfd p[3];
	unsigned long turns = 0;
	int quiet = 0;

	serve_up();
	p[0] = (struct pollfd){ .fd = listener.ch->fd, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = cq->channel->fd, .events = POLLIN };
	p[2] = (struct pollfd){ .fd = listener.id->verbs->async_fd,
				.events = POLLIN };
	while (!shared->stop || live) {
		int n = poll(p, XT_NELEM(p), 100);

		XT_CHECK(n >= 0, "poll: %m");
		quiet = n ? 0 : quiet + shared->stop;
		XT_CHECK(quiet < PATIENCE * 10, "%d connections never end",
			 live);
		if (p[1].revents)
			on_completions();
		if (p[2].revents)
			on_async();
		if (p[0].revents)
			on_cm_event();
		if (turns++ % CHECK_EVERY == 0)
			check_memory();
	}
	check_memory();
	fflush(stdout);
	_exit(0);
}

/* ---- the peers --------------------------------------------------------- */

static int dial(void)
{
	struct sockaddr_storage to = xt_addr(&xt_a, shared->port);
	struct timeval patience = { .tv_sec = PATIENCE };
	int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	XT_CHECK(fd >= 0, "socket: %m");
	XT_OK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
			 sizeof(patience)));
	XT_OK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience,
			 sizeof(patience)));
	XT_OK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)));
	XT_OK(connect(fd, (struct sockaddr *)&to, xt_addr_len(&to)));
	return fd;
}

/* FIN and RST are both an end; silence is not. */
static ssize_t receive(int fd, void *p, size_t len, __u64 number)
{
	ssize_t n = recv(fd, p, len, 0);

	XT_CHECK(n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK),
		 "seed %llu session %llu: no end within %d s", seed, number,
		 PATIENCE);
	return n;
}

static void put(int fd, const __u8 *p, size_t len, size_t chunk)
{
	ssize_t n;

	for (; len; p += n, len -= n) {
		n = send(fd, p, len < chunk ? len : chunk, MSG_NOSIGNAL);
		if (n <= 0)
			return;
	}
}

/* True if a Reply with a valid key was received. */
static bool reply_comes(int fd, __u64 number)
{
	__u8 b[16];
	size_t have;
	ssize_t n;

	for (have = 0; have < sizeof(b); have += n) {
		n = receive(fd, b + have, sizeof(b) - have, number);
		if (n <= 0)
			return false;
	}
	XT_CHECK(!memcmp(b, "MPA ID Rep Frame", sizeof(b)),
		 "seed %llu session %llu: not a Reply", seed, number);
	return true;
}

static void run_session(__u64 number)
{
	static const struct linger reset = { .l_onoff = 1 };
	static struct session s;
	static __u8 sink[65536];
	int fd = dial();

	session_make(&s, seed, number, shared->regions);
	put(fd, s.request, s.request_len, s.chunk);
	if (!s.request_bad && reply_comes(fd, number))
		put(fd, s.stream, s.stream_len, s.chunk);
	else
		__atomic_add_fetch(&shared->refused, 1, __ATOMIC_RELAXED);
	if (s.end == SESSION_RESET)
		XT_OK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset,
				 sizeof(reset)));
	if (s.end == SESSION_FIN) {
		shutdown(fd, SHUT_WR);
		while (receive(fd, sink, sizeof(sink), number) > 0)
			;
	}
	close(fd);
}

static void peer(int worker, __u64 first, __u64 count)
{
	__u64 i;

	xt_enter(&xt_b);
	for (i = worker; i < count; i += WORKERS)
		run_session(first + i);
	fflush(stdout);
	_exit(0);
}

/* ---- all of them ------------------------------------------------------- */

static void fork_all(pid_t *pids, __u64 first, __u64 count)
{
	int i;

	for (i = 0; i <= WORKERS; i++) {
		pids[i] = xt_fork();
		if (!pids[i] && !i)
			serve();
		if (!pids[i])
			peer(i - 1, first, count);
		while (!i && !shared->port &&
		       !waitpid(pids[0], NULL, WNOHANG))
			poll(NULL, 0, 5);
	}
}

static bool ended_well(pid_t pid)
{
	int status;

	XT_EQ(waitpid(pid, &status, 0), pid);
	return !status;
}

static int run_all(__u64 first, __u64 count)
{
	pid_t pids[WORKERS + 1];
	int failed = 0;
	int i;

	fflush(stdout);
	fork_all(pids, first, count);
	for (i = 1; i <= WORKERS; i++)
		failed += !ended_well(pids[i]);
	shared->stop = true;
	failed += !ended_well(pids[0]);
	printf("sessions %llu refused %lu requests %lu accepted %lu established %lu messages %lu\n",
	       count, shared->refused, shared->requests, shared->accepted,
	       shared->established, shared->received);
	return failed;
}

int main(int argc, char **argv)
{
	__u64 first = 0;
	__u64 count = 100;
	int failed;
	int opt;

	while ((opt = getopt(argc, argv, "a:b:s:f:n:")) != -1) {
		if (opt == 'a')
			xt_side_set(&xt_a, optarg);
		else if (opt == 'b')
			xt_side_set(&xt_b, optarg);
		else if (opt == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (opt == 'f')
			first = strtoull(optarg, NULL, 0);
		else if (opt == 'n')
			count = strtoull(optarg, NULL, 0);
		else
			return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	XT_CHECK(shared != MAP_FAILED, "mmap: %m");
	failed = run_all(first, count);
	/* Most sessions have to get beyond startup, or nothing was tested. */
	XT_CHECK(failed || count < 50 || (shared->accepted > count / 2 &&
					  shared->received > count / 8),
		 "too few sessions got far");
	return failed != 0;
}
