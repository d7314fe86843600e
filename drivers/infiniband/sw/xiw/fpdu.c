// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Reading a received FPDU, which may lie in several pieces.
 */
#include "fpdu.h"

#include <kunit/visibility.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "copy.h"
#include "mem.h"

/**
 * xiw_fpdu_copy() - read bytes into a buffer
 * @f: FPDU
 * @dst: where to
 * @len: bytes, at most what is left
 *
 * Context: As the FPDU's owner.
 */
void xiw_fpdu_copy(struct xiw_fpdu *f, void *dst, size_t len)
{
	const void *data;

	while (len) {
		size_t n = min(len, xiw_fpdu_chunk(f, &data));

		memcpy(dst, data, n);
		xiw_fpdu_skip(f, n);
		dst += n;
		len -= n;
	}
}

/**
 * xiw_fpdu_place() - read bytes into registered memory
 * @f: FPDU
 * @ref: from xiw_mem_get() with a right to write
 * @addr: first byte
 * @len: bytes, at least one, at most what is left, within the range that was
 *	checked
 *
 * For the order in which the bytes become visible see copy.c. An aligned word
 * of the memory is written in one access even if several pieces of the FPDU
 * contribute to it.
 *
 * Context: As the FPDU's owner, between xiw_mem_get() and xiw_mem_put().
 */
void xiw_fpdu_place(struct xiw_fpdu *f, const struct xiw_mem_ref *ref, u64 addr,
		    u32 len)
{
	u8 word[XIW_COPY_WORD] __aligned(XIW_COPY_WORD);
	/* Offset of @addr in an aligned word */
	u32 behind = xiw_mem_behind_word(ref, addr);
	const void *data;
	u32 rest;
	u32 n;

	while (len) {
		n = min_t(u32, len, xiw_fpdu_chunk(f, &data));
		rest = n < len ? (behind + n) % XIW_COPY_WORD : 0;
		if (n > rest) {
			/* Leave the word that the next piece completes. */
			n -= rest;
			xiw_mem_write(ref, addr, data, n);
			xiw_fpdu_skip(f, n);
		} else {
			n = min_t(u32, len, XIW_COPY_WORD - behind);
			xiw_fpdu_copy(f, word, n);
			xiw_mem_write(ref, addr, word, n);
		}
		behind = (behind + n) % XIW_COPY_WORD;
		addr += n;
		len -= n;
	}
}
EXPORT_SYMBOL_IF_KUNIT(xiw_fpdu_place);
