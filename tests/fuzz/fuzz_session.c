// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sessions over SCTP: chunks decoded against a plain reading of RFC 5043
 * section 5.2 and RFC 6581 section 7, and two sides joined by a network that
 * delivers chunks in any order. One side may be replaced by the input.
 */
#include "fuzz.h"
#include "session.h"

#define CHUNKS	24	/* more chunks than the walks below send */

static u16 word(const u8 *p)
{
	return fuzz_be(p, 2);
}

static void encode_again(const struct xiw_session_msg *msg, const u8 *buf,
			 size_t len)
{
	const struct xiw_mpa_frame *f = &msg->frame;
	struct xiw_session s = {
		.state = f->reply ? XIW_SESSION_PENDING : XIW_SESSION_IDLE,
		.enhanced = f->enhanced,
		.tx_next = msg->ssn,
	};
	u8 out[XIW_SESSION_MSG_MAX];

	/* This message is decoded, but the encoder never generates it. */
	if (msg->code == XIW_SESSION_REJECT_ENH && !f->enhanced) {
		CHECK(xiw_session_encode(&s, out, sizeof(out), f,
					 buf + f->pd_off) == -EINVAL);
		return;
	}
	CHECK(xiw_session_encode(&s, out, len - 1, f, buf + f->pd_off) ==
	      -EINVAL);
	CHECK(xiw_session_encode(&s, out, sizeof(out), f, buf + f->pd_off) ==
	      (int)len);
	CHECK(!memcmp(out, buf, len));
}

static void check_frame(const struct xiw_session_msg *msg, const u8 *buf,
			size_t len)
{
	const struct xiw_mpa_frame *f = &msg->frame;
	u16 code = word(buf + 2);

	CHECK(f->reply == (code != 1 && code != 5));
	CHECK(f->reject == (code == 3 || code == 7));
	CHECK(f->rev == (code > 4 ? 2 : 1) && !f->markers && !f->crc);
	CHECK(f->enhanced == (code > 4 && len >= 8));
	CHECK(f->pd_off == (f->enhanced ? 8 : 4));
	CHECK(f->pd_off + f->pd_len == len);
	if (f->enhanced) {
		CHECK(f->enh.p2p == !!(buf[4] & 0x80));
		CHECK(f->enh.ird == (word(buf + 4) & 0x3fff));
		CHECK(f->enh.ord == (word(buf + 6) & 0x3fff));
	}
	encode_again(msg, buf, len);
}

static bool model_valid(const struct xiw_session_chunk *chunk, const u8 *buf,
			size_t len)
{
	if (chunk->stream || !chunk->whole || len < 2)
		return false;
	if (chunk->ppid == 16)
		return true;
	if (chunk->ppid != 17 || len < 4 || len > 516 || !word(buf + 2))
		return false;
	if (word(buf + 2) == 5 || word(buf + 2) == 6)
		return len >= 8;
	return word(buf + 2) <= 7;
}

static void decode(struct fuzz_in *in)
{
	u8 flags = fuzz_u8(in);
	struct xiw_session_chunk chunk = {
		.ppid = flags & 4 ? fuzz_edge(in) : 16 + (flags & 1),
		.stream = flags & 8 ? fuzz_u16(in) : 0,
		.whole = !(flags & 16),
	};
	struct xiw_session_msg msg;
	size_t len = in->left;
	u8 *buf = fuzz_dup(in->data, len);
	int ret = xiw_session_decode(&chunk, buf, len, &msg);

	CHECK(ret == (model_valid(&chunk, buf, len) ? 0 : -EPROTO));
	if (!ret) {
		CHECK(msg.ssn == word(buf));
		if (chunk.ppid == 16)
			CHECK(msg.code == XIW_SESSION_SEGMENT);
		else
			CHECK((u16)msg.code == word(buf + 2));
		if (chunk.ppid == 17 && msg.code != XIW_SESSION_TERMINATE)
			check_frame(&msg, buf, len);
	}
	free(buf);
}

static void classify(struct fuzz_in *in)
{
	struct xiw_session s = {
		.rx_next = fuzz_u16(in),
		.state = fuzz_u8(in) % XIW_SESSION_STATES,
	};
	bool unanswered = s.state == XIW_SESSION_REQUEST ||
			  s.state == XIW_SESSION_PENDING;
	u16 ssn = fuzz_u16(in);
	u16 ahead = ssn - s.rx_next;
	u32 point = fuzz_edge(in);
	u32 mulpdu = xiw_session_mulpdu(point);

	CHECK(xiw_session_order(&s, ssn) ==
	      (!ahead ? XIW_SESSION_NEXT :
	       ahead < 4096 && !unanswered ? XIW_SESSION_EARLY :
					     XIW_SESSION_STRAY));
	CHECK(mulpdu >= 518 && mulpdu <= XIW_MULPDU_MAX);
	CHECK(mulpdu == 518 || mulpdu + 22 <= point);
}

/* One direction: the chunks sent, and those received */
struct way {
	u8 chunk[CHUNKS][8];
	u8 len[CHUNKS];
	u32 ppid[CHUNKS];
	bool held[CHUNKS];
	u16 sent;
};

struct side {
	struct xiw_session s;
	struct way out;
	bool rejected;		/* a message that ends both directions */
};

static void put(struct side *side, u32 ppid, const u8 *buf, int len)
{
	struct way *w = &side->out;

	CHECK(w->sent < CHUNKS && len <= 8);
	/* No gap, and nothing sent twice */
	CHECK(word(buf) == w->sent);
	memcpy(w->chunk[w->sent], buf, len);
	w->len[w->sent] = len;
	w->ppid[w->sent] = ppid;
	w->sent++;
}

static void send_frame(struct side *side, bool reply, bool reject, u8 flags)
{
	bool enhanced = reply ? side->s.enhanced : flags & 1;
	struct xiw_mpa_frame f = {
		.reply = reply,
		.reject = reject,
		.enhanced = enhanced,
		.rev = enhanced ? 2 : 1,
	};
	u8 buf[XIW_SESSION_MSG_MAX];
	int len = xiw_session_encode(&side->s, buf, sizeof(buf), &f, NULL);

	if (len < 0)
		return;
	xiw_session_sent(&side->s, &f);
	put(side, 17, buf, len);
	side->rejected |= reject;
}

static void send_any(struct side *side, u8 op)
{
	u8 buf[8] = {};
	u16 ssn;
	int len;

	switch (op & 3) {
	case 0:
		send_frame(side, side->s.state != XIW_SESSION_IDLE, op & 4,
			   op >> 3);
		break;
	case 1:
		len = xiw_session_encode_terminate(&side->s, buf);
		CHECK(len == 4 || len == -EAGAIN || len == -EINVAL);
		CHECK((len == -EAGAIN) ==
		      (side->s.state == XIW_SESSION_ACCEPTED));
		if (len == 4) {
			xiw_session_sent_terminate(&side->s);
			put(side, 17, buf, len);
		}
		break;
	default:
		if (side->out.sent >= CHUNKS - 4 ||
		    !xiw_session_segment(&side->s, &ssn))
			break;
		put_unaligned_be16(ssn, buf);
		put(side, 16, buf, 8);
	}
}

/* A chunk arrives; conforming sides never see one that fits no pattern. */
static void arrive(struct side *to, struct way *w, u8 which)
{
	struct xiw_session_chunk chunk = { .whole = true };
	struct xiw_session_msg msg;
	u16 ssn, next;

	if (!w->sent)
		return;
	ssn = which % w->sent;
	next = to->s.rx_next;
	if (w->held[ssn] || ssn < next)
		return;		/* SCTP removes duplicates. */
	w->held[ssn] = true;
	CHECK(xiw_session_order(&to->s, ssn) ==
	      (ssn == next ? XIW_SESSION_NEXT : XIW_SESSION_EARLY));
	if (ssn != next)
		xiw_session_confirm(&to->s);
	while (to->s.rx_next < w->sent && w->held[to->s.rx_next]) {
		next = to->s.rx_next;
		chunk.ppid = w->ppid[next];
		CHECK(!xiw_session_decode(&chunk, w->chunk[next], w->len[next],
					  &msg));
		CHECK(xiw_session_receive(&to->s, &msg));
		CHECK(to->s.rx_next == next + 1);
	}
}

/* Both sides have ended, or can end. */
static void finish(struct side *a, struct side *p)
{
	unsigned int i;

	for (i = 0; i < CHUNKS; i++) {
		arrive(p, &a->out, i);
		arrive(a, &p->out, i);
	}
	if (a->s.state == XIW_SESSION_IDLE)
		return;
	if (p->s.state == XIW_SESSION_PENDING)
		send_frame(p, true, false, 0);
	for (i = 0; i < CHUNKS; i++)
		arrive(a, &p->out, i);
	xiw_session_confirm(&p->s);
	send_any(a, 1);
	send_any(p, 1);
	for (i = 0; i < CHUNKS; i++) {
		arrive(p, &a->out, i);
		arrive(a, &p->out, i);
	}
	CHECK(a->s.state == XIW_SESSION_DONE && p->s.state == XIW_SESSION_DONE);
	CHECK(a->s.rx_next == p->s.tx_next && p->s.rx_next == a->s.tx_next);
	CHECK(a->s.enhanced == p->s.enhanced);
}

static void converse(struct fuzz_in *in)
{
	static struct side a, p;

	memset(&a, 0, sizeof(a));
	memset(&p, 0, sizeof(p));
	xiw_session_init(&a.s, true);
	xiw_session_init(&p.s, false);
	while (in->left) {
		u8 op = fuzz_u8(in);

		switch (op >> 6) {
		case 0:
			send_any(&a, op);
			break;
		case 1:
			send_any(&p, op);
			break;
		case 2:
			arrive(&p, &a.out, op);
			break;
		case 3:
			arrive(&a, &p.out, op);
			break;
		}
		/*
		 * If one side has ended by a message, the other one has, too.
		 */
		CHECK(a.s.state != XIW_SESSION_BROKEN &&
		      p.s.state != XIW_SESSION_BROKEN);
	}
	finish(&a, &p);
}

/* A peer that follows no pattern: the session ends and stays so. */
static void offend(struct fuzz_in *in, bool active)
{
	struct xiw_session s;
	bool ended = false;

	xiw_session_init(&s, active);
	while (in->left) {
		struct xiw_session_msg msg = {
			.code = fuzz_u8(in) & 7,
			.ssn = s.rx_next,
		};
		struct xiw_session was = s;
		u8 buf[XIW_SESSION_MSG_MAX];
		struct side side = { .s = s };
		u8 op = fuzz_u8(in);

		if (op & 0x80) {
			side.out.sent = 0;
			side.s.tx_next = 0;
			send_any(&side, op);
			s.state = side.s.state;
			s.enhanced = side.s.enhanced;
			s.tx_next = was.tx_next + side.out.sent;
			CHECK(!ended || !xiw_session_segment(&s, &msg.ssn));
			continue;
		}
		msg.frame.enhanced = msg.code > 4;
		if (!xiw_session_receive(&s, op & 0x40 ? NULL : &msg)) {
			CHECK(s.rx_next == was.rx_next);
			ended = true;
		} else {
			CHECK(!ended && s.rx_next == (u16)(was.rx_next + 1));
		}
		if (ended)
			CHECK(s.state == XIW_SESSION_BROKEN ||
			      s.state == XIW_SESSION_DONE);
		/* Before the answer to an Initiate there is no Terminate. */
		if (active && s.rx_next == 0 && !ended)
			CHECK(xiw_session_encode_terminate(&s, buf) ==
			      -EINVAL);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { data, size };
	u8 mode = fuzz_u8(&in);

	CHECK(!xiw_session_step(mode | 0x80, 0).legal);
	CHECK(!xiw_session_step(0, mode | 0x80).legal);
	switch (mode & 3) {
	case 0:
		decode(&in);
		break;
	case 1:
		classify(&in);
		break;
	case 2:
		converse(&in);
		break;
	case 3:
		offend(&in, mode & 4);
		break;
	}
	return 0;
}
