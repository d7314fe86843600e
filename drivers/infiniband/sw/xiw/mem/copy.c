// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Copies between packets and registered memory, which other CPUs read and write
 * concurrently. memcpy() gives no guarantees for that: on existing processors
 * it copies backward, byte by byte, or splits words at any byte. The functions
 * here keep two rules for the registered memory; the packet's side may have any
 * alignment and is private.
 *
 * Words: an aligned word of 8, 4 or 2 bytes is read or written in one access.
 *
 * Order: the last store of a copy into memory is a single one and follows a
 * write barrier. A reader that loads it, issues a read barrier, and then loads
 * other bytes, gets the values stored before: the rest of this copy, and all
 * earlier copies of the same stream. All bytes but the last become visible in
 * any order. In write-combined memory the barrier orders nothing: see
 * place_bytes() and xiw_mem_put().
 */
#include "mem.h"

#include <asm/barrier.h>
#include <kunit/visibility.h>
#include <linux/align.h>
#include <linux/compiler.h>
#include <linux/math.h>
#include <linux/unaligned.h>

/* A copy in progress: positions, and the bytes left */
struct copy {
	void *dst;
	const void *src;
	size_t len;
};

static __always_inline void copy_pass(struct copy *c, size_t len)
{
	c->dst += len;
	c->src += len;
	c->len -= len;
}

/* A word of a packet. Some CPUs need byte loads for unaligned words. */
static __always_inline u64 copy_get(const void *p)
{
	if (!IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) &&
	    IS_ALIGNED((uintptr_t)p, XIW_COPY_WORD))
		return *(const u64 *)p;
	return get_unaligned((const u64 *)p);
}

static __always_inline void copy_put(u64 word, void *p)
{
	if (!IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) &&
	    IS_ALIGNED((uintptr_t)p, XIW_COPY_WORD))
		*(u64 *)p = word;
	else
		put_unaligned(word, (u64 *)p);
}

static __always_inline void copy_word(void *dst, const void *src, bool in)
{
	if (in)
		WRITE_ONCE(*(u64 *)dst, copy_get(src));
	else
		copy_put(READ_ONCE(*(const u64 *)src), dst);
}

/* @len is a multiple of 8. */
static __always_inline void copy_words(struct copy *c, size_t len, bool in)
{
	void *dst = c->dst;
	const void *src = c->src;
	size_t n;

	for (n = len / 32; n; n--, dst += 32, src += 32) {
		copy_word(dst, src, in);
		copy_word(dst + 8, src + 8, in);
		copy_word(dst + 16, src + 16, in);
		copy_word(dst + 24, src + 24, in);
	}
	if (len & 16) {
		copy_word(dst, src, in);
		copy_word(dst + 8, src + 8, in);
		dst += 16;
		src += 16;
	}
	if (len & 8) {
		copy_word(dst, src, in);
		dst += 8;
		src += 8;
	}
	c->dst = dst;
	c->src = src;
	c->len -= len;
}

/* KASAN and KMSAN cannot check inline assembly. */
#if defined(CONFIG_X86_64) && !defined(CONFIG_KASAN) && !defined(CONFIG_KMSAN)

/* Size from which on the startup cost of "rep movsq" pays off */
#define COPY_BULK	768
#define COPY_LINE	64

/*
 * Copies most of @len bytes if that is faster, and returns how many are left.
 * Each step of "rep movsq" is an access of 8 bytes, aligned if the first one
 * is, while "rep movsb" may split words anywhere. Its stores become visible in
 * any order, but before later stores. It is fastest on whole cache lines.
 */
static __always_inline size_t copy_bulk(struct copy *c, size_t len, bool in)
{
	size_t words;
	size_t n;

	if (len < COPY_BULK)
		return len;
	n = round_down(-(uintptr_t)c->dst % COPY_LINE, XIW_COPY_WORD);
	copy_words(c, n, in);
	len -= n;
	n = round_down(len, COPY_LINE);
	words = n / XIW_COPY_WORD;
	asm volatile("rep movsq"
		     : "+D" (c->dst), "+S" (c->src), "+c" (words)
		     : : "memory");
	c->len -= n;
	return len - n;
}

#else

static __always_inline size_t copy_bulk(struct copy *c, size_t len, bool in)
{
	return len;
}

#endif

/* Stores the next @len bytes, 1 to 8, in one access after all earlier stores */
static __always_inline void copy_store(struct copy *c, size_t len)
{
	/* Pairs with the read barrier of an application that polls memory. */
	smp_wmb();
	switch (len) {
	case 1:
		WRITE_ONCE(*(u8 *)c->dst, *(const u8 *)c->src);
		break;
	case 2:
		WRITE_ONCE(*(u16 *)c->dst, get_unaligned((const u16 *)c->src));
		break;
	case 4:
		WRITE_ONCE(*(u32 *)c->dst, get_unaligned((const u32 *)c->src));
		break;
	default:
		copy_word(c->dst, c->src, true);
		break;
	}
	copy_pass(c, len);
}

static __always_inline void copy_load(struct copy *c, size_t len)
{
	switch (len) {
	case 1:
		*(u8 *)c->dst = READ_ONCE(*(const u8 *)c->src);
		break;
	case 2:
		put_unaligned(READ_ONCE(*(const u16 *)c->src), (u16 *)c->dst);
		break;
	case 4:
		put_unaligned(READ_ONCE(*(const u32 *)c->src), (u32 *)c->dst);
		break;
	default:
		copy_word(c->dst, c->src, false);
		break;
	}
	copy_pass(c, len);
}

static __always_inline void copy_part(struct copy *c, size_t len, bool in)
{
	if (in)
		copy_store(c, len);
	else
		copy_load(c, len);
}

/* Copies @len bytes if the copy has that many and its position requires it. */
static __always_inline void copy_step(struct copy *c, size_t len, bool in)
{
	uintptr_t at = in ? (uintptr_t)c->dst : (uintptr_t)c->src;

	if (at & len && c->len >= len)
		copy_part(c, len, in);
}

/* Copies up to the first aligned word of the registered memory */
static __always_inline void copy_head(struct copy *c, bool in)
{
	uintptr_t at = in ? (uintptr_t)c->dst : (uintptr_t)c->src;

	if (IS_ALIGNED(at, XIW_COPY_WORD))
		return;
	copy_step(c, 1, in);
	copy_step(c, 2, in);
	copy_step(c, 4, in);
}

static __always_inline void copy_tail(struct copy *c, bool in)
{
	if (c->len & 4)
		copy_part(c, 4, in);
	if (c->len & 2)
		copy_part(c, 2, in);
	if (c->len & 1)
		copy_part(c, 1, in);
}

static __always_inline void copy_all(struct copy *c, bool in)
{
	size_t n;

	copy_head(c, in);
	if (c->len > XIW_COPY_WORD) {
		/* All words but the last one */
		n = round_down(c->len - 1, XIW_COPY_WORD);
		copy_words(c, copy_bulk(c, n, in), in);
	}
	if (c->len == XIW_COPY_WORD)
		copy_part(c, XIW_COPY_WORD, in);
	else
		copy_tail(c, in);
}

/**
 * xiw_copy_in() - copy from a packet into memory read concurrently
 * @dst: memory
 * @src: packet
 * @len: bytes
 *
 * See above for words and order. An aligned word is stored in one access only
 * if all of it is in this copy.
 */
void xiw_copy_in(void *dst, const void *src, size_t len)
{
	struct copy c = { .dst = dst, .src = src, .len = len };

	copy_all(&c, true);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_copy_in);

/**
 * xiw_copy_out() - copy from memory changed concurrently into a packet
 * @dst: packet
 * @src: memory
 * @len: bytes
 *
 * An aligned word is loaded in one access; words are loaded in any order.
 */
void xiw_copy_out(void *dst, const void *src, size_t len)
{
	struct copy c = { .dst = dst, .src = src, .len = len };

	copy_all(&c, false);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_copy_out);
