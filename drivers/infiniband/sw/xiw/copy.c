// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Copies between packets and the memory of consumers, which other processors
 * read and write at the same time. About that memcpy() promises nothing: it may
 * copy backward, byte by byte, or cut at any byte, and does so on processors
 * that there are. Two rules are kept here, for the consumer's side of a copy;
 * the packet's side may have any alignment and is private.
 *
 * Words: one access reads or writes an aligned word of 8 bytes. So it is with
 * aligned words of 4 and of 2 bytes.
 *
 * Order: the last store of a copy into memory is a single one and follows a
 * write barrier. Whoever reads it, and then other bytes with a read barrier in
 * between, sees those as they were stored before: the rest of this copy, and
 * all copies that the same stream has made before it. Bytes other than the last
 * ones appear in any order.
 */
#include "copy.h"

#include <asm/barrier.h>
#include <kunit/visibility.h>
#include <linux/align.h>
#include <linux/compiler.h>
#include <linux/math.h>
#include <linux/unaligned.h>

/* What is left to be copied */
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

/* A word of a packet. Some machines load unaligned ones byte by byte. */
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

static __always_inline void copy_words(struct copy *c, size_t len, bool in)
{
	void *dst = c->dst;
	const void *src = c->src;
	const void *end = src + len;

	for (; end - src >= 32; dst += 32, src += 32) {
		copy_word(dst, src, in);
		copy_word(dst + 8, src + 8, in);
		copy_word(dst + 16, src + 16, in);
		copy_word(dst + 24, src + 24, in);
	}
	for (; src < end; dst += 8, src += 8)
		copy_word(dst, src, in);
	copy_pass(c, len);
}

/* KASAN and KMSAN do not see what an instruction of ours does. */
#if defined(CONFIG_X86_64) && !defined(CONFIG_KASAN) && !defined(CONFIG_KMSAN)

/* From where on it is worth its start */
#define COPY_BULK	768
#define COPY_LINE	64

/*
 * Copies most of @len bytes, if they are many, and returns how many are left.
 * Each step of "rep movsq" is an access of 8 bytes, aligned where the first one
 * is, while "rep movsb" may cut anywhere. Its stores appear in any order, but
 * before those that follow. To whole cache lines it is fastest.
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

/* The next @len bytes, 1 to 8, at once, and after all that was stored before */
static __always_inline void copy_store(struct copy *c, size_t len)
{
	/* Pairs with the read barrier of whoever polls for these bytes. */
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

/* A part of @len bytes, if so many are left and it would be aligned there. */
static __always_inline void copy_step(struct copy *c, size_t len, bool in)
{
	uintptr_t at = in ? (uintptr_t)c->dst : (uintptr_t)c->src;

	if (at & len && c->len >= len)
		copy_part(c, len, in);
}

/* Up to where the consumer's side is aligned */
static __always_inline void copy_head(struct copy *c, bool in)
{
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
 * xiw_copy_in() - copy from a packet into memory that others look at
 * @dst: memory
 * @src: packet
 * @len: bytes
 *
 * See above for the words and the order. An aligned word is stored at once only
 * if all of it is in this copy.
 *
 * Context: Any.
 */
void xiw_copy_in(void *dst, const void *src, size_t len)
{
	struct copy c = { .dst = dst, .src = src, .len = len };

	copy_all(&c, true);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_copy_in);

/**
 * xiw_copy_out() - copy from memory that others change into a packet
 * @dst: packet
 * @src: memory
 * @len: bytes
 *
 * An aligned word is loaded at once; words are loaded in any order.
 *
 * Context: Any.
 */
void xiw_copy_out(void *dst, const void *src, size_t len)
{
	struct copy c = { .dst = dst, .src = src, .len = len };

	copy_all(&c, false);
}
EXPORT_SYMBOL_IF_KUNIT(xiw_copy_out);
