// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A process that is killed ends at once, whatever its connections wait for, and
 * in whatever order its descriptors are released: the kernel's connection
 * manager waits for the outcome of a connect or an accept, and the peer is
 * silent.
 *
 *	xt_stuck [-a [NS/]ADDRESS] [-b [NS/]ADDRESS]
 */
#include "xt.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Time limit for the end of a killed process */
#define BOUND_US	2000000
/* A Request for the peer-to-peer model, with an RTR Write. */
#define REQUEST		"MPA ID Req Frame\x50\x02\x00\x04\x80\x01\x80\x01"
/* The Reply that accepts it. */
#define REPLY		"MPA ID Rep Frame\x50\x02\x00\x04\x80\x01\x80\x01"
#define FRAME		24

static const struct xt_opts opts = XT_OPTS;

/* ---- plain TCP --------------------------------------------------------- */

static int tcp_socket(const struct xt_side *side)
{
	int fd;

	xt_enter(side);
	fd = socket(side->sa.ss_family, SOCK_STREAM, 0);
	XT_CHECK(fd >= 0, "socket: %m");
	return fd;
}

static int tcp_listen(int *port)
{
	struct sockaddr_storage sa = xt_addr(&xt_a, 0);
	socklen_t len = sizeof(sa);
	int fd = tcp_socket(&xt_a);

	XT_OK(bind(fd, (struct sockaddr *)&sa, xt_addr_len(&sa)));
	XT_OK(listen(fd, 4));
	XT_OK(getsockname(fd, (struct sockaddr *)&sa, &len));
	*port = ntohs(((struct sockaddr_in *)&sa)->sin_port);
	return fd;
}

/* Accepts a TCP connection, and waits for a Request, which gets no answer. */
static int tcp_take(int listener)
{
	struct pollfd p = { .events = POLLIN };

	p.fd = accept(listener, NULL, NULL);
	XT_CHECK(p.fd >= 0, "accept: %m");
	XT_EQ(poll(&p, 1, -1), 1);
	return p.fd;
}

/* ---- processes that wait ----------------------------------------------- */

/*
 * Connects with a channel that is newer than the file of the device, which an
 * older identifier has opened. At the end of the process the kernel releases
 * the channel first, while the queue pair still exists.
 */
static void dial(struct xt_end *e, int port)
{
	struct sockaddr_storage sa = xt_addr(&xt_a, port);
	struct xt_end first;

	xt_id(&first, &xt_b);
	xt_resolve(&first, &sa);
	xt_id(e, &xt_b);
	xt_resolve(e, &sa);
	xt_qp(e, &opts);
	xt_dial(e, &opts, NULL, 0);
}

static void dial_and_call(int port, int (*call)(struct rdma_cm_id *id))
{
	struct xt_end e;

	dial(&e, port);
	if (call)
		call(e.id);
	for (;;)
		pause();
}

static void dial_and_sleep(int port)
{
	dial_and_call(port, NULL);
}

static void *dial_in_thread(void *arg)
{
	dial_and_sleep(*(int *)arg);
	return NULL;
}

static void sleep_beside_dialer(int port)
{
	pthread_t thread;

	XT_OK(pthread_create(&thread, NULL, dial_in_thread, &port));
	for (;;)
		pause();
}

static void dial_and_disconnect(int port)
{
	dial_and_call(port, rdma_disconnect);
}

static void dial_and_destroy(int port)
{
	dial_and_call(port, rdma_destroy_id);
}

/* ---- cases ------------------------------------------------------------- */

static pid_t start(void (*what)(int arg), int arg)
{
	pid_t pid = fork();

	XT_CHECK(pid >= 0, "fork: %m");
	if (!pid) {
		what(arg);
		_exit(0);
	}
	return pid;
}

static void kill_in_time(pid_t pid)
{
	__u64 since = xt_now_us();
	int status;

	XT_OK(kill(pid, SIGKILL));
	XT_EQ(waitpid(pid, &status, 0), pid);
	XT_CHECK(WIFSIGNALED(status), "it ended before: status %#x", status);
	since = xt_now_us() - since;
	XT_CHECK(since < BOUND_US, "killed, it took %llu ms to end",
		 (unsigned long long)since / 1000);
}

static void killed_while(void (*what)(int port))
{
	int port, listener = tcp_listen(&port);
	pid_t pid = start(what, port);

	tcp_take(listener);
	kill_in_time(pid);
}

static void test_connect(void)
{
	killed_while(dial_and_sleep);
}

static void test_thread(void)
{
	killed_while(sleep_beside_dialer);
}

static void test_disconnect(void)
{
	killed_while(dial_and_disconnect);
}

static void test_destroy(void)
{
	killed_while(dial_and_destroy);
}

static int accepting[2];

static void accept_and_sleep(int backlog)
{
	struct sockaddr_storage sa = xt_addr(&xt_a, 0);
	struct xt_end listener, e;
	struct xt_event ev;
	int port;

	xt_id(&listener, &xt_a);
	port = xt_listen(&listener, &sa, backlog);
	XT_EQ(write(accepting[1], &port, sizeof(port)), sizeof(port));
	xt_expect(&listener, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	xt_adopt(&e, &xt_a, ev.id);
	xt_qp(&e, &opts);
	xt_answer(&e, &opts, NULL, 0);
	for (;;)
		pause();
}

static void test_accept(void)
{
	struct sockaddr_storage sa;
	char reply[FRAME];
	int port, fd;
	pid_t pid;

	XT_OK(pipe(accepting));
	pid = start(accept_and_sleep, 1);
	XT_EQ(read(accepting[0], &port, sizeof(port)), sizeof(port));
	sa = xt_addr(&xt_a, port);
	fd = tcp_socket(&xt_b);
	XT_OK(connect(fd, (struct sockaddr *)&sa, xt_addr_len(&sa)));
	XT_EQ(send(fd, REQUEST, FRAME, 0), FRAME);
	/* Never send the first FPDU, which should follow the Reply. */
	XT_EQ(recv(fd, reply, FRAME, MSG_WAITALL), FRAME);
	kill_in_time(pid);
}

/* Polls the state: the kernel does not let a child use the parent's channel. */
static void await_rts(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	do {
		usleep(10000);
		XT_OK(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
		XT_CHECK(attr.qp_state != IBV_QPS_ERR, "the connect failed");
	} while (attr.qp_state != IBV_QPS_RTS);
}

/* The core dump goes to a process that does not read it, and ends after 4 s. */
static void dump_core(void)
{
	static const char pattern[] = "|/usr/bin/sleep 4";
	int fd = open("/proc/sys/kernel/core_pattern", O_WRONLY);

	XT_CHECK(fd >= 0, "core_pattern: %m");
	XT_EQ(write(fd, pattern, sizeof(pattern)), sizeof(pattern));
	abort();
}

static void just_end(void)
{
	_exit(0);
}

/* A connect continues that a child has inherited from an ended process. */
static void inherited_from(void (*end)(void))
{
	int port, listener = tcp_listen(&port);
	int ready[2];
	struct xt_end e;
	char c;
	pid_t pid;
	int fd;

	XT_OK(pipe(ready));
	pid = fork();
	XT_CHECK(pid >= 0, "fork: %m");
	if (!pid) {
		dial(&e, port);
		pid = fork();
		XT_CHECK(pid >= 0, "fork: %m");
		if (pid)
			end();
		xt_watchdog(60);
		await_rts(e.qp);
		XT_EQ(write(ready[1], "e", 1), 1);
		_exit(0);
	}
	fd = tcp_take(listener);
	if (end == just_end)
		XT_EQ(waitpid(pid, NULL, 0), pid);
	/* Wait longer than the connect of a killed process would continue. */
	XT_EQ(poll(NULL, 0, BOUND_US / 1000), 0);
	XT_EQ(send(fd, REPLY, FRAME, 0), FRAME);
	close(ready[1]);
	XT_EQ(read(ready[0], &c, 1), 1);
	if (end != just_end)
		XT_EQ(waitpid(pid, NULL, 0), pid);
}

static void test_inherited(void)
{
	inherited_from(just_end);
}

static void test_dumped(void)
{
	inherited_from(dump_core);
}

/* The error state ends a connect, so that the identifier can go. */
static void test_error(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	int port, listener = tcp_listen(&port);
	struct xt_event ev;
	struct xt_end e;
	__u64 since;

	dial(&e, port);
	tcp_take(listener);
	since = xt_now_us();
	XT_OK(ibv_modify_qp(e.qp, &attr, IBV_QP_STATE));
	xt_next_event(&e, &ev);
	XT_CHECK(ev.type == RDMA_CM_EVENT_CONNECT_ERROR ||
		 ev.type == RDMA_CM_EVENT_UNREACHABLE,
		 "event %s (%d)", rdma_event_str(ev.type), ev.status);
	xt_close(&e);
	since = xt_now_us() - since;
	XT_CHECK(since < BOUND_US, "the end took %llu ms",
		 (unsigned long long)since / 1000);
}

static const struct xt_case cases[] = {
	{ "connect", "a kill -9 ends a process that connects", test_connect },
	{ "thread", "and one that connects in another thread", test_thread },
	{ "disconnect", "and one that disconnects what is not connected yet",
	  test_disconnect },
	{ "destroy", "and one that destroys an identifier that connects",
	  test_destroy },
	{ "accept", "and one whose peer does not confirm an accept",
	  test_accept },
	{ "inherited", "a connect goes on when its process has left it a child",
	  test_inherited },
	{ "dumped", "and when its process takes its time to dump core",
	  test_dumped },
	{ "error", "the error state ends a connect", test_error },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
