/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The stand-ins of the fuzz targets for the kernel, without what the analyzer
 * cannot run: a CRC over unknown bytes is unknown.
 */
#ifndef _PROVE_KERNEL_H
#define _PROVE_KERNEL_H

#define __always_inline	inline
#define crc32c	kernel_crc32c
#define barrier_data	kernel_barrier_data
#include "../../fuzz/kernel.h"
#undef crc32c
#undef barrier_data

/*@ requires \valid_read((u8 *)data + (0 .. len - 1)); assigns \nothing; */
u32 crc32c(u32 crc, const void *data, size_t len);

/* No hint to the compiler is needed. */
#define barrier_data(p)	((void)(p))
#undef OPTIMIZER_HIDE_VAR
#define OPTIMIZER_HIDE_VAR(v)	((void)(v))

/* Memory of a proof is not from malloc(). */
#undef kvfree
#define kvfree(p)	((void)(p))

#endif
