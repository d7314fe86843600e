/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The only headers that the protocol files may use: fixed-width types, byte
 * order, overflow arithmetic, bits, memcpy() and a keyed hash.  The driver, the
 * KUnit module and user-space tools compile the same sources; in user space
 * pure_user.h supplies the same names, most from libc.
 *
 * All functions of this folder may be called in any context, and do not sleep.
 * The caller serializes those that change an object. Arguments and results are
 * in host byte order; only the bytes that are encoded or decoded are not.
 */
#ifndef _XIW_PURE_H
#define _XIW_PURE_H

#ifdef __KERNEL__
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/siphash.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/unaligned.h>
#else
#include "pure_user.h"
#endif

#endif /* _XIW_PURE_H */
