// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * DDP segment headers: decoded against a plain reading of RFC 5041 section 4
 * and RFC 5040 section 4, and encoded again.
 */
#include "fuzz.h"
#include "rdmap.h"

/* By opcode: T tagged, a digit the untagged queue, '-' unassigned */
static const char kinds[] = "T1T000020013----";

#define OPTIONAL_FIRST	8	/* opcodes of RFC 7306 begin here */

static enum xiw_reason model(const u8 *s, u32 len, u32 features)
{
	bool tagged = s[0] & 0x80;
	u8 opcode = s[1] & 0xf;
	char kind = kinds[opcode];

	if (len < (tagged ? 14 : 18))
		return XIW_BAD_SEGMENT_LEN;
	if ((s[0] & 3) != 1)
		return tagged ? XIW_BAD_DV_TAGGED : XIW_BAD_DV_UNTAGGED;
	if (s[1] >> 6 != 1)
		return XIW_BAD_RV;
	if (kind == '-' ||
	    (opcode >= OPTIONAL_FIRST && !(features & XIW_FEAT_RFC7306)))
		return XIW_BAD_OPCODE;
	if (tagged != (kind == 'T'))
		return XIW_BAD_T_BIT;
	if (!tagged && fuzz_be(s + 6, 4) != (u32)kind - '0')
		return XIW_BAD_QN;
	return XIW_OK;
}

static void check_fields(const struct xiw_ddp_hdr *h, const u8 *s, u32 len)
{
	u8 buf[XIW_DDP_HDR_MAX];

	CHECK(h->last == !!(s[0] & 0x40));
	CHECK(h->payload_off == (h->tagged ? 14 : 18));
	CHECK(h->payload_off + h->payload_len == len);
	if (h->tagged) {
		CHECK(h->stag == fuzz_be(s + 2, 4));
		CHECK(h->to == fuzz_be64(s + 6));
	} else {
		CHECK(h->inv_stag == fuzz_be(s + 2, 4));
		CHECK(h->qn == fuzz_be(s + 6, 4));
		CHECK(h->msn == fuzz_be(s + 10, 4));
		CHECK(h->mo == fuzz_be(s + 14, 4));
	}
	CHECK(xiw_ddp_encode(buf, h) == h->payload_off);
	/* Encoding gives the same bytes, but for the reserved bits. */
	CHECK(buf[0] == (s[0] & 0xc3) && buf[1] == (s[1] & 0xcf));
	CHECK(!memcmp(buf + 2, s + 2, h->payload_off - 2));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { data, size };
	u32 features = fuzz_u8(&in) & XIW_FEAT_RFC7306;
	u32 len = min_t(size_t, in.left, 0xffff);
	u8 *hdr = fuzz_dup(in.data, min_t(u32, len, XIW_DDP_HDR_MAX));
	enum xiw_reason reason;
	struct xiw_ddp_hdr h;

	memset(&h, 0xff, sizeof(h));
	reason = xiw_ddp_decode(hdr, len, features, &h);
	if (len < 2) {
		CHECK(reason == XIW_BAD_SEGMENT_LEN);
		CHECK(h.opcode == XIW_OP_UNKNOWN);
	} else {
		CHECK(reason == model(hdr, len, features));
		CHECK(h.tagged == !!(hdr[0] & 0x80));
		CHECK(h.opcode == (hdr[1] & 0xf));
		CHECK(!xiw_rdmap_op(hdr[1] | XIW_OP_COUNT, features));
		if (reason == XIW_OK)
			check_fields(&h, hdr, len);
	}
	free(hdr);
	return 0;
}
