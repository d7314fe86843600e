/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Before Linux 6.9 the declarations were in this header. */
#include <net/sock.h>
