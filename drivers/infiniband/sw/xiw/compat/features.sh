#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# features.sh <PROBE.i >FEATURES.h: lists the features that the headers of a
# kernel declare, from the preprocessed probe.c.

set -e
text=$(mktemp)
trap 'rm -f "$text"' EXIT
# Join all lines, without line markers, with blanks only between words.
grep -v '^#' | tr -s '[:space:]' ' ' |
	sed 's/ *\([][(){}*,;=]\) */\1/g' >"$text"
[ -s "$text" ]

# has NAME REGEX: defines XIW_HAVE_NAME if the text matches.
has()
{
	! grep -qE "$2" "$text" || echo "#define XIW_HAVE_$1 1"
}

echo "/* Made by features.sh from the headers of a kernel. */"
has CREATE_CQ_ATTRS		'\(\*create_cq\)\([^)]*\<uverbs_attr_bundle\>'
has DMA_BUF_VMAP_UNLOCKED	'\<dma_buf_vmap_unlocked\('
has DISABLE_DRIVER		'\(\*disable_driver\)\('
has FILL_RES_SRQ		'\(\*fill_res_srq_entry\)\('
has HRTIMER_SETUP		'\<hrtimer_setup\('
has IB_MARK_NAME		'\<ib_mark_name_assigned_by_user\('
has IB_NO_UDATA_IO		'\<ib_no_udata_io\('
has IB_UDATA_IN_EMPTY		'\<ib_is_udata_in_empty\('
has IB_UMEM_GET_VA		'\<ib_umem_get_va\('
has IB_VIRT_DMA_TO_PTR		'\<ib_virt_dma_to_ptr\('
has IMPORT_NS_STRING		'"import_ns" "=" "XIW_PROBE"'
has IW_CM_ID_ANY_PORT		'\<struct iw_cm_id\{[^}]*\<bool any_port\>'
has IW_CM_ID_NET		'\<struct iw_cm_id\{[^}]*\<struct net\*net;'
has IW_CONN_PARAM_USER		'\<struct iw_cm_conn_param\{[^}]*\<bool user;'
# Also stands for the patches of iw_cm in packaging/patches-for/linux that change
# no header: all of them precede the one that changes this operation.
has IW_GET_QP_REF		'\(\*iw_get_qp\)\(struct ib_device\*device,u32 qpn\)'
has KUNIT_ADD_ACTION		'\<kunit_add_action\('
has NETNS_TRACKER_FREE		'\<__netns_tracker_free\('
has ODP_HMM_MAP		'\<struct ib_umem_odp\{[^}]*\<struct hmm_dma_map map;'
has QUERY_PORT_SPEED		'\(\*query_port_speed\)\('
has REG_DMABUF_ATTRS		'\(\*reg_user_mr_dmabuf\)\([^)]*\<uverbs_attr_bundle\>'
has REG_MR_DMAH			'\(\*reg_user_mr\)\([^)]*\<ib_dmah\>'
has REPORT_PORT_EVENT		'\(\*report_port_event\)\('
has RESIZE_USER_CQ		'\(\*resize_user_cq\)\('
has ROBUST_UDATA		'\<uverbs_robust_udata:1;'
has SKB_FRAGS_READABLE		'\<skb_frags_readable\('
has SK_MOVE_MEMCG		'\<sk_move_memcg\('
has SK_NET_REFCNT_UPGRADE	'\<sk_net_refcnt_upgrade\('
has SK_USE_TASK_FRAG		'\<bool sk_use_task_frag;'
has SPEED_CHANGE_EVENT		'\<IB_EVENT_DEVICE_SPEED_CHANGE\>'
has SYSTEM_BH_WQ		'\*system_bh_wq;'
has SYSTEM_DFL_WQ		'\*system_dfl_wq;'
has TCP_RENEW_PROBE_TIMEOUT	'\<tcp_sock_renew_probe_timeout\('
has TRYLOCK_SOCK_BH		'\<trylock_sock_bh\('
has VM_FLAGS_SET		'\<vm_flags_set\('
# Kernels that still have sendpage() do not support MSG_SPLICE_PAGES.
grep -qE '\<tcp_sendpage_locked\(' "$text" ||
	echo "#define XIW_HAVE_SPLICE_PAGES 1"
