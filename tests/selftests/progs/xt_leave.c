// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The data of completed requests arrives, however the connection ends
 * afterwards. One process sends, polls all completions, and ends the
 * connection; another one receives, and compares. For a slow network, on which
 * most of the data is still in the sender's TCP at that time.
 *
 *	xt_leave [-a [NS/]ADDRESS] [-b [NS/]ADDRESS] [-n MESSAGES]
 *
 * Cases "late" and "stalled" need mpa/rnr_timeout_ms for as long as they take.
 */
#include "xt.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGE		(64 * 1024UL)
#define SMALL		(16 * 1024UL)
/* The smallest buffers of TCP have room for messages not received yet. */
#define LATE		8
#define LATE_POSTED	6
/* More than the longest time until a peer that accepts no data is lost. */
#define PATIENCE_US	120000000
/* More connections than the device keeps lingering, see XIW_EP_LINGERING. */
#define CROWD		300
#define CROWD_EACH	4

enum how {
	BY_EXIT,
	BY_KILL,
	BY_DESTROY_QP,
	BY_DESTROY_ID,
	BY_ERROR,
};

/**
 * struct plan - parameters of a case
 * @how: how the sender ends the connection
 * @close: it calls rdma_disconnect() before
 * @passive: the sender is the passive end
 * @late: the last receives are posted when the sender has ended the connection
 * @stalled: the last receives are never posted
 */
struct plan {
	enum how how;
	bool close;
	bool passive;
	bool late;
	bool stalled;
};

/* Private Data of the receiver: the memory for Writes */
struct target {
	__u64 addr;
	__u32 rkey;
};

/* Pipes: one passes the port of the passive end, one ends with the sender. */
static int port_pipe[2];
static int left_pipe[2];
/* A pipe that is never written: end of file when the case has ended */
static int over_pipe[2];

static void await_end_of(int fd)
{
	char c;

	while (read(fd, &c, 1) > 0)
		;
}

static const struct xt_opts usual = XT_OPTS;

static struct xt_opts opts_for(unsigned int n)
{
	struct xt_opts o = usual;

	o.send_wr = n;
	o.recv_wr = n;
	o.cqe = 2 * n;
	return o;
}

/* ---- connecting -------------------------------------------------------- */

static void tell_port(int port)
{
	XT_EQ(write(port_pipe[1], &port, sizeof(port)), sizeof(port));
}

static int hear_port(void)
{
	int port;

	XT_EQ(read(port_pipe[0], &port, sizeof(port)), sizeof(port));
	return port;
}

static void start_listener(struct xt_end *listener, int backlog)
{
	struct sockaddr_storage sa = xt_addr(&xt_a, 0);

	xt_id(listener, &xt_a);
	tell_port(xt_listen(listener, &sa, backlog));
}

static void start_dialer(struct xt_end *e, int port)
{
	struct sockaddr_storage sa = xt_addr(&xt_a, port);

	xt_id(e, &xt_b);
	xt_resolve(e, &sa);
}

/* ---- one connection ---------------------------------------------------- */

/* Slots alternate between Sends and Writes with immediate. */
static void send_all(struct xt_end *e, const struct target *t, unsigned int n)
{
	struct xt_buf from = xt_buf(e, n * MESSAGE, XT_LOCAL);
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	unsigned int i;

	xt_fill(from.p, from.len, 1);
	for (i = 0; i < n; i++) {
		sge = xt_sge(&from, i * MESSAGE, MESSAGE);
		wr = xt_wr(i % 2 ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND, i,
			   &sge, 1);
		wr.wr.rdma.remote_addr = t->addr + i * MESSAGE;
		wr.wr.rdma.rkey = t->rkey;
		xt_send(e, &wr);
	}
	for (i = 0; i < n; i++)
		xt_wc_ok(e->scq, i);
}

static void leave(struct xt_end *e, const struct plan *p)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (p->close)
		XT_OK(rdma_disconnect(e->id));
	switch (p->how) {
	case BY_EXIT:
		_exit(0);
	case BY_KILL:
		raise(SIGKILL);
		break;
	case BY_DESTROY_QP:
		rdma_destroy_qp(e->id);
		break;
	case BY_DESTROY_ID:
		rdma_destroy_qp(e->id);
		XT_OK(rdma_destroy_id(e->id));
		break;
	case BY_ERROR:
		XT_OK(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE));
		break;
	}
	close(left_pipe[1]);
	await_end_of(over_pipe[0]);
	_exit(0);
}

static void be_sender(const struct plan *p, unsigned int n)
{
	struct xt_opts o = opts_for(n);
	struct xt_end listener;
	struct target t;
	struct xt_event ev;
	struct xt_end e;

	if (p->passive) {
		start_listener(&listener, 1);
		xt_expect(&listener, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
		memcpy(&t, ev.data, sizeof(t));
		xt_adopt(&e, &xt_a, ev.id);
		xt_qp(&e, &o);
		xt_answer(&e, &o, NULL, 0);
		xt_expect(&e, RDMA_CM_EVENT_ESTABLISHED, NULL);
	} else {
		start_dialer(&e, hear_port());
		xt_qp(&e, &o);
		xt_dial(&e, &o, NULL, 0);
		xt_expect(&e, RDMA_CM_EVENT_ESTABLISHED, &ev);
		memcpy(&t, ev.data, sizeof(t));
	}
	send_all(&e, &t, n);
	leave(&e, p);
}

static void post(struct xt_end *e, const struct xt_buf *to, unsigned int from,
		 unsigned int n)
{
	struct ibv_sge sge;
	unsigned int i;

	for (i = from; i < n; i++) {
		sge = xt_sge(to, i * MESSAGE, MESSAGE);
		xt_recv(e, i, &sge, 1);
	}
}

static void be_receiver(const struct plan *p, unsigned int n)
{
	unsigned int early = p->late || p->stalled ? LATE_POSTED : n;
	struct xt_opts o = opts_for(n);
	struct xt_end listener;
	struct xt_event ev;
	struct target t;
	struct xt_buf to;
	struct xt_end e;
	unsigned int i;

	if (p->passive) {
		start_dialer(&e, hear_port());
	} else {
		start_listener(&listener, 1);
		xt_expect(&listener, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
		xt_adopt(&e, &xt_a, ev.id);
	}
	xt_qp(&e, &o);
	to = xt_buf(&e, n * MESSAGE, XT_REMOTE);
	t.addr = (uintptr_t)to.p;
	t.rkey = to.mr->rkey;
	post(&e, &to, 0, early);
	if (p->passive)
		xt_dial(&e, &o, &t, sizeof(t));
	else
		xt_answer(&e, &o, &t, sizeof(t));
	xt_expect(&e, RDMA_CM_EVENT_ESTABLISHED, NULL);
	for (i = 0; i < early; i++)
		xt_wc_ok(e.rcq, i);
	if (p->stalled) {
		await_end_of(over_pipe[0]);
		_exit(0);
	}
	if (p->late) {
		await_end_of(left_pipe[0]);
		post(&e, &to, early, n);
	}
	for (i = early; i < n; i++)
		xt_wc_ok(e.rcq, i);
	XT_SAME(to.p, to.len, 1);
	XT_GUARDS(&to);
	xt_expect(&e, RDMA_CM_EVENT_DISCONNECTED, NULL);
}

/* ---- many connections at once ------------------------------------------ */

static void crowd_sender(void)
{
	static struct xt_end ends[CROWD];
	struct xt_opts o = opts_for(CROWD_EACH);
	struct ibv_send_wr wr;
	struct xt_buf from;
	struct ibv_sge sge;
	int port = hear_port();
	unsigned int i, k;

	for (i = 0; i < CROWD; i++) {
		start_dialer(&ends[i], port);
		xt_qp(&ends[i], &o);
		xt_dial(&ends[i], &o, NULL, 0);
		xt_expect(&ends[i], RDMA_CM_EVENT_ESTABLISHED, NULL);
	}
	for (i = 0; i < CROWD; i++) {
		from = xt_buf(&ends[i], SMALL, XT_LOCAL);
		xt_fill(from.p, from.len, 1);
		sge = xt_sge(&from, 0, SMALL);
		for (k = 0; k < CROWD_EACH; k++) {
			wr = xt_wr(IBV_WR_SEND, k, &sge, 1);
			xt_send(&ends[i], &wr);
		}
	}
	for (i = 0; i < CROWD; i++)
		for (k = 0; k < CROWD_EACH; k++)
			xt_wc_ok(ends[i].scq, k);
	raise(SIGKILL);
}

static void crowd_receiver(void)
{
	static struct xt_end ends[CROWD];
	struct xt_opts o = opts_for(CROWD_EACH);
	struct xt_end listener;
	struct xt_event ev;
	struct xt_buf to;
	struct ibv_sge sge;
	unsigned int i, k;

	start_listener(&listener, CROWD);
	for (i = 0; i < CROWD; i++) {
		xt_expect(&listener, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
		xt_adopt(&ends[i], &xt_a, ev.id);
		xt_qp(&ends[i], &o);
		to = xt_buf(&ends[i], SMALL, XT_LOCAL);
		sge = xt_sge(&to, 0, SMALL);
		for (k = 0; k < CROWD_EACH; k++)
			xt_recv(&ends[i], k, &sge, 1);
		xt_answer(&ends[i], &o, NULL, 0);
		xt_expect(&ends[i], RDMA_CM_EVENT_ESTABLISHED, NULL);
	}
	for (i = 0; i < CROWD; i++)
		for (k = 0; k < CROWD_EACH; k++)
			xt_wc_ok(ends[i].rcq, k);
}

/* ---- a peer that reads nothing ----------------------------------------- */

/* Is there a TCP connection of this namespace to that port? */
static bool tcp_has(int port)
{
	FILE *f = XT_PTR(fopen("/proc/thread-self/net/tcp", "r"));
	unsigned int remote;
	bool found = false;
	char line[256];

	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%*s %*x:%*x %*x:%x", &remote) == 1 &&
			(int)remote == port;
	fclose(f);
	return found;
}

/* The process of the sender exits at once, its connection ends later. */
static void await_tcp(pid_t sender, int port)
{
	__u64 since;
	int status;

	XT_EQ(waitpid(sender, &status, 0), sender);
	since = xt_now_us();
	xt_enter(&xt_b);
	while (tcp_has(port)) {
		XT_CHECK(xt_now_us() - since < PATIENCE_US,
			 "TCP still has the connection");
		usleep(100000);
	}
	xt_note("TCP had the connection for %llu ms",
		(unsigned long long)(xt_now_us() - since) / 1000);
}

/* ---- cases ------------------------------------------------------------- */

/* Waits for both processes: the case fails if one of them failed a check. */
static void supervise(pid_t receiver, pid_t sender)
{
	int status;

	close(port_pipe[0]);
	close(port_pipe[1]);
	close(left_pipe[1]);
	XT_EQ(waitpid(receiver, &status, 0), receiver);
	XT_EQ(status, 0);
	close(over_pipe[1]);
	XT_EQ(waitpid(sender, &status, 0), sender);
	XT_CHECK(!status || (WIFSIGNALED(status) &&
			     WTERMSIG(status) == SIGKILL),
		 "the sender ended with status %#x", status);
}

static pid_t begin(void)
{
	pid_t pid = fork();

	XT_CHECK(pid >= 0, "fork: %m");
	if (!pid) {
		close(over_pipe[1]);
		xt_watchdog(170);
	}
	return pid;
}

static void run(const struct plan *p)
{
	unsigned int n = p && (p->late || p->stalled) ? LATE : xt_count(64);
	pid_t receiver, sender;
	int port = 0;

	XT_OK(pipe(port_pipe));
	XT_OK(pipe(left_pipe));
	XT_OK(pipe(over_pipe));
	receiver = begin();
	if (!receiver) {
		close(left_pipe[1]);
		if (p)
			be_receiver(p, n);
		else
			crowd_receiver();
		_exit(0);
	}
	if (p && p->stalled) {
		port = hear_port();
		tell_port(port);
	}
	sender = begin();
	if (!sender) {
		close(left_pipe[0]);
		if (p)
			be_sender(p, n);
		else
			crowd_sender();
		_exit(1);
	}
	if (p && p->stalled) {
		await_tcp(sender, port);
		close(over_pipe[1]);
		XT_EQ(waitpid(receiver, NULL, 0), receiver);
		return;
	}
	supervise(receiver, sender);
}

#define PLAN(_name, ...)						\
static void test_##_name(void)						\
{									\
	static const struct plan plan = { __VA_ARGS__ };		\
									\
	run(&plan);							\
}

/* Each way to leave, as the active end and as the passive one. */
PLAN(exit, .how = BY_EXIT)
PLAN(exit_passive, .how = BY_EXIT, .passive = true)
PLAN(exit_closed, .how = BY_EXIT, .close = true)
PLAN(exit_closed_passive, .how = BY_EXIT, .close = true, .passive = true)
PLAN(kill, .how = BY_KILL)
PLAN(kill_passive, .how = BY_KILL, .passive = true)
PLAN(kill_closed, .how = BY_KILL, .close = true)
PLAN(kill_closed_passive, .how = BY_KILL, .close = true, .passive = true)
PLAN(qp, .how = BY_DESTROY_QP)
PLAN(qp_passive, .how = BY_DESTROY_QP, .passive = true)
PLAN(qp_closed, .how = BY_DESTROY_QP, .close = true)
PLAN(qp_closed_passive, .how = BY_DESTROY_QP, .close = true, .passive = true)
PLAN(id, .how = BY_DESTROY_ID)
PLAN(id_passive, .how = BY_DESTROY_ID, .passive = true)
PLAN(id_closed, .how = BY_DESTROY_ID, .close = true)
PLAN(id_closed_passive, .how = BY_DESTROY_ID, .close = true, .passive = true)
PLAN(error, .how = BY_ERROR)
PLAN(error_passive, .how = BY_ERROR, .passive = true)
PLAN(error_closed, .how = BY_ERROR, .close = true)
PLAN(error_closed_passive, .how = BY_ERROR, .close = true, .passive = true)
PLAN(stalled, .how = BY_KILL, .stalled = true)
PLAN(late, .how = BY_KILL, .late = true)
PLAN(late_passive, .how = BY_KILL, .late = true, .passive = true)

static void test_crowd(void)
{
	run(NULL);
}

static const struct xt_case cases[] = {
	{ "exit",
	  "all arrives that completed before an exit",
	  test_exit },
	{ "exit-passive",
	  "all arrives from the passive end before an exit",
	  test_exit_passive },
	{ "exit-closed",
	  "all arrives, with a disconnect before an exit",
	  test_exit_closed },
	{ "exit-closed-passive",
	  "and from the passive end, with a disconnect before an exit",
	  test_exit_closed_passive },
	{ "kill",
	  "all arrives that completed before a kill -9",
	  test_kill },
	{ "kill-passive",
	  "all arrives from the passive end before a kill -9",
	  test_kill_passive },
	{ "kill-closed",
	  "all arrives, with a disconnect before a kill -9",
	  test_kill_closed },
	{ "kill-closed-passive",
	  "and from the passive end, with a disconnect before a kill -9",
	  test_kill_closed_passive },
	{ "qp",
	  "all arrives that completed before the end of the queue pair",
	  test_qp },
	{ "qp-passive",
	  "all arrives from the passive end before the end of the queue pair",
	  test_qp_passive },
	{ "qp-closed",
	  "all arrives, with a disconnect before the end of the queue pair",
	  test_qp_closed },
	{ "qp-closed-passive",
	  "and from the passive end, with a disconnect before the end of the queue pair",
	  test_qp_closed_passive },
	{ "id",
	  "all arrives that completed before the end of queue pair and identifier",
	  test_id },
	{ "id-passive",
	  "all arrives from the passive end before the end of queue pair and identifier",
	  test_id_passive },
	{ "id-closed",
	  "all arrives, with a disconnect before the end of queue pair and identifier",
	  test_id_closed },
	{ "id-closed-passive",
	  "and from the passive end, with a disconnect before the end of queue pair and identifier",
	  test_id_closed_passive },
	{ "error",
	  "all arrives that completed before the error state",
	  test_error },
	{ "error-passive",
	  "all arrives from the passive end before the error state",
	  test_error_passive },
	{ "error-closed",
	  "all arrives, with a disconnect before the error state",
	  test_error_closed },
	{ "error-closed-passive",
	  "and from the passive end, with a disconnect before the error state",
	  test_error_closed_passive },
	{ "late", "all arrives where receives are posted behind a kill -9",
	  test_late },
	{ "late-passive", "and from the passive end", test_late_passive },
	{ "stalled", "a peer that takes nothing is given up after a time",
	  test_stalled },
	{ "crowd", "all arrives of more connections than may linger",
	  test_crowd },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
