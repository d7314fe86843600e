// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The bytes behind an STag. Everything here works on a range that
 * xiw_mem_get() has checked and locked; nothing here checks again.
 */
#include "mem.h"

#include <linux/align.h>
#include <linux/minmax.h>
#include <linux/string.h>

/* Where byte @addr is in kernel memory, and how many follow it there. */
static void *byte_at(const struct xiw_mem *base, u64 addr, size_t *room)
{
	u64 in_page;
	u64 off;

	if (!base || base->kind == XIW_MEM_DMA) {
		*room = SIZE_MAX;
		return (void *)(uintptr_t)addr;
	}

	off = addr - base->iova + base->first_off;
	in_page = off & (BIT_ULL(base->page_shift) - 1);
	*room = BIT_ULL(base->page_shift) - in_page;
	return base->pages[off >> base->page_shift] + in_page;
}

/**
 * xiw_mem_write() - copy bytes into registered memory
 * @ref: from xiw_mem_get() with a right to write
 * @addr: first byte
 * @src: what to copy
 * @len: bytes, within the range that was checked
 *
 * Context: Between xiw_mem_get() and xiw_mem_put().
 */
void xiw_mem_write(const struct xiw_mem_ref *ref, u64 addr, const void *src,
		   size_t len)
{
	size_t room;
	size_t n;
	void *p;

	while (len) {
		p = byte_at(ref->base, addr, &room);
		n = min(len, room);
		memcpy(p, src, n);
		addr += n;
		src += n;
		len -= n;
	}
}

/**
 * xiw_mem_read() - copy bytes out of registered memory
 * @ref: from xiw_mem_get()
 * @addr: first byte
 * @dst: where to
 * @len: bytes, within the range that was checked
 *
 * The owner of the memory may be changing it at the same time: use what was
 * copied, do not read the same bytes twice.
 *
 * Context: Between xiw_mem_get() and xiw_mem_put().
 */
void xiw_mem_read(const struct xiw_mem_ref *ref, u64 addr, void *dst,
		  size_t len)
{
	size_t room;
	size_t n;
	void *p;

	while (len) {
		p = byte_at(ref->base, addr, &room);
		n = min(len, room);
		memcpy(dst, p, n);
		addr += n;
		dst += n;
		len -= n;
	}
}

/**
 * xiw_mem_word() - a 64-bit word in place, for an atomic
 * @ref: from xiw_mem_get() for 8 bytes at @addr
 * @addr: address of the word
 *
 * What counts is the alignment of the memory itself: an aligned word never
 * crosses a page, and the CPU's atomic instructions work on it.
 *
 * Context: Between xiw_mem_get() and xiw_mem_put().
 * Return: The word, or NULL if it is not aligned to 8 bytes.
 */
u64 *xiw_mem_word(const struct xiw_mem_ref *ref, u64 addr)
{
	size_t room;
	void *p;

	p = byte_at(ref->base, addr, &room);
	return PTR_ALIGN(p, sizeof(u64)) == p ? p : NULL;
}
