// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Runs each step repeatedly, and refuses its first, second, ... allocation (or
 * copy from or to user space), until the step makes no further one. Each time
 * it must fail or succeed, and leave nothing behind. Uses
 * /proc/thread-self/fail-nth, for which the kernel needs CONFIG_FAILSLAB,
 * CONFIG_FAIL_PAGE_ALLOC and CONFIG_FAULT_INJECTION_USERCOPY.
 *
 * -n COUNT refuses only every COUNTth allocation, beginning at random.
 */
#include "xt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <rdma/rdma_netlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#define FAIL_NTH	"/proc/thread-self/fail-nth"
#define NTH_MAX		20000
#define PATIENCE_MS	30000
#define BLOCK		(128 * 1024UL)

/**
 * struct step - an operation to be tested
 * @prepare: creates the objects that it needs, or NULL
 * @act: the operation; returns 0 or an errno
 * @undo: called after success, or NULL
 * @cleanup: called after success and after failure, or NULL
 */
struct step {
	void (*prepare)(void);
	int (*act)(void);
	void (*undo)(void);
	void (*cleanup)(void);
};

/* Objects that the steps use */
static struct ibv_context *ctx;
static struct ibv_device **devices;
static struct ibv_device *device;
static struct ibv_context *opened;
static struct xt_end e;
static struct xt_end listener;
static struct xt_pair pair;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_cq *made_cq;
static struct ibv_comp_channel *channel;
static struct ibv_mr *mr;
static struct ibv_mw *mw;
static struct ibv_srq *srq;
static struct ibv_srq *made_srq;
static struct ibv_qp *qp;
static struct xt_buf from;
static struct xt_buf to;
static __u8 *memory;

/* ---- refusals ---------------------------------------------------------- */

static int nth_fd = -1;

/*
 * The write itself may fail for lack of memory; then nothing is refused any
 * more.
 */
static void refuse(int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", nth);

	if (pwrite(nth_fd, text, len, 0) != len)
		XT_EQ(pwrite(nth_fd, text, len, 0), len);
}

/* Ends the refusals. Returns true if one happened. */
static bool refused(void)
{
	char text[16] = "";
	ssize_t n = pread(nth_fd, text, sizeof(text) - 1, 0);

	refuse(0);
	return n > 0 && !atoi(text);
}

static bool once(const struct step *s, int nth)
{
	bool hit;
	int ret;

	if (s->prepare)
		s->prepare();
	refuse(nth);
	ret = s->act();
	hit = refused();
	XT_CHECK(hit || !ret, "failed without a reason: %s", strerror(ret));
	if (!ret && s->undo)
		s->undo();
	if (s->cleanup)
		s->cleanup();
	return hit;
}

static void begin(void)
{
	nth_fd = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	if (nth_fd < 0)
		xt_skip("no " FAIL_NTH);
}

static void walk_by(const struct step *s, int stride)
{
	int nth;

	begin();
	srandom(getpid());
	/*
	 * Run it once without refusals, for allocations that occur only once.
	 */
	once(s, NTH_MAX);
	for (nth = 1 + random() % stride; once(s, nth); nth += stride)
		XT_CHECK(nth < NTH_MAX, "no end of allocations");
	xt_note("%d refused", (nth - 1) / stride);
}

static void walk(const struct step *s)
{
	walk_by(s, xt_count(1));
}

static int error_of(const void *p)
{
	return p ? 0 : errno ? errno : EIO;
}

/* ---- devices ----------------------------------------------------------- */

#define SECOND_LINK	"second"
#define SECOND_NETDEV	"dummy0"

/**
 * struct request - what the core is asked for by netlink
 * @hdr: header
 * @attrs: attributes
 */
struct request {
	struct nlmsghdr hdr;
	__u8 attrs[256];
};

static int netlink_fd = -1;

static void add_attr(struct request *r, int type, const void *p, size_t len)
{
	struct nlattr *a = (void *)((__u8 *)r + NLMSG_ALIGN(r->hdr.nlmsg_len));

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	memcpy(a + 1, p, len);
	r->hdr.nlmsg_len = NLMSG_ALIGN(r->hdr.nlmsg_len) +
			   NLA_ALIGN(a->nla_len);
}

/* Sends it and returns the errno of the answer. */
static int ask(struct request *r)
{
	struct {
		struct nlmsghdr hdr;
		struct nlmsgerr err;
		__u8 rest[512];
	} answer;

	r->hdr.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	if (send(netlink_fd, r, r->hdr.nlmsg_len, 0) < 0)
		return errno;
	if (recv(netlink_fd, &answer, sizeof(answer), 0) < 0)
		return errno;
	XT_EQ(answer.hdr.nlmsg_type, NLMSG_ERROR);
	return -answer.err.error;
}

static int act_link(void)
{
	struct request r = {
		.hdr.nlmsg_len = NLMSG_HDRLEN,
		.hdr.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV,
						   RDMA_NLDEV_CMD_NEWLINK),
	};

	add_attr(&r, RDMA_NLDEV_ATTR_DEV_NAME, SECOND_LINK,
		 sizeof(SECOND_LINK));
	add_attr(&r, RDMA_NLDEV_ATTR_LINK_TYPE, "xiw", sizeof("xiw"));
	add_attr(&r, RDMA_NLDEV_ATTR_NDEV_NAME, SECOND_NETDEV,
		 sizeof(SECOND_NETDEV));
	return ask(&r);
}

/* Whether the device exists, also if its creation returned an error. */
static void cleanup_link(void)
{
	if (!access("/sys/class/infiniband/" SECOND_LINK, F_OK))
		XT_CHECK(!system("rdma link del " SECOND_LINK),
			 "not to be removed");
}

static void test_link(void)
{
	static const struct step s = {
		.act = act_link, .cleanup = cleanup_link,
	};
	/* After a refusal there may be no answer. */
	struct timeval patience = { .tv_sec = 2 };

	netlink_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	XT_CHECK(netlink_fd >= 0, "netlink: %m");
	XT_OK(setsockopt(netlink_fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
			 sizeof(patience)));
	/* This step has many allocations, and takes long. */
	walk_by(&s, 5 * xt_count(1));
}

/* ---- objects ----------------------------------------------------------- */

static void basics(void)
{
	struct sockaddr_storage sa = xt_addr(&xt_b, 0);

	xt_id(&e, &xt_b);
	XT_OK(rdma_bind_addr(e.id, (struct sockaddr *)&sa));
	ctx = e.id->verbs;
	pd = XT_PTR(ibv_alloc_pd(ctx));
	cq = XT_PTR(ibv_create_cq(ctx, 64, NULL, NULL, 0));
	memory = XT_PTR(aligned_alloc(XT_PAGE, BLOCK));
	memset(memory, 1, BLOCK);
}

static int act_open(void)
{
	opened = ibv_open_device(device);
	return error_of(opened);
}

static void undo_open(void)
{
	XT_OK(ibv_close_device(opened));
}

static void test_open(void)
{
	static const struct step s = { .act = act_open, .undo = undo_open };
	int i;

	basics();
	devices = XT_PTR(ibv_get_device_list(NULL));
	for (i = 0; devices[i]; i++)
		if (!strcmp(ibv_get_device_name(devices[i]),
			    ibv_get_device_name(ctx->device)))
			device = devices[i];
	begin();
	once(&s, NTH_MAX);
	/*
	 * Refuse only the allocations of opening the file. If a later one, of
	 * the context, fails, ib_core leaks a reference to the task.
	 */
	for (i = 1; i <= 3; i++)
		once(&s, i);
}

static int act_pd(void)
{
	e.pd = ibv_alloc_pd(ctx);
	return error_of(e.pd);
}

/* An object that could not be destroyed for lack of memory can be, later. */
static int twice(int first, int (*destroy)(void))
{
	return first ? destroy() : 0;
}

static int destroy_pd(void)
{
	return ibv_dealloc_pd(e.pd);
}

static void undo_pd(void)
{
	XT_OK(destroy_pd());
}

static void test_pd(void)
{
	static const struct step s = { .act = act_pd, .undo = undo_pd };

	basics();
	walk(&s);
}

static int act_channel(void)
{
	channel = ibv_create_comp_channel(ctx);
	return error_of(channel);
}

static void undo_channel(void)
{
	XT_OK(ibv_destroy_comp_channel(channel));
}

static void test_channel(void)
{
	static const struct step s = {
		.act = act_channel, .undo = undo_channel,
	};

	basics();
	walk(&s);
}

static int act_cq(void)
{
	made_cq = ibv_create_cq(ctx, 512, NULL, NULL, 0);
	return error_of(made_cq);
}

static int destroy_cq(void)
{
	return ibv_destroy_cq(made_cq);
}

static void undo_cq(void)
{
	XT_OK(destroy_cq());
}

static void test_cq(void)
{
	static const struct step s = { .act = act_cq, .undo = undo_cq };

	basics();
	walk(&s);
}

static void prepare_cq(void)
{
	XT_OK(act_cq());
}

static int act_resize(void)
{
	return ibv_resize_cq(made_cq, 4000);
}

static void test_resize(void)
{
	static const struct step s = {
		.prepare = prepare_cq, .act = act_resize, .cleanup = undo_cq,
	};

	basics();
	walk(&s);
}

static int act_mr(void)
{
	mr = ibv_reg_mr(pd, memory, BLOCK, XT_REMOTE);
	return error_of(mr);
}

static int destroy_mr(void)
{
	return ibv_dereg_mr(mr);
}

static void undo_mr(void)
{
	XT_OK(destroy_mr());
}

static void test_mr(void)
{
	static const struct step s = { .act = act_mr, .undo = undo_mr };

	basics();
	walk(&s);
}

static void prepare_mr(void)
{
	XT_OK(act_mr());
}

/* A region with a failed change may be unusable, but it can be deregistered. */
static int act_rereg(void)
{
	return abs(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, pd,
				memory, BLOCK / 2, 0));
}

static void test_rereg(void)
{
	static const struct step s = {
		.prepare = prepare_mr, .act = act_rereg, .cleanup = undo_mr,
	};

	basics();
	walk(&s);
}

static int act_mw(void)
{
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	return error_of(mw);
}

static void undo_mw(void)
{
	XT_OK(ibv_dealloc_mw(mw));
}

static void test_mw(void)
{
	static const struct step s = { .act = act_mw, .undo = undo_mw };

	basics();
	walk(&s);
}

static int act_srq(void)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = 256, .max_sge = 4 },
	};

	made_srq = ibv_create_srq(pd, &attr);
	return error_of(made_srq);
}

static int destroy_srq(void)
{
	return ibv_destroy_srq(made_srq);
}

static void undo_srq(void)
{
	XT_OK(destroy_srq());
}

static void test_srq(void)
{
	static const struct step s = { .act = act_srq, .undo = undo_srq };

	basics();
	walk(&s);
}

static int act_qp(void)
{
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 128, .max_recv_wr = 128,
			.max_send_sge = 4, .max_recv_sge = 4,
			.max_inline_data = 128,
		},
		.send_cq = cq, .recv_cq = cq, .srq = srq,
		.qp_type = IBV_QPT_RC,
	};

	qp = ibv_create_qp(pd, &attr);
	return error_of(qp);
}

static int destroy_qp(void)
{
	return ibv_destroy_qp(qp);
}

static void undo_qp(void)
{
	XT_OK(destroy_qp());
}

static void test_qp(void)
{
	static const struct step s = { .act = act_qp, .undo = undo_qp };

	basics();
	walk(&s);
}

static void test_srq_qp(void)
{
	static const struct step s = { .act = act_qp, .undo = undo_qp };

	basics();
	XT_OK(act_srq());
	srq = made_srq;
	walk(&s);
}

static void prepare_qp(void)
{
	XT_OK(act_qp());
}

static int act_modify(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp_init_attr init;
	int ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE);

	return ret ? ret : ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);
}

static void test_modify(void)
{
	static const struct step s = {
		.prepare = prepare_qp, .act = act_modify, .cleanup = undo_qp,
	};

	basics();
	walk(&s);
}

static int act_query(void)
{
	struct ibv_device_attr_ex attr;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int ret = ibv_query_device_ex(ctx, NULL, &attr);

	if (!ret)
		ret = ibv_query_port(ctx, 1, &port);
	return ret ? ret : abs(ibv_query_gid(ctx, 1, 0, &gid));
}

static void test_query(void)
{
	static const struct step s = { .act = act_query };

	basics();
	walk(&s);
}

static void prepare_all(void)
{
	prepare_cq();
	prepare_mr();
	XT_OK(act_srq());
	prepare_qp();
	XT_OK(act_pd());
}

static int act_destroy(void)
{
	return twice(destroy_qp(), destroy_qp) ?:
	       twice(destroy_srq(), destroy_srq) ?:
	       twice(destroy_mr(), destroy_mr) ?:
	       twice(destroy_cq(), destroy_cq) ?:
	       twice(destroy_pd(), destroy_pd);
}

static void test_destroy(void)
{
	static const struct step s = {
		.prepare = prepare_all, .act = act_destroy,
	};

	basics();
	walk(&s);
}

/* ---- connections ------------------------------------------------------- */

static int act_listen(void)
{
	struct sockaddr_storage sa = xt_addr(&xt_a, 0);

	memset(&e, 0, sizeof(e));
	e.ch = rdma_create_event_channel();
	if (!e.ch)
		return error_of(NULL);
	if (rdma_create_id(e.ch, &e.id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(e.id, (struct sockaddr *)&sa) ||
	    rdma_listen(e.id, 4))
		return errno ? errno : EIO;
	return 0;
}

static void cleanup_id(void)
{
	if (e.id)
		XT_OK(rdma_destroy_id(e.id));
	if (e.ch)
		rdma_destroy_event_channel(e.ch);
	memset(&e, 0, sizeof(e));
}

static void test_listen(void)
{
	static const struct step s = {
		.act = act_listen, .cleanup = cleanup_id,
	};

	xt_enter(&xt_a);
	walk(&s);
}

static void prepare_listener(void)
{
	struct sockaddr_storage sa = xt_addr(&xt_a, 0);

	if (!listener.ch) {
		xt_id(&listener, &xt_a);
		sa = xt_addr(&xt_a, xt_listen(&listener, &sa, 64));
		xt_a.sa = sa;
	}
	memset(&pair, 0, sizeof(pair));
	xt_id(&pair.b, &xt_b);
}

/* Reads the next event: 0, or an errno if it fails or has the wrong type. */
static int event(struct xt_end *end, enum rdma_cm_event_type type,
		 struct rdma_cm_id **id)
{
	struct rdma_cm_event *ev;
	int ret;

	if (rdma_get_cm_event(end->ch, &ev))
		return errno;
	ret = ev->event == type ? 0 : ECONNABORTED;
	if (id)
		*id = ev->id;
	/* An acknowledgment that fails needs no repetition. */
	rdma_ack_cm_event(ev);
	return ret;
}

static int resolve(void)
{
	struct sockaddr_storage sa = xt_a.sa;

	if (rdma_resolve_addr(pair.b.id, NULL, (struct sockaddr *)&sa, 2000))
		return errno;
	return event(&pair.b, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
}

static int act_resolve(void)
{
	int ret = resolve();

	if (ret)
		return ret;
	if (rdma_resolve_route(pair.b.id, 2000))
		return errno;
	return event(&pair.b, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
}

static void free_end(struct xt_end *end)
{
	if (end->qp)
		rdma_destroy_qp(end->id);
	if (end->spare.map)
		xt_buf_free(&end->spare);
	if (end->scq) {
		struct ibv_comp_channel *send = end->scq->channel;
		struct ibv_comp_channel *recv = end->rcq->channel;

		XT_OK(ibv_destroy_cq(end->scq));
		XT_OK(ibv_destroy_cq(end->rcq));
		XT_OK(ibv_destroy_comp_channel(send));
		XT_OK(ibv_destroy_comp_channel(recv));
		XT_OK(ibv_dealloc_pd(end->pd));
	}
	if (end->id)
		XT_OK(rdma_destroy_id(end->id));
	if (end->ch)
		rdma_destroy_event_channel(end->ch);
	memset(end, 0, sizeof(*end));
}

static void cleanup_pair(void)
{
	free_end(&pair.a);
	free_end(&pair.b);
}

static void test_resolve(void)
{
	static const struct step s = {
		.prepare = prepare_listener, .act = act_resolve,
		.cleanup = cleanup_pair,
	};

	walk(&s);
}

/* Waits for an event at one of the ends; sets @first if it is at @one. */
static bool either(struct xt_end *one, struct xt_end *other, bool *first)
{
	struct pollfd p[] = {
		{ .fd = one->ch->fd, .events = POLLIN },
		{ .fd = other->ch->fd, .events = POLLIN },
	};

	XT_CHECK(poll(p, 2, PATIENCE_MS) > 0, "nothing happens");
	*first = p[0].revents;
	return true;
}

static void prepare_dial(void)
{
	static const struct xt_opts o = XT_OPTS;

	prepare_listener();
	XT_OK(act_resolve());
	xt_qp(&pair.b, &o);
}

static int dial(void)
{
	struct rdma_conn_param param = {
		.responder_resources = 4, .initiator_depth = 4,
	};

	return rdma_connect(pair.b.id, &param) ? errno : 0;
}

/* Without refusals: the peer is accepted, or both ends get an error. */
static void meet(void)
{
	static const struct xt_opts o = XT_OPTS;
	struct rdma_cm_id *id = NULL;
	bool asked;

	either(&listener, &pair.b, &asked);
	if (!asked)
		return;
	XT_OK(event(&listener, RDMA_CM_EVENT_CONNECT_REQUEST, &id));
	xt_adopt(&pair.a, &xt_a, id);
	xt_qp(&pair.a, &o);
	xt_answer(&pair.a, &o, NULL, 0);
	XT_OK(event(&pair.a, RDMA_CM_EVENT_ESTABLISHED, NULL));
	XT_OK(event(&pair.b, RDMA_CM_EVENT_ESTABLISHED, NULL));
}

static void test_connect(void)
{
	static const struct step s = {
		.prepare = prepare_dial, .act = dial, .undo = meet,
		.cleanup = cleanup_pair,
	};

	walk(&s);
}

static void prepare_accept(void)
{
	static const struct xt_opts o = XT_OPTS;
	struct rdma_cm_id *id = NULL;

	prepare_dial();
	XT_OK(dial());
	XT_OK(event(&listener, RDMA_CM_EVENT_CONNECT_REQUEST, &id));
	xt_adopt(&pair.a, &xt_a, id);
	xt_qp(&pair.a, &o);
}

static int act_accept(void)
{
	struct rdma_conn_param param = {
		.responder_resources = 4, .initiator_depth = 4,
	};

	return rdma_accept(pair.a.id, &param) ? errno : 0;
}

/* The other end gets an event, whatever happened to this one. */
static void told(void)
{
	struct pollfd p = { .fd = pair.b.ch->fd, .events = POLLIN };

	if (pair.a.qp)
		rdma_destroy_qp(pair.a.id);
	pair.a.qp = NULL;
	XT_OK(rdma_destroy_id(pair.a.id));
	pair.a.id = NULL;
	XT_CHECK(poll(&p, 1, PATIENCE_MS) > 0, "the peer is not told");
	cleanup_pair();
}

static void test_accept(void)
{
	static const struct step s = {
		.prepare = prepare_accept, .act = act_accept, .cleanup = told,
	};

	walk(&s);
}

static int act_reject(void)
{
	return rdma_reject(pair.a.id, "no", 2) ? errno : 0;
}

static void test_reject(void)
{
	static const struct step s = {
		.prepare = prepare_accept, .act = act_reject, .cleanup = told,
	};

	walk(&s);
}

static void prepare_pair(void)
{
	prepare_accept();
	XT_OK(act_accept());
	XT_OK(event(&pair.a, RDMA_CM_EVENT_ESTABLISHED, NULL));
	XT_OK(event(&pair.b, RDMA_CM_EVENT_ESTABLISHED, NULL));
}

static int act_disconnect(void)
{
	return rdma_disconnect(pair.b.id) ? errno : 0;
}

static void test_disconnect(void)
{
	static const struct step s = {
		.prepare = prepare_pair, .act = act_disconnect,
		.cleanup = told,
	};

	walk(&s);
}

/* ---- data -------------------------------------------------------------- */

static void prepare_data(void)
{
	memset(to.p, 0, BLOCK);
}

/*
 * A refusal delays the data, it loses none. It may lose an event on its way
 * into the process, so do not wait for one.
 */
static int transfer(enum ibv_wr_opcode op)
{
	struct ibv_sge sge = xt_sge(&from, 0, BLOCK);
	struct ibv_send_wr wr = xt_wr_to(op, 1, &sge, 1, &to, 0);
	struct ibv_wc wc;
	int ret;

	ret = xt_try_send(&pair.b, &wr);
	if (ret)
		return ret;
	xt_spin(pair.b.scq, &wc);
	XT_CHECK(wc.wr_id == 1 && wc.status == IBV_WC_SUCCESS,
		 "completion of %llu: %s", (unsigned long long)wc.wr_id,
		 xt_wc_name(wc.status));
	return 0;
}

static int act_write(void)
{
	return transfer(IBV_WR_RDMA_WRITE);
}

/* Checks that a Write has arrived: reads its target over the connection. */
static void arrived(void)
{
	XT_OK(transfer(IBV_WR_RDMA_READ));
	XT_SAME(to.p, BLOCK, 5);
}

static void test_write(void)
{
	static const struct step s = {
		.prepare = prepare_data, .act = act_write, .undo = arrived,
	};

	xt_pair(&pair, NULL, NULL);
	from = xt_buf(&pair.b, BLOCK, XT_LOCAL);
	to = xt_buf(&pair.a, BLOCK, XT_REMOTE);
	xt_fill(from.p, BLOCK, 5);
	walk(&s);
	xt_buf_free(&from);
	xt_buf_free(&to);
	xt_hang_up(&pair, &pair.b);
}

static int act_read(void)
{
	memset(from.p, 0, BLOCK);
	return transfer(IBV_WR_RDMA_READ);
}

static void came(void)
{
	XT_SAME(from.p, BLOCK, 6);
}

static void test_read(void)
{
	static const struct step s = { .act = act_read, .undo = came };

	xt_pair(&pair, NULL, NULL);
	from = xt_buf(&pair.b, BLOCK, XT_LOCAL);
	to = xt_buf(&pair.a, BLOCK, XT_REMOTE);
	xt_fill(to.p, BLOCK, 6);
	walk(&s);
	xt_buf_free(&from);
	xt_buf_free(&to);
	xt_hang_up(&pair, &pair.a);
}

static const struct xt_case cases[] = {
	{ "link", "another device", test_link },
	{ "open", "opening the device", test_open },
	{ "pd", "a protection domain", test_pd },
	{ "channel", "a completion channel", test_channel },
	{ "cq", "a completion queue", test_cq },
	{ "resize", "another size of it", test_resize },
	{ "mr", "a region", test_mr },
	{ "rereg", "a change of it", test_rereg },
	{ "mw", "a window", test_mw },
	{ "srq", "a shared receive queue", test_srq },
	{ "qp", "a queue pair", test_qp },
	{ "srq-qp", "one with a shared receive queue", test_srq_qp },
	{ "modify", "a change of its state", test_modify },
	{ "query", "queries of device, port and address", test_query },
	{ "destroy", "the end of all of them", test_destroy },
	{ "listen", "a listener", test_listen },
	{ "resolve", "the way to it", test_resolve },
	{ "connect", "a call", test_connect },
	{ "accept", "its acceptance", test_accept },
	{ "reject", "its rejection", test_reject },
	{ "disconnect", "the end of a connection", test_disconnect },
	{ "write", "a Write", test_write },
	{ "read", "a Read", test_read },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
