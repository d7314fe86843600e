// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * seeds DIR: writes the first inputs of each target to DIR/TARGET: the message
 * vectors of the KUnit suites in the form the target expects, and frames and
 * streams made of them by the encoders.
 */
#include <sys/stat.h>

#include "fuzz.h"
#include "mpa.h"
#include "nego.h"
#include "oob.h"
#include "session.h"

/* As in the KUnit suites, see their util.h */
struct xiw_test_vector {
	const char *name;
	const char *hex;
	const char *crc;
};

#include "vectors.inc"

static const char *top;

/* One input: the bytes that select the mode, and the data. */
static void put(const char *target, const char *name, const void *head,
		size_t head_len, const void *data, size_t len)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", top, target);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/%s", top, target, name);
	f = fopen(path, "w");
	if (!f || fwrite(head, 1, head_len, f) != head_len ||
	    fwrite(data, 1, len, f) != len || fclose(f)) {
		perror(path);
		exit(1);
	}
}

static u32 unhex(const char *hex, u8 *buf)
{
	unsigned int byte;
	u32 len = 0;

	for (; *hex; hex += 2) {
		while (*hex == ' ')
			hex++;
		if (sscanf(hex, "%2x", &byte) != 1)
			break;
		buf[len++] = byte;
	}
	return len;
}

/* The FPDU of a ULPDU; no target looks at the CRC. */
static u32 frame(const u8 *ulpdu, u32 len, bool markers, u8 *out)
{
	struct xiw_mpa_tx tx;
	u32 at = 0, total;

	xiw_mpa_tx_init(&tx, markers);
	total = xiw_mpa_tx_begin(&tx, len);
	memset(out, 0, total);
	if (!xiw_mpa_tx_room(&tx)) {
		xiw_mpa_tx_marker(&tx, out);
		at += XIW_MPA_MARKER_LEN;
	}
	put_unaligned_be16(len, out + at);
	memcpy(out + at + XIW_MPA_LEN_FIELD, ulpdu, len);
	return total;
}

static void from_vector(const struct xiw_test_vector *v)
{
	u8 ulpdu[256], fpdu[512];
	u32 len = unhex(v->hex, ulpdu);
	u32 off = ulpdu[0] & XIW_DDP_TAGGED ? XIW_TAGGED_LEN :
					      XIW_UNTAGGED_LEN;
	char marked[16];

	put("ddp", v->name, "\1", 1, ulpdu, len);
	put("nego", v->name, "\3\1\7", 3, ulpdu, len);
	put("rdmap", v->name, "\0", 1, ulpdu + off, len - off);
	put("term", v->name, "\0", 1, ulpdu + off, len - off);
	put("fpdu", v->name, "\0\7\0\0", 4, fpdu,
	    frame(ulpdu, len, false, fpdu));
	snprintf(marked, sizeof(marked), "%s-marked", v->name);
	put("fpdu", marked, "\1\7\0\0", 4, fpdu,
	    frame(ulpdu, len, true, fpdu));
}

static void frames(void)
{
	static const u8 pd[] = "private data";
	struct xiw_mpa_frame f = { .pd_len = sizeof(pd) };
	u8 buf[XIW_MPA_FRAME_MAX];
	char name[32];
	int kind, len;

	for (kind = 0; kind < 16; kind++) {
		f.reply = kind & 1;
		f.reject = f.reply && (kind & 2);
		f.rev = kind & 4 ? 2 : 1;
		f.enhanced = kind & 4;
		f.markers = kind & 8;
		f.crc = !(kind & 8);
		f.enh = (struct xiw_mpa_enh){ kind & 8, kind & 7, 16, 17 };
		len = xiw_mpa_frame_encode(buf, sizeof(buf), &f, pd);
		snprintf(name, sizeof(name), "frame-%d", kind);
		put("frame", name, f.reply ? "\1" : "\0", 1, buf, len);
	}
}

/* Every reason to terminate, with and without a Read Request to quote. */
static void reasons(void)
{
	u8 input[64] = { 1 };
	char name[32];
	u8 reason;

	for (reason = 0; reason < XIW_REASON_COUNT; reason++) {
		input[1] = reason;
		input[2] = 2 | (reason & 1);
		snprintf(name, sizeof(name), "reason-%d", reason);
		put("term", name, input, sizeof(input), "", 0);
	}
}

/* Frames exchanged by two queue pairs. */
static void oob(void)
{
	struct xiw_oob_path path = {
		.own = { { [10] = 0xff, 0xff, 192, 0, 2, 1 }, 2 },
		.peer = { { [10] = 0xff, 0xff, 192, 0, 2, 2 }, 3 },
		.token = { true, 7, 1, 2 },
	};
	const struct xiw_oob_nonces nonces = { 1, 2 };
	struct xiw_oob_request req;
	struct xiw_oob_reply reply;
	u8 pd[XIW_OOB_REQ_LEN];

	xiw_oob_request_init(&path, &nonces, false, XIW_OOB_FEAT_ALL, &req);
	put("oob", "request", "\0", 1, pd,
	    xiw_oob_request_encode(&req, pd));
	xiw_oob_request_init(&path, &nonces, true, XIW_OOB_FEAT_ALL, &req);
	put("oob", "proof", "\0", 1, pd,
	    xiw_oob_request_encode(&req, pd));
	xiw_oob_challenge(&req, nonces.resp, &reply);
	put("oob", "challenge", "\1", 1, pd,
	    xiw_oob_reply_encode(&reply, pd));
	xiw_oob_accept(&path, &req, &nonces, XIW_OOB_FEAT_ALL, &reply);
	put("oob", "accept", "\2", 1, pd,
	    xiw_oob_reply_encode(&reply, pd));
	xiw_oob_refuse(XIW_OOB_BUSY, &req, &reply);
	put("oob", "refuse", "\1", 1, pd,
	    xiw_oob_reply_encode(&reply, pd));
}

/* Each control message of a session over SCTP, and a whole session. */
static void sessions(void)
{
	static const u8 talk[] = {
		0x00, 0x80, 0x40, 0xc0, 0x02, 0x42, 0x81, 0xc1, 0x01, 0x82,
		0x41, 0xc2,
	};
	static const u8 pd[] = "private data";
	struct xiw_mpa_frame f = { .pd_len = sizeof(pd) };
	u8 buf[XIW_SESSION_MSG_MAX];
	char name[32];
	int kind, len;

	for (kind = 0; kind < 6; kind++) {
		struct xiw_session s = { .enhanced = kind & 1 };

		f.reply = kind > 1;
		f.reject = kind > 3;
		f.enhanced = kind & 1;
		f.rev = f.enhanced ? 2 : 1;
		f.enh = (struct xiw_mpa_enh){ true, XIW_RTR_ALL, 16, 17 };
		s.state = f.reply ? XIW_SESSION_PENDING : XIW_SESSION_IDLE;
		len = xiw_session_encode(&s, buf, sizeof(buf), &f, pd);
		snprintf(name, sizeof(name), "control-%d", kind);
		put("session", name, "\0\1", 2, buf, len);
	}
	put("session", "terminate", "\0\1", 2, "\0\3\0\4", 4);
	put("session", "talk", "\2", 1, talk, sizeof(talk));
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc != 2) {
		fprintf(stderr, "usage: %s DIR\n", argv[0]);
		return 2;
	}
	top = argv[1];
	mkdir(top, 0777);
	for (i = 0; i < ARRAY_SIZE(xiw_test_vectors); i++)
		from_vector(&xiw_test_vectors[i]);
	frames();
	reasons();
	oob();
	sessions();
	return 0;
}
