/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Placement of received payload into registered memory.
 */
#ifndef _XIW_PLACE_H
#define _XIW_PLACE_H

#include "mem/mem.h"
#include "proto/rdmap.h"
#include "proto/reason.h"

struct xiw_fpdu;
struct xiw_sge;
struct xiw_stream;

enum xiw_mem_status xiw_place_write(struct xiw_stream *s, struct xiw_fpdu *f);
enum xiw_mem_status xiw_place_sges(struct xiw_stream *s, struct xiw_fpdu *f,
				   const struct xiw_sge *sge, u32 num_sge,
				   u64 offset, u32 len);
bool xiw_place_check_sges(struct xiw_stream *s, const struct xiw_sge *sge,
			  u32 num_sge);
enum xiw_reason xiw_mem_reason(enum xiw_mem_status status,
			       enum xiw_access access);

#endif /* _XIW_PLACE_H */
