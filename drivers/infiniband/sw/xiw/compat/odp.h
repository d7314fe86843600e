/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * On-demand paging: the core's list of page frames, and its flags for access.
 * Only macros, as few files include the header of the core.
 */
#ifndef _XIW_COMPAT_ODP_H
#define _XIW_COMPAT_ODP_H

#ifdef XIW_HAVE_ODP_HMM_MAP
#define xiw_odp_pfns(umem)	((umem)->map.pfn_list)
#define XIW_ODP_READ		0
#define XIW_ODP_WRITE		HMM_PFN_WRITE
#else
#define xiw_odp_pfns(umem)	((umem)->pfn_list)
#define XIW_ODP_READ		ODP_READ_ALLOWED_BIT
#define XIW_ODP_WRITE		(ODP_READ_ALLOWED_BIT | ODP_WRITE_ALLOWED_BIT)
#endif

#endif /* _XIW_COMPAT_ODP_H */
