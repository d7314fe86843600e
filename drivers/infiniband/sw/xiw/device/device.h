/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The ib_device of a netdev: the module and its devices, the table of
 * operations, the verbs of queue pairs, the methods of the user ABI, GIDs,
 * counters, details for "rdma resource", and the MPA policy.
 *
 * Uses all other folders; none uses this one. The verbs of other objects are in
 * verbs/. The state that a device shares with its objects is in dev.h, with the
 * rules for operations that the core calls.
 *
 * Locks: dev.port_lock and dev.policy_lock, no lock is taken inside of them.
 *
 * Lifetime: "rdma link add" makes a device. "rdma link delete", the removal of
 * its netdev or namespace, and unloading the module remove it. That ends its
 * endpoints without waiting for a peer, and what processes still use is
 * destroyed by the core. The last endpoint may outlive the structure.
 */
#ifndef _XIW_DEVICE_H
#define _XIW_DEVICE_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

struct attribute_group;
struct ib_cq;
struct ib_device;
struct ib_mr;
struct ib_qp;
struct ib_qp_attr;
struct ib_qp_init_attr;
struct ib_recv_wr;
struct ib_send_wr;
struct ib_srq;
struct ib_udata;
struct net_device;
struct rdma_hw_stats;
struct sk_buff;
struct xiw_dev;

/* device.c */
int xiw_device_add(const char *name, struct net_device *netdev);
void xiw_disable_driver(struct ib_device *ibdev);
void xiw_device_rename(struct xiw_dev *dev);
void xiw_device_update_port(struct xiw_dev *dev);
void xiw_report_port_event(struct ib_device *ibdev, struct net_device *netdev,
			   unsigned long event);
int xiw_query_port_speed(struct ib_device *ibdev, u32 port_num, u64 *speed);

/* config.c */
extern const struct attribute_group xiw_config_group;

void xiw_config_debug_add(struct xiw_dev *dev);
void xiw_config_debug_remove(struct xiw_dev *dev);
void xiw_config_module_init(void);
void xiw_config_module_exit(void);

/* counters.c */
/* ib_device_ops.port_groups */
extern const struct attribute_group *xiw_port_groups[];

struct rdma_hw_stats *xiw_alloc_hw_port_stats(struct ib_device *ibdev,
					      u32 port_num);
int xiw_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *hw_stats,
		     u32 port_num, int index);

/* gid.c */
void xiw_gid_init(struct xiw_dev *dev);
void xiw_gid_exit(struct xiw_dev *dev);
int xiw_query_gid(struct ib_device *ibdev, u32 port_num, int index,
		  union ib_gid *gid);
struct net_device *xiw_get_netdev(struct ib_device *ibdev, u32 port_num);
int xiw_gid_module_init(void);
void xiw_gid_module_exit(void);

/* methods.c */
extern const struct uapi_definition xiw_uapi_methods[];

/* qp_verbs.c */
int xiw_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		  struct ib_udata *udata);
int xiw_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata);
int xiw_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init);
int xiw_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int xiw_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr);
int xiw_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad_wr);
void xiw_qp_send_doorbell(struct ib_qp *ibqp);
int xiw_qp_recv_doorbell(struct ib_qp *ibqp);

/* restrack.c */
int xiw_fill_res_qp(struct sk_buff *msg, struct ib_qp *ibqp);
int xiw_fill_res_cq(struct sk_buff *msg, struct ib_cq *ibcq);
int xiw_fill_res_mr(struct sk_buff *msg, struct ib_mr *ibmr);
int xiw_fill_res_srq(struct sk_buff *msg, struct ib_srq *ibsrq);

#endif /* _XIW_DEVICE_H */
