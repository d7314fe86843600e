/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Before Linux 6.12 this was a header of the architecture. */
#include <asm/unaligned.h>
