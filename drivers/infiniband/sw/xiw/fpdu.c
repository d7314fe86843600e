// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Reading a received FPDU, which may lie in several pieces.
 */
#include "fpdu.h"

#include <linux/minmax.h>
#include <linux/string.h>

/**
 * xiw_fpdu_copy() - read octets
 * @f: FPDU
 * @dst: where to
 * @len: octets, at most what is left
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
