/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What makes older kernels look like the newest one, against which the driver
 * is written. Included before every source by the Kbuild file above; the driver
 * names this folder nowhere, and a kernel tree that has the driver has no use
 * for it.
 *
 * What a kernel lacks is told by features.h, made by features.sh from the
 * headers that the build uses, or by a macro that is there or not. Versions say
 * too little: stable releases and distributions take over what they like. So a
 * name alone is no proof either that something works: see sendmsg.h.
 */
#ifndef _XIW_COMPAT_H
#define _XIW_COMPAT_H

/* features.h is made from a source that must not see the old names changed. */
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
#include "ops.h"
#ifndef XIW_HAVE_SPLICE_PAGES
#include "sendmsg.h"
#endif
#include "socket.h"

#endif /* !XIW_PROBE */

#endif /* _XIW_COMPAT_H */
