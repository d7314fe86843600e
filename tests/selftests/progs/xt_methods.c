// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The driver's own methods, called with invalid arguments: handles of other
 * objects, of other processes and of no object, wrong attributes, and objects
 * that are destroyed during the call.
 */
#include "rings.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

#define CALLERS		3
/* More than any handle of these processes. */
#define HANDLES		200
#define RAW_ATTRS	255

/**
 * struct method - one of the methods
 * @object: type of the object
 * @id: number
 */
struct method {
	__u16 object;
	__u16 id;
};

static const struct method methods[] = {
	{ UVERBS_OBJECT_QP, XIW_METHOD_QP_SEND_DOORBELL },
	{ UVERBS_OBJECT_QP, XIW_METHOD_QP_RECV_DOORBELL },
	{ UVERBS_OBJECT_SRQ, XIW_METHOD_SRQ_DOORBELL },
	{ UVERBS_OBJECT_CQ, XIW_METHOD_CQ_BUSY_POLL },
};

/**
 * struct objects - an object of each kind, and the device
 * @ctx: the device
 * @pd: protection domain
 * @cq: completion queue
 * @srq: shared receive queue
 * @qp: queue pair
 */
struct objects {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
};

static struct ibv_device *find_device(void)
{
	struct sockaddr_storage sa = xt_addr(&xt_b, 0);
	struct ibv_device *device;
	struct xt_end e;

	xt_id(&e, &xt_b);
	XT_OK(rdma_bind_addr(e.id, (struct sockaddr *)&sa));
	device = e.id->verbs->device;
	XT_OK(rdma_destroy_id(e.id));
	rdma_destroy_event_channel(e.ch);
	return device;
}

static void make(struct objects *o)
{
	struct ibv_srq_init_attr srq_attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
	};
	struct ibv_qp_init_attr attr = {
		.cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC,
	};

	o->cq = XT_PTR(ibv_create_cq(o->ctx, 8, NULL, NULL, 0));
	o->srq = XT_PTR(ibv_create_srq(o->pd, &srq_attr));
	attr.send_cq = o->cq;
	attr.recv_cq = o->cq;
	o->qp = XT_PTR(ibv_create_qp(o->pd, &attr));
}

static void unmake(struct objects *o)
{
	XT_OK(ibv_destroy_qp(o->qp));
	XT_OK(ibv_destroy_srq(o->srq));
	XT_OK(ibv_destroy_cq(o->cq));
}

static void open_and_make(struct objects *o)
{
	o->ctx = XT_PTR(ibv_open_device(find_device()));
	o->pd = XT_PTR(ibv_alloc_pd(o->ctx));
	make(o);
}

static __u32 handle_for(const struct objects *o, const struct method *m)
{
	switch (m->object) {
	case UVERBS_OBJECT_QP:
		return o->qp->handle;
	case UVERBS_OBJECT_SRQ:
		return o->srq->handle;
	default:
		return o->cq->handle;
	}
}

static int call(const struct objects *o, const struct method *m, __u64 handle)
{
	return xt_method(o->ctx, m->object, m->id, handle);
}

/* A queue pair that was never connected; and one with a shared queue. */
static void test_idle(void)
{
	struct ibv_qp_init_attr attr = {
		.cap = { 4, 0, 1, 0, 0 }, .qp_type = IBV_QPT_RC,
	};
	struct objects o;
	size_t i;

	open_and_make(&o);
	for (i = 0; i < XT_NELEM(methods); i++)
		XT_EQ(call(&o, &methods[i], handle_for(&o, &methods[i])), 0);
	XT_OK(ibv_destroy_qp(o.qp));
	attr.send_cq = o.cq;
	attr.recv_cq = o.cq;
	attr.srq = o.srq;
	o.qp = XT_PTR(ibv_create_qp(o.pd, &attr));
	XT_EQ(call(&o, &methods[0], o.qp->handle), 0);
	XT_EQ(call(&o, &methods[1], o.qp->handle), EINVAL);
	unmake(&o);
}

/* Only handles of the method's type and of this file are accepted. */
static void test_handles(void)
{
	struct objects others;
	struct objects o;
	__u64 handle;
	size_t i;
	int ret;

	/* The same handles in another file are not accepted. */
	open_and_make(&others);
	open_and_make(&o);
	XT_OK(ibv_destroy_qp(others.qp));
	XT_OK(ibv_destroy_srq(others.srq));
	for (i = 0; i < XT_NELEM(methods); i++) {
		__u32 right = handle_for(&o, &methods[i]);

		for (handle = 0; handle < HANDLES; handle++) {
			ret = call(&o, &methods[i], handle);
			XT_CHECK(handle == right ? !ret : ret,
				 "method %zu, handle %llu of %u: %d", i,
				 handle, right, ret);
		}
		XT_CHECK(call(&o, &methods[i], right | 1ULL << 32),
			 "bits above a handle");
		XT_CHECK(call(&o, &methods[i], right | 1ULL << 63),
			 "a negative handle");
		XT_CHECK(call(&o, &methods[i], ~0ULL), "handle -1");
	}
	for (i = 0; i < 3; i++)
		XT_CHECK(call(&others, &methods[i],
			      handle_for(&o, &methods[i])),
			 "method %zu, object of another file", i);
	unmake(&o);
	for (i = 0; i < XT_NELEM(methods); i++)
		for (handle = 0; handle < HANDLES; handle++)
			XT_CHECK(call(&o, &methods[i], handle),
				 "method %zu, destroyed object", i);
}

/* ---- attributes and headers -------------------------------------------- */

static void add_attr(struct xt_call *c)
{
	c->attrs[1] = c->attrs[0];
	c->hdr.num_attrs = 2;
	c->hdr.length = sizeof(*c);
}

static void no_attr(struct xt_call *c)
{
	c->hdr.num_attrs = 0;
	c->hdr.length = sizeof(c->hdr);
}

static void unknown_attr(struct xt_call *c)
{
	add_attr(c);
	c->attrs[1].attr_id++;
}

static void optional_attr(struct xt_call *c)
{
	unknown_attr(c);
	c->attrs[1].flags = 0;
}

static void other_attr(struct xt_call *c)
{
	c->attrs[0].attr_id++;
}

static void core_attr(struct xt_call *c)
{
	c->attrs[0].attr_id &= ~(1U << UVERBS_ID_NS_SHIFT);
}

static void with_length(struct xt_call *c)
{
	c->attrs[0].len = 8;
}

static void reserved_of_attr(struct xt_call *c)
{
	c->attrs[0].attr_data.reserved = 1;
}

static void too_short(struct xt_call *c)
{
	c->hdr.length -= 8;
}

static void too_long(struct xt_call *c)
{
	c->hdr.length = 0xffff;
}

static void too_many(struct xt_call *c)
{
	c->hdr.num_attrs = 0xffff;
}

static void reserved_of_hdr(struct xt_call *c)
{
	c->hdr.reserved1 = 1;
}

static void other_driver(struct xt_call *c)
{
	c->hdr.driver_id++;
}

static void other_method(struct xt_call *c)
{
	c->hdr.method_id += 2;
}

static void far_method(struct xt_call *c)
{
	c->hdr.method_id = 0xffff;
}

static void far_object(struct xt_call *c)
{
	c->hdr.object_id = 0xffff;
}

static const struct {
	void (*change)(struct xt_call *c);
	int err;
} changes[] = {
	{ add_attr, EINVAL },
	{ no_attr, EINVAL },
	{ unknown_attr, EPROTONOSUPPORT },
	{ optional_attr, 0 },
	{ other_attr, EPROTONOSUPPORT },
	{ core_attr, EPROTONOSUPPORT },
	{ with_length, EINVAL },
	{ reserved_of_attr, EINVAL },
	{ too_short, EINVAL },
	{ too_long, EINVAL },
	{ too_many, EINVAL },
	{ reserved_of_hdr, EPROTONOSUPPORT },
	{ other_driver, EINVAL },
	{ other_method, EPROTONOSUPPORT },
	{ far_method, EPROTONOSUPPORT },
	{ far_object, EPROTONOSUPPORT },
};

static void test_attributes(void)
{
	struct objects o;
	struct xt_call c;
	size_t i;
	size_t j;

	open_and_make(&o);
	for (i = 0; i < XT_NELEM(methods); i++) {
		for (j = 0; j < XT_NELEM(changes); j++) {
			xt_call_init(&c, methods[i].object, methods[i].id,
				     handle_for(&o, &methods[i]));
			changes[j].change(&c);
			XT_CHECK(xt_send_call(o.ctx, &c) == changes[j].err,
				 "method %zu, change %zu: %m", i, j);
		}
	}
	unmake(&o);
}

/* The largest number of attributes that the core accepts, and invalid memory */
static void test_memory(void)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attrs[RAW_ATTRS];
	} many = {};
	struct objects o;
	struct xt_call c;
	size_t i;
	__u8 *p;

	open_and_make(&o);
	p = mmap(NULL, 2 * XT_PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	XT_CHECK(p != MAP_FAILED, "mmap: %m");
	XT_OK(munmap(p + XT_PAGE, XT_PAGE));
	for (i = 0; i < XT_NELEM(methods); i++) {
		xt_call_init(&c, methods[i].object, methods[i].id,
			     handle_for(&o, &methods[i]));
		XT_EQ(xt_send_call(o.ctx, NULL), EFAULT);
		/* Without the last bytes of the header or the attribute. */
		memcpy(p + XT_PAGE - 16, &c, 16);
		XT_EQ(xt_send_call(o.ctx, (void *)(p + XT_PAGE - 16)), EFAULT);
		memcpy(p + XT_PAGE - 32, &c, 32);
		XT_EQ(xt_send_call(o.ctx, (void *)(p + XT_PAGE - 32)), EFAULT);
		/*
		 * The call may be in read-only memory: the kernel does not
		 * write.
		 */
		memcpy(p + XT_PAGE - c.hdr.length, &c, c.hdr.length);
		XT_OK(mprotect(p, XT_PAGE, PROT_READ));
		XT_EQ(xt_send_call(o.ctx,
				   (void *)(p + XT_PAGE - c.hdr.length)), 0);
		XT_OK(mprotect(p, XT_PAGE, PROT_READ | PROT_WRITE));

		memcpy(&many, &c, c.hdr.length);
		many.hdr.num_attrs = (4096 - sizeof(many.hdr)) /
				     sizeof(many.attrs[0]);
		XT_CHECK(many.hdr.num_attrs <= RAW_ATTRS, "attributes");
		many.hdr.length = sizeof(many.hdr) +
				  many.hdr.num_attrs * sizeof(many.attrs[0]);
		XT_EQ(xt_send_call(o.ctx, (void *)&many), 0);
	}
	unmake(&o);
}

/* ---- commands that do not exist ---------------------------------------- */

/* Posting, polling and arming have no commands. */
static void test_no_commands(void)
{
	static const __u32 numbers[] = {
		IB_USER_VERBS_CMD_POST_SEND, IB_USER_VERBS_CMD_POST_RECV,
		IB_USER_VERBS_CMD_POST_SRQ_RECV, IB_USER_VERBS_CMD_POLL_CQ,
		IB_USER_VERBS_CMD_REQ_NOTIFY_CQ,
	};
	__u32 resp[64];
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send cmd;
	} c = {};
	struct objects o;
	size_t i;

	open_and_make(&o);
	for (i = 0; i < XT_NELEM(numbers); i++) {
		c.hdr.command = numbers[i];
		c.hdr.in_words = sizeof(c) / 4;
		c.hdr.out_words = 1;
		c.cmd.response = (uintptr_t)resp;
		c.cmd.qp_handle = o.qp->handle;
		c.cmd.wqe_size = sizeof(struct ib_uverbs_send_wr);
		XT_CHECK(write(o.ctx->cmd_fd, &c, sizeof(c)) < 0 &&
			 errno == EOPNOTSUPP, "command %u: %m", numbers[i]);
	}
	unmake(&o);
}

/* ---- calls during the destruction of objects --------------------------- */

static struct objects raced;
static atomic_bool enough;
static atomic_ulong accepted;

/* Handles are reused, so these soon name objects of each kind. */
static void *call_all(void *arg)
{
	unsigned int seed = (uintptr_t)arg;
	size_t m;
	int ret;

	while (!atomic_load(&enough)) {
		m = rand_r(&seed) % XT_NELEM(methods);
		ret = call(&raced, &methods[m], rand_r(&seed) % 8);
		XT_CHECK(!ret || ret == EINVAL || ret == ENOENT ||
			 ret == EBUSY, "method %zu: %s", m, strerror(ret));
		atomic_fetch_add(&accepted, !ret);
	}
	return NULL;
}

static void test_destroyed(void)
{
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	int rounds = xt_count(300);
	pthread_t callers[CALLERS];
	size_t i;
	int ret;

	raced.ctx = XT_PTR(ibv_open_device(find_device()));
	raced.pd = XT_PTR(ibv_alloc_pd(raced.ctx));
	for (i = 0; i < CALLERS; i++)
		XT_OK(pthread_create(&callers[i], NULL, call_all,
				     (void *)(i + 1)));
	while (rounds--) {
		make(&raced);
		if (rounds & 1)
			XT_OK(ibv_modify_qp(raced.qp, &error, IBV_QP_STATE));
		/* The provider retries EBUSY for queue pairs only. */
		XT_OK(ibv_destroy_qp(raced.qp));
		while ((ret = ibv_destroy_srq(raced.srq)))
			XT_EQ(ret, EBUSY);
		while ((ret = ibv_destroy_cq(raced.cq)))
			XT_EQ(ret, EBUSY);
	}
	atomic_store(&enough, true);
	for (i = 0; i < CALLERS; i++)
		XT_OK(pthread_join(callers[i], NULL));
	XT_CHECK(atomic_load(&accepted), "no call was accepted");
	xt_note("%lu calls", atomic_load(&accepted));
}

/* Calls methods of a connected queue pair, beside its data. */
static void *call_for(void *arg)
{
	struct xt_end *e = arg;

	while (!atomic_load(&enough)) {
		xt_method(e->id->verbs, UVERBS_OBJECT_QP,
			  XIW_METHOD_QP_SEND_DOORBELL, e->qp->handle);
		xt_method(e->id->verbs, UVERBS_OBJECT_QP,
			  XIW_METHOD_QP_RECV_DOORBELL, e->qp->handle);
		xt_method(e->id->verbs, UVERBS_OBJECT_CQ,
			  XIW_METHOD_CQ_BUSY_POLL, e->rcq->handle);
	}
	return NULL;
}

static void test_connected(void)
{
	int rounds = xt_count(500);
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	pthread_t callers[2];
	struct xt_pair p;
	int i;

	xt_pair(&p, NULL, NULL);
	XT_OK(pthread_create(&callers[0], NULL, call_for, &p.a));
	XT_OK(pthread_create(&callers[1], NULL, call_for, &p.b));
	for (i = 0; i < rounds; i++) {
		sge = xt_sge(&p.a.spare, 0, 16);
		xt_recv(&p.a, i, &sge, 1);
		sge = xt_sge(&p.b.spare, 0, 16);
		wr = xt_wr(IBV_WR_SEND, i, &sge, 1);
		xt_send(&p.b, &wr);
		xt_wc_ok(p.b.scq, i);
		xt_wc_ok(p.a.rcq, i);
	}
	atomic_store(&enough, true);
	for (i = 0; i < 2; i++)
		XT_OK(pthread_join(callers[i], NULL));
	xt_hang_up(&p, &p.b);
}

static const struct xt_case cases[] = {
	{ "idle", "methods of objects without a connection", test_idle },
	{ "handles", "handles of other kinds, other files and of none",
	  test_handles },
	{ "attributes", "wrong attributes and headers", test_attributes },
	{ "memory", "memory that is not there, or read-only", test_memory },
	{ "commands", "posting and polling by commands is refused",
	  test_no_commands },
	{ "destroyed", "calls while their objects are destroyed",
	  test_destroyed },
	{ "connected", "calls beside a connection that carries data",
	  test_connected },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
