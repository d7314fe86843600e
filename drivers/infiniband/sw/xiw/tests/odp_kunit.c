// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory on demand: which ranges are absent, for regions and for windows onto
 * them, and requests for these.
 */
#include <kunit/test.h>
#include <linux/bitops.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/xiw-abi.h>

#include "mem/odp.h"

enum {
	PAGES	= 4,
	ALL	= IB_ACCESS_LOCAL_WRITE | XIW_MEM_REMOTE,
};

/**
 * struct odp_world - a region of PAGES pages and a window onto it
 * @table: STags
 * @pd: protection domain
 * @cache: lookup cache
 * @mr: region
 * @mw: window onto all of it but the first and the last byte
 */
struct odp_world {
	struct xiw_mem_table table;
	struct ib_pd pd;
	struct xiw_mem_cache cache;
	struct xiw_mem mr;
	struct xiw_mem mw;
};

static u8 odp_pages[PAGES][PAGE_SIZE] __aligned(PAGE_SIZE);

static void odp_world_add(struct kunit *test, struct odp_world *w,
			  struct xiw_mem *mem, enum xiw_mem_kind kind)
{
	xiw_mem_init(mem);
	mem->table = &w->table;
	mem->pd = &w->pd;
	mem->kind = kind;
	mem->state = XIW_MEM_VALID;
	mem->access = ALL;
	mem->iova = 0x10000;
	mem->length = PAGES * PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, xiw_stag_alloc(mem), 0);
}

static struct odp_world *odp_world_make(struct kunit *test)
{
	struct odp_world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	struct xiw_mem *mr;

	KUNIT_ASSERT_NOT_NULL(test, w);
	mr = &w->mr;
	xiw_mem_table_init(&w->table);
	xiw_mem_cache_init(&w->cache, &w->table, &w->pd, 1, false);
	odp_world_add(test, w, mr, XIW_MEM_USER);
	mr->access |= IB_ACCESS_ON_DEMAND;
	mr->page_shift = PAGE_SHIFT;
	mr->pages = kunit_kcalloc(test, PAGES, sizeof(*mr->pages), GFP_KERNEL);
	mr->writable = kunit_kzalloc(test, sizeof(long), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, mr->pages && mr->writable);
	odp_world_add(test, w, &w->mw, XIW_MEM_MW);
	w->mw.mr = mr;
	w->mw.iova++;
	w->mw.length -= 2;
	return w;
}

static void odp_world_free(struct odp_world *w)
{
	xiw_stag_free(&w->mr);
	xiw_stag_free(&w->mw);
	xa_destroy(&w->table.mems);
}

static void odp_publish(struct odp_world *w, u32 page, bool write)
{
	xiw_mem_lock(&w->mr);
	w->mr.pages[page] = odp_pages[page];
	if (write)
		__set_bit(page, w->mr.writable);
	xiw_mem_unlock(&w->mr);
}

/* Looks up the bytes from @off to @end of the region. */
static enum xiw_mem_status odp_look(struct odp_world *w, struct xiw_mem *mem,
				    int access, u32 off, u32 end)
{
	enum xiw_mem_status status;
	struct xiw_mem_ref ref;

	status = xiw_mem_get(&w->cache, mem->stag, access, w->mr.iova + off,
			     end - off, &ref);
	if (status == XIW_MEM_OK)
		xiw_mem_put(&ref);
	return status;
}

/* The check of each page, by its own: @off to @end are in these pages. */
static enum xiw_mem_status odp_expect(struct odp_world *w, int access, u32 off,
				      u32 end)
{
	u32 i;

	for (i = off / PAGE_SIZE; i <= (end - 1) / PAGE_SIZE; i++)
		if (!w->mr.pages[i] || (access & XIW_MEM_WRITES &&
					!test_bit(i, w->mr.writable)))
			return XIW_MEM_ABSENT;
	return XIW_MEM_OK;
}

static void odp_check_all(struct kunit *test, struct odp_world *w)
{
	static const int rights[] = {
		IB_ACCESS_REMOTE_READ, IB_ACCESS_REMOTE_WRITE,
		IB_ACCESS_REMOTE_ATOMIC,
	};
	u32 off, end;
	int i;

	for (off = 1; off < PAGES * PAGE_SIZE; off += PAGE_SIZE - 1)
		for (end = off + 1; end < PAGES * PAGE_SIZE; end += 509)
			for (i = 0; i < ARRAY_SIZE(rights); i++) {
				enum xiw_mem_status want =
					odp_expect(w, rights[i], off, end);

				KUNIT_EXPECT_EQ(test, want,
						odp_look(w, &w->mr, rights[i],
							 off, end));
				KUNIT_EXPECT_EQ(test, want,
						odp_look(w, &w->mw, rights[i],
							 off, end));
			}
}

/* In each state of the pages: absent, for reading, or for writing */
static void odp_absent(struct kunit *test)
{
	u32 state, s, i;

	for (state = 0; state < 81; state++) {
		struct odp_world *w = odp_world_make(test);

		for (i = 0, s = state; i < PAGES; i++, s /= 3)
			if (s % 3)
				odp_publish(w, i, s % 3 == 2);
		odp_check_all(test, w);
		odp_world_free(w);
	}
}

/* Other faults come before the absence of a page. */
static void odp_order(struct kunit *test)
{
	struct odp_world *w = odp_world_make(test);
	u32 end = PAGES * PAGE_SIZE;

	KUNIT_EXPECT_EQ(test, odp_look(w, &w->mr, IB_ACCESS_LOCAL_WRITE, 0,
				       end), XIW_MEM_ABSENT);
	KUNIT_EXPECT_EQ(test, odp_look(w, &w->mr, 0, 0, end + 1),
			XIW_MEM_BOUNDS);
	KUNIT_EXPECT_EQ(test, odp_look(w, &w->mw, IB_ACCESS_REMOTE_READ, 0,
				       end), XIW_MEM_BOUNDS);
	KUNIT_EXPECT_EQ(test, odp_look(w, &w->mw, 0, 1, 2), XIW_MEM_BAD_STAG);
	w->mr.access &= ~IB_ACCESS_REMOTE_WRITE;
	KUNIT_EXPECT_EQ(test, odp_look(w, &w->mr, IB_ACCESS_REMOTE_WRITE, 0,
				       end), XIW_MEM_BAD_ACCESS);
	/* An empty range has no pages. */
	KUNIT_EXPECT_EQ(test, odp_look(w, &w->mr, IB_ACCESS_REMOTE_READ, 7, 7),
			XIW_MEM_OK);
	/* The rights of a check, without the pages. */
	KUNIT_EXPECT_EQ(test, xiw_mem_check(&w->cache, w->mr.stag, 0,
					    w->mr.iova, end), XIW_MEM_OK);
	odp_world_free(w);
}

/* What may be accessed behind a range ends before the first absent page. */
static void odp_room(struct kunit *test)
{
	struct odp_world *w = odp_world_make(test);
	struct xiw_mem_ref ref;
	u64 read, write, most;

	odp_publish(w, 0, true);
	odp_publish(w, 1, false);
	odp_publish(w, 3, true);
	KUNIT_ASSERT_EQ(test, xiw_mem_get(&w->cache, w->mr.stag,
					  IB_ACCESS_LOCAL_WRITE,
					  w->mr.iova + 1, 1, &ref), XIW_MEM_OK);
	read = xiw_mem_room(&ref, 0, w->mr.iova + 1, U32_MAX);
	write = xiw_mem_room(&ref, IB_ACCESS_LOCAL_WRITE, w->mr.iova + 1,
			     U32_MAX);
	most = xiw_mem_room(&ref, 0, w->mr.iova + 1, 5);
	xiw_mem_put(&ref);
	KUNIT_EXPECT_EQ(test, read, 2 * PAGE_SIZE - 1);
	KUNIT_EXPECT_EQ(test, write, PAGE_SIZE - 1);
	KUNIT_EXPECT_EQ(test, most, 5);

	KUNIT_ASSERT_EQ(test, xiw_mem_get(&w->cache, w->mr.stag, 0,
					  w->mr.iova + 3 * PAGE_SIZE, 1, &ref),
			XIW_MEM_OK);
	read = xiw_mem_room(&ref, 0, w->mr.iova + 3 * PAGE_SIZE, U32_MAX);
	xiw_mem_put(&ref);
	KUNIT_EXPECT_EQ(test, read, PAGE_SIZE);
	odp_world_free(w);
}

static void odp_again(struct xiw_stream *s, unsigned long delay)
{
}

/* A request has room for the ranges that are absent, and for not many more. */
static void odp_request(struct kunit *test)
{
	struct odp_world *w = odp_world_make(test);
	struct xiw_page_wait wait = {};
	u32 i;

	xiw_page_wait_init(&wait, NULL, NULL, odp_again);
	refcount_set(&w->mr.refs, 1);
	for (i = 0; i < XIW_ABI_MAX_SGE + 1; i++) {
		KUNIT_EXPECT_EQ(test, xiw_page_in_want(&wait, 1, &w->cache,
						       w->mr.stag, 0,
						       w->mr.iova + i, 1),
				XIW_MEM_ABSENT);
		KUNIT_ASSERT_NOT_NULL(test, wait.next);
		if (!i)
			KUNIT_EXPECT_LE(test, ksize(wait.next), 1024);
	}
	/* Each range has one. */
	KUNIT_EXPECT_EQ(test, refcount_read(&w->mr.refs), 1 + XIW_ABI_MAX_SGE);
	xiw_page_in_stop(&wait);
	KUNIT_EXPECT_EQ(test, refcount_read(&w->mr.refs), 1);
	odp_world_free(w);
}

static struct kunit_case odp_cases[] = {
	KUNIT_CASE(odp_absent),
	KUNIT_CASE(odp_order),
	KUNIT_CASE(odp_room),
	KUNIT_CASE(odp_request),
	{}
};

static struct kunit_suite odp_suite = {
	.name = "xiw_odp",
	.test_cases = odp_cases,
};

kunit_test_suite(odp_suite);
