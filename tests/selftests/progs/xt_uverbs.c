// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A process without privileges sends invalid commands to the kernel: random
 * ones, and commands of libibverbs that are changed before they reach the
 * kernel. The process may crash, as answers may be wrong for the library. The
 * caller checks that the kernel and other processes are not affected.
 *
 * Each round is a process, and its seed is XIW_SEED and its number.
 */
#include "xt.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <rdma/xiw-abi.h>

#define NOBODY		65534
#define COMMANDS	400
#define MANY		5	/* rounds, enough for a command to succeed */
#define SLOTS		8
#define MAX_ATTRS	24
#define SANDBOX		65536UL
#define MEMLOCK		(256 * 1024UL)
#define EXTRA		2UL	/* words of driver data */
/* IB_UVERBS_CORE_SUPPORT_ROBUST_UDATA of newer headers */
#define ROBUST_UDATA	2ULL

/**
 * struct tally - number of commands in all rounds
 * @sent: sent to the kernel
 * @changed: changed commands of the library among these
 * @accepted: changed and random commands that succeeded
 */
struct tally {
	unsigned long sent;
	unsigned long changed;
	unsigned long accepted;
};

static struct tally *tally;
static __u64 random_state;
static char device_name[64];
static struct ibv_context *ctx;
static __u8 *sandbox;
static bool meddling;
/* Driver data added to each command of the library, or NULL */
static const __u64 *extra;
/* Bytes by which the response buffer is longer than the library's */
static int room;
static unsigned int answers;
/* Features of the core, which it reports when the device is opened */
static __u64 core_support;
/* Number of commands without a response for which spare room was cleared */
static unsigned int cleared;
/* The core cannot write its response of commands that create queues. */
static bool failing;

static __u64 rnd(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static bool chance(unsigned int percent)
{
	return rnd() % 100 < percent;
}

/* A value that may be valid, extreme or random as a handle, size or pointer */
static __u64 odd_value(void)
{
	static const __u64 values[] = {
		0, 1, 2, 0x7f, 0xff, 0x100, 0xffff, 0x10000, 0x7fffffff,
		0x80000000, 0xfffffffe, 0xffffffff, 0x7fffffffffffffffULL,
		0x8000000000000000ULL, 0xfffffffffffff000ULL, ~0ULL,
	};

	switch (rnd() % 6) {
	case 0:
	case 1:
		return rnd() % 20;
	case 2:
		return (uintptr_t)sandbox + rnd() % SANDBOX;
	case 3:
		return values[rnd() % XT_NELEM(values)];
	case 4:
		return 1ULL << (rnd() & 63);
	default:
		return rnd();
	}
}

/* ---- changed commands of the library ----------------------------------- */

/**
 * struct command - an ioctl and room for its attributes
 * @hdr: header
 * @attrs: attributes
 */
struct command {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attrs[MAX_ATTRS];
};

static void set_length(struct command *c)
{
	c->hdr.length = sizeof(c->hdr) +
			c->hdr.num_attrs * sizeof(c->attrs[0]);
}

/* Replaces the data of an attribute by a copy with one word changed. */
static void change_contents(struct ib_uverbs_attr *a)
{
	__u8 *copy = sandbox + SANDBOX / 2 + (rnd() % 16) * 1024;
	size_t len = a->len < 1024 ? a->len : 1024;
	__u32 word = odd_value();

	if (len <= 8) {
		a->data = odd_value();
		return;
	}
	memcpy(copy, (void *)(uintptr_t)a->data, len);
	memcpy(copy + rnd() % (len - 3), &word, 4);
	a->data = (uintptr_t)copy;
}

static void change_attr(struct command *c)
{
	struct ib_uverbs_attr *a = &c->attrs[rnd() % c->hdr.num_attrs];

	switch (rnd() % 8) {
	case 0:
		a->attr_id = chance(50) ? rnd() % 12 : a->attr_id ^ 0x1000;
		break;
	case 1:
		a->len = odd_value();
		break;
	case 2:
		a->flags = rnd() % 4;
		break;
	case 3:
		a->data = odd_value();
		break;
	default:
		change_contents(a);
		break;
	}
}

static void change_command(struct command *c)
{
	struct ib_uverbs_ioctl_hdr *h = &c->hdr;

	switch (rnd() % 10) {
	case 0:
		h->method_id = rnd() % 10;
		break;
	case 1:
		h->object_id = rnd() % 18;
		break;
	case 2:		/* one less */
		h->num_attrs--;
		set_length(c);
		break;
	case 3:		/* one twice */
		if (h->num_attrs < MAX_ATTRS) {
			c->attrs[h->num_attrs] =
				c->attrs[rnd() % h->num_attrs];
			h->num_attrs++;
		}
		set_length(c);
		break;
	case 4:
		h->length = odd_value();
		break;
	default:
		change_attr(c);
		break;
	}
}

/*
 * Does the command open the device? If that fails, for instance because
 * it is sent twice, the core leaks a reference to the caller's task_struct with
 * any driver, which kmemleak reports (up to Linux 7.3: ib_alloc_ucontext()
 * takes it for resource tracking, and the error path of the handler does not
 * put it).
 */
static bool leaks_in_core(const struct ib_uverbs_ioctl_hdr *hdr)
{
	return hdr->object_id == UVERBS_OBJECT_DEVICE &&
	       hdr->method_id == UVERBS_METHOD_GET_CONTEXT;
}

static int send_changed(int fd, const struct ib_uverbs_ioctl_hdr *hdr)
{
	struct command c = {};
	int changes = 1 + rnd() % 2;
	int ret;

	memcpy(&c, hdr, hdr->length);
	while (changes-- && c.hdr.num_attrs)
		change_command(&c);
	if (leaks_in_core(&c.hdr))
		return syscall(SYS_ioctl, fd, RDMA_VERBS_IOCTL, hdr);
	tally->changed++;
	ret = syscall(SYS_ioctl, fd, RDMA_VERBS_IOCTL, &c);
	tally->accepted += !ret;
	/*
	 * Return only half of the responses to changed commands to the library.
	 */
	if (!ret && hdr->length == c.hdr.length && chance(50))
		memcpy((void *)hdr, &c, hdr->length);
	return ret;
}

static struct ib_uverbs_attr *find_attr(struct command *c, __u16 id)
{
	unsigned int i;

	for (i = 0; i < c->hdr.num_attrs; i++)
		if (c->attrs[i].attr_id == id)
			return &c->attrs[i];
	return NULL;
}

static void add_attr(struct command *c, __u16 id, const void *data, size_t len)
{
	struct ib_uverbs_attr *a = &c->attrs[c->hdr.num_attrs];

	XT_CHECK(c->hdr.num_attrs++ < MAX_ATTRS, "too many attributes");
	a->attr_id = id;
	a->len = len;
	a->data = (uintptr_t)data;
	set_length(c);
}

/* Commands that were write() before have driver data; few others do. */
static bool has_driver_data(const struct ib_uverbs_ioctl_hdr *hdr)
{
	return hdr->object_id == UVERBS_OBJECT_DEVICE &&
	       hdr->method_id == UVERBS_METHOD_INVOKE_WRITE;
}

/*
 * Adds driver data, and room for a response if the library has none. The
 * response of a command that succeeds must be zero.
 */
static int send_extra(int fd, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_ioctl_hdr as_sent = *hdr;
	__u64 out[EXTRA] = { ~0ULL, ~0ULL };
	struct command c = {};
	bool responds;
	unsigned int i;
	int ret;

	memcpy(&c, hdr, hdr->length);
	responds = find_attr(&c, UVERBS_ATTR_UHW_OUT);
	add_attr(&c, UVERBS_ATTR_UHW_IN, extra, EXTRA * sizeof(*extra));
	if (!responds)
		add_attr(&c, UVERBS_ATTR_UHW_OUT, out, sizeof(out));
	ret = syscall(SYS_ioctl, fd, RDMA_VERBS_IOCTL, &c);
	/* Copy the attributes back: a response has handles of new objects. */
	memcpy(hdr, &c, as_sent.length);
	*hdr = as_sent;
	if (ret || responds || !has_driver_data(hdr))
		return ret;
	for (i = 0; i < EXTRA; i++)
		XT_EQ(out[i], 0);
	cleared++;
	return ret;
}

/* Sends a command with more room for the driver's response, or less. */
static int send_roomy(int fd, const struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *out;
	struct command c;
	__u8 buf[256];
	__u64 data;
	size_t len;
	unsigned int i;
	int ret;

	XT_CHECK(hdr->length <= sizeof(c), "a command of %u bytes",
		 hdr->length);
	memcpy(&c, hdr, hdr->length);
	out = find_attr(&c, UVERBS_ATTR_UHW_OUT);
	if (!out)
		return syscall(SYS_ioctl, fd, RDMA_VERBS_IOCTL, hdr);
	len = out->len;
	XT_CHECK(len > 8 && len + room <= sizeof(buf), "%zu bytes", len);
	data = out->data;
	memset(buf, 0xff, sizeof(buf));
	out->data = (uintptr_t)buf;
	out->len = len + room;
	ret = syscall(SYS_ioctl, fd, RDMA_VERBS_IOCTL, &c);
	for (i = 0; i < c.hdr.num_attrs; i++)
		if (c.attrs[i].attr_id != UVERBS_ATTR_UHW_OUT)
			memcpy((__u8 *)hdr + sizeof(*hdr) + i * sizeof(*out),
			       &c.attrs[i], sizeof(*out));
	answers++;
	if (ret)
		return ret;
	memcpy((void *)(uintptr_t)data, buf, room < 0 ? len + room : len);
	for (i = len; room > 0 && i < len + room; i++)
		XT_EQ(buf[i], 0);
	return 0;
}

/* The core's last attribute of a command that creates a queue, or 0 */
static __u16 last_response(const struct ib_uverbs_ioctl_hdr *hdr)
{
	if (hdr->object_id == UVERBS_OBJECT_CQ &&
	    hdr->method_id == UVERBS_METHOD_CQ_CREATE)
		return UVERBS_ATTR_CREATE_CQ_RESP_CQE;
	if (hdr->object_id == UVERBS_OBJECT_QP &&
	    hdr->method_id == UVERBS_METHOD_QP_CREATE)
		return UVERBS_ATTR_CREATE_QP_RESP_QP_NUM;
	if (hdr->object_id == UVERBS_OBJECT_SRQ &&
	    hdr->method_id == UVERBS_METHOD_SRQ_CREATE)
		return UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE;
	return 0;
}

/*
 * Sends a command with one buffer for the driver's input and response. After
 * the driver's response the core's fails, and the core destroys the object.
 */
static int send_failing(int fd, const struct ib_uverbs_ioctl_hdr *hdr)
{
	__u16 last = last_response(hdr);
	struct ib_uverbs_attr *a;
	__u64 buf[32] = {};
	struct command c = {};
	int ret;

	memcpy(&c, hdr, hdr->length);
	a = find_attr(&c, UVERBS_ATTR_UHW_OUT);
	if (!last || !a)
		return syscall(SYS_ioctl, fd, RDMA_VERBS_IOCTL, hdr);
	XT_CHECK(a->len <= sizeof(buf), "a response of %u bytes", a->len);
	a->data = (uintptr_t)buf;
	add_attr(&c, UVERBS_ATTR_UHW_IN, buf, a->len);
	XT_PTR(find_attr(&c, last))->data = 8;
	ret = syscall(SYS_ioctl, fd, RDMA_VERBS_IOCTL, &c);
	XT_CHECK(buf[0] || buf[1], "the driver has responded");
	return ret;
}

/* Opens the device, and notes what the core supports. */
static int send_open(int fd, const struct ib_uverbs_ioctl_hdr *hdr)
{
	int ret = syscall(SYS_ioctl, fd, RDMA_VERBS_IOCTL, hdr);
	const struct ib_uverbs_attr *a;
	struct command c = {};

	memcpy(&c, hdr, hdr->length);
	a = find_attr(&c, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT);
	if (a)
		memcpy(&core_support, (void *)(uintptr_t)a->data,
		       sizeof(core_support));
	return ret;
}

/* Replaces the function of the C library, also for libibverbs. */
int ioctl(int fd, unsigned long request, ...)
{
	struct ib_uverbs_ioctl_hdr *hdr;
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	hdr = arg;
	if (room && request == RDMA_VERBS_IOCTL)
		return send_roomy(fd, hdr);
	if (extra && request == RDMA_VERBS_IOCTL)
		return send_extra(fd, hdr);
	if (failing && request == RDMA_VERBS_IOCTL)
		return send_failing(fd, hdr);
	if (request == RDMA_VERBS_IOCTL && leaks_in_core(hdr))
		return send_open(fd, hdr);
	if (!meddling || request != RDMA_VERBS_IOCTL)
		return syscall(SYS_ioctl, fd, request, arg);
	tally->sent++;
	if (hdr->length <= sizeof(struct command) && hdr->num_attrs &&
	    chance(40))
		return send_changed(fd, hdr);
	return syscall(SYS_ioctl, fd, request, arg);
}

/* ---- random commands --------------------------------------------------- */

static void send_random_ioctl(void)
{
	struct command c = {
		.hdr = {
			.object_id = rnd() % 18,
			.method_id = rnd() % 10,
			.num_attrs = rnd() % 8,
			.driver_id = XIW_RDMA_DRIVER_ID,
		},
	};
	unsigned int i;

	for (i = 0; i < c.hdr.num_attrs; i++) {
		c.attrs[i].attr_id = chance(80) ? i : 0x1000 + rnd() % 4;
		c.attrs[i].len = chance(50) ? 4 * (rnd() % 20) : 0;
		c.attrs[i].flags = rnd() & 1;
		c.attrs[i].data = odd_value();
	}
	set_length(&c);
	if (leaks_in_core(&c.hdr))
		return;
	tally->sent++;
	tally->accepted += !syscall(SYS_ioctl, ctx->cmd_fd, RDMA_VERBS_IOCTL,
				    &c);
}

static void send_random_write(void)
{
	__u32 words[64];
	struct ib_uverbs_cmd_hdr *hdr = (void *)words;
	unsigned int n = 2 + rnd() % 40;
	/* The driver's part is last, and must be zero. */
	unsigned int odd = chance(50) ? XT_NELEM(words) : 4 + rnd() % 4;
	unsigned int i;

	for (i = 0; i < XT_NELEM(words); i++)
		words[i] = i < odd ? odd_value() : 0;
	if (n > 4 && chance(70)) {
		__u64 to = (uintptr_t)sandbox;

		memcpy(&words[2], &to, sizeof(to));
	}
	hdr->command = rnd() % (IB_USER_VERBS_CMD_OPEN_QP + 12);
	hdr->in_words = n;
	hdr->out_words = rnd() % 64;
	if (chance(25)) {
		struct ib_uverbs_ex_cmd_hdr *ex = (void *)(hdr + 1);

		hdr->command |= IB_USER_VERBS_CMD_FLAG_EXTENDED;
		n = n < 8 ? 8 : n & ~1U;
		hdr->in_words = (n - 6) / 2;
		ex->provider_in_words = 0;
		ex->cmd_hdr_reserved = 0;
	}
	tally->sent++;
	tally->accepted += write(ctx->cmd_fd, words, n * 4) > 0;
}

static void map_random(void)
{
	size_t len = XT_PAGE * (rnd() % 40);
	void *p = mmap(NULL, len, PROT_READ | (chance(70) ? PROT_WRITE : 0),
		       chance(80) ? MAP_SHARED : MAP_PRIVATE, ctx->cmd_fd,
		       chance(70) ? XT_PAGE * (rnd() % 64) : odd_value());

	if (p != MAP_FAILED) {
		tally->accepted++;
		if (chance(50))
			munmap(p, len);
	}
}

/* ---- calls of the library ---------------------------------------------- */

static struct ibv_pd *pds[SLOTS];
static struct ibv_cq *cqs[SLOTS];
static struct ibv_mr *mrs[SLOTS];
static struct ibv_mw *mws[SLOTS];
static struct ibv_srq *srqs[SLOTS];
static struct ibv_qp *qps[SLOTS];

static unsigned int slot(void)
{
	return rnd() % SLOTS;
}

static void make(void)
{
	struct ibv_srq_init_attr srq = {
		.attr = { .max_wr = rnd() % 100, .max_sge = rnd() % 8 },
	};
	struct ibv_pd *pd = pds[slot()];
	struct ibv_qp_init_attr qp = {
		.send_cq = cqs[slot()], .recv_cq = cqs[slot()],
		.srq = chance(30) ? srqs[slot()] : NULL,
		.cap = { rnd() % 100, rnd() % 100, rnd() % 8, rnd() % 8,
			 rnd() % 200 },
		.qp_type = IBV_QPT_RC,
	};
	unsigned int kind = rnd() % 6;

	if (kind == 0)
		pds[slot()] = ibv_alloc_pd(ctx);
	else if (kind == 1)
		cqs[slot()] = ibv_create_cq(ctx, 1 + rnd() % 300, NULL, NULL,
					    0);
	else if (!pd)
		return;
	else if (kind == 2)
		mrs[slot()] = ibv_reg_mr(pd, sandbox, 1 + rnd() % SANDBOX,
					 rnd() & 0x1f);
	else if (kind == 3)
		mws[slot()] = ibv_alloc_mw(pd, 1 + (rnd() & 1));
	else if (kind == 4)
		srqs[slot()] = ibv_create_srq(pd, &srq);
	else if (qp.send_cq && qp.recv_cq)
		qps[slot()] = ibv_create_qp(pd, &qp);
}

/* Destroys the object of a random slot, if there is one. */
#define UNMAKE(array, destroy) do {					\
	unsigned int at = slot();					\
									\
	if ((array)[at])						\
		destroy((array)[at]);					\
	(array)[at] = NULL;						\
} while (0)

static void unmake(void)
{
	switch (rnd() % 6) {
	case 0:
		UNMAKE(pds, ibv_dealloc_pd);
		break;
	case 1:
		UNMAKE(cqs, ibv_destroy_cq);
		break;
	case 2:
		UNMAKE(mrs, ibv_dereg_mr);
		break;
	case 3:
		UNMAKE(mws, ibv_dealloc_mw);
		break;
	case 4:
		UNMAKE(srqs, ibv_destroy_srq);
		break;
	default:
		UNMAKE(qps, ibv_destroy_qp);
		break;
	}
}

static void use(void)
{
	struct ibv_qp_attr attr = {
		.qp_state = rnd() % 8, .qp_access_flags = rnd() & 0x1f,
		.max_rd_atomic = rnd(), .max_dest_rd_atomic = rnd(),
	};
	struct ibv_srq_attr limit = { .srq_limit = rnd() % 50 };
	struct ibv_device_attr dev;
	struct ibv_qp_init_attr init;
	unsigned int at = slot();

	switch (rnd() % 6) {
	case 0:
		ibv_query_device(ctx, &dev);
		break;
	case 1:
		if (qps[at])
			ibv_modify_qp(qps[at], &attr, IBV_QP_STATE |
				      (rnd() & 0x1fffff));
		break;
	case 2:
		if (qps[at])
			ibv_query_qp(qps[at], &attr, IBV_QP_STATE, &init);
		break;
	case 3:
		if (cqs[at])
			ibv_resize_cq(cqs[at], 1 + rnd() % 500);
		break;
	case 4:
		if (srqs[at])
			ibv_modify_srq(srqs[at], &limit, IBV_SRQ_LIMIT);
		break;
	default:
		if (mrs[at])
			ibv_rereg_mr(mrs[at], 1 + rnd() % 7, pds[slot()],
				     sandbox, rnd() % SANDBOX, rnd() & 0x1f);
		break;
	}
}

/* ---- rounds ------------------------------------------------------------ */

static void find_device(void)
{
	struct sockaddr_storage sa = xt_addr(&xt_b, 0);
	struct xt_end e;

	xt_id(&e, &xt_b);
	XT_OK(rdma_bind_addr(e.id, (struct sockaddr *)&sa));
	snprintf(device_name, sizeof(device_name), "%s",
		 ibv_get_device_name(e.id->verbs->device));
	XT_OK(rdma_destroy_id(e.id));
	rdma_destroy_event_channel(e.ch);
}

static void drop_privileges(void)
{
	struct rlimit limit = { .rlim_cur = MEMLOCK, .rlim_max = MEMLOCK };

	XT_OK(setrlimit(RLIMIT_MEMLOCK, &limit));
	XT_OK(setgroups(0, NULL));
	XT_OK(setresgid(NOBODY, NOBODY, NOBODY));
	XT_OK(setresuid(NOBODY, NOBODY, NOBODY));
}

static void open_device(void)
{
	struct ibv_device **list = XT_PTR(ibv_get_device_list(NULL));
	int i;

	for (i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), device_name))
			ctx = XT_PTR(ibv_open_device(list[i]));
	XT_CHECK(ctx, "no device %s", device_name);
	ibv_free_device_list(list);
	sandbox = mmap(NULL, SANDBOX, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	XT_CHECK(sandbox != MAP_FAILED, "mmap: %m");
}

static unsigned long pinned_kib(void)
{
	FILE *f = XT_PTR(fopen("/proc/self/status", "r"));
	unsigned long kib = 0;
	char line[128];

	while (fgets(line, sizeof(line), f))
		sscanf(line, "VmPin: %lu", &kib);
	fclose(f);
	return kib;
}

static void one_round(int round, void (*act)(void))
{
	const char *seed = getenv("XIW_SEED");
	int i;

	xt_watchdog(120);
	random_state = 0x9e3779b97f4a7c15ULL *
		       (1000003ULL * (seed ? atoll(seed) : 1) + round + 1);
	drop_privileges();
	open_device();
	meddling = true;
	for (i = 0; i < COMMANDS; i++)
		act();
	meddling = false;
	XT_CHECK(pinned_kib() <= MEMLOCK / 1024, "%lu KiB are pinned",
		 pinned_kib());
	_exit(0);
}

/* The system call that the process sleeps in, as in /proc; -1 for none. */
static long sleeps_in(pid_t pid)
{
	long number = -1;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	f = fopen(path, "r");
	if (!f)
		return -1;
	if (fscanf(f, "%ld", &number) != 1)
		number = -1;
	fclose(f);
	return number;
}

/*
 * The end of a round. The library may wait without end for the acknowledgment
 * of events of which a changed answer has informed it. The process has no other
 * threads, so if it sleeps on a futex it is dead; in any other call the kernel
 * hangs.
 */
static int end_of(int round, pid_t pid)
{
	const struct timespec second = { .tv_sec = 1 };
	long number = -1;
	int status;
	sigset_t set;
	int i;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (i = 0; i < 90; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		if (sigtimedwait(&set, NULL, &second) > 0)
			continue;
		number = sleeps_in(pid);
		if (number == SYS_futex)
			kill(pid, SIGKILL);
	}
	xt_fail(__FILE__, __LINE__, "round %d hangs in system call %ld", round,
		number);
}

static void rounds(void (*act)(void), int n)
{
	sigset_t set;
	int status;
	pid_t pid;
	int i;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	XT_OK(sigprocmask(SIG_BLOCK, &set, NULL));
	find_device();
	tally = mmap(NULL, XT_PAGE, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	XT_CHECK(tally != MAP_FAILED, "mmap: %m");
	for (i = 0; i < n; i++) {
		pid = xt_fork();
		if (!pid)
			one_round(i, act);
		status = end_of(i, pid);
		XT_CHECK(WIFSIGNALED(status) || !WEXITSTATUS(status),
			 "round %d: status %d", i, WEXITSTATUS(status));
	}
	xt_note("%d rounds, %lu commands, %lu changed, %lu accepted", n,
		tally->sent, tally->changed, tally->accepted);
	/* Few random commands succeed, so check this for many rounds only. */
	XT_CHECK(tally->accepted > 0 || n < MANY, "nothing was accepted");
}

static void any_random(void)
{
	unsigned int kind = rnd() % 10;

	if (kind < 5)
		send_random_write();
	else if (kind < 9)
		send_random_ioctl();
	else
		map_random();
}

static void test_random(void)
{
	rounds(any_random, xt_count(10));
}

static void any_changed(void)
{
	unsigned int kind = rnd() % 10;

	if (kind < 5)
		make();
	else if (kind < 7)
		unmake();
	else
		use();
}

static void test_changed(void)
{
	rounds(any_changed, xt_count(10));
}

/* ---- mappings during creation and destruction -------------------------- */

static atomic_bool enough;
static atomic_ulong mapped;

/*
 * Maps the existing rings, of a page each, at their known offsets. Writes to
 * their entries only: the library, too, trusts indices.
 */
static void *map_all(void *arg)
{
	unsigned int n;
	__u8 *p;

	for (n = 1; !atomic_load(&enough); n = n % 24 + 1) {
		p = mmap(NULL, XT_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
			 ctx->cmd_fd, n * XT_PAGE);
		if (p == MAP_FAILED)
			continue;
		atomic_fetch_add(&mapped, 1);
		memset(p + sizeof(struct xiw_ring_ctrl), n,
		       XT_PAGE - sizeof(struct xiw_ring_ctrl));
		munmap(p, XT_PAGE);
	}
	return arg;
}

/* Objects with rings of a page each, repeatedly. */
static void *make_all(void *arg)
{
	struct ibv_pd *pd = XT_PTR(ibv_alloc_pd(ctx));
	struct ibv_srq_init_attr srq_attr = {
		.attr = { .max_wr = 8, .max_sge = 1 },
	};
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	int n = xt_count(10) * 20;
	struct ibv_qp *qp;
	struct ibv_cq *cq;

	while (n--) {
		cq = XT_PTR(ibv_create_cq(ctx, 8, NULL, NULL, 0));
		attr.send_cq = cq;
		attr.recv_cq = cq;
		attr.srq = n & 1 ? XT_PTR(ibv_create_srq(pd, &srq_attr)) : NULL;
		qp = XT_PTR(ibv_create_qp(pd, &attr));
		XT_OK(ibv_resize_cq(cq, 8 + (n & 7)));
		XT_OK(ibv_destroy_qp(qp));
		if (attr.srq)
			XT_OK(ibv_destroy_srq(attr.srq));
		XT_OK(ibv_destroy_cq(cq));
	}
	XT_OK(ibv_dealloc_pd(pd));
	return arg;
}

/*
 * Rings are mapped, and written to, while they are created and destroyed. The
 * last user, mapping or kernel, frees the pages, exactly once.
 */
static void test_raced(void)
{
	pthread_t makers[2];
	pthread_t mappers[2];
	unsigned int i;

	find_device();
	drop_privileges();
	open_device();
	for (i = 0; i < XT_NELEM(makers); i++) {
		XT_OK(pthread_create(&mappers[i], NULL, map_all, NULL));
		XT_OK(pthread_create(&makers[i], NULL, make_all, NULL));
	}
	for (i = 0; i < XT_NELEM(makers); i++)
		XT_OK(pthread_join(makers[i], NULL));
	atomic_store(&enough, true);
	for (i = 0; i < XT_NELEM(mappers); i++)
		XT_OK(pthread_join(mappers[i], NULL));
	XT_CHECK(atomic_load(&mapped), "no ring was ever mapped");
	xt_note("%lu mappings", atomic_load(&mapped));
}

/* ---- limits ------------------------------------------------------------ */

static void test_memlock(void)
{
	struct ibv_mr *half;
	struct ibv_mr *more;
	struct ibv_pd *pd;
	__u8 *p;

	find_device();
	drop_privileges();
	open_device();
	pd = XT_PTR(ibv_alloc_pd(ctx));
	p = mmap(NULL, 2 * MEMLOCK, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	XT_CHECK(p != MAP_FAILED, "mmap: %m");
	XT_CHECK(!ibv_reg_mr(pd, p, 2 * MEMLOCK, XT_LOCAL) && errno == ENOMEM,
		 "twice the limit: %m");
	half = XT_PTR(ibv_reg_mr(pd, p, MEMLOCK * 3 / 4, XT_LOCAL));
	XT_CHECK(!ibv_reg_mr(pd, p + MEMLOCK, MEMLOCK / 2, XT_LOCAL) &&
		 errno == ENOMEM, "past the limit: %m");
	XT_OK(ibv_dereg_mr(half));
	more = XT_PTR(ibv_reg_mr(pd, p, MEMLOCK, XT_LOCAL));
	XT_OK(ibv_dereg_mr(more));
	XT_EQ(pinned_kib(), 0);
}

/*
 * Allocates protection domains up to the limit of the device. After one of them
 * is freed, another one can be allocated.
 */
static void test_objects(void)
{
	struct ibv_device_attr attr;
	struct ibv_pd **all;
	int n;
	int i;

	find_device();
	drop_privileges();
	open_device();
	XT_OK(ibv_query_device(ctx, &attr));
	all = XT_PTR(calloc(attr.max_pd + 1, sizeof(*all)));
	for (n = 0; n <= attr.max_pd; n++) {
		all[n] = ibv_alloc_pd(ctx);
		if (!all[n])
			break;
	}
	XT_CHECK(!all[n] && errno == ENOMEM, "after %d: %m", n);
	/* Other processes may have some of the protection domains. */
	XT_CHECK(n > attr.max_pd - 64 && n <= attr.max_pd, "%d of %d", n,
		 attr.max_pd);
	XT_OK(ibv_dealloc_pd(all[0]));
	all[0] = XT_PTR(ibv_alloc_pd(ctx));
	for (i = 0; i < n; i++)
		XT_OK(ibv_dealloc_pd(all[i]));
}

/* ---- input and responses of a later ABI -------------------------------- */

/**
 * struct made - an object of each kind
 * @pd: protection domain
 * @cq: completion queue
 * @srq: shared receive queue
 * @mr: memory region
 * @mw: memory window
 * @qp: queue pair
 */
struct made {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_qp *qp;
};

static bool known;

static bool as_expected(bool succeeded)
{
	return succeeded == known && (known || errno == EOPNOTSUPP);
}

/* Sets errno to the error of a call that returns it. */
static bool done(int ret)
{
	if (ret)
		errno = abs(ret);
	return !ret;
}

#define EXPECTED(call)	XT_CHECK(as_expected(!!(call)), "%s: %m", #call)

/*
 * Sends every command that creates or changes an object, with the objects of M;
 * but not the one that opens the device, see leaks_in_core().
 */
static void send_all(struct made *new, struct made *m)
{
	struct ibv_srq_init_attr srq_attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
	};
	struct ibv_qp_init_attr qp_attr = {
		.cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_srq_attr limit = { .srq_limit = 1 };

	EXPECTED(new->pd = ibv_alloc_pd(ctx));
	EXPECTED(new->cq = ibv_create_cq(ctx, 4, NULL, NULL, 0));
	EXPECTED(new->srq = ibv_create_srq(m->pd, &srq_attr));
	EXPECTED(new->mr = ibv_reg_mr(m->pd, sandbox, XT_PAGE, XT_LOCAL));
	EXPECTED(new->mw = ibv_alloc_mw(m->pd, IBV_MW_TYPE_1));
	qp_attr.send_cq = m->cq;
	qp_attr.recv_cq = m->cq;
	EXPECTED(new->qp = ibv_create_qp(m->pd, &qp_attr));
	EXPECTED(done(ibv_resize_cq(m->cq, 100)));
	EXPECTED(done(ibv_modify_srq(m->srq, &limit, IBV_SRQ_LIMIT)));
	EXPECTED(done(ibv_modify_qp(m->qp, &attr, IBV_QP_STATE)));
	EXPECTED(!ibv_rereg_mr(m->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL,
			       0, XT_REMOTE));
}

/*
 * Destroys an object by the command that was write() before: only this one has
 * driver data. Commands that respond have the address of the response before
 * the handle. Attributes of 8 bytes or less contain their data.
 */
static int end(__u32 command, __u32 handle, bool responds)
{
	struct ib_uverbs_destroy_cq in = { .cq_handle = handle };
	struct ib_uverbs_destroy_cq_resp out;
	struct command c = {
		.hdr = {
			.object_id = UVERBS_OBJECT_DEVICE,
			.method_id = UVERBS_METHOD_INVOKE_WRITE,
			.driver_id = XIW_RDMA_DRIVER_ID,
		},
	};

	add_attr(&c, UVERBS_ATTR_WRITE_CMD, NULL, sizeof(__u64));
	c.attrs[0].data = command;
	add_attr(&c, UVERBS_ATTR_CORE_IN, &in,
		 responds ? sizeof(in) : sizeof(handle));
	if (responds)
		add_attr(&c, UVERBS_ATTR_CORE_OUT, &out, sizeof(out));
	else
		c.attrs[1].data = handle;
	return send_extra(ctx->cmd_fd, &c.hdr) ? errno : 0;
}

static void send_ends(const struct made *m)
{
	EXPECTED(done(end(IB_USER_VERBS_CMD_DESTROY_QP, m->qp->handle, true)));
	EXPECTED(done(end(IB_USER_VERBS_CMD_DESTROY_SRQ, m->srq->handle,
			  true)));
	EXPECTED(done(end(IB_USER_VERBS_CMD_DESTROY_CQ, m->cq->handle, true)));
	EXPECTED(done(end(IB_USER_VERBS_CMD_DEREG_MR, m->mr->handle, false)));
	EXPECTED(done(end(IB_USER_VERBS_CMD_DEALLOC_PD, m->pd->handle,
			  false)));
}

/* The core reports that the driver checks its data, since Linux 7.3. */
static void check_core_support(void)
{
	if (!xt_kernel_before(7, 3))
		XT_EQ(core_support & ROBUST_UDATA, ROBUST_UDATA);
}

/*
 * Input for the driver: commands accept zeros and refuse other values, also
 * commands that destroy an object.
 */
static void test_unknown(void)
{
	static const __u64 zeros[EXTRA];
	static const __u64 words[EXTRA] = { 0, 1ULL << 40 };
	struct made made = {};
	struct made none = {};
	struct made unused;

	find_device();
	drop_privileges();
	open_device();
	extra = zeros;
	known = true;
	send_all(&made, &made);
	XT_EQ(cleared, 6);
	/* The others are in use, which is checked first. */
	unused.pd = XT_PTR(ibv_alloc_pd(ctx));
	unused.cq = XT_PTR(ibv_create_cq(ctx, 4, NULL, NULL, 0));
	unused.qp = made.qp;
	unused.srq = made.srq;
	unused.mr = made.mr;
	extra = words;
	known = false;
	send_all(&none, &made);
	send_ends(&unused);
	extra = NULL;
	XT_OK(ibv_destroy_cq(unused.cq));
	XT_OK(ibv_dealloc_pd(unused.pd));
	XT_OK(ibv_destroy_qp(made.qp));
	XT_OK(ibv_destroy_srq(made.srq));
	XT_OK(ibv_destroy_cq(made.cq));
	XT_OK(ibv_dealloc_mw(made.mw));
	XT_OK(ibv_dereg_mr(made.mr));
	XT_OK(ibv_dealloc_pd(made.pd));
	check_core_support();
}

/*
 * Sends every command with a response of the driver, except that which opens
 * the device.
 */
static void get_answers(bool fits)
{
	struct ibv_srq_init_attr srq_attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
	};
	struct ibv_qp_init_attr qp_attr = {
		.cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC,
	};
	int more = room;
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	struct ibv_qp *qp;
	struct ibv_cq *cq;

	room = 0;
	pd = XT_PTR(ibv_alloc_pd(ctx));
	qp_attr.send_cq = XT_PTR(ibv_create_cq(ctx, 4, NULL, NULL, 0));
	qp_attr.recv_cq = qp_attr.send_cq;
	room = more;
	cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	XT_CHECK(fits ? !!cq : !cq && errno == EINVAL, "CQ: %m");
	srq = ibv_create_srq(pd, &srq_attr);
	XT_CHECK(fits ? !!srq : !srq && errno == EINVAL, "SRQ: %m");
	qp = ibv_create_qp(pd, &qp_attr);
	XT_CHECK(fits ? !!qp : !qp && errno == EINVAL, "QP: %m");
	XT_EQ(abs(ibv_resize_cq(qp_attr.send_cq, 100)), fits ? 0 : EINVAL);
	room = 0;
	if (qp)
		XT_OK(ibv_destroy_qp(qp));
	if (srq)
		XT_OK(ibv_destroy_srq(srq));
	if (cq)
		XT_OK(ibv_destroy_cq(cq));
	XT_OK(ibv_destroy_cq(qp_attr.send_cq));
	XT_OK(ibv_dealloc_pd(pd));
	room = more;
}

/*
 * A later provider has room for what this kernel does not know, and finds zeros
 * there. No provider has less room than the first version of the ABI.
 */
static void test_answers(void)
{
	find_device();
	drop_privileges();
	open_device();
	room = 24;
	get_answers(true);
	room = -4;
	get_answers(false);
	room = 0;
	XT_EQ(answers, 8);
}

/*
 * The list of the region may exceed the memory that the kernel allocates at
 * once. A few pages are mapped again and again.
 */
static void test_huge_region(void)
{
	const size_t len = 1UL << 40;
	const size_t lap = 1UL << 26;
	struct ibv_device_attr attr;
	struct ibv_mr *mr;
	struct ibv_pd *pd;
	size_t at;
	__u8 *p;
	int fd;

	find_device();
	open_device();
	XT_OK(ibv_query_device(ctx, &attr));
	XT_CHECK(attr.max_mr_size < len && attr.max_mr_size > len / 2,
		 "max_mr_size %llu", (unsigned long long)attr.max_mr_size);
	fd = memfd_create("lap", 0);
	XT_OK(ftruncate(fd, lap));
	p = mmap(NULL, len, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	XT_CHECK(p != MAP_FAILED, "mmap: %m");
	for (at = 0; at < len; at += lap)
		XT_CHECK(mmap(p + at, lap, PROT_READ, MAP_SHARED | MAP_FIXED,
			      fd, 0) != MAP_FAILED, "mmap at %zu: %m", at);
	pd = XT_PTR(ibv_alloc_pd(ctx));
	mr = ibv_reg_mr(pd, p, len, 0);
	/*
	 * Contiguous pages need a shorter list. The caller looks for a warning
	 * in the kernel's log.
	 */
	XT_CHECK(mr || errno == ENOMEM, "%m");
}

/* The core undoes the creation of objects when it cannot respond. */
static void test_unanswered(void)
{
	struct ibv_srq_init_attr srq_attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
	};
	struct ibv_qp_init_attr qp_attr = {
		.cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC,
	};
	struct ibv_pd *pd;
	struct ibv_cq *cq;

	find_device();
	drop_privileges();
	open_device();
	pd = XT_PTR(ibv_alloc_pd(ctx));
	cq = XT_PTR(ibv_create_cq(ctx, 4, NULL, NULL, 0));
	qp_attr.send_cq = cq;
	qp_attr.recv_cq = cq;
	failing = true;
	XT_CHECK(!ibv_create_cq(ctx, 4, NULL, NULL, 0) && errno == EFAULT,
		 "CQ: %m");
	XT_CHECK(!ibv_create_srq(pd, &srq_attr) && errno == EFAULT, "SRQ: %m");
	XT_CHECK(!ibv_create_qp(pd, &qp_attr) && errno == EFAULT, "QP: %m");
	failing = false;
	/* No object that was created has stayed. */
	XT_OK(ibv_destroy_cq(cq));
	XT_OK(ibv_dealloc_pd(pd));
}

/* ---- how a process gets a device --------------------------------------- */

static bool no_netlink;

/* Replaces the function of the C library, also for libibverbs and libnl. */
int socket(int domain, int type, int protocol)
{
	if (no_netlink && domain == AF_NETLINK) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	return syscall(SYS_socket, domain, type, protocol);
}

/* As in a service that may not use this address family. */
static void test_no_netlink(void)
{
	struct ibv_pd *pd;

	no_netlink = true;
	find_device();
	open_device();
	pd = XT_PTR(ibv_alloc_pd(ctx));
	XT_OK(ibv_dealloc_pd(pd));
}

/* A second context with the file of the first, and objects of that. */
static void test_import(void)
{
	struct ibv_qp_init_attr attr = {
		.cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC,
	};
	struct ibv_parent_domain_init_attr parent_attr = {};
	struct ibv_context *other;
	struct ibv_pd *parent;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	struct ibv_pd *pd2;
	struct ibv_mr *mr2;

	find_device();
	open_device();
	pd = XT_PTR(ibv_alloc_pd(ctx));
	mr = XT_PTR(ibv_reg_mr(pd, sandbox, XT_PAGE, XT_REMOTE));
	other = XT_PTR(ibv_import_device(dup(ctx->cmd_fd)));
	pd2 = XT_PTR(ibv_import_pd(other, pd->handle));
	mr2 = XT_PTR(ibv_import_mr(pd2, mr->handle));
	XT_EQ(mr2->lkey, mr->lkey);
	XT_EQ(mr2->rkey, mr->rkey);
	XT_EQ(mr2->length, mr->length);
	XT_CHECK(!ibv_import_mr(pd2, mr->handle + 1000), "no such region");
	attr.send_cq = XT_PTR(ibv_create_cq(other, 4, NULL, NULL, 0));
	attr.recv_cq = attr.send_cq;
	qp = XT_PTR(ibv_create_qp(pd2, &attr));
	XT_OK(ibv_destroy_qp(qp));
	parent_attr.pd = pd2;
	parent = XT_PTR(ibv_alloc_parent_domain(other, &parent_attr));
	qp = XT_PTR(ibv_create_qp(parent, &attr));
	ibv_unimport_mr(mr2);
	/*
	 * Close the contexts in this order, too: the other one owns the domain.
	 */
	ibv_unimport_pd(pd2);
	XT_EQ(ibv_dealloc_pd(parent), EBUSY);
	XT_OK(ibv_destroy_qp(qp));
	XT_OK(ibv_dealloc_pd(parent));
	XT_OK(ibv_destroy_cq(attr.send_cq));
	XT_OK(ibv_close_device(other));
	XT_OK(ibv_dereg_mr(mr));
	XT_OK(ibv_dealloc_pd(pd));
}

static const struct xt_case cases[] = {
	{ "random", "random commands", test_random },
	{ "changed", "commands of the library with parts changed",
	  test_changed },
	{ "raced", "rings are mapped while they come and go", test_raced },
	{ "memlock", "no more memory is pinned than may be", test_memlock },
	{ "unknown", "input that this kernel does not know is refused",
	  test_unknown },
	{ "answers", "responses have more room than needed, or less",
	  test_answers },
	{ "unanswered", "objects are destroyed if the core cannot respond",
	  test_unanswered },
	{ "no-netlink", "the device is found without netlink",
	  test_no_netlink },
	{ "import", "domain and region of another context", test_import },
	{ "huge-region", "a region of 1 TiB is refused, or registered",
	  test_huge_region },
	{ "objects", "no more objects than the device has", test_objects },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
