// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Never compiled: features.sh searches the output of the preprocessor for
 * declarations.
 */
#if IS_ENABLED(CONFIG_KUNIT)
#include <kunit/test.h>
#endif
#include <linux/dma-buf.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_umem_odp.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>
#include <rdma/uverbs_ioctl.h>

MODULE_IMPORT_NS("XIW_PROBE");
