// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * DDP stream sessions over SCTP: every pair of state and event against a second
 * copy of the table, messages as bytes, whole sessions in any order of arrival,
 * and the negotiation by session control messages.
 *
 * Test vectors have numbers: SC control messages, SS DDP segments, SQ sequences
 * of chunks, DC chunks, PK packets, NS chunks to be refused.
 */
#include <linux/crc32c.h>
#include <linux/kernel.h>
#include <linux/prandom.h>
#include <linux/unaligned.h>

#include "../ddp.h"
#include "../nego.h"
#include "../session.h"
#include "util.h"

#define ROOM	(XIW_SESSION_MSG_MAX + 1)

static const char * const state_names[XIW_SESSION_STATES] = {
	[XIW_SESSION_IDLE]		= "IDLE",
	[XIW_SESSION_REPLY]		= "REPLY",
	[XIW_SESSION_REQUEST]		= "REQUEST",
	[XIW_SESSION_PENDING]		= "PENDING",
	[XIW_SESSION_ACCEPTED]		= "ACCEPTED",
	[XIW_SESSION_OPEN]		= "OPEN",
	[XIW_SESSION_ENDING]		= "ENDING",
	[XIW_SESSION_PEER_ENDED]	= "PEER_ENDED",
	[XIW_SESSION_BROKEN]		= "BROKEN",
	[XIW_SESSION_DONE]		= "DONE",
};

/*
 * One string per pair: '-' for what must not be sent, else the next state, with
 * '!' in front if the chunk received fits no pattern.
 */
static const char * const want[XIW_SESSION_STATES][XIW_SESSION_EVENTS] = {
	[XIW_SESSION_IDLE] = {
		"REPLY", "-", "-", "-", "-",
		"!DONE", "!DONE", "!DONE", "!DONE", "!DONE", "!DONE",
		"IDLE",
	},
	[XIW_SESSION_REPLY] = {
		"-", "-", "-", "-", "-",
		"!BROKEN", "OPEN", "DONE", "DONE", "!BROKEN", "!BROKEN",
		"REPLY",
	},
	[XIW_SESSION_REQUEST] = {
		"-", "-", "-", "-", "-",
		"PENDING", "!BROKEN", "!BROKEN", "!BROKEN", "!BROKEN",
		"!BROKEN",
		"REQUEST",
	},
	[XIW_SESSION_PENDING] = {
		"-", "ACCEPTED", "DONE", "DONE", "-",
		"!BROKEN", "!BROKEN", "!BROKEN", "!BROKEN", "!BROKEN",
		"!BROKEN",
		"PENDING",
	},
	[XIW_SESSION_ACCEPTED] = {
		"-", "-", "-", "-", "ACCEPTED",
		"!BROKEN", "!BROKEN", "!BROKEN", "PEER_ENDED", "OPEN",
		"!BROKEN",
		"OPEN",
	},
	[XIW_SESSION_OPEN] = {
		"-", "-", "-", "ENDING", "OPEN",
		"!BROKEN", "!BROKEN", "!BROKEN", "PEER_ENDED", "OPEN",
		"!BROKEN",
		"OPEN",
	},
	[XIW_SESSION_ENDING] = {
		"-", "-", "-", "-", "-",
		"!DONE", "!DONE", "!DONE", "DONE", "ENDING", "!DONE",
		"ENDING",
	},
	[XIW_SESSION_PEER_ENDED] = {
		"-", "-", "-", "DONE", "PEER_ENDED",
		"!BROKEN", "!BROKEN", "!BROKEN", "!BROKEN", "!BROKEN",
		"!BROKEN",
		"PEER_ENDED",
	},
	[XIW_SESSION_BROKEN] = {
		"-", "-", "-", "DONE", "-",
		"!BROKEN", "!BROKEN", "!BROKEN", "!BROKEN", "!BROKEN",
		"!BROKEN",
		"BROKEN",
	},
	[XIW_SESSION_DONE] = {
		"-", "-", "-", "-", "-",
		"!DONE", "!DONE", "!DONE", "!DONE", "!DONE", "!DONE",
		"DONE",
	},
};

static bool is_rx(unsigned int event)
{
	return event >= XIW_SESSION_RX_INITIATE &&
	       event <= XIW_SESSION_RX_INVALID;
}

/* Covers: SCTP-16 SCTP-17 SCTP-18 SCTP-21 SCTP-25 SCTP-26 SCTP-55 */
static void session_every_pair(struct kunit *test)
{
	struct xiw_session_step step;
	unsigned int s, e;
	char got[32];

	for (s = 0; s < XIW_SESSION_STATES; s++) {
		for (e = 0; e < XIW_SESSION_EVENTS; e++) {
			step = xiw_session_step(s, e);
			if (!step.legal && !is_rx(e)) {
				KUNIT_EXPECT_STREQ(test, "-", want[s][e]);
				KUNIT_EXPECT_EQ(test, (unsigned int)step.next,
						s);
				continue;
			}
			snprintf(got, sizeof(got), "%s%s",
				 step.legal ? "" : "!",
				 state_names[step.next]);
			KUNIT_EXPECT_STREQ(test, got, want[s][e]);
		}
	}
}

static void session_refuses_strange_numbers(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, xiw_session_step(XIW_SESSION_STATES, 0).legal);
	KUNIT_EXPECT_FALSE(test, xiw_session_step(0, XIW_SESSION_EVENTS).legal);
	KUNIT_EXPECT_FALSE(test, xiw_session_step(-1, -1).legal);
}

/*
 * Chunks as bytes
 */

static struct xiw_mpa_frame plain(bool reply, bool reject)
{
	return (struct xiw_mpa_frame){
		.reply = reply,
		.reject = reject,
		.rev = 1,
	};
}

static struct xiw_mpa_frame enhanced(bool reply, bool reject, bool p2p, u8 rtr,
				     u16 ird, u16 ord)
{
	return (struct xiw_mpa_frame){
		.reply = reply,
		.reject = reject,
		.enhanced = true,
		.rev = 2,
		.enh = { .p2p = p2p, .rtr = rtr, .ird = ird, .ord = ord },
	};
}

static int decode(u32 ppid, const u8 *buf, size_t len,
		  struct xiw_session_msg *msg)
{
	struct xiw_session_chunk chunk = { .ppid = ppid, .whole = true };

	return xiw_session_decode(&chunk, buf, len, msg);
}

static void decode_hex(struct kunit *test, u32 ppid, const char *hex,
		       struct xiw_session_msg *msg)
{
	u8 buf[ROOM];

	KUNIT_ASSERT_EQ(test, 0, decode(ppid, buf, xiw_test_hex(test, hex, buf,
								ROOM), msg));
}

static void expect_frame(struct kunit *test, const char *name,
			 const struct xiw_mpa_frame *got,
			 const struct xiw_mpa_frame *f)
{
	KUNIT_EXPECT_EQ_MSG(test, got->reply, f->reply, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, got->reject, f->reject, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, got->enhanced, f->enhanced, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, got->rev, f->rev, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, got->pd_len, f->pd_len, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, got->pd_off, f->enhanced ? 8 : 4, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, got->enh.p2p, f->enh.p2p, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, got->enh.rtr, f->enh.rtr, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, got->enh.ird, f->enh.ird, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, got->enh.ord, f->enh.ord, "%s", name);
	KUNIT_EXPECT_FALSE_MSG(test, got->markers || got->crc, "%s", name);
}

/* A session in which @f may be sent. */
static struct xiw_session ready_for(const struct xiw_mpa_frame *f)
{
	struct xiw_session s;

	xiw_session_init(&s, !f->reply);
	if (f->reply) {
		s.state = XIW_SESSION_PENDING;
		s.enhanced = f->enhanced;
	}
	return s;
}

struct control {
	const char *name;
	const char *hex;
	enum xiw_session_code code;
	struct xiw_mpa_frame f;
	const char *pd;
};

#define B	XIW_RTR_SEND
#define C	XIW_RTR_WRITE
#define D	XIW_RTR_READ
#define NONE	XIW_MPA_DEPTH_NONE

#define ENH(rep, rej, ...)						\
	{ .reply = (rep), .reject = (rej), .enhanced = true, .rev = 2,	\
	  .enh = { __VA_ARGS__ } }
#define PLAIN(rep, rej)	{ .reply = (rep), .reject = (rej), .rev = 1 }

static const struct control controls[] = {
	{ "SC-02", "0000 0001", XIW_SESSION_INITIATE, PLAIN(0, 0) },
	{ "SC-03", "0000 0001 68656c6c6f", XIW_SESSION_INITIATE, PLAIN(0, 0),
	  "hello" },
	{ "SC-04", "0000 0002", XIW_SESSION_ACCEPT, PLAIN(1, 0) },
	{ "SC-05", "0000 0003 6e6f", XIW_SESSION_REJECT, PLAIN(1, 1), "no" },
	{ "SC-09", "0000 0005 8010c010", XIW_SESSION_INITIATE_ENH,
	  ENH(0, 0, true, C | D, 16, 16) },
	{ "SC-10", "0000 0006 8010c010", XIW_SESSION_ACCEPT_ENH,
	  ENH(1, 0, true, C | D, 16, 16) },
	{ "SC-11", "0000 0006 80088004", XIW_SESSION_ACCEPT_ENH,
	  ENH(1, 0, true, C, 8, 4) },
	{ "SC-12", "0000 0005 00010000 7270696e67", XIW_SESSION_INITIATE_ENH,
	  ENH(0, 0, false, 0, 1, 0), "rping" },
	{ "SC-13", "0000 0006 00000001", XIW_SESSION_ACCEPT_ENH,
	  ENH(1, 0, false, 0, 0, 1) },
	{ "SC-14", "0000 0007 8010c020", XIW_SESSION_REJECT_ENH,
	  ENH(1, 1, true, C | D, 16, 32) },
	{ "SC-15", "0000 0005 ffffffff", XIW_SESSION_INITIATE_ENH,
	  ENH(0, 0, true, B | C | D, NONE, NONE) },
	{ "SC-16", "0000 0006 bfffbfff", XIW_SESSION_ACCEPT_ENH,
	  ENH(1, 0, true, C, NONE, NONE) },
	{ "SC-17", "0000 0006 80100010", XIW_SESSION_ACCEPT_ENH,
	  ENH(1, 0, true, 0, 16, 16) },
};

/* Covers: SCTP-05 SCTP-06 SCTP-07 SCTP-51 SCTP-52 SCTP-53 */
static void session_control_vectors(struct kunit *test)
{
	struct xiw_session_msg msg;
	u8 hex[ROOM], buf[ROOM];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(controls); i++) {
		const struct control *c = &controls[i];
		struct xiw_mpa_frame f = c->f;
		struct xiw_session s = ready_for(&f);
		int len = xiw_test_hex(test, c->hex, hex, ROOM);

		f.pd_len = c->pd ? strlen(c->pd) : 0;
		KUNIT_EXPECT_EQ_MSG(test, len,
				    xiw_session_encode(&s, buf, ROOM, &f,
						       c->pd), "%s", c->name);
		KUNIT_EXPECT_MEMEQ(test, hex, buf, len);
		KUNIT_ASSERT_EQ_MSG(test, 0,
				    decode(XIW_SCTP_PPID_CONTROL, hex, len,
					   &msg), "%s", c->name);
		KUNIT_EXPECT_EQ_MSG(test, msg.ssn, 0, "%s", c->name);
		KUNIT_EXPECT_EQ_MSG(test, (int)msg.code, (int)c->code, "%s",
				    c->name);
		expect_frame(test, c->name, &msg.frame, &f);
		if (c->pd)
			KUNIT_EXPECT_MEMEQ(test, hex + msg.frame.pd_off, c->pd,
					   f.pd_len);
	}
}

static void session_indication(struct kunit *test)
{
	u8 buf[8];

	xiw_test_hex(test, "c006 0008 00000001", buf, sizeof(buf)); /* SC-01 */
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(buf + 4), XIW_SCTP_ADAPTATION);
}

static const struct {
	const char *hex;
	u16 ssn;
	enum xiw_session_state state;
} terminates[] = {
	{ "0000 0004", 0, XIW_SESSION_PENDING },	/* SC-06 */
	{ "0001 0004", 1, XIW_SESSION_OPEN },		/* SC-07 */
	{ "ffff 0004", 65535, XIW_SESSION_PEER_ENDED },	/* SC-08 */
};

/* Covers: SCTP-09 SCTP-11 SCTP-57 */
static void session_terminate_vectors(struct kunit *test)
{
	struct xiw_session_msg msg;
	u8 hex[8], buf[8];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(terminates); i++) {
		struct xiw_session s = {
			.state = terminates[i].state,
			.enhanced = i & 1,
			.tx_next = terminates[i].ssn,
		};
		int len = xiw_test_hex(test, terminates[i].hex, hex, 8);

		KUNIT_EXPECT_EQ(test, len,
				xiw_session_encode_terminate(&s, buf));
		KUNIT_EXPECT_MEMEQ(test, hex, buf, len);
		xiw_session_sent_terminate(&s);
		KUNIT_EXPECT_EQ(test, s.tx_next, (u16)(terminates[i].ssn + 1));
		KUNIT_EXPECT_EQ(test, -EINVAL,
				xiw_session_encode_terminate(&s, buf));
		KUNIT_ASSERT_EQ(test, 0,
				decode(XIW_SCTP_PPID_CONTROL, hex, len, &msg));
		KUNIT_EXPECT_EQ(test, (int)msg.code,
				(int)XIW_SESSION_TERMINATE);
		KUNIT_EXPECT_EQ(test, msg.ssn, terminates[i].ssn);
	}
	/* NS-07: Private Data is tolerated. */
	decode_hex(test, XIW_SCTP_PPID_CONTROL, "0001 0004 78", &msg);
	KUNIT_EXPECT_EQ(test, (int)msg.code, (int)XIW_SESSION_TERMINATE);
}

/* Covers: SCTP-08 SCTP-53 */
static void session_private_data_limit(struct kunit *test)
{
	/* Bytes of Private Data on the wire: SC-18 and SC-19 have 512 */
	static const u16 sizes[] = { 0, 1, 255, 511, 512, 513 };
	struct xiw_session_msg msg;
	u8 pd[ROOM], buf[ROOM];
	unsigned int i, kind;
	int len;

	for (i = 0; i < sizeof(pd); i++)
		pd[i] = i;
	for (i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		u16 extra = i & 1 ? XIW_MPA_ENH_LEN : 0;
		u16 size = sizes[i / 2];

		for (kind = 0; kind < 3; kind++) {
			struct xiw_mpa_frame f = extra ?
				enhanced(kind, kind == 2, true, C | D, 16, 16) :
				plain(kind, kind == 2);
			struct xiw_session s = ready_for(&f);

			f.pd_len = size < extra ? 0 : size - extra;
			len = xiw_session_encode(&s, buf, sizeof(buf), &f, pd);
			if (size > 512) {
				KUNIT_EXPECT_EQ(test, len, -EINVAL);
				continue;
			}
			KUNIT_EXPECT_EQ(test, len, 4 + extra + f.pd_len);
			KUNIT_EXPECT_EQ(test, -EINVAL,
					xiw_session_encode(&s, buf, len - 1, &f,
							   pd));
			KUNIT_ASSERT_EQ(test, 0,
					decode(XIW_SCTP_PPID_CONTROL, buf, len,
					       &msg));
			KUNIT_EXPECT_EQ(test, msg.frame.pd_len, f.pd_len);
			KUNIT_EXPECT_EQ(test, msg.frame.pd_off, 4 + extra);
			KUNIT_EXPECT_MEMEQ(test, buf + msg.frame.pd_off, pd,
					   f.pd_len);
		}
	}
	/* NS-05, for each code */
	memset(buf, 0, sizeof(buf));
	for (i = 1; i <= XIW_SESSION_REJECT_ENH; i++) {
		buf[3] = i;
		KUNIT_EXPECT_EQ(test, 0,
				decode(XIW_SCTP_PPID_CONTROL, buf, 516, &msg));
		KUNIT_EXPECT_EQ(test, -EPROTO,
				decode(XIW_SCTP_PPID_CONTROL, buf, 517, &msg));
	}
}

static const struct {
	const char *name;
	const char *hex;
	u16 ssn;
	u8 opcode;
	u32 payload;
} segments[] = {
	{ "SS-01", "0001 c140 00000000 0000000000000000", 1, XIW_OP_WRITE, 0 },
	{ "SS-02", "0001 4141 00000000 00000001 00000001 00000000 00000000 0000000000000000 00000000 00000000 0000000000000000",
	  1, XIW_OP_READ_REQ, 28 },
	{ "SS-03", "0001 c142 00000000 0000000000000000", 1, XIW_OP_READ_RESP,
	  0 },
	{ "SS-04", "0001 4143 00000000 00000000 00000001 00000000", 1,
	  XIW_OP_SEND, 0 },
	{ "SS-05", "0002 4143 00000000 00000000 00000001 00000000 70696e67", 2,
	  XIW_OP_SEND, 4 },
	{ "SS-06", "0001 4143 00000000 00000000 00000001 00000000 70696e67", 1,
	  XIW_OP_SEND, 4 },
	{ "SS-07", "fffe 8140 deadbeef 1122334455667788 01020304", 65534,
	  XIW_OP_WRITE, 4 },
	{ "SS-08", "ffff 8140 deadbeef 112233445566778c 05060708", 65535,
	  XIW_OP_WRITE, 4 },
	{ "SS-09", "0000 c140 deadbeef 1122334455667790 090a", 0, XIW_OP_WRITE,
	  2 },
	{ "SS-10", "0001 4147 00000000 00000002 00000001 00000000 20050000", 1,
	  XIW_OP_TERMINATE, 4 },
	{ "SS-11", "0001 4147 00000000 00000002 00000001 00000000 20060000", 1,
	  XIW_OP_TERMINATE, 4 },
	{ "SS-12", "0001 4147 00000000 00000002 00000001 00000000 20070000", 1,
	  XIW_OP_TERMINATE, 4 },
};

/* Covers: SCTP-04 SCTP-05 */
static void session_segment_vectors(struct kunit *test)
{
	struct xiw_session s = { .state = XIW_SESSION_OPEN };
	struct xiw_session_msg msg;
	struct xiw_ddp_hdr h;
	unsigned int i;
	u8 buf[64];
	u16 ssn;

	for (i = 0; i < ARRAY_SIZE(segments); i++) {
		const char *name = segments[i].name;
		u32 len = xiw_test_hex(test, segments[i].hex, buf, 64);

		KUNIT_ASSERT_EQ_MSG(test, 0,
				    decode(XIW_SCTP_PPID_SEGMENT, buf, len,
					   &msg), "%s", name);
		KUNIT_EXPECT_EQ_MSG(test, msg.ssn, segments[i].ssn, "%s", name);
		KUNIT_EXPECT_EQ_MSG(test, (int)msg.code,
				    (int)XIW_SESSION_SEGMENT, "%s", name);
		KUNIT_EXPECT_EQ_MSG(test, (int)XIW_OK,
				    (int)xiw_ddp_decode(buf + 2, len - 2, 0,
							&h), "%s", name);
		KUNIT_EXPECT_EQ_MSG(test, h.opcode, segments[i].opcode, "%s",
				    name);
		KUNIT_EXPECT_EQ_MSG(test, h.payload_len, segments[i].payload,
				    "%s", name);
	}
	/* SS-07 to SS-09: the numbers wrap. */
	s.tx_next = 65534;
	s.rx_next = 65534;
	for (i = 6; i < 9; i++) {
		KUNIT_EXPECT_TRUE(test, xiw_session_segment(&s, &ssn));
		KUNIT_EXPECT_EQ(test, ssn, segments[i].ssn);
		decode_hex(test, XIW_SCTP_PPID_SEGMENT, segments[i].hex, &msg);
		KUNIT_EXPECT_EQ(test, (int)xiw_session_order(&s, msg.ssn),
				(int)XIW_SESSION_NEXT);
		KUNIT_EXPECT_TRUE(test, xiw_session_receive(&s, &msg));
	}
	KUNIT_EXPECT_EQ(test, s.tx_next, 1);
	KUNIT_EXPECT_EQ(test, s.rx_next, 1);
}

/* Each DATA chunk of a packet, as SCTP would deliver it. */
static unsigned int walk_chunks(struct kunit *test, const u8 *p, u32 len,
				struct xiw_session_msg *msgs)
{
	unsigned int n = 0;
	u32 size;

	for (; len; p += round_up(size, 4), len -= round_up(size, 4)) {
		KUNIT_ASSERT_GE(test, len, 16U);
		size = get_unaligned_be16(p + 2);
		KUNIT_ASSERT_LE(test, size, len);
		/* A whole DATA chunk, unordered, of stream 0 */
		KUNIT_EXPECT_EQ(test, p[0], 0);
		KUNIT_EXPECT_EQ(test, p[1], 7);
		KUNIT_EXPECT_EQ(test, get_unaligned_be16(p + 8), 0);
		KUNIT_ASSERT_EQ(test, 0, decode(get_unaligned_be32(p + 12),
						p + 16, size - 16, msgs + n));
		n++;
	}
	return n;
}

static void session_packet_vectors(struct kunit *test)
{
	static const char * const packets[] = {
		/* PK-01 with DC-01, which is SC-09 */
		"9c404e51 01020304 d4e488b3 00070018 0a0b0c0d 00000000 00000011 000000058010c010",
		/* PK-02 with DC-02, which is SS-06, and a Terminate */
		"9c404e51 01020304 261a19ca 00070028 0a0b0c0e 00000000 00000010 0001414300000000000000000000000100000000 70696e67 00070014 0a0b0c0f 00000000 00000011 00020004",
	};
	struct xiw_session_msg msgs[2];
	u8 buf[128];
	u32 len, crc;
	int i;

	for (i = 0; i < 2; i++) {
		len = xiw_test_hex(test, packets[i], buf, sizeof(buf));
		crc = get_unaligned_le32(buf + 8);
		put_unaligned_le32(0, buf + 8);
		KUNIT_EXPECT_EQ(test, crc, ~crc32c(~0, buf, len));
		KUNIT_ASSERT_EQ(test, walk_chunks(test, buf + 12, len - 12,
						  msgs), i + 1U);
		KUNIT_EXPECT_EQ(test, (int)msgs[0].code,
				i ? XIW_SESSION_SEGMENT :
				    XIW_SESSION_INITIATE_ENH);
		KUNIT_EXPECT_EQ(test, msgs[0].ssn, i);
	}
	KUNIT_EXPECT_EQ(test, (int)msgs[1].code, (int)XIW_SESSION_TERMINATE);
	KUNIT_EXPECT_EQ(test, msgs[1].ssn, 2);
}

/* Covers: SCTP-01 SCTP-05 SCTP-06 SCTP-17 SCTP-34 */
static void session_malformed_chunks(struct kunit *test)
{
	static const struct {
		const char *hex;
		u32 ppid;
	} bad[] = {
		{ "00000000", XIW_SCTP_PPID_CONTROL },		/* NS-01 */
		{ "00000008", XIW_SCTP_PPID_CONTROL },		/* NS-02 */
		{ "00000104", XIW_SCTP_PPID_CONTROL },
		{ "0000ffff", XIW_SCTP_PPID_CONTROL },
		{ "000000", XIW_SCTP_PPID_CONTROL },		/* NS-03 */
		{ "00", XIW_SCTP_PPID_CONTROL },		/* NS-04 */
		{ "", XIW_SCTP_PPID_CONTROL },
		{ "00", XIW_SCTP_PPID_SEGMENT },
		{ "", XIW_SCTP_PPID_SEGMENT },
		{ "000000058010c0", XIW_SCTP_PPID_CONTROL },	/* NS-06 */
		{ "00000005", XIW_SCTP_PPID_CONTROL },
		{ "000000068010c0", XIW_SCTP_PPID_CONTROL },
		{ "0001c140000000000000000000000000", 0 },	/* NS-08 */
		{ "0001c140000000000000000000000000", 18 },
		{ "0001c140000000000000000000000000", 0x10000000 },
	};
	struct xiw_session_chunk chunk = { .ppid = XIW_SCTP_PPID_SEGMENT };
	struct xiw_session_msg msg;
	unsigned int i;
	u8 buf[32];

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		u32 len = xiw_test_hex(test, bad[i].hex, buf, sizeof(buf));

		KUNIT_EXPECT_EQ_MSG(test, -EPROTO,
				    decode(bad[i].ppid, buf, len, &msg),
				    "%s, PPID %u", bad[i].hex, bad[i].ppid);
	}
	memset(buf, 0, sizeof(buf));
	/* Part of a message, or another stream */
	KUNIT_EXPECT_EQ(test, -EPROTO,
			xiw_session_decode(&chunk, buf, 16, &msg));
	chunk.whole = true;
	KUNIT_EXPECT_EQ(test, 0, xiw_session_decode(&chunk, buf, 16, &msg));
	chunk.stream = 1;
	KUNIT_EXPECT_EQ(test, -EPROTO,
			xiw_session_decode(&chunk, buf, 16, &msg));
}

/* Covers: SCTP-54 SCTP-59 */
static void session_short_reject(struct kunit *test)
{
	struct xiw_mpa_frame f = enhanced(false, false, true, C | D, 16, 16);
	struct xiw_mpa_policy p = { .rev = 2, .rtr = C | D, .max_ird = 16 };
	struct xiw_mpa_nego nego;
	struct xiw_session_msg msg;

	decode_hex(test, XIW_SCTP_PPID_CONTROL, "0000 0007 6e6f", &msg);
	KUNIT_EXPECT_TRUE(test, msg.frame.reply && msg.frame.reject);
	KUNIT_EXPECT_FALSE(test, msg.frame.enhanced);
	KUNIT_EXPECT_EQ(test, msg.frame.pd_off, 4);
	KUNIT_EXPECT_EQ(test, msg.frame.pd_len, 2);
	KUNIT_EXPECT_EQ(test, (int)XIW_NEGO_REJECTED,
			(int)xiw_nego_check_reply(&p, &f, &msg.frame, &nego));
	KUNIT_EXPECT_FALSE(test, nego.peer_values_valid);
}

/* Covers: SCTP-07 SCTP-66 */
static void session_frames_of_mpa_only(struct kunit *test)
{
	struct xiw_mpa_frame f = plain(false, false);
	struct xiw_session s = ready_for(&f);
	u8 buf[ROOM];

	f.crc = true;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			xiw_session_encode(&s, buf, ROOM, &f, NULL));
	f = plain(false, false);
	f.markers = true;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			xiw_session_encode(&s, buf, ROOM, &f, NULL));
	f = plain(false, true);
	KUNIT_EXPECT_EQ(test, -EINVAL,
			xiw_session_encode(&s, buf, ROOM, &f, NULL));
	f = plain(false, false);
	f.rev = 2;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			xiw_session_encode(&s, buf, ROOM, &f, NULL));
	/* The kind of an answer is that of the Initiate. */
	f = plain(true, false);
	s = ready_for(&f);
	s.enhanced = true;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			xiw_session_encode(&s, buf, ROOM, &f, NULL));
	f = enhanced(true, true, false, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, 8, xiw_session_encode(&s, buf, ROOM, &f, NULL));
	s.enhanced = false;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			xiw_session_encode(&s, buf, ROOM, &f, NULL));
}

/*
 * Sessions
 */

/* Covers: SCTP-15 SCTP-44 */
static void session_ssn_order(struct kunit *test)
{
	static const struct {
		u16 distance;
		enum xiw_session_order order;
	} places[] = {
		{ 0, XIW_SESSION_NEXT },
		{ 1, XIW_SESSION_EARLY },
		{ 4095, XIW_SESSION_EARLY },
		{ 4096, XIW_SESSION_STRAY },
		{ 32768, XIW_SESSION_STRAY },
		{ 65535, XIW_SESSION_STRAY },
	};
	static const u16 from[] = { 0, 1, 61440, 65534, 65535 };
	struct xiw_session s;
	unsigned int i, k;

	xiw_session_init(&s, false);
	KUNIT_EXPECT_EQ(test, s.rx_next, 0);
	KUNIT_EXPECT_EQ(test, s.tx_next, 0);
	/* Nothing is held before the Initiate, and before the Accept. */
	KUNIT_EXPECT_EQ(test, (int)XIW_SESSION_STRAY,
			(int)xiw_session_order(&s, 1));
	s.state = XIW_SESSION_PENDING;
	s.rx_next = 1;
	KUNIT_EXPECT_EQ(test, (int)XIW_SESSION_STRAY,
			(int)xiw_session_order(&s, 2));
	s.state = XIW_SESSION_OPEN;
	for (i = 0; i < ARRAY_SIZE(from); i++) {
		s.rx_next = from[i];
		for (k = 0; k < ARRAY_SIZE(places); k++)
			KUNIT_EXPECT_EQ(test, (int)places[k].order,
					(int)xiw_session_order(&s, from[i] +
							places[k].distance));
	}
}

/*
 * A side receives @n chunks in the order of @arrival, and processes them in the
 * order of their SSNs. False if the session must be terminated.
 */
static bool take_all(struct kunit *test, struct xiw_session *s,
		     const struct xiw_session_msg *msgs, const u8 *arrival,
		     unsigned int n)
{
	bool held[8] = {};
	unsigned int i;

	for (i = 0; i < n; i++) {
		const struct xiw_session_msg *msg = &msgs[arrival[i]];

		switch (xiw_session_order(s, msg->ssn)) {
		case XIW_SESSION_STRAY:
			return xiw_session_receive(s, NULL);
		case XIW_SESSION_EARLY:
			xiw_session_confirm(s);
			held[msg->ssn] = true;
			continue;
		case XIW_SESSION_NEXT:
			held[msg->ssn] = true;
			break;
		}
		while (s->rx_next < ARRAY_SIZE(held) && held[s->rx_next]) {
			held[s->rx_next] = false;
			if (!xiw_session_receive(s, &msgs[s->rx_next]))
				return false;
		}
	}
	return true;
}

/* Messages of the active and the passive side of SQ-01, in their order */
static void sq01(struct kunit *test, struct xiw_session_msg *a,
		 struct xiw_session_msg *p)
{
	decode_hex(test, 17, "0000 0005 8010c010", &a[0]);
	decode_hex(test, 16, segments[0].hex, &a[1]);
	decode_hex(test, 16, segments[4].hex, &a[2]);
	decode_hex(test, 17, "0003 0004", &a[3]);
	decode_hex(test, 17, "0000 0006 8010c010", &p[0]);
	decode_hex(test, 16, segments[5].hex, &p[1]);
	decode_hex(test, 17, "0002 0004", &p[2]);
}

/* Covers: SCTP-04 SCTP-18 SCTP-55 SCTP-57 SCTP-58 */
static void session_accepted(struct kunit *test)
{
	struct xiw_mpa_frame initiate =
		enhanced(false, false, true, C | D, 16, 16);
	struct xiw_mpa_frame accept = initiate;
	struct xiw_session_msg a[4], p[3];
	struct xiw_session act, pas;
	u8 buf[ROOM];
	u16 ssn;

	accept.reply = true;
	sq01(test, a, p);
	xiw_session_init(&act, true);
	xiw_session_init(&pas, false);
	/* Nothing may be sent before the Initiate, and one is enough. */
	KUNIT_EXPECT_FALSE(test, xiw_session_segment(&act, &ssn));
	KUNIT_EXPECT_EQ(test, 8,
			xiw_session_encode(&act, buf, ROOM, &initiate, NULL));
	xiw_session_sent(&act, &initiate);
	KUNIT_EXPECT_EQ(test, -EINVAL,
			xiw_session_encode(&act, buf, ROOM, &initiate, NULL));
	KUNIT_EXPECT_FALSE(test, xiw_session_segment(&act, &ssn));

	KUNIT_EXPECT_EQ(test, -EINVAL,
			xiw_session_encode(&pas, buf, ROOM, &accept, NULL));
	KUNIT_EXPECT_TRUE(test, xiw_session_receive(&pas, &a[0]));
	KUNIT_EXPECT_TRUE(test, pas.enhanced);
	KUNIT_EXPECT_FALSE(test, xiw_session_segment(&pas, &ssn));
	KUNIT_EXPECT_EQ(test, 8,
			xiw_session_encode(&pas, buf, ROOM, &accept, NULL));
	xiw_session_sent(&pas, &accept);
	/* The passive side may send before the active one. */
	KUNIT_EXPECT_TRUE(test, xiw_session_segment(&pas, &ssn));
	KUNIT_EXPECT_EQ(test, ssn, p[1].ssn);

	KUNIT_EXPECT_TRUE(test, xiw_session_receive(&act, &p[0]));
	KUNIT_EXPECT_TRUE(test, xiw_session_segment(&act, &ssn));
	KUNIT_EXPECT_EQ(test, ssn, a[1].ssn);
	KUNIT_EXPECT_TRUE(test, xiw_session_segment(&act, &ssn));
	KUNIT_EXPECT_EQ(test, ssn, a[2].ssn);
	KUNIT_EXPECT_EQ(test, 4, xiw_session_encode_terminate(&act, buf));
	xiw_session_sent_terminate(&act);
	KUNIT_EXPECT_FALSE(test, xiw_session_segment(&act, &ssn));

	KUNIT_EXPECT_TRUE(test, xiw_session_receive(&pas, &a[1]));
	KUNIT_EXPECT_TRUE(test, xiw_session_receive(&pas, &a[2]));
	KUNIT_EXPECT_TRUE(test, xiw_session_receive(&pas, &a[3]));
	KUNIT_EXPECT_EQ(test, (int)pas.state, (int)XIW_SESSION_PEER_ENDED);
	KUNIT_EXPECT_EQ(test, 4, xiw_session_encode_terminate(&pas, buf));
	KUNIT_EXPECT_EQ(test, get_unaligned_be16(buf), p[2].ssn);
	xiw_session_sent_terminate(&pas);
	KUNIT_EXPECT_EQ(test, (int)pas.state, (int)XIW_SESSION_DONE);

	KUNIT_EXPECT_TRUE(test, xiw_session_receive(&act, &p[1]));
	KUNIT_EXPECT_TRUE(test, xiw_session_receive(&act, &p[2]));
	KUNIT_EXPECT_EQ(test, (int)act.state, (int)XIW_SESSION_DONE);
}

/* An active side that has sent its Initiate, and a new passive one */
static void sides(struct xiw_session *act, struct xiw_session *pas, bool enh)
{
	xiw_session_init(act, true);
	act->state = XIW_SESSION_REPLY;
	act->enhanced = enh;
	act->tx_next = 1;
	xiw_session_init(pas, false);
}

/*
 * SCTP may deliver unordered chunks in any order. The session processes those
 * of SQ-01 in the order of their SSNs on both sides.
 *
 * Covers: SCTP-16 SCTP-42
 */
static void session_any_order(struct kunit *test)
{
	static const u8 orders[][3] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
		{ 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
	};
	struct xiw_session_msg a[4], p[3];
	struct xiw_session act, pas;
	unsigned int i;

	sq01(test, a, p);
	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		sides(&act, &pas, true);
		KUNIT_EXPECT_TRUE(test, take_all(test, &act, p, orders[i], 3));
		KUNIT_EXPECT_EQ(test, (int)act.state,
				(int)XIW_SESSION_PEER_ENDED);
		/* The passive side accepted: 1 to 3 in any order. */
		pas.state = XIW_SESSION_ACCEPTED;
		pas.tx_next = 1;
		pas.rx_next = 1;
		pas.enhanced = true;
		KUNIT_EXPECT_TRUE(test, take_all(test, &pas, a,
						 (u8[]){ orders[i][0] + 1,
							 orders[i][1] + 1,
							 orders[i][2] + 1,
							 0 }, 3));
		KUNIT_EXPECT_EQ(test, pas.rx_next, 4);
	}
}

/* Covers: SCTP-42 SCTP-44 */
static void session_full_window(struct kunit *test)
{
	struct xiw_session s = { .state = XIW_SESSION_OPEN, .rx_next = 1 };
	struct xiw_session_msg msg = { .code = XIW_SESSION_SEGMENT };
	unsigned int ssn;

	/* SQ-03 */
	for (ssn = 2; ssn <= 4096; ssn++)
		KUNIT_EXPECT_EQ(test, (int)XIW_SESSION_EARLY,
				(int)xiw_session_order(&s, ssn));
	/* NS-10 */
	KUNIT_EXPECT_EQ(test, (int)XIW_SESSION_STRAY,
			(int)xiw_session_order(&s, 1 + 4096));
	for (ssn = 1; ssn <= 4096; ssn++) {
		msg.ssn = ssn;
		KUNIT_EXPECT_EQ(test, (int)XIW_SESSION_NEXT,
				(int)xiw_session_order(&s, ssn));
		KUNIT_EXPECT_TRUE(test, xiw_session_receive(&s, &msg));
		/* NS-11 */
		KUNIT_EXPECT_EQ(test, (int)XIW_SESSION_STRAY,
				(int)xiw_session_order(&s, ssn));
	}
}

/* Expects the state and the Terminate after a chunk received in @state. */
static void expect_end(struct kunit *test, enum xiw_session_state state,
		       u32 ppid, const char *hex)
{
	struct xiw_session s = { .state = state };
	struct xiw_session_msg msg;
	u8 buf[XIW_SESSION_HDR_LEN];

	decode_hex(test, ppid, hex, &msg);
	s.rx_next = msg.ssn;
	KUNIT_EXPECT_FALSE_MSG(test, xiw_session_receive(&s, &msg), "%s in %s",
			       hex, state_names[state]);
	KUNIT_EXPECT_EQ(test, s.rx_next, msg.ssn);
	KUNIT_EXPECT_EQ(test, (int)s.state, (int)XIW_SESSION_BROKEN);
	KUNIT_EXPECT_TRUE(test, s.broken);
	KUNIT_EXPECT_EQ(test, 4, xiw_session_encode_terminate(&s, buf));
	xiw_session_sent_terminate(&s);
	KUNIT_EXPECT_EQ(test, (int)s.state, (int)XIW_SESSION_DONE);
}

/* Covers: SCTP-16 SCTP-17 SCTP-18 SCTP-21 */
static void session_no_pattern(struct kunit *test)
{
	struct xiw_session act, pas;
	struct xiw_session_msg msg;
	u8 buf[ROOM];

	/* NS-09, and the other chunks that may not begin a session */
	expect_end(test, XIW_SESSION_REQUEST, 16, "0000 c140");
	expect_end(test, XIW_SESSION_REQUEST, 17, "0000 0002");
	expect_end(test, XIW_SESSION_REQUEST, 17, "0000 0003");
	expect_end(test, XIW_SESSION_REQUEST, 17, "0000 0004");
	expect_end(test, XIW_SESSION_REQUEST, 17, "0000 0006 00000000");
	/* NS-13, NS-14 */
	expect_end(test, XIW_SESSION_ACCEPTED, 17, "0001 0001");
	expect_end(test, XIW_SESSION_ACCEPTED, 17, "0001 0002");
	expect_end(test, XIW_SESSION_OPEN, 17, "0001 0003");
	expect_end(test, XIW_SESSION_OPEN, 17, "0001 0005 00000000");
	/* NS-15 */
	expect_end(test, XIW_SESSION_PEER_ENDED, 16, "0004 c140");
	/* NS-16 */
	expect_end(test, XIW_SESSION_PENDING, 16, "0001 c140");
	/* The answer is a segment, or an Initiate. */
	expect_end(test, XIW_SESSION_REPLY, 16, "0000 c140");
	expect_end(test, XIW_SESSION_REPLY, 17, "0000 0001");
	/* NS-17: an early Accept is held, and no Terminate can be sent. */
	sides(&act, &pas, false);
	decode_hex(test, 17, "0001 0002", &msg);
	KUNIT_EXPECT_EQ(test, (int)XIW_SESSION_EARLY,
			(int)xiw_session_order(&act, msg.ssn));
	xiw_session_confirm(&act);
	KUNIT_EXPECT_EQ(test, -EINVAL,
			xiw_session_encode_terminate(&act, buf));
}

/*
 * A chunk that fits no pattern breaks a session that has sent a Terminate,
 * but not one that has ended.
 * Covers: SCTP-17
 */
static void session_late_fault(struct kunit *test)
{
	struct xiw_session s = { .state = XIW_SESSION_ENDING, .rx_next = 1 };
	struct xiw_session_msg msg;

	decode_hex(test, 17, "0001 0001", &msg);
	KUNIT_EXPECT_FALSE(test, xiw_session_receive(&s, &msg));
	KUNIT_EXPECT_EQ(test, (int)s.state, (int)XIW_SESSION_DONE);
	KUNIT_EXPECT_TRUE(test, s.broken);
	s.broken = false;
	KUNIT_EXPECT_FALSE(test, xiw_session_receive(&s, &msg));
	KUNIT_EXPECT_FALSE(test, xiw_session_receive(&s, NULL));
	KUNIT_EXPECT_FALSE(test, s.broken);
}

/* Covers: SCTP-55 SCTP-66 SCTP-67 */
static void session_kinds_match(struct kunit *test)
{
	struct xiw_session act, pas;
	struct xiw_session_msg msg;

	/* Accept of the other kind */
	sides(&act, &pas, true);
	decode_hex(test, 17, "0000 0002", &msg);
	KUNIT_EXPECT_FALSE(test, xiw_session_receive(&act, &msg));
	sides(&act, &pas, false);
	decode_hex(test, 17, "0000 0006 8010c010", &msg);
	KUNIT_EXPECT_FALSE(test, xiw_session_receive(&act, &msg));
	KUNIT_EXPECT_EQ(test, (int)act.state, (int)XIW_SESSION_BROKEN);
	/* A Reject is valid even if its kind is not that of the Initiate. */
	sides(&act, &pas, true);
	decode_hex(test, 17, "0000 0003 6e6f", &msg);
	KUNIT_EXPECT_TRUE(test, xiw_session_receive(&act, &msg));
	KUNIT_EXPECT_EQ(test, (int)act.state, (int)XIW_SESSION_DONE);
	sides(&act, &pas, false);
	decode_hex(test, 17, "0000 0007 8010c020", &msg);
	KUNIT_EXPECT_TRUE(test, xiw_session_receive(&act, &msg));
	KUNIT_EXPECT_EQ(test, (int)act.state, (int)XIW_SESSION_DONE);
}

/* Covers: SCTP-11 SCTP-21 */
static void session_refused(struct kunit *test)
{
	struct xiw_session act, pas;
	struct xiw_session_msg msg;
	u8 buf[ROOM];
	u16 ssn;

	sides(&act, &pas, false);
	decode_hex(test, 17, controls[0].hex, &msg);
	KUNIT_EXPECT_TRUE(test, xiw_session_receive(&pas, &msg));
	KUNIT_EXPECT_EQ(test, 4, xiw_session_encode_terminate(&pas, buf));
	xiw_session_sent_terminate(&pas);
	KUNIT_EXPECT_EQ(test, (int)pas.state, (int)XIW_SESSION_DONE);
	KUNIT_EXPECT_EQ(test, 0, decode(17, buf, 4, &msg));
	KUNIT_EXPECT_TRUE(test, xiw_session_receive(&act, &msg));
	KUNIT_EXPECT_EQ(test, (int)act.state, (int)XIW_SESSION_DONE);
	/* After the end nothing can be sent, and no chunk is legal. */
	KUNIT_EXPECT_EQ(test, -EINVAL, xiw_session_encode_terminate(&act, buf));
	KUNIT_EXPECT_FALSE(test, xiw_session_segment(&act, &ssn));
	KUNIT_EXPECT_FALSE(test, xiw_session_receive(&pas, NULL));
	KUNIT_EXPECT_EQ(test, (int)pas.state, (int)XIW_SESSION_DONE);
}

/* Covers: SCTP-25 */
static void session_terminate_waits(struct kunit *test)
{
	struct xiw_mpa_frame f = plain(true, false);
	struct xiw_session s = ready_for(&f);
	struct xiw_session_msg msg;
	u8 buf[ROOM];
	u16 ssn;

	KUNIT_EXPECT_EQ(test, 4, xiw_session_encode(&s, buf, ROOM, &f, NULL));
	xiw_session_sent(&s, &f);
	KUNIT_EXPECT_TRUE(test, xiw_session_segment(&s, &ssn));
	KUNIT_EXPECT_EQ(test, -EAGAIN, xiw_session_encode_terminate(&s, buf));
	xiw_session_confirm(&s);
	KUNIT_EXPECT_EQ(test, 4, xiw_session_encode_terminate(&s, buf));
	KUNIT_EXPECT_EQ(test, get_unaligned_be16(buf), 2);
	/* Any chunk behind the Initiate is proof, too. */
	s = ready_for(&f);
	s.rx_next = 1;
	xiw_session_sent(&s, &f);
	decode_hex(test, 16, segments[0].hex, &msg);
	KUNIT_EXPECT_TRUE(test, xiw_session_receive(&s, &msg));
	KUNIT_EXPECT_EQ(test, 4, xiw_session_encode_terminate(&s, buf));
	/* The active side has to wait for the answer. */
	xiw_session_init(&s, true);
	KUNIT_EXPECT_EQ(test, -EINVAL, xiw_session_encode_terminate(&s, buf));
	f.reply = false;
	xiw_session_sent(&s, &f);
	KUNIT_EXPECT_EQ(test, -EINVAL, xiw_session_encode_terminate(&s, buf));
}

/* Covers: SCTP-36 SCTP-37 SCTP-39 */
static void session_segment_size(struct kunit *test)
{
	static const struct {
		u32 pmtu;
		u32 v4;
		u32 v6;
	} sizes[] = {
		{ 512, 518, 518 },
		{ 576, 518, 518 },
		{ 1280, 1210, 1190 },
		{ 1500, 1430, 1410 },
		{ 9000, 8930, 8910 },
		{ 65535, 64768, 64768 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		u32 room = sizes[i].pmtu - 12 - 16;

		KUNIT_EXPECT_EQ(test, sizes[i].v4,
				xiw_session_mulpdu(round_down(room - 20, 4)));
		KUNIT_EXPECT_EQ(test, sizes[i].v6,
				xiw_session_mulpdu(round_down(room - 40, 4)));
	}
	KUNIT_EXPECT_EQ(test, xiw_session_mulpdu(0), 518U);
	KUNIT_EXPECT_EQ(test, xiw_session_mulpdu(U32_MAX), 64768U);
}

/* Answers the Initiate @hex by the policy; compares with @answer, in hex. */
static void negotiate(struct kunit *test, const char *hex, u32 ird, u32 ord,
		      bool reject, const char *answer)
{
	struct xiw_mpa_policy p = {
		.rev = 2, .p2p = true, .rtr = C | D, .max_ird = 128,
		.max_ord = 128,
	};
	u8 buf[ROOM], expected[ROOM];
	struct xiw_mpa_nego nego;
	struct xiw_session_msg msg;
	struct xiw_mpa_frame reply;
	struct xiw_session s;
	int len;

	xiw_session_init(&s, false);
	decode_hex(test, 17, hex, &msg);
	KUNIT_ASSERT_TRUE(test, xiw_session_receive(&s, &msg));
	KUNIT_EXPECT_EQ(test, (int)XIW_NEGO_OK,
			(int)xiw_nego_check_request(&msg.frame));
	if (reject)
		xiw_nego_reject(&p, &msg.frame, ird, ord, &reply);
	else
		xiw_nego_accept(&p, &msg.frame, ird, ord, &reply, &nego);
	len = xiw_session_encode(&s, buf, ROOM, &reply, NULL);
	KUNIT_ASSERT_EQ(test, len,
			(int)xiw_test_hex(test, answer, expected, ROOM));
	KUNIT_EXPECT_MEMEQ(test, buf, expected, len);
}

/* Covers: SCTP-54 SCTP-59 SCTP-60 SCTP-62 SCTP-63 SCTP-66 */
static void session_answers(struct kunit *test)
{
	/* SC-02 to SC-04, SC-09 to SC-10 */
	negotiate(test, "0000 0001", 16, 16, false, "0000 0002");
	negotiate(test, "0000 0005 8010c010", 16, 16, false,
		  "0000 0006 8010c010");
	/* Limited by the peer's IRD */
	negotiate(test, "0000 0005 80048008", 8, 16, false,
		  "0000 0006 80088004");
	/* SC-12 and SC-13 */
	negotiate(test, "0000 0005 00010000 7270696e67", 0, 1, false,
		  "0000 0006 00000001");
	/* SC-15 asks for B, which this policy does not offer. */
	negotiate(test, "0000 0005 ffffffff", 16, 16, false,
		  "0000 0006 bfffffff");
	/* SC-05 and SC-14: a rejection is of the kind of the Initiate. */
	negotiate(test, "0000 0001", 16, 16, true, "0000 0003");
	negotiate(test, "0000 0005 8010c010", 16, 32, true,
		  "0000 0007 8010c020");
}

static enum xiw_nego_result judge(struct kunit *test, u8 rev, const char *hex)
{
	struct xiw_mpa_policy p = {
		.rev = rev, .p2p = true, .rtr = C | D, .max_ird = 16,
		.max_ord = 16,
	};
	struct xiw_mpa_nego nego;
	struct xiw_session_msg msg;
	struct xiw_mpa_frame req;
	struct xiw_session s;
	u8 buf[ROOM];

	xiw_nego_request(&p, 16, 16, &req);
	xiw_session_init(&s, true);
	KUNIT_EXPECT_GT(test, xiw_session_encode(&s, buf, ROOM, &req, NULL), 0);
	/* Unenhanced codes if nothing enhanced is wanted */
	KUNIT_EXPECT_EQ(test, buf[3], rev == 1 ? 1 : 5);
	xiw_session_sent(&s, &req);
	decode_hex(test, 17, hex, &msg);
	KUNIT_EXPECT_TRUE(test, xiw_session_receive(&s, &msg));
	return xiw_nego_check_reply(&p, &req, &msg.frame, &nego);
}

/* Covers: SCTP-61 SCTP-63 SCTP-67 */
static void session_replies(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, (int)XIW_NEGO_OK,
			(int)judge(test, 1, "0000 0002"));
	KUNIT_EXPECT_EQ(test, (int)XIW_NEGO_OK,
			(int)judge(test, 2, "0000 0006 8010c010"));
	KUNIT_EXPECT_EQ(test, (int)XIW_NEGO_REJECTED,
			(int)judge(test, 2, "0000 0007 8010c020"));
	/* SC-17: no RTR type in common, or more Reads than there is room for */
	KUNIT_EXPECT_EQ(test, (int)XIW_NEGO_TERM_RTR,
			(int)judge(test, 2, "0000 0006 80100010"));
	KUNIT_EXPECT_EQ(test, (int)XIW_NEGO_TERM_IRD,
			(int)judge(test, 2, "0000 0006 8010c011"));
}

/*
 * Random events: no gap in the SSNs, at most one message of each kind that a
 * session has once, and nothing behind the last one.
 *
 * Covers: SCTP-04 SCTP-16
 */
static void session_random_lives(struct kunit *test)
{
	unsigned int life, i, once[XIW_SESSION_EVENTS];
	struct xiw_session_step step;
	enum xiw_session_event event;
	struct rnd_state rnd;
	struct xiw_session s;

	prandom_seed_state(&rnd, 5043);
	for (life = 0; life < 2000; life++) {
		memset(once, 0, sizeof(once));
		xiw_session_init(&s, life & 1);
		for (i = 0; i < 40; i++) {
			event = prandom_u32_state(&rnd) % XIW_SESSION_EVENTS;
			step = xiw_session_step(s.state, event);
			if (step.legal)
				once[event]++;
			s.state = step.next;
		}
		for (i = 0; i < XIW_SESSION_EVENTS; i++)
			if (i != XIW_SESSION_TX_SEGMENT &&
			    i != XIW_SESSION_RX_SEGMENT &&
			    i != XIW_SESSION_CONFIRMED)
				KUNIT_EXPECT_LE(test, once[i], 1U);
		KUNIT_EXPECT_LE(test, once[XIW_SESSION_TX_ACCEPT] +
				      once[XIW_SESSION_TX_REJECT], 1U);
		/* A session is begun by one side. */
		KUNIT_EXPECT_EQ(test, 0U, once[life & 1 ?
				XIW_SESSION_RX_INITIATE :
				XIW_SESSION_TX_INITIATE]);
		if (once[XIW_SESSION_TX_SEGMENT])
			KUNIT_EXPECT_EQ(test, 1U,
					once[XIW_SESSION_TX_ACCEPT] +
					once[XIW_SESSION_RX_ACCEPT]);
	}
}

static struct kunit_case session_cases[] = {
	KUNIT_CASE(session_every_pair),
	KUNIT_CASE(session_refuses_strange_numbers),
	KUNIT_CASE(session_control_vectors),
	KUNIT_CASE(session_indication),
	KUNIT_CASE(session_terminate_vectors),
	KUNIT_CASE(session_private_data_limit),
	KUNIT_CASE(session_segment_vectors),
	KUNIT_CASE(session_packet_vectors),
	KUNIT_CASE(session_malformed_chunks),
	KUNIT_CASE(session_short_reject),
	KUNIT_CASE(session_frames_of_mpa_only),
	KUNIT_CASE(session_ssn_order),
	KUNIT_CASE(session_accepted),
	KUNIT_CASE(session_any_order),
	KUNIT_CASE(session_full_window),
	KUNIT_CASE(session_no_pattern),
	KUNIT_CASE(session_late_fault),
	KUNIT_CASE(session_kinds_match),
	KUNIT_CASE(session_refused),
	KUNIT_CASE(session_terminate_waits),
	KUNIT_CASE(session_segment_size),
	KUNIT_CASE(session_answers),
	KUNIT_CASE(session_replies),
	KUNIT_CASE(session_random_lives),
	{}
};

static struct kunit_suite session_suite = {
	.name = "xiw_session",
	.test_cases = session_cases,
};

kunit_test_suite(session_suite);
