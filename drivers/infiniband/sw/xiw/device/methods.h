/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Methods of the user ABI that only this driver has.
 */
#ifndef _XIW_METHODS_H
#define _XIW_METHODS_H

#include <rdma/uverbs_ioctl.h>

extern const struct uapi_definition xiw_uapi_methods[];

#endif /* _XIW_METHODS_H */
