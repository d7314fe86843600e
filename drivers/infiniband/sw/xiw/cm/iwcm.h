/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Connections of iw_cm. Functions with an iw_cm_id are called in a call of
 * iw_cm.
 */
#ifndef _XIW_IWCM_H
#define _XIW_IWCM_H

#include <linux/types.h>

struct iw_cm_conn_param;
struct iw_cm_id;

int xiw_cm_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int xiw_cm_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int xiw_cm_reject(struct iw_cm_id *cm_id, const void *pdata, u8 pdata_len);
int xiw_cm_create_listen(struct iw_cm_id *cm_id, int backlog);
int xiw_cm_destroy_listen(struct iw_cm_id *cm_id);

#endif
