// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Copies between packets and memory: the result, and the order in which another
 * CPU observes the stores.
 */
#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "llp/fpdu.h"
#include "mem/mem.h"

enum {
	ROOM		= 4096,
	MARGIN		= 64,
	SHORT		= 200,	/* test all lengths up to this */
	ROUNDS		= 5000,
	LOOKS		= 200,	/* changes observed by the other CPU */
	SECONDS		= 3,	/* time limit for LOOKS */
};

struct copies {
	u8 src[ROOM] __aligned(64);
	u8 dst[ROOM] __aligned(64);
	u8 want[ROOM] __aligned(64);
};

static struct copies *copies_make(struct kunit *test)
{
	struct copies *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	get_random_bytes(c->src, sizeof(c->src));
	return c;
}

typedef void (*copy_fn)(void *dst, const void *src, size_t len);

static void check_copy(struct kunit *test, struct copies *c, copy_fn fn,
		       u32 to, u32 from, u32 len)
{
	u32 end = min(to + len + MARGIN, (u32)ROOM);

	memset(c->dst, 0x5a, end);
	memset(c->want, 0x5a, end);
	memcpy(c->want + to, c->src + from, len);
	fn(c->dst + to, c->src + from, len);
	KUNIT_EXPECT_MEMEQ_MSG(test, c->dst, c->want, end,
			       "%u bytes from %u to %u", len, from, to);
}

/* All alignments of source and destination */
static void check_alignments(struct kunit *test, copy_fn fn)
{
	static const u32 longer[] = { 767, 768, 776, 832, 1428, 2049, 3900 };
	struct copies *c = copies_make(test);
	u32 to, from, len;
	int i;

	for (to = 0; to < 9; to++)
		for (from = 0; from < 9; from++) {
			for (len = 0; len < SHORT; len++)
				check_copy(test, c, fn, MARGIN + to, from, len);
			for (i = 0; i < ARRAY_SIZE(longer); i++)
				check_copy(test, c, fn, MARGIN + to, from,
					   longer[i]);
		}
	for (to = 0; to < 64; to++)
		check_copy(test, c, fn, to, 3, 2000);
}

static void copy_in(struct kunit *test)
{
	check_alignments(test, xiw_copy_in);
}

static void copy_out(struct kunit *test)
{
	check_alignments(test, xiw_copy_out);
}

/* Places @len bytes in three pieces, which end at @a, @b and @len. */
static void place_pieces(u8 *dst, u8 *src, u32 len, u32 a, u32 b)
{
	struct kvec vec[] = {
		{ .iov_base = src, .iov_len = a },
		{ .iov_base = src + a, .iov_len = b - a },
		/* The CRC follows. */
		{ .iov_base = src + b, .iov_len = len - b + 4 },
	};
	struct xiw_mem_ref ref = { .at = dst, .end = dst + len };
	struct xiw_fpdu f = { .vec = vec };

	xiw_fpdu_place(&f, &ref, len);
}

/* Three non-empty pieces of any length */
static void copy_pieces(struct kunit *test)
{
	struct copies *c = copies_make(test);
	const u32 len = 35;
	u32 to, a, b;

	for (to = MARGIN; to < MARGIN + 8; to++)
		for (a = 1; a < len; a++)
			for (b = a + 1; b <= len; b++) {
				memset(c->dst, 0x5a, 2 * MARGIN);
				memset(c->want, 0x5a, 2 * MARGIN);
				memcpy(c->want + to, c->src, len);
				place_pieces(c->dst + to, c->src, len, a, b);
				KUNIT_EXPECT_MEMEQ_MSG(test, c->dst, c->want,
						       2 * MARGIN,
						       "to %u, cut at %u, %u",
						       to, a, b);
			}
}

/**
 * struct watcher - another CPU that reads the destination
 * @p: memory to read
 * @len: bytes at @p
 * @looks: number of changes of the last word
 * @bad: number of errors found after such a change
 */
struct watcher {
	const u8 *p;
	u32 len;
	u32 looks;
	u32 bad;
};

/* All words of a copy are the same number, and each copy has a larger one. */
static int watch_order(void *arg)
{
	struct watcher *w = arg;
	const u64 *word = (const u64 *)w->p;
	u32 last = w->len / 8 - 1;
	u64 seen = 0;
	u32 i;

	while (!kthread_should_stop()) {
		/* Pairs with the barrier before the last store of a copy. */
		u64 v = smp_load_acquire(&word[last]);

		if (v != seen) {
			seen = v;
			WRITE_ONCE(w->looks, w->looks + 1);
			for (i = 0; i < last; i++)
				w->bad += READ_ONCE(word[i]) < v;
		}
		cond_resched();
	}
	return 0;
}

static int watch_torn(void *arg)
{
	struct watcher *w = arg;
	const u64 *word = (const u64 *)w->p;
	u64 seen = 0;

	while (!kthread_should_stop()) {
		u64 v = READ_ONCE(*word);

		w->bad += v && ~v;
		WRITE_ONCE(w->looks, w->looks + (v != seen));
		seen = v;
		cond_resched();
	}
	return 0;
}

static struct task_struct *watch_start(struct kunit *test, struct watcher *w,
				       int (*fn)(void *))
{
	struct task_struct *task;

	if (num_online_cpus() < 2)
		kunit_skip(test, "one processor sees all in order");
	task = kthread_run(fn, w, "xiw-watch");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	return task;
}

static bool watch_more(const struct watcher *w, u32 rounds, unsigned long end)
{
	cond_resched();
	return rounds < ROUNDS ||
	       (READ_ONCE(w->looks) < LOOKS && time_before(jiffies, end));
}

static void check_order(struct kunit *test, struct copies *c, u32 len)
{
	struct watcher w = { .p = c->dst, .len = len };
	unsigned long end = jiffies + SECONDS * HZ;
	u64 *src = (u64 *)(c->src + 8);
	struct task_struct *task;
	u64 number;

	memset(c->dst, 0, len);
	task = watch_start(test, &w, watch_order);
	for (number = 1; watch_more(&w, number, end); number++) {
		memset64(src, number, len / 8);
		xiw_copy_in(c->dst, src, len);
	}
	kthread_stop(task);
	KUNIT_EXPECT_EQ_MSG(test, w.bad, 0, "%u bytes, %u looks", len, w.looks);
}

static void copy_order(struct kunit *test)
{
	static const u32 lens[] = { 16, 40, 64, 256, 760, 1424, 4088 };
	struct copies *c = copies_make(test);
	int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++)
		check_order(test, c, lens[i]);
}

/* A word that is split over two pieces is stored at once. */
static void copy_torn(struct kunit *test)
{
	struct copies *c = copies_make(test);
	struct watcher w = { .p = c->dst + 8, .len = 8 };
	unsigned long end = jiffies + SECONDS * HZ;
	struct task_struct *task;
	u32 i;

	memset(c->dst, 0, 32);
	task = watch_start(test, &w, watch_torn);
	for (i = 0; watch_more(&w, i, end); i++) {
		memset(c->src, i & 1 ? 0 : 0xff, 32);
		place_pieces(c->dst, c->src + i % 3, 24, 1 + i % 14, 15);
	}
	kthread_stop(task);
	KUNIT_EXPECT_EQ_MSG(test, w.bad, 0, "of %u", w.looks);
}

/* Order of the pages of a region in kernel addresses: some adjoin. */
static const u8 region_order[] = { 1, 2, 3, 0, 7, 6, 4, 5 };

enum {
	REGION_PAGES	= ARRAY_SIZE(region_order),
	REGION_FIRST	= 1000,	/* offset of the region in its first page */
	REGION_LEN	= REGION_PAGES * PAGE_SIZE - REGION_FIRST - 10,
};

/**
 * struct region - a region with its pages in another order
 * @base: object that owns the pages
 * @pages: for @base
 * @memory: the pages, in the order of their addresses
 * @data: bytes to copy
 */
struct region {
	struct xiw_mem base;
	void *pages[REGION_PAGES];
	u8 *memory;
	u8 *data;
};

static struct region *region_make(struct kunit *test)
{
	struct region *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	size_t size = REGION_PAGES * PAGE_SIZE;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, r);
	r->memory = kunit_kzalloc(test, size, GFP_KERNEL);
	r->data = kunit_kzalloc(test, size, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, r->memory && r->data);
	get_random_bytes(r->data, size);
	r->base.kind = XIW_MEM_USER;
	r->base.iova = 0x12345;
	r->base.first_off = REGION_FIRST;
	r->base.page_shift = PAGE_SHIFT;
	r->base.pages = r->pages;
	for (i = 0; i < REGION_PAGES; i++)
		r->pages[i] = r->memory + region_order[i] * PAGE_SIZE;
	return r;
}

static u8 *region_byte(const struct region *r, u32 off)
{
	off += REGION_FIRST;
	return r->pages[off / PAGE_SIZE] + offset_in_page(off);
}

/* Copies the bytes from @off on in steps of @step, in and out again. */
static void region_check(struct kunit *test, struct region *r, u32 off,
			 u32 step)
{
	struct xiw_mem_ref in = { .base = &r->base, .next = 0x12345 + off };
	struct xiw_mem_ref out = in;
	u32 bad = 0;
	u8 word[8];
	u32 at, n;

	memset(r->memory, 0, REGION_PAGES * PAGE_SIZE);
	for (at = off; at < REGION_LEN; at += n) {
		n = min(step, REGION_LEN - at);
		xiw_mem_write(&in, r->data + at, n);
	}
	for (at = 0; at < REGION_PAGES * PAGE_SIZE - REGION_FIRST; at++)
		bad += *region_byte(r, at) !=
		       (at < off || at >= REGION_LEN ? 0 : r->data[at]);
	for (at = off; at < REGION_LEN; at += n) {
		n = min3(step, (u32)sizeof(word), REGION_LEN - at);
		xiw_mem_read(&out, word, n);
		bad += memcmp(word, r->data + at, n) != 0;
	}
	KUNIT_EXPECT_EQ_MSG(test, bad, 0, "from %u in steps of %u", off, step);
}

/* Accesses of any length, from any offset, to pages that adjoin or do not */
static void copy_region(struct kunit *test)
{
	static const u32 steps[] = { 1, 7, 100, 1424, 4096, 4099, 9000, 65536 };
	struct region *r = region_make(test);
	u32 off;
	int i;

	for (i = 0; i < ARRAY_SIZE(steps); i++)
		for (off = 0; off < REGION_LEN; off += 1031)
			region_check(test, r, off, steps[i]);
}

static struct kunit_case copy_cases[] = {
	KUNIT_CASE(copy_in),
	KUNIT_CASE(copy_out),
	KUNIT_CASE(copy_pieces),
	KUNIT_CASE(copy_region),
	KUNIT_CASE(copy_order),
	KUNIT_CASE(copy_torn),
	{}
};

static struct kunit_suite copy_suite = {
	.name = "xiw_copy",
	.test_cases = copy_cases,
};

kunit_test_suite(copy_suite);
