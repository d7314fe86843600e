/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * User-space stand-in for the kernel headers named in pure.h.  Used by the
 * fuzzers and other tools that compile the pure protocol files; never part of
 * a kernel build.
 */
#ifndef _XIW_PURE_USER_H
#define _XIW_PURE_USER_H

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;

#undef static_assert
#define static_assert(expr)	_Static_assert(expr, #expr)

#ifndef __packed
#define __packed	__attribute__((packed))
#endif

#define U32_MAX		((u32)~0U)
#define U64_MAX		((u64)~0ULL)
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define min(a, b) ({			\
	__typeof__(a) _a = (a);		\
	__typeof__(b) _b = (b);		\
					\
	_a < _b ? _a : _b;		\
})

#define max(a, b) ({			\
	__typeof__(a) _a = (a);		\
	__typeof__(b) _b = (b);		\
					\
	_a > _b ? _a : _b;		\
})

#define max_t(type, a, b)	max((type)(a), (type)(b))
#define min_t(type, a, b)	min((type)(a), (type)(b))

#define check_add_overflow(a, b, sum)	__builtin_add_overflow(a, b, sum)

#define cpu_to_be16(x)	htobe16(x)
#define cpu_to_be32(x)	htobe32(x)
#define cpu_to_be64(x)	htobe64(x)
#define be16_to_cpu(x)	be16toh(x)
#define be32_to_cpu(x)	be32toh(x)
#define be64_to_cpu(x)	be64toh(x)

static inline void put_unaligned_be16(u16 value, void *p)
{
	__be16 wire = htobe16(value);

	memcpy(p, &wire, sizeof(wire));
}

#endif /* _XIW_PURE_USER_H */
