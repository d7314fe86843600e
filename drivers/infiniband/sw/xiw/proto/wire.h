/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Every structure and constant that appears on the wire: MPA (RFC 5044,
 * RFC 6581), session control over SCTP (RFC 5043, RFC 6581), DDP (RFC 5041),
 * RDMAP (RFC 5040) and its atomic and immediate data extension (RFC 7306), and
 * the Private Data of out-of-band connections (Documentation/oob.rst).
 * Layouts only; the rules are in the files named after the protocol.
 */
#ifndef _XIW_WIRE_H
#define _XIW_WIRE_H

#include "pure.h"

/* MPA Request and Reply Frame, RFC 5044 section 7.1.1, RFC 6581 section 6 */
#define XIW_MPA_KEY_LEN		16
#define XIW_MPA_KEY_REQ		"MPA ID Req Frame"
#define XIW_MPA_KEY_REP		"MPA ID Rep Frame"
#define XIW_MPA_HDR_LEN		20
#define XIW_MPA_PD_MAX		512
#define XIW_MPA_FRAME_MAX	(XIW_MPA_HDR_LEN + XIW_MPA_PD_MAX)

#define XIW_MPA_FLAG_M		0x80	/* sender wants to receive Markers */
#define XIW_MPA_FLAG_C		0x40	/* sender requires CRCs */
#define XIW_MPA_FLAG_R		0x20	/* Reply only: connection rejected */
#define XIW_MPA_FLAG_S		0x10	/* enhanced data leads Private Data */

struct xiw_mpa_hdr {
	u8 key[XIW_MPA_KEY_LEN];
	u8 flags;
	u8 rev;
	__be16 pd_length;
} __packed;
static_assert(sizeof(struct xiw_mpa_hdr) == XIW_MPA_HDR_LEN);

/* Enhanced RDMA connection establishment data, RFC 6581 section 9 */
#define XIW_MPA_ENH_LEN		4
#define XIW_MPA_ENH_A		0x8000	/* first word: peer-to-peer model */
#define XIW_MPA_ENH_B		0x4000	/* first word: RTR by Send */
#define XIW_MPA_ENH_C		0x8000	/* second word: RTR by RDMA Write */
#define XIW_MPA_ENH_D		0x4000	/* second word: RTR by RDMA Read */
#define XIW_MPA_ENH_DEPTH	0x3fff	/* IRD or ORD value in either word */

#define XIW_MPA_DEPTH_MAX	0x3ffe	/* largest ordinary IRD or ORD */
#define XIW_MPA_DEPTH_NONE	0x3fff	/* no automatic negotiation */

struct xiw_mpa_enh_hdr {
	__be16 ird;
	__be16 ord;
} __packed;
static_assert(sizeof(struct xiw_mpa_enh_hdr) == XIW_MPA_ENH_LEN);

/* Out-of-band Private Data, Documentation/oob.rst section 4 */
#define XIW_OOB_MAGIC		0x58524456	/* "XRDV" */
#define XIW_OOB_VERSION		2
#define XIW_OOB_PORT		4791	/* default TCP port */
#define XIW_OOB_FLAG_S		0x01	/* the sender is at RTS */
#define XIW_OOB_FLAG_P		0x02	/* Request: with proofs */
#define XIW_OOB_FLAG_RNR	0x70	/* with S: RNR retries */
#define XIW_OOB_RNR_SHIFT	4
#define XIW_OOB_RNR_MAX		7
#define XIW_OOB_FEAT_IMM	0x0001	/* Send with Immediate, section 8 */
#define XIW_OOB_FEAT_LONG	0x0002	/* accepts FPDUs of several segments */
#define XIW_OOB_FEAT_ALL	(XIW_OOB_FEAT_IMM | XIW_OOB_FEAT_LONG)
#define XIW_OOB_NUMBER		0x00ffffff	/* queue pairs and PSNs */
#define XIW_OOB_GID_LEN		16

/* Common to a Request and a Reply */
#define XIW_OOB_HEAD_LEN	16

struct xiw_oob_head {
	__be32 magic;
	u8 version;
	u8 flags;
	__be16 features;
	__be32 init_qpn;
	__be32 resp_qpn;
} __packed;
static_assert(sizeof(struct xiw_oob_head) == XIW_OOB_HEAD_LEN);

struct xiw_oob_proofs {
	__be64 sq;			/* proves the sender's own PSN */
	__be64 rq;			/* proves its peer's PSN */
} __packed;

#define XIW_OOB_REQ_LEN		72

struct xiw_oob_req_hdr {
	struct xiw_oob_head head;
	u8 init_gid[XIW_OOB_GID_LEN];
	u8 resp_gid[XIW_OOB_GID_LEN];
	__be64 nonce;
	struct xiw_oob_proofs proofs;
} __packed;
static_assert(sizeof(struct xiw_oob_req_hdr) == XIW_OOB_REQ_LEN);

#define XIW_OOB_REP_LEN		44
/* Bytes of a refusal that have the same layout in every version */
#define XIW_OOB_REFUSAL_LEN	28

struct xiw_oob_rep_hdr {
	struct xiw_oob_head head;
	__be64 nonce;
	u8 reason;
	u8 reserved[3];
	struct xiw_oob_proofs proofs;
} __packed;
static_assert(sizeof(struct xiw_oob_rep_hdr) == XIW_OOB_REP_LEN);

/* Input of the keyed hash of a proof, section 4.4 */
#define XIW_OOB_PROVEN_LEN	64

struct xiw_oob_proven {
	__be32 magic;
	u8 version;
	u8 who;				/* prover: 0 Initiator, 1 Responder */
	u8 what;			/* PSN: 0 the prover's, 1 its peer's */
	u8 flags;			/* S and RNR retries of the frame */
	__be64 init_nonce;
	__be64 resp_nonce;
	u8 init_gid[XIW_OOB_GID_LEN];
	u8 resp_gid[XIW_OOB_GID_LEN];
	__be32 init_qpn;
	__be32 resp_qpn;
} __packed;
static_assert(sizeof(struct xiw_oob_proven) == XIW_OOB_PROVEN_LEN);

/* FPDU framing and Markers, RFC 5044 section 4 */
#define XIW_MPA_LEN_FIELD	2
#define XIW_MPA_CRC_LEN		4
#define XIW_MPA_MARKER_LEN	4
#define XIW_MPA_MARKER_PERIOD	512
#define XIW_MULPDU_MIN		128
#define XIW_MULPDU_MAX		64768
/* Largest ULPDU that FPDUPTR can span in every Marker phase */
#define XIW_MPA_MARKED_MAX	65022

struct xiw_mpa_marker {
	__be16 reserved;
	__be16 fpduptr;
} __packed;
static_assert(sizeof(struct xiw_mpa_marker) == XIW_MPA_MARKER_LEN);

/* DDP over SCTP, RFC 5043 section 5 */
#define XIW_SCTP_ADAPTATION	1	/* Adaptation Layer Indication */
#define XIW_SCTP_PPID_SEGMENT	16	/* Payload Protocol Identifiers */
#define XIW_SCTP_PPID_CONTROL	17
#define XIW_SCTP_STREAM		0	/* stream number of the only session */

#define XIW_SESSION_SSN_LEN	2	/* DDP-SSN, at the head of each chunk */
#define XIW_SESSION_HDR_LEN	4
#define XIW_SESSION_PD_MAX	512	/* enhanced data included */
#define XIW_SESSION_MSG_MAX	(XIW_SESSION_HDR_LEN + XIW_SESSION_PD_MAX)
#define XIW_SESSION_WINDOW	4096	/* SSNs that may be in flight */
/*
 * Always permitted: section 9 says 516. As an FPDU is a multiple of four
 * bytes, this is the smallest MULPDU that is not less.
 */
#define XIW_SESSION_SEGMENT_MIN	518

struct xiw_session_hdr {
	__be16 ssn;
	__be16 code;
} __packed;
static_assert(sizeof(struct xiw_session_hdr) == XIW_SESSION_HDR_LEN);

/* Function codes, RFC 5043 section 5.2.3, RFC 6581 section 7 */
enum xiw_session_code {
	XIW_SESSION_SEGMENT	= 0,	/* not on the wire: a DDP segment */
	XIW_SESSION_INITIATE	= 1,
	XIW_SESSION_ACCEPT	= 2,
	XIW_SESSION_REJECT	= 3,
	XIW_SESSION_TERMINATE	= 4,
	XIW_SESSION_INITIATE_ENH = 5,
	XIW_SESSION_ACCEPT_ENH	= 6,
	XIW_SESSION_REJECT_ENH	= 7,
};

/* DDP control byte, RFC 5041 section 4.1 */
#define XIW_DDP_TAGGED		0x80
#define XIW_DDP_LAST		0x40
#define XIW_DDP_DV_MASK		0x03
#define XIW_DDP_DV		0x01

/* RDMAP control byte, RFC 5040 section 4.1 */
#define XIW_RDMAP_RV_MASK	0xc0
#define XIW_RDMAP_RV		0x40
#define XIW_RDMAP_OP_MASK	0x0f

/* RDMAP opcodes, RFC 5040 section 4.2, RFC 7306 section 4.1 */
enum xiw_opcode {
	XIW_OP_WRITE		= 0x0,
	XIW_OP_READ_REQ		= 0x1,
	XIW_OP_READ_RESP	= 0x2,
	XIW_OP_SEND		= 0x3,
	XIW_OP_SEND_INV		= 0x4,
	XIW_OP_SEND_SE		= 0x5,
	XIW_OP_SEND_SE_INV	= 0x6,
	XIW_OP_TERMINATE	= 0x7,
	XIW_OP_IMM		= 0x8,
	XIW_OP_IMM_SE		= 0x9,
	XIW_OP_ATOMIC_REQ	= 0xa,
	XIW_OP_ATOMIC_RESP	= 0xb,
};

#define XIW_OP_COUNT		16	/* values the opcode field can hold */

/* Untagged queues, RFC 5040 section 3.1, RFC 7306 section 5.2 */
#define XIW_QN_SEND		0
#define XIW_QN_REQUEST		1
#define XIW_QN_TERMINATE	2
#define XIW_QN_ATOMIC_RESP	3
#define XIW_QN_COUNT		4
#define XIW_MSN_FIRST		1

/* DDP tagged segment header, RFC 5041 section 4.2 */
#define XIW_TAGGED_LEN		14

struct xiw_tagged_hdr {
	u8 ddp_ctrl;
	u8 rdmap_ctrl;
	__be32 stag;
	__be64 to;
} __packed;
static_assert(sizeof(struct xiw_tagged_hdr) == XIW_TAGGED_LEN);

/* DDP untagged segment header, RFC 5041 section 4.3 */
#define XIW_UNTAGGED_LEN	18
#define XIW_DDP_HDR_MAX		XIW_UNTAGGED_LEN

struct xiw_untagged_hdr {
	u8 ddp_ctrl;
	u8 rdmap_ctrl;
	__be32 inv_stag;
	__be32 qn;
	__be32 msn;
	__be32 mo;
} __packed;
static_assert(sizeof(struct xiw_untagged_hdr) == XIW_UNTAGGED_LEN);

/* RDMA Read Request, RFC 5040 section 4.4 */
#define XIW_READ_REQ_LEN	28

struct xiw_read_req_hdr {
	__be32 sink_stag;
	__be64 sink_to;
	__be32 size;
	__be32 src_stag;
	__be64 src_to;
} __packed;
static_assert(sizeof(struct xiw_read_req_hdr) == XIW_READ_REQ_LEN);

/* Atomic Request, RFC 7306 section 5.2.1 */
#define XIW_ATOMIC_REQ_LEN	52
#define XIW_ATOMIC_AOP_MASK	0x0000000f

enum xiw_atomic_op {
	XIW_AOP_FETCH_ADD	= 0,
	XIW_AOP_CMP_SWAP	= 2,
};

struct xiw_atomic_req_hdr {
	__be32 aop;
	__be32 id;
	__be32 stag;
	__be64 to;
	__be64 data;
	__be64 data_mask;
	__be64 compare;
	__be64 compare_mask;
} __packed;
static_assert(sizeof(struct xiw_atomic_req_hdr) == XIW_ATOMIC_REQ_LEN);

/* Atomic Response, RFC 7306 section 5.2.2 */
#define XIW_ATOMIC_RESP_LEN	12

struct xiw_atomic_resp_hdr {
	__be32 id;
	__be64 orig;
} __packed;
static_assert(sizeof(struct xiw_atomic_resp_hdr) == XIW_ATOMIC_RESP_LEN);

/* Immediate Data, RFC 7306 section 6.2 */
#define XIW_IMM_LEN		8

struct xiw_imm_hdr {
	__be32 data;
	__be32 kind;	/* enum xiw_imm_kind, if the peer supports it */
} __packed;
static_assert(sizeof(struct xiw_imm_hdr) == XIW_IMM_LEN);

/* The message that Immediate Data belongs to */
enum xiw_imm_kind {
	XIW_IMM_WRITE	= 0,	/* the preceding Write */
	XIW_IMM_SEND	= 1,	/* the Send that follows */
};

/* Terminate header, RFC 5040 section 4.8 */
#define XIW_TERM_CTRL_LEN	4
#define XIW_TERM_SEG_LEN	2
#define XIW_TERM_LEN_MAX	(XIW_TERM_CTRL_LEN + XIW_TERM_SEG_LEN + \
				 XIW_UNTAGGED_LEN + XIW_READ_REQ_LEN)
#define XIW_TERM_ULPDU_MAX	(XIW_UNTAGGED_LEN + XIW_TERM_LEN_MAX)
static_assert(XIW_TERM_LEN_MAX == 52);

#define XIW_TERM_M		0x80	/* DDP Segment Length present */
#define XIW_TERM_D		0x40	/* Terminated DDP Header present */
#define XIW_TERM_R		0x20	/* Terminated RDMA Header present */

struct xiw_term_ctrl {
	u8 layer_etype;			/* layer in the high four bits */
	u8 code;
	u8 hdrct;
	u8 reserved;
} __packed;
static_assert(sizeof(struct xiw_term_ctrl) == XIW_TERM_CTRL_LEN);

/* Largest message body of an untagged queue that holds no user data */
#define XIW_QN1_BUF_LEN		XIW_ATOMIC_REQ_LEN
#define XIW_QN2_BUF_LEN		XIW_TERM_LEN_MAX
#define XIW_QN3_BUF_LEN		XIW_ATOMIC_RESP_LEN

#endif /* _XIW_WIRE_H */
