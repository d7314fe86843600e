// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How storage hosts end connections, and connect again: a disconnect while the
 * peer ends the connection, a second disconnect, and successive connections
 * from the same source address and port, as TCP permits.
 *
 *	xt_source [-a [NS/]ADDRESS] [-b [NS/]ADDRESS] [-n ROUNDS]
 */
#include "xt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECVS		16
#define QUIET_MS	500
#define SERVERS		4

static const struct xt_opts usual = XT_OPTS;

/* ---- the peer is killed ------------------------------------------------ */

static void be_server(int port_fd, int end_fd)
{
	struct sockaddr_storage sa = xt_addr(&xt_a, 0);
	struct xt_end listener, e;
	struct xt_event ev;
	int port;
	char c;

	xt_id(&listener, &xt_a);
	port = xt_listen(&listener, &sa, 1);
	XT_EQ(write(port_fd, &port, sizeof(port)), sizeof(port));
	xt_expect(&listener, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	xt_adopt(&e, &xt_a, ev.id);
	xt_qp(&e, &usual);
	xt_answer(&e, &usual, NULL, 0);
	xt_expect(&e, RDMA_CM_EVENT_ESTABLISHED, NULL);
	while (read(end_fd, &c, 1) > 0)
		;
	raise(SIGKILL);
}

/* Connects @e to another process, whose PID is returned. */
static pid_t connect_to_process(struct xt_end *e)
{
	int port_pipe[2], end_pipe[2];
	struct sockaddr_storage sa;
	pid_t pid;
	int port;

	XT_OK(pipe(port_pipe));
	XT_OK(pipe(end_pipe));
	pid = xt_fork();
	if (!pid) {
		close(end_pipe[1]);
		be_server(port_pipe[1], end_pipe[0]);
	}
	XT_EQ(read(port_pipe[0], &port, sizeof(port)), sizeof(port));
	sa = xt_addr(&xt_a, port);
	xt_id(e, &xt_b);
	xt_resolve(e, &sa);
	xt_qp(e, &usual);
	xt_recvs(e, 0, RECVS);
	xt_dial(e, &usual, NULL, 0);
	xt_expect(e, RDMA_CM_EVENT_ESTABLISHED, NULL);
	return pid;
}

static void kill_peer(pid_t pid)
{
	int status;

	XT_OK(kill(pid, SIGKILL));
	XT_EQ(waitpid(pid, &status, 0), pid);
	XT_EQ(WTERMSIG(status), SIGKILL);
}

static void disconnect_or_einval(struct xt_end *e)
{
	XT_CHECK(!rdma_disconnect(e->id) || errno == EINVAL,
		 "rdma_disconnect: %m");
}

/* All receives are flushed, and no other event follows. */
static void check_ended(struct xt_end *e)
{
	struct pollfd fd = { .fd = e->ch->fd, .events = POLLIN };

	xt_flushed(e->rcq, 0, RECVS);
	XT_EQ(poll(&fd, 1, QUIET_MS), 0);
	xt_close(e);
}

static void test_killed_before(void)
{
	struct xt_end e;
	pid_t pid = connect_to_process(&e);

	kill_peer(pid);
	disconnect_or_einval(&e);
	xt_expect(&e, RDMA_CM_EVENT_DISCONNECTED, NULL);
	check_ended(&e);
}

static void test_killed_after(void)
{
	struct xt_end e;
	pid_t pid = connect_to_process(&e);

	kill_peer(pid);
	xt_expect(&e, RDMA_CM_EVENT_DISCONNECTED, NULL);
	disconnect_or_einval(&e);
	check_ended(&e);
}

static void test_twice(void)
{
	struct xt_end e;
	pid_t pid = connect_to_process(&e);

	XT_OK(rdma_disconnect(e.id));
	disconnect_or_einval(&e);
	xt_expect(&e, RDMA_CM_EVENT_DISCONNECTED, NULL);
	disconnect_or_einval(&e);
	check_ended(&e);
	kill_peer(pid);
}

/* ---- the same source port ---------------------------------------------- */

/*
 * Makes an end in b that uses the local @port, 0 for any, and resolves @to.
 * Returns the local port.
 */
static int resolve_from(struct xt_end *e, int port,
			const struct sockaddr_storage *to)
{
	struct sockaddr_storage from = xt_addr(&xt_b, port);
	int one = 1;

	xt_id(e, &xt_b);
	XT_OK(rdma_set_option(e->id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR,
			      &one, sizeof(one)));
	XT_OK(rdma_bind_addr(e->id, (struct sockaddr *)&from));
	port = ntohs(rdma_get_src_port(e->id));
	xt_resolve(e, to);
	xt_qp(e, &usual);
	return port;
}

static void accept_one(struct xt_end *listener, struct xt_end *e)
{
	struct xt_event ev;

	xt_expect(listener, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	xt_adopt(e, &xt_a, ev.id);
	xt_qp(e, &usual);
	xt_answer(e, &usual, NULL, 0);
	xt_expect(e, RDMA_CM_EVENT_ESTABLISHED, NULL);
}

static struct sockaddr_storage listen_in_a(struct xt_end *listener)
{
	struct sockaddr_storage sa = xt_addr(&xt_a, 0);

	xt_id(listener, &xt_a);
	return xt_addr(&xt_a, xt_listen(listener, &sa, SERVERS));
}

/*
 * TCP lets a port that was given explicitly leave TIME_WAIT, which is where the
 * connection was ended first.
 */
static void test_again(void)
{
	struct sockaddr_storage sa;
	struct xt_end listener;
	struct xt_pair p;
	int port = 0;
	int i;

	sa = listen_in_a(&listener);
	for (i = 0; i < xt_count(10); i++) {
		port = resolve_from(&p.b, port, &sa);
		xt_dial(&p.b, &usual, NULL, 0);
		accept_one(&listener, &p.a);
		xt_expect(&p.b, RDMA_CM_EVENT_ESTABLISHED, NULL);
		xt_hang_up(&p, i % 2 ? &p.a : &p.b);
	}
	xt_close(&listener);
}

/* A port can be listened on again at once, beside connections of its own. */
static void test_listen_again(void)
{
	struct sockaddr_storage sa, here;
	struct xt_end listener;
	struct xt_pair p;
	int i;

	sa = listen_in_a(&listener);
	resolve_from(&p.b, 0, &sa);
	xt_dial(&p.b, &usual, NULL, 0);
	accept_one(&listener, &p.a);
	xt_expect(&p.b, RDMA_CM_EVENT_ESTABLISHED, NULL);
	for (i = 0; i < xt_count(20); i++) {
		xt_close(&listener);
		xt_id(&listener, &xt_a);
		here = sa;
		xt_listen(&listener, &here, 1);
	}
	xt_hang_up(&p, &p.a);
	xt_close(&listener);
}

static void test_several(void)
{
	struct xt_end listeners[SERVERS];
	struct xt_pair p[SERVERS];
	struct sockaddr_storage sa;
	int port = 0;
	int i;

	for (i = 0; i < SERVERS; i++) {
		sa = listen_in_a(&listeners[i]);
		port = resolve_from(&p[i].b, port, &sa);
		xt_dial(&p[i].b, &usual, NULL, 0);
		accept_one(&listeners[i], &p[i].a);
		xt_expect(&p[i].b, RDMA_CM_EVENT_ESTABLISHED, NULL);
	}
	for (i = 0; i < SERVERS; i++) {
		xt_hang_up(&p[i], &p[i].b);
		xt_close(&listeners[i]);
	}
}

static const struct xt_case cases[] = {
	{ "killed-before", "a disconnect after the peer was killed",
	  test_killed_before },
	{ "killed-after", "the same after its event", test_killed_after },
	{ "twice", "a second disconnect causes no second event", test_twice },
	{ "again", "a source port serves again at once",
	  test_again },
	{ "listen-again", "a listener's port can be listened on again at once",
	  test_listen_again },
	{ "several", "a source port serves connections to several servers",
	  test_several },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
