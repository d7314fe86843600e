// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A process must not be able to use resources of another process or namespace:
 * queue pairs by their number, the loopback interface of side a from side b,
 * and local ports. The queue pairs are on the device of side b, the listener is
 * at side a.
 *
 * A stranger is a process that was forked before this one opened a device.
 */
#include "xt.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY		65534
#define NEIGHBOURS	32
#define QPS		16

/**
 * struct errand - a command for a stranger
 * @port: port of side a to which it connects, 0 to listen itself
 * @qpn: queue pair to use, 0 to try numbers near one of its own
 * @fd: the command comes with a file descriptor
 */
struct errand {
	int port;
	__u32 qpn;
	bool fd;
};

/**
 * struct own - queue pair of this process, of which others try the number
 * @e: its device
 * @pd: protection domain
 * @cq: completions of both kinds
 * @qp: queue pair
 */
struct own {
	struct xt_end e;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static struct xt_end listener;
static struct own own;
static int port;

/* ---- side a ------------------------------------------------------------ */

static void *say_no(void *arg)
{
	struct xt_event ev;

	for (;;) {
		xt_next_event(arg, &ev);
		if (ev.type != RDMA_CM_EVENT_CONNECT_REQUEST)
			continue;
		XT_OK(rdma_reject(ev.id, NULL, 0));
		XT_OK(rdma_destroy_id(ev.id));
	}
	return NULL;
}

static void open_listener(void)
{
	struct sockaddr_storage sa = xt_addr(&xt_a, 0);

	xt_id(&listener, &xt_a);
	port = xt_listen(&listener, &sa, 64);
}

static void listen_and_reject(void)
{
	pthread_t thread;

	open_listener();
	XT_OK(pthread_create(&thread, NULL, say_no, &listener));
}

/* ---- side b ------------------------------------------------------------ */

static struct ibv_qp *new_qp(struct own *o)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC, .send_cq = o->cq, .recv_cq = o->cq,
	};

	return XT_PTR(ibv_create_qp(o->pd, &attr));
}

static void make(struct own *o)
{
	struct sockaddr_storage sa = xt_addr(&xt_b, 0);

	xt_id(&o->e, &xt_b);
	XT_OK(rdma_bind_addr(o->e.id, (struct sockaddr *)&sa));
	o->pd = XT_PTR(ibv_alloc_pd(o->e.id->verbs));
	o->cq = XT_PTR(ibv_create_cq(o->e.id->verbs, 16, NULL, NULL, 0));
	o->qp = new_qp(o);
}

/* Connects with that QP number: 0 if the listener answers, or the errno. */
static int connect_end(struct xt_end *e, __u32 qpn)
{
	struct rdma_conn_param param = { .qp_num = qpn };

	if (rdma_connect(e->id, &param))
		return errno;
	xt_expect(e, RDMA_CM_EVENT_REJECTED, NULL);
	return 0;
}

static void resolve(struct xt_end *e, int to)
{
	struct sockaddr_storage sa = xt_addr(&xt_a, to);

	xt_id(e, &xt_b);
	xt_resolve(e, &sa);
}

static int dial(int to, __u32 qpn)
{
	struct xt_end e;

	resolve(&e, to);
	return connect_end(&e, qpn);
}

/* Tries numbers near the own queue pair's. Returns an unexpected errno. */
static int guess(int to)
{
	struct own mine;
	struct xt_end e;
	int ret = 0;
	__u32 qpn;

	make(&mine);
	resolve(&e, to);
	for (qpn = mine.qp->qp_num - NEIGHBOURS;
	     qpn <= mine.qp->qp_num + NEIGHBOURS; qpn++) {
		if (qpn == mine.qp->qp_num)
			continue;
		ret = connect_end(&e, qpn);
		if (ret != EINVAL)
			break;
	}
	return ret;
}

/* ---- other processes --------------------------------------------------- */

/**
 * struct stranger - another process
 * @pid: process
 * @sock: to it
 */
struct stranger {
	pid_t pid;
	int sock;
};

static int accept_with(int sock, __u32 qpn)
{
	struct sockaddr_storage sa = xt_addr(&xt_b, 0);
	struct rdma_conn_param param = { .qp_num = qpn };
	struct xt_event ev;
	struct xt_end e;
	int number;

	xt_id(&e, &xt_b);
	number = xt_listen(&e, &sa, 4);
	XT_EQ(write(sock, &number, sizeof(number)), sizeof(number));
	xt_expect(&e, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	return rdma_accept(ev.id, &param) ? errno : 0;
}

static void receive(int sock, struct errand *errand)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { .iov_base = errand, .iov_len = sizeof(*errand) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};

	XT_EQ(recvmsg(sock, &msg, 0), sizeof(*errand));
	XT_EQ(!!CMSG_FIRSTHDR(&msg), errand->fd);
}

static void drop_privileges(void)
{
	XT_OK(setgroups(0, NULL));
	XT_OK(setresgid(NOBODY, NOBODY, NOBODY));
	XT_OK(setresuid(NOBODY, NOBODY, NOBODY));
}

/* Runs one command and sends the result. */
static void be_strange(int sock, bool other_user)
{
	struct xt_side here = { .ns = -1 };
	struct errand errand;
	int ret;

	xt_enter(&xt_b);
	/* This needs privileges, which are dropped afterwards. */
	here.sa = xt_b.sa;
	xt_b = here;
	if (other_user)
		drop_privileges();
	receive(sock, &errand);
	if (!errand.port)
		ret = accept_with(sock, errand.qpn);
	else if (!errand.qpn)
		ret = guess(errand.port);
	else
		ret = dial(errand.port, errand.qpn);
	XT_EQ(write(sock, &ret, sizeof(ret)), sizeof(ret));
	fflush(stdout);
	_exit(0);
}

static struct stranger stranger(bool other_user)
{
	struct stranger s;
	int pair[2];

	XT_OK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
	s.sock = pair[0];
	s.pid = xt_fork();
	if (!s.pid) {
		xt_watchdog(120);
		close(pair[0]);
		be_strange(pair[1], other_user);
	}
	close(pair[1]);
	return s;
}

static void send_on(struct stranger *s, struct errand what, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = {};
	struct iovec iov = { .iov_base = &what, .iov_len = sizeof(what) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	what.fd = fd >= 0;
	if (what.fd) {
		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	XT_EQ(sendmsg(s->sock, &msg, 0), sizeof(what));
}

static int answer_of(struct stranger *s)
{
	int ret;

	XT_EQ(read(s->sock, &ret, sizeof(ret)), sizeof(ret));
	return ret;
}

/* ---- owners of queue pairs --------------------------------------------- */

static void begin(void)
{
	listen_and_reject();
	make(&own);
}

static void test_own(void)
{
	begin();
	XT_EQ(dial(port, own.qp->qp_num), 0);
}

static void *dial_in_thread(void *arg)
{
	(void)arg;
	XT_EQ(dial(port, own.qp->qp_num), 0);
	return NULL;
}

static void test_thread(void)
{
	pthread_t thread;

	begin();
	XT_OK(pthread_create(&thread, NULL, dial_in_thread, NULL));
	XT_OK(pthread_join(thread, NULL));
}

/* A child, which may have closed the device's file, tries to connect. */
static int dial_in_child(bool closed)
{
	int status;
	pid_t pid;

	pid = xt_fork();
	if (!pid) {
		xt_watchdog(120);
		if (closed)
			close(own.e.id->verbs->cmd_fd);
		_exit(dial(port, own.qp->qp_num));
	}
	XT_EQ(waitpid(pid, &status, 0), pid);
	XT_CHECK(WIFEXITED(status), "killed by signal %d", WTERMSIG(status));
	return WEXITSTATUS(status);
}

static void test_fork(void)
{
	begin();
	XT_EQ(dial_in_child(false), 0);
	XT_EQ(dial_in_child(true), EPERM);
}

static void test_passed(void)
{
	struct stranger s = stranger(true);
	struct errand errand = {};

	begin();
	errand.port = port;
	errand.qpn = own.qp->qp_num;
	send_on(&s, errand, own.e.id->verbs->cmd_fd);
	XT_EQ(answer_of(&s), 0);
}

static void connect_strangely(bool other_user)
{
	struct stranger s = stranger(other_user);
	struct errand errand = {};

	begin();
	errand.port = port;
	errand.qpn = own.qp->qp_num;
	send_on(&s, errand, -1);
	XT_EQ(answer_of(&s), EPERM);
	/* The refused attempt has no effect. */
	XT_EQ(dial(port, own.qp->qp_num), 0);
}

static void test_same_user(void)
{
	connect_strangely(false);
}

static void test_other_user(void)
{
	connect_strangely(true);
}

static void test_accept(void)
{
	struct stranger s = stranger(true);
	struct errand errand = {};
	static const struct xt_opts usual = XT_OPTS;
	struct sockaddr_storage sa;
	struct xt_end e;

	make(&own);
	errand.qpn = own.qp->qp_num;
	send_on(&s, errand, -1);
	sa = xt_addr(&xt_b, answer_of(&s));
	xt_id(&e, &xt_a);
	xt_resolve(&e, &sa);
	xt_qp(&e, &usual);
	xt_dial(&e, &usual, NULL, 0);
	XT_EQ(answer_of(&s), EPERM);
	xt_expect(&e, RDMA_CM_EVENT_REJECTED, NULL);
}

static void test_guess(void)
{
	struct stranger s = stranger(true);
	struct errand errand = {};
	struct ibv_qp *qps[QPS];
	int i;

	begin();
	for (i = 0; i < QPS; i++)
		qps[i] = new_qp(&own);
	errand.port = port;
	send_on(&s, errand, -1);
	XT_EQ(answer_of(&s), EINVAL);
	for (i = 0; i < QPS; i++)
		XT_OK(ibv_destroy_qp(qps[i]));
}

/* ---- loopback and ports ------------------------------------------------ */

static struct sockaddr_storage loopback(void)
{
	struct sockaddr_storage sa = xt_addr(&xt_a, 0);

	if (sa.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&sa)->sin6_addr = in6addr_loopback;
	else
		((struct sockaddr_in *)&sa)->sin_addr.s_addr =
			htonl(INADDR_LOOPBACK);
	return sa;
}

/* A TCP socket on a side, bound, and listening. */
static int tcp_listener(const struct xt_side *side, struct sockaddr_storage *sa)
{
	socklen_t len = xt_addr_len(sa);
	int fd;

	xt_enter(side);
	fd = socket(sa->ss_family, SOCK_STREAM, 0);
	XT_CHECK(fd >= 0, "socket: %m");
	XT_OK(bind(fd, (struct sockaddr *)sa, len));
	XT_OK(listen(fd, 16));
	XT_OK(getsockname(fd, (struct sockaddr *)sa, &len));
	return fd;
}

/* A TCP connection from side b; sets the local port. */
static int tcp_connection(const struct sockaddr_storage *to, int *from)
{
	struct sockaddr_in6 name;
	socklen_t len = sizeof(name);
	int fd;

	xt_enter(&xt_b);
	fd = socket(to->ss_family, SOCK_STREAM, 0);
	XT_CHECK(fd >= 0, "socket: %m");
	XT_OK(connect(fd, (const struct sockaddr *)to, xt_addr_len(to)));
	XT_OK(getsockname(fd, (struct sockaddr *)&name, &len));
	*from = ntohs(name.sin6_port);
	return fd;
}

static void test_loopback(void)
{
	struct sockaddr_storage sa = loopback();
	struct pollfd p = { .events = POLLIN };
	struct rdma_conn_param param = {};
	struct xt_end e;
	struct own o;
	int ret;

	p.fd = tcp_listener(&xt_a, &sa);
	xt_id(&e, &xt_b);
	xt_resolve(&e, &sa);
	/* Make the queue pair on the device that rdma_cm has chosen. */
	o.pd = XT_PTR(ibv_alloc_pd(e.id->verbs));
	o.cq = XT_PTR(ibv_create_cq(e.id->verbs, 16, NULL, NULL, 0));
	o.qp = new_qp(&o);
	param.qp_num = o.qp->qp_num;
	ret = rdma_connect(e.id, &param) ? errno : 0;
	if (xt_patched()) {
		/* The core chose a device of this namespace: no listener. */
		XT_EQ(ret, 0);
		xt_expect(&e, RDMA_CM_EVENT_REJECTED, NULL);
	} else {
		XT_EQ(ret, ENETUNREACH);
	}
	XT_EQ(poll(&p, 1, 0), 0);
}

/* Connects from that port of side b; returns its port, or a negative errno. */
static int dial_from(int from)
{
	struct sockaddr_storage sa = xt_addr(&xt_b, from);
	struct sockaddr_storage to = xt_addr(&xt_a, port);
	struct rdma_conn_param param = {};
	struct xt_event ev;
	struct xt_end e;

	make(&own);
	param.qp_num = own.qp->qp_num;
	xt_id(&e, &xt_b);
	if (from)
		XT_OK(rdma_bind_addr(e.id, (struct sockaddr *)&sa));
	xt_resolve(&e, &to);
	if (rdma_connect(e.id, &param))
		return -errno;
	xt_expect(&listener, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	from = ntohs(rdma_get_dst_port(ev.id));
	/* A process that exits while it connects waits for the answer. */
	XT_OK(rdma_reject(ev.id, NULL, 0));
	xt_expect(&e, RDMA_CM_EVENT_REJECTED, NULL);
	return from;
}

static void test_taken(void)
{
	struct sockaddr_storage sa = xt_addr(&xt_b, 0);

	open_listener();
	tcp_listener(&xt_b, &sa);
	XT_EQ(dial_from(ntohs(((struct sockaddr_in *)&sa)->sin_port)),
	      -EADDRINUSE);
}

static void test_shared(void)
{
	struct sockaddr_storage sa = xt_addr(&xt_a, 0);
	int from;

	open_listener();
	tcp_listener(&xt_a, &sa);
	tcp_connection(&sa, &from);
	/*
	 * Only a patched core reports to the driver that the ULP chose the
	 * port.
	 */
	XT_EQ(dial_from(from), xt_patched() ? -EADDRINUSE : from);
}

/* A connect without a chosen port, while connections use all ephemeral ports */
static void test_drawn(void)
{
	static const char name[] = "/proc/sys/net/ipv4/ip_local_port_range";
	struct sockaddr_storage sa = xt_addr(&xt_a, 0);
	int from;
	FILE *f;
	int i;

	open_listener();
	tcp_listener(&xt_a, &sa);
	xt_enter(&xt_b);
	f = XT_PTR(fopen(name, "w"));
	fprintf(f, "50000 50003\n");
	XT_OK(fclose(f));
	for (i = 0; i < 4; i++)
		tcp_connection(&sa, &from);
	from = dial_from(0);
	f = XT_PTR(fopen(name, "w"));
	fprintf(f, "32768 60999\n");
	XT_OK(fclose(f));
	XT_CHECK(from >= 50000 && from <= 50003, "from port %d", from);
}

static const struct xt_case cases[] = {
	{ "own", "a process connects a queue pair of its own by number",
	  test_own },
	{ "thread", "so does another thread", test_thread },
	{ "fork", "so does a child, as long as it has the device's file",
	  test_fork },
	{ "passed", "so does a process that was sent that file",
	  test_passed },
	{ "same-user", "another process of the same user does not",
	  test_same_user },
	{ "other-user", "another user's process does not", test_other_user },
	{ "accept", "nor does it accept with it", test_accept },
	{ "guess", "numbers near that of one's own lead nowhere",
	  test_guess },
	{ "loopback", "another namespace's loopback is not reached",
	  test_loopback },
	{ "taken", "a local port that is taken is not replaced", test_taken },
	{ "shared", "one that a connection to elsewhere has is used",
	  test_shared },
	{ "drawn", "without a port one is chosen with all in use", test_drawn },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
