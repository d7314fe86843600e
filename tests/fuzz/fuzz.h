/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Common functions of the fuzz targets: values taken from the input, copies of
 * exact size so that the address sanitizer detects an access beyond them, and
 * the check that makes a wrong answer a crash.
 */
#ifndef _XIW_FUZZ_H
#define _XIW_FUZZ_H

#include <stdio.h>
#include <stdlib.h>

#include "pure.h"

#define CHECK(cond)							\
	do {								\
		if (!(cond)) {						\
			fprintf(stderr, "%s:%d: wrong: %s\n",		\
				__FILE__, __LINE__, #cond);		\
			abort();					\
		}							\
	} while (0)

/* The part of the input that was not used yet */
struct fuzz_in {
	const u8 *data;
	size_t left;
};

/* Takes @len bytes of the input, followed by zeros where it ends. */
static inline void fuzz_take(struct fuzz_in *in, void *dst, size_t len)
{
	size_t n = min(len, in->left);

	memset(dst, 0, len);
	if (n)
		memcpy(dst, in->data, n);
	in->data += n;
	in->left -= n;
}

static inline u8 fuzz_u8(struct fuzz_in *in)
{
	u8 value;

	fuzz_take(in, &value, sizeof(value));
	return value;
}

static inline u16 fuzz_u16(struct fuzz_in *in)
{
	u16 value;

	fuzz_take(in, &value, sizeof(value));
	return value;
}

static inline u32 fuzz_u32(struct fuzz_in *in)
{
	u32 value;

	fuzz_take(in, &value, sizeof(value));
	return value;
}

static inline u64 fuzz_u64(struct fuzz_in *in)
{
	u64 value;

	fuzz_take(in, &value, sizeof(value));
	return value;
}

/*
 * A number that is likely to find errors: mostly small, huge, or around a power
 * of two.
 */
static inline u32 fuzz_edge(struct fuzz_in *in)
{
	u8 kind = fuzz_u8(in);

	switch (kind >> 6) {
	case 0:
		return kind & 0x3f;
	case 1:
		return (1U << (kind & 0x1f)) - (kind >> 5 & 1);
	case 2:
		return -(u32)(kind & 0x3f);
	default:
		return fuzz_u32(in);
	}
}

/* A copy that ends where its memory ends; the caller frees it. */
static inline u8 *fuzz_dup(const void *data, size_t len)
{
	u8 *copy = malloc(len);

	CHECK(copy);
	if (len)
		memcpy(copy, data, len);
	return copy;
}

/* Big-endian loads, written out so that they share nothing with wire.h */
static inline u32 fuzz_be(const u8 *p, unsigned int len)
{
	u32 value = 0;

	while (len--)
		value = value << 8 | *p++;
	return value;
}

static inline u64 fuzz_be64(const u8 *p)
{
	return (u64)fuzz_be(p, 4) << 32 | fuzz_be(p + 4, 4);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#endif /* _XIW_FUZZ_H */
