/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Compatibility layer: the driver is written for the newest kernel, and this
 * adapts older ones. The Kbuild file above includes it before every source. The
 * driver itself does not refer to this folder, and a kernel tree that contains
 * the driver does not need it.
 *
 * features.h lists the features of the kernel. features.sh generates it from
 * the headers of the build; others are detected by their macro. Versions do not
 * suffice, because stable releases and distributions backport features. For the
 * same reason a name does not prove that a feature works: see sendmsg.h.
 */
#ifndef _XIW_COMPAT_H
#define _XIW_COMPAT_H

/* The probe for features.h needs the original names. */
#ifndef XIW_PROBE

#include <linux/version.h>
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "xiw needs Linux 6.1 or later."
#endif

#include "features.h"

#include "bh.h"
#if IS_ENABLED(CONFIG_KUNIT) && LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
#include "kunit.h"
#endif
#include "names.h"
#include "odp.h"
#include "ops.h"
#ifndef XIW_HAVE_SPLICE_PAGES
#include "sendmsg.h"
#endif
#include "socket.h"

#endif /* !XIW_PROBE */

#endif /* _XIW_COMPAT_H */
