// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * RDMAP message bodies and rules: the fields of every decoder are compared with
 * the bytes, Read Responses with a model of the sink buffer, range checks and
 * atomics with a second implementation (RFC 5040, RFC 7306).
 */
#include "atomic.h"
#include "fuzz.h"
#include "rdmap.h"

static void read_req(const u8 *s, u32 len)
{
	u8 back[XIW_READ_REQ_LEN];
	struct xiw_read_req r;

	if (xiw_rdmap_read_req_decode(s, len, &r) != XIW_OK) {
		CHECK(len != 28);
		return;
	}
	CHECK(len == 28);
	CHECK(r.sink_stag == fuzz_be(s, 4) && r.sink_to == fuzz_be64(s + 4));
	CHECK(r.size == fuzz_be(s + 12, 4));
	CHECK(r.src_stag == fuzz_be(s + 16, 4));
	CHECK(r.src_to == fuzz_be64(s + 20));
	xiw_rdmap_read_req_encode(back, &r);
	CHECK(!memcmp(back, s, 28));
	xiw_rdmap_read_req_advance(&r, r.size / 3);
	CHECK(r.size == fuzz_be(s + 12, 4) - fuzz_be(s + 12, 4) / 3);
	CHECK(r.sink_to - fuzz_be64(s + 4) == r.src_to - fuzz_be64(s + 20));
}

static void atomic_req(const u8 *s, u32 len)
{
	u8 back[XIW_ATOMIC_REQ_LEN];
	enum xiw_reason reason;
	struct xiw_atomic_req r;

	reason = xiw_rdmap_atomic_req_decode(s, len, &r);
	if (len != 52) {
		CHECK(reason == XIW_BAD_MSG_LEN);
		return;
	}
	if ((s[3] & 0xf) != 0 && (s[3] & 0xf) != 2) {
		CHECK(reason == XIW_ATOMIC_BAD_OP);
		return;
	}
	CHECK(reason == XIW_OK && r.aop == (s[3] & 0xf));
	CHECK(r.id == fuzz_be(s + 4, 4) && r.stag == fuzz_be(s + 8, 4));
	CHECK(r.to == fuzz_be64(s + 12) && r.data == fuzz_be64(s + 20));
	CHECK(r.data_mask == fuzz_be64(s + 28));
	CHECK(r.compare == fuzz_be64(s + 36));
	CHECK(r.compare_mask == fuzz_be64(s + 44));
	xiw_rdmap_atomic_req_encode(back, &r);
	CHECK(!memcmp(back + 4, s + 4, 48) && fuzz_be(back, 4) == r.aop);
}

static void small_bodies(const u8 *s, u32 len)
{
	struct xiw_atomic_resp r;
	u8 back[XIW_ATOMIC_RESP_LEN];
	__be32 imm;

	if (xiw_rdmap_atomic_resp_decode(s, len, &r) == XIW_OK) {
		CHECK(len == 12 && r.id == fuzz_be(s, 4));
		CHECK(r.orig == fuzz_be64(s + 4));
		xiw_rdmap_atomic_resp_encode(back, &r);
		CHECK(!memcmp(back, s, 12));
	} else {
		CHECK(len != 12);
	}
	if (xiw_rdmap_imm_decode(s, len, &imm) == XIW_OK) {
		CHECK(len == 8 && !memcmp(&imm, s, 4));
		xiw_rdmap_imm_encode(back, imm, XIW_IMM_WRITE);
		CHECK(!memcmp(back, s, 4) && !fuzz_be(back + 4, 4));
	} else {
		CHECK(len != 8);
	}
}

static void bodies(struct fuzz_in *in)
{
	u32 len = min_t(size_t, in->left, 64);
	u8 *s = fuzz_dup(in->data, len);

	read_req(s, len);
	atomic_req(s, len);
	small_bodies(s, len);
	free(s);
}

/*
 * Segments of one Read Response, most of them valid. Accepted segments fill the
 * sink from its beginning without a gap, and the Read succeeds if and only if
 * the sink is full.
 */
static void read_response(struct fuzz_in *in)
{
	struct xiw_read_sink s = {
		.stag = fuzz_u32(in),
		.to = fuzz_u64(in),
		.left = fuzz_edge(in),
	};
	const struct xiw_read_sink first = s;
	u64 placed = 0;

	while (in->left) {
		u8 how = fuzz_u8(in);
		struct xiw_ddp_hdr h = {
			.tagged = true,
			.opcode = XIW_OP_READ_RESP,
			.last = how & 1,
			.payload_len = how & 2 ? s.left : fuzz_u16(in),
			.stag = how & 4 ? fuzz_u32(in) : s.stag,
			.to = how & 8 ? fuzz_u64(in) : s.to,
		};
		enum xiw_reason reason;
		bool fits;

		h.payload_len = min_t(u32, h.payload_len, 0xffff);
		fits = h.stag == first.stag && h.to == first.to + placed &&
		       placed + h.payload_len <= first.left;
		CHECK(xiw_rdmap_read_resp_check(NULL, &h) == XIW_RESP_STRAY);
		reason = xiw_rdmap_read_resp_check(&s, &h);
		CHECK((reason == XIW_OK) == (fits || !h.payload_len));
		if (reason != XIW_OK)
			return;
		placed += h.payload_len;
		reason = xiw_rdmap_read_resp_advance(&s, &h);
		CHECK(s.left == first.left - placed);
		CHECK((reason == XIW_OK) == (!h.last || placed == first.left));
		if (h.last)
			return;
	}
}

static void ranges(struct fuzz_in *in)
{
	u64 base = fuzz_u64(in), size = fuzz_u64(in), to = fuzz_u64(in);
	u64 len = fuzz_u32(in);
	u8 how = fuzz_u8(in);
	bool wraps, inside;

	/* A registered buffer does not wrap; most accesses are close to it. */
	size = min(size, ~base);
	if (how & 1)
		to = base + (u8)to;
	if (how & 2)
		to = base + size - (u8)to;
	if (how & 4)
		len = size - (u8)len;
	/* The model compares distances to 0 and to 2^64: no sum can wrap. */
	wraps = len > ~to;
	inside = to >= base && !wraps && ~(to + len) >= ~(base + size);
	CHECK(xiw_rdmap_range_check(to, len, base, size) ==
	      (wraps ? XIW_RANGE_WRAPS : inside ? XIW_RANGE_FITS :
	       XIW_RANGE_BEYOND));
}

/* RFC 7306 5.1.1: a ripple adder that drops the carry at each mask bit. */
static u64 model_add(u64 orig, u64 add, u64 mask)
{
	unsigned int i, carry = 0, sum;
	u64 result = 0;

	for (i = 0; i < 64; i++) {
		sum = (orig >> i & 1) + (add >> i & 1) + carry;
		result |= (u64)(sum & 1) << i;
		carry = mask >> i & 1 ? 0 : sum >> 1;
	}
	return result;
}

static void atomics(struct fuzz_in *in)
{
	struct xiw_atomic_req r = {
		.aop = fuzz_u8(in) & 1 ? XIW_AOP_CMP_SWAP : XIW_AOP_FETCH_ADD,
		.data = fuzz_u64(in),
		.data_mask = fuzz_u64(in),
		.compare = fuzz_u64(in),
		.compare_mask = fuzz_u64(in),
	};
	u64 orig = fuzz_u64(in), new = 0;
	bool stored = xiw_atomic_apply(&r, orig, &new);
	unsigned int i;

	if (r.aop == XIW_AOP_FETCH_ADD) {
		CHECK(stored && new == model_add(orig, r.data, r.data_mask));
		return;
	}
	CHECK(stored == ((orig & r.compare_mask) ==
			 (r.compare & r.compare_mask)));
	for (i = 0; stored && i < 64; i++)
		CHECK((new >> i & 1) ==
		      ((r.data_mask >> i & 1 ? r.data : orig) >> i & 1));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { data, size };

	switch (fuzz_u8(&in) & 3) {
	case 0:
		bodies(&in);
		break;
	case 1:
		read_response(&in);
		break;
	case 2:
		ranges(&in);
		break;
	default:
		atomics(&in);
	}
	return 0;
}
