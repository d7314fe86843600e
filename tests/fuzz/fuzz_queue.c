// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The untagged queue: a peer sends segments that are mostly, but not always,
 * what should come next.  The model keeps the buffer itself: nothing is
 * placed outside of it, a message is complete only if each of its bytes was
 * placed once, and messages begin in the order of their numbers (RFC 5041
 * section 7.1).
 */
#include "ddp.h"
#include "fuzz.h"

#define BUFFER_MAX	4096	/* larger buffers are counted, not filled */

/* The message in progress */
struct model {
	u32 msn;
	bool open;
	u8 opcode;
	u32 size;
	u64 placed;
	u8 *buffer;
};

static void take_segment(struct fuzz_in *in, const struct model *m,
			 struct xiw_ddp_hdr *h)
{
	u8 how = fuzz_u8(in);

	memset(h, 0, sizeof(*h));
	h->last = how & 1;
	h->opcode = how & 2 ? fuzz_u8(in) & XIW_RDMAP_OP_MASK :
		    m->open ? m->opcode : XIW_OP_SEND;
	h->msn = how & 4 ? m->msn + fuzz_edge(in) : m->msn;
	h->mo = m->open ? (u32)m->placed : 0;
	if (how & 8)
		h->mo += fuzz_edge(in);
	h->payload_len = how & 16 ? fuzz_u16(in) : fuzz_u8(in) & 0x3f;
	h->payload_off = XIW_UNTAGGED_LEN;
}

static u32 room_of(const struct model *m, const struct xiw_ddp_hdr *h)
{
	return h->opcode == XIW_OP_IMM || h->opcode == XIW_OP_IMM_SE ? 8 :
	       m->size;
}

static bool acceptable(const struct model *m, const struct xiw_ddp_hdr *h)
{
	if (h->msn != m->msn || !m->open || h->opcode != m->opcode)
		return false;
	if (!h->payload_len && !h->last)
		return true;
	if (h->mo != m->placed)
		return false;
	return !h->payload_len ||
	       (u64)h->mo + h->payload_len <= room_of(m, h);
}

static void model_open(struct model *m, u8 opcode, u32 size)
{
	m->open = true;
	m->opcode = opcode;
	m->size = size;
	m->placed = 0;
	/* Immediate data does not go to the consumer's buffer. */
	if (opcode == XIW_OP_IMM || opcode == XIW_OP_IMM_SE)
		size = 8;
	m->buffer = size <= BUFFER_MAX ? calloc(1, size) : NULL;
}

/* Every byte of the buffer may be written once. */
static void model_place(struct model *m, const struct xiw_ddp_hdr *h)
{
	u32 i;

	for (i = 0; m->buffer && i < h->payload_len; i++)
		CHECK(!m->buffer[h->mo + i]++);
	m->placed += h->payload_len;
}

static void model_close(struct model *m, u32 msg_len)
{
	u32 i;

	CHECK(msg_len == m->placed);
	for (i = 0; m->buffer && i < msg_len; i++)
		CHECK(m->buffer[i] == 1);
	free(m->buffer);
	m->buffer = NULL;
	m->open = false;
	m->msn++;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct model m = { .msn = 1 };
	struct xiw_ddp_queue q;

	xiw_ddp_queue_init(&q);
	CHECK(q.msn == 1);
	/* The message number wraps after many messages. */
	m.msn += fuzz_edge(&in);
	q.msn = m.msn;
	while (in.left) {
		struct xiw_ddp_hdr h;
		enum xiw_reason reason;
		u32 msg_len = ~0U;

		take_segment(&in, &m, &h);
		reason = xiw_ddp_queue_check(&q, &h);
		CHECK((reason == XIW_NO_BUFFER) ==
		      (h.msn == m.msn && !m.open));
		if (reason == XIW_NO_BUFFER) {
			u32 bytes = fuzz_edge(&in);

			xiw_ddp_queue_open(&q, h.opcode, bytes);
			model_open(&m, h.opcode, bytes);
			reason = xiw_ddp_queue_check(&q, &h);
		}
		CHECK((reason == XIW_OK) == acceptable(&m, &h));
		if (reason != XIW_OK)
			break;
		model_place(&m, &h);
		CHECK(xiw_ddp_queue_advance(&q, &h, &msg_len) == h.last);
		if (h.last)
			model_close(&m, msg_len);
		CHECK(q.msn == m.msn && q.open == m.open);
	}
	free(m.buffer);
	return 0;
}
