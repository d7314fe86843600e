/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The types of the kernel's header, for the analyzer, which has a libc of its
 * own.
 */
#ifndef _PROVE_LINUX_TYPES_H
#define _PROVE_LINUX_TYPES_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __le32;
typedef __u64 __le64;

#define __aligned_u64	__u64

#endif
