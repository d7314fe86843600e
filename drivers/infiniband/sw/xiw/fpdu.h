/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A received FPDU, in one or several pieces.
 */
#ifndef _XIW_FPDU_H
#define _XIW_FPDU_H

#include <linux/types.h>
#include <linux/uio.h>

#include "proto/ddp.h"

struct xiw_mem_ref;

/**
 * struct xiw_fpdu - a verified FPDU and the read position in it
 * @vec: where its bytes are
 * @off: bytes of the first vector already read
 * @ulpdu_len: content of the ULPDU_Length field
 * @hdr: the DDP header as received
 * @h: the same, decoded
 */
struct xiw_fpdu {
	const struct kvec *vec;
	size_t off;
	u32 ulpdu_len;
	u8 hdr[XIW_DDP_HDR_MAX];
	struct xiw_ddp_hdr h;
};

/* Contiguous bytes at the read position, at least one; *@data points there. */
static inline size_t xiw_fpdu_chunk(const struct xiw_fpdu *f, const void **data)
{
	*data = (const u8 *)f->vec->iov_base + f->off;
	return f->vec->iov_len - f->off;
}

/* Moves the read position by @len bytes, at most what is left. */
static inline void xiw_fpdu_skip(struct xiw_fpdu *f, size_t len)
{
	f->off += len;
	while (len && f->off >= f->vec->iov_len) {
		f->off -= f->vec->iov_len;
		f->vec++;
		if (!f->off)
			break;
	}
}

void xiw_fpdu_copy(struct xiw_fpdu *f, void *dst, size_t len);
void xiw_fpdu_place(struct xiw_fpdu *f, const struct xiw_mem_ref *ref, u64 addr,
		    u32 len);

#endif /* _XIW_FPDU_H */
