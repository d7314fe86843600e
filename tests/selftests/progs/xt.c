// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Functions that all test programs share, see xt.h.
 */
#include "xt.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RESOLVE_MS	1000
#define RESOLVE_TRIES	15
#define GUARD		0xa5
#define SPARE		64
#define HELLO		0x4845ULL

struct xt_side xt_a = { .ns = -1 };
struct xt_side xt_b = { .ns = -1 };
struct xt_side xt_other = { .ns = -1 };

static unsigned int seconds_per_case = 180;
static int count_option;
static const char *here_file = "?";
static int here_line;

/* ---- cases and their results ------------------------------------------- */

void xt_here(const char *file, int line)
{
	here_file = file;
	here_line = line;
}

void xt_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("# ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
}

void xt_fail(const char *file, int line, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	printf("# %s:%d: ", file, line);
	errno = saved;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf(" (last wait or post: %s:%d)\n", here_file, here_line);
	fflush(stdout);
	_exit(1);
}

void xt_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("# skip: ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	fflush(stdout);
	_exit(XT_SKIP);
}

/* Calls only functions that are permitted in a signal handler. */
static void out_of_time(int sig)
{
	char digits[12];
	int i = sizeof(digits);
	int line = here_line;

	(void)sig;
	digits[--i] = '\n';
	do {
		digits[--i] = '0' + line % 10;
		line /= 10;
	} while (line && i > 0);
	if (write(1, "# out of time at ", 17) < 0 ||
	    write(1, here_file, strlen(here_file)) < 0 ||
	    write(1, ":", 1) < 0 ||
	    write(1, digits + i, sizeof(digits) - i) < 0)
		_exit(3);
	_exit(2);
}

void xt_watchdog(unsigned int seconds)
{
	const char *slow = getenv("XIW_SLOW");

	signal(SIGALRM, out_of_time);
	alarm(seconds * (slow ? atoi(slow) : 1));
}

/* xt_count: the value of -n, or OTHERWISE without that option. */
int xt_count(int otherwise)
{
	return count_option ? count_option : otherwise;
}

bool xt_patched(void)
{
	const char *patched = getenv("XIW_PATCHED");

	return patched && *patched;
}

bool xt_kernel_before(int version, int patchlevel)
{
	struct utsname kernel;
	int v, p;

	XT_OK(uname(&kernel));
	XT_EQ(sscanf(kernel.release, "%d.%d", &v, &p), 2);
	return v < version || (v == version && p < patchlevel);
}

void xt_needs_odp(struct xt_end *e)
{
	struct ibv_device_attr_ex attr;

	XT_OK(ibv_query_device_ex(e->id->verbs, NULL, &attr));
	if (!(attr.odp_caps.general_caps & IBV_ODP_SUPPORT))
		xt_skip("the kernel has no on-demand paging");
}

/* xt_fork: as fork(), but the child is killed when its parent ends. */
pid_t xt_fork(void)
{
	pid_t parent = getpid();
	pid_t pid;

	fflush(stdout);
	pid = fork();
	XT_CHECK(pid >= 0, "fork: %m");
	if (!pid) {
		XT_OK(prctl(PR_SET_PDEATHSIG, SIGKILL));
		/* A parent that ended before that sends no signal. */
		if (getppid() != parent)
			_exit(1);
	}
	return pid;
}

static void run_child(const struct xt_case *c)
{
	xt_watchdog(seconds_per_case);
	c->run();
	fflush(stdout);
	/* No exit handlers: the kernel closes the objects that are left. */
	_exit(0);
}

/* Runs a case in a process, and prints its result. True unless it failed. */
static bool run_case(const struct xt_case *c)
{
	int status;
	pid_t pid;

	pid = xt_fork();
	if (!pid)
		run_child(c);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status)) {
		printf("# killed by signal %d\n", WTERMSIG(status));
		printf("not ok %s: %s\n", c->name, c->what);
		return false;
	}
	if (WEXITSTATUS(status) == XT_SKIP) {
		printf("skip %s: %s\n", c->name, c->what);
		return true;
	}
	printf("%s %s: %s\n", WEXITSTATUS(status) ? "not ok" : "ok", c->name,
	       c->what);
	return !WEXITSTATUS(status);
}

static void usage(const char *name)
{
	fprintf(stderr,
		"usage: %s [-l] [-t CASE]... [-a NS/ADDR] [-b NS/ADDR] [-o NS/ADDR] [-n COUNT] [-T SECONDS]\n"
		"  -l  list the cases\n"
		"  -t  run this case only\n"
		"  -a  passive side, -b  active side\n"
		"  -o  another address of the passive side\n"
		"  -n  repetitions, where a case has any\n"
		"  -T  seconds a case may take\n", name);
	exit(2);
}

static bool chosen(char **names, int n, const char *name)
{
	int i;

	for (i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return !n;
}

/*
 * Runs the chosen cases, one line of verdict each: "ok", "not ok" or "skip"
 * with name and claim. Returns the exit status of the program.
 */
int xt_main(int argc, char **argv, const struct xt_case *cases, size_t n)
{
	char *names[32];
	int num_names = 0;
	bool list = false;
	int failed = 0;
	int ran = 0;
	size_t i;
	int opt;

	while ((opt = getopt(argc, argv, "lt:a:b:o:n:T:")) != -1) {
		if (opt == 'l')
			list = true;
		else if (opt == 't' && num_names < (int)XT_NELEM(names))
			names[num_names++] = optarg;
		else if (opt == 'a')
			xt_side_set(&xt_a, optarg);
		else if (opt == 'b')
			xt_side_set(&xt_b, optarg);
		else if (opt == 'o')
			xt_side_set(&xt_other, optarg);
		else if (opt == 'n')
			count_option = atoi(optarg);
		else if (opt == 'T')
			seconds_per_case = atoi(optarg);
		else
			usage(argv[0]);
	}
	for (i = 0; i < n; i++) {
		if (!chosen(names, num_names, cases[i].name))
			continue;
		ran++;
		if (list)
			printf("%s: %s\n", cases[i].name, cases[i].what);
		else if (!run_case(&cases[i]))
			failed++;
		fflush(stdout);
	}
	return failed || !ran;
}

/* ---- sides ------------------------------------------------------------- */

/* xt_side_set: SPEC is NAMESPACE/ADDRESS, or an address here. */
void xt_side_set(struct xt_side *side, const char *spec)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&side->sa;
	struct sockaddr_in *sin = (struct sockaddr_in *)&side->sa;
	const char *slash = strchr(spec, '/');
	char path[300];

	memset(&side->sa, 0, sizeof(side->sa));
	side->ns = -1;
	if (slash) {
		snprintf(path, sizeof(path), "/run/netns/%.*s",
			 (int)(slash - spec), spec);
		side->ns = open(path, O_RDONLY | O_CLOEXEC);
		XT_CHECK(side->ns >= 0, "%s: %m", path);
		spec = slash + 1;
	}
	if (inet_pton(AF_INET, spec, &sin->sin_addr) == 1)
		sin->sin_family = AF_INET;
	else if (inet_pton(AF_INET6, spec, &sin6->sin6_addr) == 1)
		sin6->sin6_family = AF_INET6;
	else
		XT_CHECK(false, "not an address: %s", spec);
}

/* xt_enter: sockets and identifiers created from now on belong to this side. */
void xt_enter(const struct xt_side *side)
{
	if (side->ns >= 0)
		XT_OK(setns(side->ns, CLONE_NEWNET));
}

struct sockaddr_storage xt_addr(const struct xt_side *side, int port)
{
	struct sockaddr_storage sa = side->sa;

	/* The port is at the same place for both families. */
	((struct sockaddr_in *)&sa)->sin_port = htons(port);
	return sa;
}

socklen_t xt_addr_len(const struct sockaddr_storage *sa)
{
	return sa->ss_family == AF_INET ? sizeof(struct sockaddr_in) :
					  sizeof(struct sockaddr_in6);
}

/* ---- connection manager ------------------------------------------------ */

void xt_id(struct xt_end *e, const struct xt_side *side)
{
	memset(e, 0, sizeof(*e));
	e->side = side;
	xt_enter(side);
	e->ch = XT_PTR(rdma_create_event_channel());
	XT_OK(rdma_create_id(e->ch, &e->id, NULL, RDMA_PS_TCP));
}

/* xt_listen: listens at SA; returns the port. */
int xt_listen(struct xt_end *e, const struct sockaddr_storage *sa, int backlog)
{
	XT_OK(rdma_bind_addr(e->id, (struct sockaddr *)sa));
	XT_OK(rdma_listen(e->id, backlog));
	return ntohs(rdma_get_src_port(e->id));
}

/*
 * Resolves address and route. The core may miss the answer of a neighbour that
 * answers at once, as on a veth pair, and then checks again at the timeout: so
 * use a short timeout, and repeat the call.
 */
void xt_resolve(struct xt_end *e, const struct sockaddr_storage *to)
{
	struct xt_event ev;
	int tries = 0;

	do {
		XT_OK(rdma_resolve_addr(e->id, NULL, (struct sockaddr *)to,
					RESOLVE_MS));
		xt_next_event(e, &ev);
	} while (ev.type == RDMA_CM_EVENT_ADDR_ERROR &&
		 ++tries < RESOLVE_TRIES);
	XT_CHECK(ev.type == RDMA_CM_EVENT_ADDR_RESOLVED, "event %s (%d)",
		 rdma_event_str(ev.type), ev.status);
	XT_OK(rdma_resolve_route(e->id, RESOLVE_MS));
	xt_do_expect(e, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
}

/*
 * xt_adopt: makes an end of the identifier of a request, with its own channel.
 */
void xt_adopt(struct xt_end *e, const struct xt_side *side,
	      struct rdma_cm_id *id)
{
	memset(e, 0, sizeof(*e));
	e->side = side;
	xt_enter(side);
	e->ch = XT_PTR(rdma_create_event_channel());
	e->id = id;
	XT_OK(rdma_migrate_id(id, e->ch));
}

static struct ibv_cq *new_cq(struct ibv_context *ctx, unsigned int cqe)
{
	struct ibv_comp_channel *cc = XT_PTR(ibv_create_comp_channel(ctx));

	return XT_PTR(ibv_create_cq(ctx, cqe, cc, cc, 0));
}

void xt_qp(struct xt_end *e, const struct xt_opts *o)
{
	struct ibv_srq_init_attr srq = {
		.attr = { .max_wr = o->srq_wr, .max_sge = o->recv_sge },
	};
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = o->send_wr,
			.max_recv_wr = o->recv_wr,
			.max_send_sge = o->send_sge,
			.max_recv_sge = o->recv_sge,
			.max_inline_data = o->inline_len,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = o->sig_all,
	};

	e->pd = o->pd ? o->pd : XT_PTR(ibv_alloc_pd(e->id->verbs));
	e->scq = new_cq(e->id->verbs, o->cqe);
	e->rcq = o->rcq ? o->rcq : new_cq(e->id->verbs, o->cqe);
	e->srq = o->srq;
	if (o->srq_wr)
		e->srq = XT_PTR(ibv_create_srq(e->pd, &srq));
	attr.send_cq = e->scq;
	attr.recv_cq = e->rcq;
	attr.srq = e->srq;
	XT_OK(rdma_create_qp(e->id, e->pd, &attr));
	e->qp = e->id->qp;
	e->cap = attr.cap;
	e->spare = xt_buf(e, SPARE, XT_LOCAL);
}

static struct rdma_conn_param conn_param(const struct xt_opts *o,
					 const void *data, unsigned int len)
{
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = len,
		.responder_resources = o->ird,
		.initiator_depth = o->ord,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};

	return param;
}

void xt_dial(struct xt_end *e, const struct xt_opts *o, const void *data,
	     unsigned int len)
{
	struct rdma_conn_param param = conn_param(o, data, len);

	xt_enter(e->side);
	XT_OK(rdma_connect(e->id, &param));
}

void xt_answer(struct xt_end *e, const struct xt_opts *o, const void *data,
	       unsigned int len)
{
	struct rdma_conn_param param = conn_param(o, data, len);

	xt_enter(e->side);
	XT_OK(rdma_accept(e->id, &param));
}

void xt_next_event(struct xt_end *e, struct xt_event *ev)
{
	struct rdma_cm_event *raw;

	XT_OK(rdma_get_cm_event(e->ch, &raw));
	memset(ev, 0, sizeof(*ev));
	ev->type = raw->event;
	ev->status = raw->status;
	ev->id = raw->id;
	ev->data_len = raw->param.conn.private_data_len;
	if (raw->param.conn.private_data)
		memcpy(ev->data, raw->param.conn.private_data, ev->data_len);
	ev->responder_resources = raw->param.conn.responder_resources;
	ev->initiator_depth = raw->param.conn.initiator_depth;
	XT_OK(rdma_ack_cm_event(raw));
}

/*
 * xt_do_expect: checks the type of the next event; copies it to EV if not NULL.
 */
void xt_do_expect(struct xt_end *e, enum rdma_cm_event_type type,
		  struct xt_event *ev)
{
	struct xt_event local;

	ev = ev ? ev : &local;
	xt_next_event(e, ev);
	XT_CHECK(ev->type == type, "event %s (status %d) instead of %s",
		 rdma_event_str(ev->type), ev->status, rdma_event_str(type));
}

static void close_cq(struct ibv_cq *cq)
{
	struct ibv_comp_channel *cc = cq->channel;

	XT_OK(ibv_destroy_cq(cq));
	XT_OK(ibv_destroy_comp_channel(cc));
}

/* xt_close: destroys all objects of an end, which must not share any. */
void xt_close(struct xt_end *e)
{
	if (e->qp) {
		rdma_destroy_qp(e->id);
		XT_GUARDS(&e->spare);
		xt_buf_free(&e->spare);
	}
	if (e->srq)
		XT_OK(ibv_destroy_srq(e->srq));
	if (e->qp) {
		close_cq(e->scq);
		close_cq(e->rcq);
		XT_OK(ibv_dealloc_pd(e->pd));
	}
	XT_OK(rdma_destroy_id(e->id));
	rdma_destroy_event_channel(e->ch);
	memset(e, 0, sizeof(*e));
}

/* ---- whole connections ------------------------------------------------- */

/*
 * Exchanges a first message. The active end of an iWARP connection must send
 * first; after this exchange both ends may.
 */
void xt_do_hello(struct xt_pair *p)
{
	struct xt_buf from = xt_buf(&p->b, 8, XT_LOCAL);
	struct ibv_sge sge = xt_sge(&from, 0, 8);
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, HELLO, &sge, 1);
	struct ibv_wc wc;

	xt_fill(from.p, 8, HELLO);
	xt_do_send(&p->b, &wr);
	xt_do_wc(p->b.scq, HELLO, IBV_WC_SUCCESS);
	wc = xt_do_wc(p->a.rcq, HELLO, IBV_WC_SUCCESS);
	XT_EQ(wc.byte_len, 8);
	xt_buf_free(&from);
}

void xt_do_pair(struct xt_pair *p, const struct xt_opts *oa,
		const struct xt_opts *ob)
{
	static const struct xt_opts usual = XT_OPTS;
	const char *wanted = getenv("XT_PORT");
	struct sockaddr_storage sa = xt_addr(&xt_a, wanted ? atoi(wanted) : 0);
	struct xt_buf into = {};
	struct xt_end listener;
	struct xt_event ev;
	struct ibv_sge sge;

	oa = oa ? oa : &usual;
	ob = ob ? ob : &usual;
	xt_id(&listener, &xt_a);
	sa = xt_addr(&xt_a, xt_listen(&listener, &sa, 8));
	xt_id(&p->b, &xt_b);
	xt_resolve(&p->b, &sa);
	xt_qp(&p->b, ob);
	xt_dial(&p->b, ob, NULL, 0);
	xt_do_expect(&listener, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	xt_adopt(&p->a, &xt_a, ev.id);
	xt_qp(&p->a, oa);
	if (!oa->no_hello) {
		into = xt_buf(&p->a, 8, XT_LOCAL);
		sge = xt_sge(&into, 0, 8);
		xt_do_recv(&p->a, HELLO, &sge, 1);
	}
	xt_answer(&p->a, oa, NULL, 0);
	xt_do_expect(&p->a, RDMA_CM_EVENT_ESTABLISHED, NULL);
	xt_do_expect(&p->b, RDMA_CM_EVENT_ESTABLISHED, NULL);
	xt_close(&listener);
	if (!oa->no_hello) {
		xt_do_hello(p);
		XT_SAME(into.p, 8, HELLO);
		xt_buf_free(&into);
	}
}

/* xt_do_hang_up: FIRST disconnects, both ends get the event, and are closed. */
void xt_do_hang_up(struct xt_pair *p, struct xt_end *first)
{
	XT_OK(rdma_disconnect(first->id));
	xt_do_expect(&p->a, RDMA_CM_EVENT_DISCONNECTED, NULL);
	xt_do_expect(&p->b, RDMA_CM_EVENT_DISCONNECTED, NULL);
	xt_close(&p->a);
	xt_close(&p->b);
}

/* ---- memory ------------------------------------------------------------ */

struct xt_buf xt_buf_at(struct ibv_pd *pd, size_t len, size_t page_off,
			int access)
{
	size_t inner = (page_off + len + XT_PAGE - 1) & ~(XT_PAGE - 1);
	struct xt_buf b = { .len = len, .map_len = inner + 2 * XT_PAGE };

	b.map = mmap(NULL, b.map_len, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	XT_CHECK(b.map != MAP_FAILED, "mmap: %m");
	memset(b.map, GUARD, b.map_len);
	b.p = b.map + XT_PAGE + page_off;
	memset(b.p, 0, len);
	b.mr = XT_PTR(ibv_reg_mr(pd, b.p, len, access));
	return b;
}

struct xt_buf xt_buf(struct xt_end *e, size_t len, int access)
{
	return xt_buf_at(e->pd, len, 0, access);
}

void xt_buf_free(struct xt_buf *b)
{
	if (b->mr)
		XT_OK(ibv_dereg_mr(b->mr));
	munmap(b->map, b->map_len);
	memset(b, 0, sizeof(*b));
}

/* xt_guards: checks that no byte outside the region has changed. */
void xt_guards(const struct xt_buf *b, const char *file, int line)
{
	const __u8 *end = b->map + b->map_len;

	xt_all(file, line, b->map, b->p - b->map, GUARD);
	xt_all(file, line, b->p + b->len, end - (b->p + b->len), GUARD);
}

static __u64 mix(__u64 x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

void xt_fill(void *p, size_t len, __u64 seed)
{
	__u64 base = mix(seed);
	__u8 *out = p;
	size_t at;
	__u64 w;

	for (at = 0; at < len; at += sizeof(w)) {
		w = mix(base + at);
		memcpy(out + at, &w,
		       len - at < sizeof(w) ? len - at : sizeof(w));
	}
}

void xt_same(const char *file, int line, const void *p, size_t len, __u64 seed)
{
	__u64 base = mix(seed);
	const __u8 *in = p;
	size_t at;
	size_t n;
	__u64 w;

	for (at = 0; at < len; at += sizeof(w)) {
		n = len - at < sizeof(w) ? len - at : sizeof(w);
		w = mix(base + at);
		if (memcmp(in + at, &w, n))
			xt_fail(file, line,
				"wrong data in bytes %zu..%zu of %zu", at,
				at + n - 1, len);
	}
}

void xt_all(const char *file, int line, const void *p, size_t len, __u8 byte)
{
	const __u8 *in = p;
	size_t at;

	for (at = 0; at < len; at++)
		if (in[at] != byte)
			xt_fail(file, line,
				"byte %zu of %zu is %02x and should be %02x",
				at, len, in[at], byte);
}

/* ---- work requests ----------------------------------------------------- */

struct ibv_sge xt_sge(const struct xt_buf *b, size_t off, size_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)b->p + off,
		.length = len,
		.lkey = b->mr->lkey,
	};

	return sge;
}

/* xt_wr: returns a signalled work request, for operations without a target. */
struct ibv_send_wr xt_wr(enum ibv_wr_opcode op, __u64 wr_id,
			 struct ibv_sge *sge, int n)
{
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.opcode = op,
		.sg_list = sge,
		.num_sge = n,
		.send_flags = IBV_SEND_SIGNALED,
	};

	return wr;
}

struct ibv_send_wr xt_wr_to(enum ibv_wr_opcode op, __u64 wr_id,
			    struct ibv_sge *sge, int n, const struct xt_buf *to,
			    size_t off)
{
	struct ibv_send_wr wr = xt_wr(op, wr_id, sge, n);

	wr.wr.rdma.remote_addr = (uintptr_t)to->p + off;
	wr.wr.rdma.rkey = to->mr ? to->mr->rkey : 0;
	return wr;
}

struct ibv_send_wr xt_atomic(enum ibv_wr_opcode op, __u64 wr_id,
			     struct ibv_sge *sge, const struct xt_buf *to,
			     size_t off, __u64 compare_add, __u64 swap)
{
	struct ibv_send_wr wr = xt_wr(op, wr_id, sge, 1);

	wr.wr.atomic.remote_addr = (uintptr_t)to->p + off;
	wr.wr.atomic.rkey = to->mr->rkey;
	wr.wr.atomic.compare_add = compare_add;
	wr.wr.atomic.swap = swap;
	return wr;
}

/* xt_try_send: posts sends; returns 0 or a positive errno. */
int xt_try_send(struct xt_end *e, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return abs(ibv_post_send(e->qp, wr, &bad));
}

/* xt_try_recv: posts receives, to the SRQ if there is one; 0 or an errno. */
int xt_try_recv(struct xt_end *e, __u64 wr_id, struct ibv_sge *sge, int n)
{
	struct ibv_recv_wr wr = {
		.wr_id = wr_id, .sg_list = sge, .num_sge = n,
	};
	struct ibv_recv_wr *bad;

	if (e->srq)
		return abs(ibv_post_srq_recv(e->srq, &wr, &bad));
	return abs(ibv_post_recv(e->qp, &wr, &bad));
}

void xt_do_send(struct xt_end *e, struct ibv_send_wr *wr)
{
	int ret = xt_try_send(e, wr);

	XT_CHECK(!ret, "post send: %s", strerror(ret));
}

void xt_do_recv(struct xt_end *e, __u64 wr_id, struct ibv_sge *sge, int n)
{
	int ret = xt_try_recv(e, wr_id, sge, n);

	XT_CHECK(!ret, "post receive: %s", strerror(ret));
}

/* xt_do_recvs: posts N receives for small messages of any content. */
void xt_do_recvs(struct xt_end *e, __u64 first, unsigned int n)
{
	struct ibv_sge sge = xt_sge(&e->spare, 0, SPARE);
	unsigned int i;

	for (i = 0; i < n; i++)
		xt_do_recv(e, first + i, &sge, 1);
}

/* ---- completions ------------------------------------------------------- */

const char *xt_wc_name(enum ibv_wc_status status)
{
	return ibv_wc_status_str(status);
}

static bool poll_one(struct ibv_cq *cq, struct ibv_wc *wc)
{
	int n = ibv_poll_cq(cq, 1, wc);

	XT_CHECK(n >= 0, "poll: %d", n);
	return n;
}

/* xt_do_wait: takes the next completion; sleeps until its event. */
void xt_do_wait(struct ibv_cq *cq, struct ibv_wc *wc)
{
	struct ibv_cq *which;
	void *context;

	while (!poll_one(cq, wc)) {
		XT_OK(ibv_req_notify_cq(cq, 0));
		if (poll_one(cq, wc))
			return;
		XT_OK(ibv_get_cq_event(cq->channel, &which, &context));
		XT_CHECK(which == cq && context == cq->cq_context,
			 "an event of another queue");
		ibv_ack_cq_events(cq, 1);
	}
}

/* xt_do_spin: takes the next completion; polls, and does not arm the queue. */
void xt_do_spin(struct ibv_cq *cq, struct ibv_wc *wc)
{
	while (!poll_one(cq, wc))
		sched_yield();
}

/* xt_do_wc: checks that the next completion has this wr_id and status. */
struct ibv_wc xt_do_wc(struct ibv_cq *cq, __u64 wr_id, enum ibv_wc_status want)
{
	struct ibv_wc wc;

	xt_do_wait(cq, &wc);
	XT_CHECK(wc.wr_id == wr_id && wc.status == want,
		 "completion of %#llx: %s (vendor %#x), wanted %#llx: %s",
		 (unsigned long long)wc.wr_id, xt_wc_name(wc.status),
		 wc.vendor_err, wr_id, xt_wc_name(want));
	return wc;
}

/*
 * xt_do_flushed: checks that WRs FIRST..FIRST+N-1 are flushed, and no others.
 */
void xt_do_flushed(struct ibv_cq *cq, __u64 first, unsigned int n)
{
	struct ibv_wc wc;
	unsigned int i;

	for (i = 0; i < n; i++)
		xt_do_wc(cq, first + i, IBV_WC_WR_FLUSH_ERR);
	XT_CHECK(!poll_one(cq, &wc), "one completion too many: %#llx, %s",
		 (unsigned long long)wc.wr_id, xt_wc_name(wc.status));
}

bool xt_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n = poll(&p, 1, 0);

	XT_CHECK(n >= 0, "poll: %m");
	return n && (p.revents & POLLIN);
}

bool xt_commands(void (*obey)(char *line))
{
	static char buf[4096];
	static size_t have;
	char *end;
	ssize_t n;

	n = read(0, buf + have, sizeof(buf) - 1 - have);
	if (n <= 0)
		return false;
	have += n;
	buf[have] = 0;
	while ((end = strchr(buf, '\n'))) {
		*end++ = 0;
		obey(buf);
		have -= end - buf;
		memmove(buf, end, have + 1);
	}
	return true;
}

__u64 xt_now_us(void)
{
	struct timespec ts;

	XT_OK(clock_gettime(CLOCK_MONOTONIC, &ts));
	return ts.tv_sec * 1000000ULL + ts.tv_nsec / 1000;
}

/* ---- asynchronous events ----------------------------------------------- */

static bool event_is_for(const struct ibv_async_event *ev, struct xt_end *e)
{
	switch (ev->event_type) {
	case IBV_EVENT_CQ_ERR:
		return ev->element.cq == e->scq || ev->element.cq == e->rcq;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return ev->element.srq == e->srq;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return ev->element.qp == e->qp;
	default:
		return true;
	}
}

/* xt_do_async: waits for this event of this end, and prints other events. */
void xt_do_async(struct xt_end *e, enum ibv_event_type type)
{
	struct ibv_async_event ev;
	bool found;

	do {
		XT_OK(ibv_get_async_event(e->id->verbs, &ev));
		found = ev.event_type == type && event_is_for(&ev, e);
		if (!found)
			xt_note("async event %s while waiting for %s",
				ibv_event_type_str(ev.event_type),
				ibv_event_type_str(type));
		ibv_ack_async_event(&ev);
	} while (!found);
}
