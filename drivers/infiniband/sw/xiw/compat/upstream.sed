# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# For packaging/make-patches: replaces names of this folder in the driver by
# those of the newest kernel.

# ops.h
s/\<xiw_op_resize_user_cq\>/xiw_resize_cq/
s/\<xiw_op_/xiw_/
s/\<XIW_OPS_DISABLE_DRIVER$/.disable_driver = xiw_disable_driver,/
s/\<XIW_OPS_FILL_RES_SRQ$/.fill_res_srq_entry = xiw_fill_res_srq,/
s/\<XIW_OPS_REPORT_PORT_EVENT$/.report_port_event = xiw_report_port_event,/
s/\<XIW_OPS_QUERY_PORT_SPEED$/.query_port_speed = xiw_query_port_speed,/
s/\<XIW_OPS_ROBUST_UDATA$/.uverbs_robust_udata = 1,/
s/\<xiw_dispatch_speed_change(&dev->ibdev)/device_dispatch(dev, IB_EVENT_DEVICE_SPEED_CHANGE)/

# bh.h
s/\<struct xiw_bh_work\>/struct work_struct/
s/\<xiw_bh_init(/INIT_WORK(/
s/\<xiw_bh_queue_on(\(.*\), \(&.*\));/queue_work_on(\1, system_bh_wq,\n\t\t      \2);/
s/\<xiw_bh_cancel_sync(/cancel_work_sync(/

# odp.h
s/\<xiw_odp_pfns(\(.*\));/\1->map.pfn_list;/
s/\<XIW_ODP_WRITE\>/HMM_PFN_WRITE/
s/\<XIW_ODP_READ\>/0/

# socket.h
s/\<xiw_sk_use_task_frag(\(\w*\), \(\w*\));/\1->sk_use_task_frag = \2;/

# The newest kernel has its own function to allocate objects.
s/\<kzalloc(sizeof(\(\*[a-z>-]*\)), /kzalloc_obj(\1, /
