// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Finds the mapped queues of a device, see rings.h. */
#include "rings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define HEAD	sizeof(struct xiw_ring_ctrl)

/* Finds the mappings of the device of @e. */
void xt_find_maps(struct xt_maps *m, struct xt_end *e)
{
	const char *name = e->id->verbs->device->dev_name;
	FILE *maps = XT_PTR(fopen("/proc/self/maps", "r"));
	unsigned long from;
	unsigned long to;
	char line[512];
	char perm[8];

	while (fgets(line, sizeof(line), maps)) {
		line[strcspn(line, "\n")] = '\0';
		if (strlen(line) < strlen(name) ||
		    strcmp(line + strlen(line) - strlen(name), name))
			continue;
		XT_EQ(sscanf(line, "%lx-%lx %7s", &from, &to, perm), 3);
		if (perm[1] != 'w' || m->n == XT_MAX_MAPS)
			continue;
		m->map[m->n] = (__u8 *)from;
		m->len[m->n++] = to - from;
	}
	fclose(maps);
	XT_CHECK(m->n > 0, "no queue of %s is mapped", name);
}

__u8 *xt_find_word(__u8 *map, size_t len, __u64 word)
{
	size_t at;

	for (at = HEAD; at + sizeof(word) <= len; at += sizeof(word))
		if (!memcmp(map + at, &word, sizeof(word)))
			return map + at;
	return NULL;
}

/* Finds the send queue: posts two requests, and searches for their wr_id. */
struct xt_sq xt_find_sq(struct xt_maps *m, struct xt_end *e)
{
	struct xt_sq sq = {};
	__u8 *first;
	__u8 *second;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, XT_MAGIC + i, NULL,
					      0);

		xt_send(e, &wr);
		xt_wc_ok(e->scq, XT_MAGIC + i);
	}
	for (i = 0; i < m->n; i++) {
		first = xt_find_word(m->map[i], m->len[i], XT_MAGIC);
		second = xt_find_word(m->map[i], m->len[i], XT_MAGIC + 1);
		/*
		 * The completion queue has the numbers, too. The opcode in the
		 * entry tells the two queues apart.
		 */
		if (!first || !second ||
		    ((struct xiw_sqe *)first)->opcode != IBV_WR_SEND)
			continue;
		sq.ctrl = (struct xiw_ring_ctrl *)m->map[i];
		sq.entries = m->map[i] + HEAD;
		sq.stride = second - first;
		sq.num = 1;
		while (2 * sq.num * sq.stride + HEAD <= m->len[i])
			sq.num *= 2;
		if (!((size_t)(first - sq.entries) % sq.stride))
			return sq;
	}
	xt_skip("the send queue is not one of xiw");
}

struct xiw_sqe *xt_sqe(const struct xt_sq *sq, __u32 index)
{
	return (struct xiw_sqe *)(sq->entries +
				  sq->stride * (index & (sq->num - 1)));
}

/* The method as the provider calls it. */
void xt_call_init(struct xt_call *call, __u16 object, __u16 method,
		  __u64 handle)
{
	memset(call, 0, sizeof(*call));
	call->hdr.length = offsetof(struct xt_call, attrs[1]);
	call->hdr.object_id = object;
	call->hdr.method_id = method;
	call->hdr.num_attrs = 1;
	call->hdr.driver_id = XIW_RDMA_DRIVER_ID;
	call->attrs[0].attr_id = XIW_ATTR_HANDLE;
	call->attrs[0].flags = UVERBS_ATTR_F_MANDATORY;
	call->attrs[0].data = handle;
}

/* Returns 0 or an errno. */
int xt_send_call(struct ibv_context *ctx, const struct xt_call *call)
{
	return ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, call) ? errno : 0;
}

int xt_method(struct ibv_context *ctx, __u16 object, __u16 method,
	      __u64 handle)
{
	struct xt_call call;

	xt_call_init(&call, object, method, handle);
	return xt_send_call(ctx, &call);
}
