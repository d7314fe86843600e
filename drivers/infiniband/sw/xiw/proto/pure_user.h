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

struct siphash_key {
	u64 key[2];
};

#define siphash_key_t	struct siphash_key

static inline u64 pure_rotl(u64 x, int n)
{
	return x << n | x >> (64 - n);
}

static inline void pure_sipround(u64 v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = pure_rotl(v[1], 13) ^ v[0];
	v[3] = pure_rotl(v[3], 16) ^ v[2];
	v[0] = pure_rotl(v[0], 32) + v[3];
	v[2] += v[1];
	v[3] = pure_rotl(v[3], 21) ^ v[0];
	v[1] = pure_rotl(v[1], 17) ^ v[2];
	v[2] = pure_rotl(v[2], 32);
}

/* SipHash-2-4, as in lib/siphash.c. */
static inline u64 siphash(const void *data, size_t len,
			  const siphash_key_t *key)
{
	u64 v[4] = {
		0x736f6d6570736575ULL ^ key->key[0],
		0x646f72616e646f6dULL ^ key->key[1],
		0x6c7967656e657261ULL ^ key->key[0],
		0x7465646279746573ULL ^ key->key[1],
	};
	u64 last = (u64)len << 56;
	const u8 *p = data;
	u64 word;
	size_t i;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&word, p, 8);
		word = le64toh(word);
		v[3] ^= word;
		pure_sipround(v);
		pure_sipround(v);
		v[0] ^= word;
	}
	for (i = 0; i < len; i++)
		last |= (u64)p[i] << 8 * i;
	v[3] ^= last;
	pure_sipround(v);
	pure_sipround(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (i = 0; i < 4; i++)
		pure_sipround(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif /* _XIW_PURE_USER_H */
