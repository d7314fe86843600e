/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Byte order and overflow arithmetic in C: the libc of the analyzer does not
 * have the former, nor the analyzer the latter. Included before all of a file.
 */
#ifndef _PROVE_MACHINE_H
#define _PROVE_MACHINE_H

#include <stdbool.h>

static inline unsigned short htobe16(unsigned short x)
{
	return (unsigned short)(x << 8 | x >> 8);
}

static inline unsigned int htobe32(unsigned int x)
{
	return x << 24 | (x & 0xff00) << 8 | (x >> 8 & 0xff00) | x >> 24;
}

static inline unsigned long long htobe64(unsigned long long x)
{
	return (unsigned long long)htobe32((unsigned int)x) << 32 |
	       htobe32((unsigned int)(x >> 32));
}

#define be16toh(x)	htobe16(x)
#define be32toh(x)	htobe32(x)
#define be64toh(x)	htobe64(x)
#define htole32(x)	(x)
#define le32toh(x)	(x)
#define le64toh(x)	(x)

static inline bool prove_add_u64(unsigned long long a, unsigned long long b,
				 unsigned long long *sum)
{
	*sum = a + b;
	return *sum < a;
}

/* The pure files add u64 only. */
#define __builtin_add_overflow(a, b, sum)	prove_add_u64(a, b, sum)

#endif
