// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory as a second processor sees it while a message is placed in it or read
 * from it: the last bytes come last, and an aligned word of 8 bytes is never
 * torn. The memory is shared with a second process, which reads or changes it
 * all the time.
 */
#include "xt.h"

#include <infiniband/verbs.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROOM		(64 * 1024UL)
#define LIST		64
#define LOOKS		20	/* changes seen of each kind of message */

enum role { ORDER, TORN, FLIP };

/* Memory shared with the second process, which starts a task at each @phase */
static struct {
	unsigned int phase;	/* incremented to start the next task */
	unsigned int busy;	/* the second process runs the task */
	unsigned int stop;
	unsigned int posted;	/* messages; their bytes are its low byte */
	enum role role;
	__u8 *p;
	size_t n;
	unsigned long looks;	/* changes that the second process saw */
	unsigned long bad;
} *ctl;

/* Memory of the source and of the target, each registered at both ends */
static __u8 *src, *dst;
static struct xt_buf src_of[2], dst_of[2];
static struct xt_pair pair;

#define LOAD(p)		__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define STORE(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	XT_OK(sched_setaffinity(0, sizeof(set), &set));
}

static void look(void)
{
	STORE(&ctl->looks, ctl->looks + 1);
}

/* Is any byte of the message in @p older than @last, which was seen before? */
static bool older(const __u8 *p, size_t n, __u8 last)
{
	size_t i;

	for (i = 0; i < n; i++)
		if ((__s8)(LOAD(&p[i]) - last) < 0)
			return true;
	return false;
}

static void watch_order(const __u8 *p, size_t n)
{
	__u8 seen = LOAD(&p[n - 1]);
	unsigned int posted;
	bool bad;
	__u8 last;

	while (!LOAD(&ctl->stop)) {
		posted = LOAD(&ctl->posted);
		last = LOAD(&p[n - 1]);
		if (last == seen)
			continue;
		seen = last;
		bad = older(p, n, last);
		/* Do not count a look after a pause of this process. */
		if (LOAD(&ctl->posted) - posted > 100)
			continue;
		ctl->bad += bad;
		look();
	}
}

static void watch_torn(const __u64 *w, size_t n)
{
	__u64 seen = LOAD(w);
	size_t i;

	while (!LOAD(&ctl->stop)) {
		for (i = 0; i < n; i++) {
			__u64 v = LOAD(&w[i]);

			ctl->bad += v && ~v;
			if (!i && v != seen) {
				seen = v;
				look();
			}
		}
	}
}

static void flip(__u64 *w, size_t n)
{
	__u64 v = 0;
	size_t i;

	while (!LOAD(&ctl->stop)) {
		v = ~v;
		for (i = 0; i < n; i++)
			__atomic_store_n(&w[i], v, __ATOMIC_RELAXED);
		look();
	}
}

static void second(void)
{
	unsigned int phase = 0;

	pin(1);
	for (;;) {
		while (LOAD(&ctl->phase) == phase)
			sched_yield();
		phase = ctl->phase;
		STORE(&ctl->busy, 1);
		if (ctl->role == ORDER)
			watch_order(ctl->p, ctl->n);
		else if (ctl->role == TORN)
			watch_torn((__u64 *)ctl->p, ctl->n / 8);
		else
			flip((__u64 *)ctl->p, ctl->n / 8);
		STORE(&ctl->busy, 0);
	}
}

/* Has the second process not yet seen enough changes? */
static bool too_few_looks(void)
{
	return LOAD(&ctl->looks) < LOOKS;
}

static void watch(enum role role, __u8 *p, size_t n)
{
	ctl->role = role;
	ctl->p = p;
	ctl->n = n;
	ctl->looks = 0;
	ctl->bad = 0;
	ctl->stop = 0;
	STORE(&ctl->phase, ctl->phase + 1);
	while (!LOAD(&ctl->busy))
		sched_yield();
}

static void watch_end(void)
{
	STORE(&ctl->stop, 1);
	while (LOAD(&ctl->busy))
		sched_yield();
}

static void *shared(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	XT_CHECK(p != MAP_FAILED, "mmap: %m");
	return p;
}

static struct xt_buf registered(struct ibv_pd *pd, __u8 *p)
{
	return (struct xt_buf){
		.p = p,
		.len = ROOM,
		.mr = XT_PTR(ibv_reg_mr(pd, p, ROOM, XT_REMOTE)),
	};
}

static void start(void)
{
	struct xt_opts o = XT_OPTS;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		xt_skip("one processor sees all in order");
	ctl = shared(XT_PAGE);
	src = shared(ROOM);
	dst = shared(ROOM);
	if (!xt_fork())
		second();
	pin(0);
	o.inline_len = 0;
	o.send_wr = 2 * LIST;
	o.recv_wr = 2 * LIST;
	xt_pair(&pair, &o, &o);
	src_of[0] = registered(pair.a.pd, src);
	src_of[1] = registered(pair.b.pd, src);
	dst_of[0] = registered(pair.a.pd, dst);
	dst_of[1] = registered(pair.b.pd, dst);
}

/* Transfers @n bytes from @src + @from to @dst + @to, and waits for them. */
static void move(enum ibv_wr_opcode op, size_t n, size_t to, size_t from)
{
	bool reads = op == IBV_WR_RDMA_READ;
	struct ibv_sge local = reads ? xt_sge(&dst_of[1], to, n) :
				       xt_sge(&src_of[1], from, n);
	struct ibv_sge sink = xt_sge(&dst_of[0], to, n);
	struct ibv_send_wr wr = op == IBV_WR_SEND ? xt_wr(op, 7, &local, 1) :
		xt_wr_to(op, 7, &local, 1, reads ? &src_of[0] : &dst_of[0],
			 reads ? from : to);
	struct ibv_wc wc;

	if (op == IBV_WR_SEND)
		xt_recv(&pair.a, 8, &sink, 1);
	xt_send(&pair.b, &wr);
	xt_spin(pair.b.scq, &wc);
	XT_EQ(wc.status, IBV_WC_SUCCESS);
	if (op == IBV_WR_SEND) {
		xt_spin(pair.a.rcq, &wc);
		XT_EQ(wc.status, IBV_WC_SUCCESS);
	}
}

static void await(const __u8 *p, __u8 value)
{
	while (LOAD(p) != value)
		;
}

/* ---- the last bytes come last ------------------------------------------ */

static void order_one(enum ibv_wr_opcode op, size_t n, size_t to, size_t from,
		      int count)
{
	unsigned int k = 0;

	memset(dst, 0, ROOM);
	STORE(&ctl->posted, 0);
	watch(ORDER, dst + to, n);
	while (count-- > 0 || too_few_looks()) {
		STORE(&ctl->posted, ++k);
		memset(src + from, k, n);
		move(op, n, to, from);
		await(dst + to + n - 1, k);
	}
	watch_end();
	XT_CHECK(!ctl->bad, "%zu bytes at %zu from %zu: the last one came first, %lu times of %lu",
		 n, to, from, ctl->bad, ctl->looks);
}

static void order(enum ibv_wr_opcode op)
{
	static const size_t sizes[] = {
		33, 36, 40, 63, 64, 65, 100, 128, 256, 511, 512, 1000, 1024,
		1400, 1424, 4096, 20000,
	};
	static const size_t tos[] = { 0, 1, 12, 48, 96, 4090 };
	size_t i, j;

	start();
	for (i = 0; i < XT_NELEM(sizes); i++)
		for (j = 0; j < XT_NELEM(tos); j++)
			order_one(op, sizes[i], tos[j], 40 * j, xt_count(150));
}

static void order_write(void)
{
	order(IBV_WR_RDMA_WRITE);
}

static void order_send(void)
{
	order(IBV_WR_SEND);
}

static void order_read(void)
{
	order(IBV_WR_RDMA_READ);
}

/* ---- a word is never torn where it is placed --------------------------- */

static void torn_one(enum ibv_wr_opcode op, size_t n, size_t to, size_t from,
		     int count)
{
	int k;

	memset(dst, 0, ROOM);
	watch(TORN, dst + to, n);
	for (k = 0; k < count || too_few_looks(); k++) {
		memset(src + from, k & 1 ? 0 : ~0, n);
		move(op, n, to, from);
		await(dst + to + n - 1, k & 1 ? 0 : ~0);
	}
	watch_end();
	XT_CHECK(!ctl->bad, "%zu bytes at %zu from %zu: %lu torn words, %lu changes",
		 n, to, from, ctl->bad, ctl->looks);
}

static void torn(enum ibv_wr_opcode op)
{
	static const size_t sizes[] = { 8, 16, 64, 256, 1024 };
	static const size_t tos[] = { 0, 16, 24, 32, 40, 4088 };
	size_t i, j;

	start();
	for (i = 0; i < XT_NELEM(sizes); i++)
		for (j = 0; j < XT_NELEM(tos); j++)
			torn_one(op, sizes[i], tos[j], 8 + j, xt_count(500));
}

static void torn_write(void)
{
	torn(IBV_WR_RDMA_WRITE);
}

static void torn_send(void)
{
	torn(IBV_WR_SEND);
}

static void torn_read(void)
{
	torn(IBV_WR_RDMA_READ);
}

/*
 * Words behind a long Write, so that they are anywhere in a packet, and in two
 * pieces of it now and then.
 */
static void torn_list(void)
{
	struct ibv_send_wr wr[LIST];
	struct ibv_sge sge[LIST];
	struct ibv_wc wc;
	int round;
	int i;

	start();
	memset(src + 8, ~0, 8);
	watch(TORN, dst, 8);
	for (round = 0; round < xt_count(4000) || too_few_looks(); round++) {
		for (i = 0; i < LIST; i++) {
			sge[i] = xt_sge(&src_of[1], i & 1 ? 0 : 8, 8);
			wr[i] = xt_wr_to(IBV_WR_RDMA_WRITE, 7, &sge[i], 1,
					 &dst_of[0], 0);
			wr[i].send_flags = 0;
			wr[i].next = &wr[i + 1];
		}
		sge[0] = xt_sge(&src_of[1], 4096, 4 * (1 + rand() % 8192));
		wr[0] = xt_wr_to(IBV_WR_RDMA_WRITE, 7, sge, 1, &dst_of[0],
				 16384);
		wr[0].send_flags = 0;
		wr[0].next = &wr[1];
		wr[LIST - 1].send_flags = IBV_SEND_SIGNALED;
		wr[LIST - 1].next = NULL;
		xt_send(&pair.b, wr);
		xt_spin(pair.b.scq, &wc);
		XT_EQ(wc.status, IBV_WC_SUCCESS);
	}
	move(IBV_WR_SEND, 8, 64, 0);
	watch_end();
	XT_CHECK(!ctl->bad, "%lu torn words, %lu changes", ctl->bad,
		 ctl->looks);
}

/* ---- a word is never torn where it is read ----------------------------- */

static void source_one(enum ibv_wr_opcode op, size_t n, size_t from, int count)
{
	__u64 word;
	size_t i;

	memset(src, 0, ROOM);
	watch(FLIP, src + from, n);
	while (count-- > 0 || too_few_looks()) {
		move(op, n, 0, from);
		if (op == IBV_WR_RDMA_WRITE)
			move(IBV_WR_SEND, 8, ROOM - 8, ROOM - 8);
		for (i = 0; i < n; i += sizeof(word)) {
			memcpy(&word, dst + i, sizeof(word));
			XT_CHECK(!word || !~word,
				 "%zu bytes from %zu: %#llx was read at %zu",
				 n, from, (unsigned long long)word, i);
		}
	}
	watch_end();
}

static void source(enum ibv_wr_opcode op)
{
	static const size_t sizes[] = { 8, 64, 256, 1024, 1392 };
	static const size_t froms[] = { 0, 8, 40, 3904 };
	size_t i, j;

	start();
	for (i = 0; i < XT_NELEM(sizes); i++)
		for (j = 0; j < XT_NELEM(froms); j++)
			source_one(op, sizes[i], froms[j], xt_count(500));
}

static void source_write(void)
{
	source(IBV_WR_RDMA_WRITE);
}

static void source_send(void)
{
	source(IBV_WR_SEND);
}

static void source_read(void)
{
	source(IBV_WR_RDMA_READ);
}

static const struct xt_case cases[] = {
	{ "order-write", "the last bytes of a Write come last", order_write },
	{ "order-send", "the last bytes of a Send come last", order_send },
	{ "order-read", "the last bytes of a Read come last", order_read },
	{ "torn-write", "a word that is written comes as one", torn_write },
	{ "torn-send", "a word that is sent comes as one", torn_send },
	{ "torn-read", "a word that was read comes as one", torn_read },
	{ "torn-list", "so it does wherever in a packet", torn_list },
	{ "source-write", "a Write takes a word as one", source_write },
	{ "source-send", "a Send takes a word as one", source_send },
	{ "source-read", "a Read takes a word as one", source_read },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
