/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _XIW_NEGO_H
#define _XIW_NEGO_H

#include "ddp.h"
#include "mpa.h"

/* ULP Private Data a connection manager event can carry */
#define XIW_NEGO_PD_MAX		255

/**
 * struct xiw_mpa_policy - MPA configuration of a device
 * @rev: revision for own Requests, 1 or 2; Requests of both are accepted
 * @crc: require CRCs; off only if the peer does not require them either
 * @markers: ask the peer to send Markers
 * @p2p: ask for the peer-to-peer model (revision 2)
 * @rtr: RTR types generated and accepted, mask of XIW_RTR_*
 * @fallback: if the peer closes after a revision 2 Request, retry with
 *	revision 1
 * @request_ms: Responder: timeout for the Request, milliseconds
 * @reply_ms: Initiator: timeout for the Reply, milliseconds
 * @rtr_ms: Responder: timeout for the RTR, milliseconds
 * @close_ms: timeout of a close without progress, milliseconds
 * @silence_ms: time after which a silent peer counts as dead, milliseconds
 * @fpdu_segments: TCP segments that one FPDU may fill; 0: depends on the
 *	capabilities of the peer
 * @sctp_rto_ms: over SCTP: least retransmission timeout, milliseconds
 * @max_ird: most inbound Reads and Atomics a connection may have
 * @max_ord: most outbound Reads and Atomics a connection may have
 */
struct xiw_mpa_policy {
	u8 rev;
	bool crc;
	bool markers;
	bool p2p;
	u8 rtr;
	bool fallback;
	u32 request_ms;
	u32 reply_ms;
	u32 rtr_ms;
	u32 close_ms;
	u32 silence_ms;
	u32 fpdu_segments;
	u32 sctp_rto_ms;
	u16 max_ird;
	u16 max_ord;
};

/**
 * struct xiw_mpa_nego - negotiated parameters of one side
 * @rev: revision in use
 * @enhanced: both frames carried enhanced data
 * @crc: CRCs are generated and checked
 * @tx_markers: send Markers
 * @rx_markers: expect Markers
 * @p2p: peer-to-peer model, an RTR indication opens the connection
 * @rtr_offered: RTR types the Reply accepts, mask of XIW_RTR_*
 * @rtr_send: Initiator: the one XIW_RTR_* to send first, 0 for none
 * @ird: inbound limit to set locally
 * @ord: outbound limit to set locally
 * @peer_ird: IRD field of the peer's frame
 * @peer_ord: ORD field of the peer's frame
 * @peer_values_valid: the peer's frame had @peer_ird and @peer_ord
 */
struct xiw_mpa_nego {
	u8 rev;
	bool enhanced;
	bool crc;
	bool tx_markers;
	bool rx_markers;
	bool p2p;
	u8 rtr_offered;
	u8 rtr_send;
	u16 ird;
	u16 ord;
	u16 peer_ird;
	u16 peer_ord;
	bool peer_values_valid;
};

/**
 * enum xiw_nego_result - what to do with an MPA frame
 * @XIW_NEGO_OK: Responder: hand the request to the ULP; Initiator: enter Full
 *	Operation, sending @rtr_send first if it is set
 * @XIW_NEGO_REJECTED: the Reply rejects; no FPDU may be sent
 * @XIW_NEGO_CLOSE: improperly formatted; close at once, send nothing
 * @XIW_NEGO_TERM_IRD: send Terminate XIW_MPA_NO_IRD, then close
 * @XIW_NEGO_TERM_RTR: send Terminate XIW_MPA_NO_RTR, then close
 */
enum xiw_nego_result {
	XIW_NEGO_OK,
	XIW_NEGO_REJECTED,
	XIW_NEGO_CLOSE,
	XIW_NEGO_TERM_IRD,
	XIW_NEGO_TERM_RTR,
};

/**
 * enum xiw_nego_first - how a Responder treats the first FPDU
 * @XIW_FIRST_RTR: RTR indication, consumed by MPA.  A Send used the
 *	first MSN of its queue (advance it unless @ulpdu_len was 0)
 * @XIW_FIRST_RTR_READ: RTR indication that needs a Read Response
 * @XIW_FIRST_MESSAGE: process like any other FPDU
 * @XIW_FIRST_TERMINATE: the Initiator failed the connection
 */
enum xiw_nego_first {
	XIW_FIRST_RTR,
	XIW_FIRST_RTR_READ,
	XIW_FIRST_MESSAGE,
	XIW_FIRST_TERMINATE,
};

/*
 * Capability probe: DDP ignores STag and offset of a Write without payload (RFC
 * 5041 section 5.2), and an RTR may be such a Write. With this STag, bits of
 * the offset state what the sender supports; undefined bits are ignored. A
 * Responder that supports the STag answers with such a Write of its own. Any
 * other Responder handles the Write as an ordinary RTR.
 */
#define XIW_PROBE_STAG		0x78697721	/* "xiw!" */
#define XIW_PROBE_LONG		1	/* accepts FPDUs of several segments */
#define XIW_PROBE_SEND_IMM	2	/* supports Send with Immediate */
#define XIW_PROBE_ALL		(XIW_PROBE_LONG | XIW_PROBE_SEND_IMM)

/*
 * @h: DDP header of the peer's first FPDU. Returns the XIW_PROBE_* bits that it
 * states, or 0 if it is no capability probe.
 */
u32 xiw_nego_probe_bits(const struct xiw_ddp_hdr *h);

/* 0, or -EINVAL. At least one RTR type is mandatory (RFC 6581 section 9.2). */
int xiw_nego_policy_check(const struct xiw_mpa_policy *p);

/**
 * xiw_nego_request() - Initiator: build the Request
 * @p: policy
 * @ird: inbound limit that the ULP requests
 * @ord: outbound limit that the ULP requests
 * @req: result; the caller adds @req->pd_len
 *
 * Values above the policy's limits are lowered.
 */
void xiw_nego_request(const struct xiw_mpa_policy *p, u32 ird, u32 ord,
		      struct xiw_mpa_frame *req);

/*
 * Responder: XIW_NEGO_OK or XIW_NEGO_CLOSE for a Request from
 * xiw_mpa_frame_decode() (RFC 5044 section 7.1.2, RFC 6581 section 6).
 */
enum xiw_nego_result xiw_nego_check_request(const struct xiw_mpa_frame *req);

/**
 * xiw_nego_accept() - Responder: build the accepting Reply
 * @p: policy
 * @req: Request that passed xiw_nego_check_request()
 * @ird: inbound limit the ULP accepts with
 * @ord: outbound limit the ULP accepts with
 * @reply: result; the caller adds @reply->pd_len
 * @nego: result; apply it before the Reply is sent
 *
 * RFC 6581 section 9.
 */
void xiw_nego_accept(const struct xiw_mpa_policy *p,
		     const struct xiw_mpa_frame *req, u32 ird, u32 ord,
		     struct xiw_mpa_frame *reply,
		     struct xiw_mpa_nego *nego);

/**
 * xiw_nego_reject() - Responder: build the rejecting Reply
 * @p: policy
 * @req: Request that passed xiw_nego_check_request()
 * @ird: inbound limit to report
 * @ord: outbound limit to report, not limited by the Request, so that the
 *	Initiator learns how much would have been needed
 * @reply: result; the caller adds @reply->pd_len
 *
 * RFC 6581 sections 9.1 and 10.
 */
void xiw_nego_reject(const struct xiw_mpa_policy *p,
		     const struct xiw_mpa_frame *req, u32 ird, u32 ord,
		     struct xiw_mpa_frame *reply);

/**
 * xiw_nego_check_reply() - Initiator: check a decoded Reply
 * @p: policy
 * @req: the Request as sent, from xiw_nego_request()
 * @reply: from xiw_mpa_frame_decode()
 * @nego: result, valid unless XIW_NEGO_CLOSE; after XIW_NEGO_REJECTED only
 *	the peer's values are valid
 *
 * Return: Any value of the enumeration.
 */
enum xiw_nego_result xiw_nego_check_reply(const struct xiw_mpa_policy *p,
					  const struct xiw_mpa_frame *req,
					  const struct xiw_mpa_frame *reply,
					  struct xiw_mpa_nego *nego);

/**
 * xiw_nego_first_fpdu() - Responder: classify the first verified FPDU
 * @nego: negotiated parameters
 * @ulpdu_len: ULPDU_Length of the FPDU
 * @h: its header if it decoded without fault, else NULL
 * @body: payload of the segment, read only for a Read Request
 *
 * Any verified FPDU lifts the transmit fence, whatever this returns.
 * RFC 5044 section 7.1.2 rule 4, RFC 6581 section 9.2.
 *
 * Return: How to treat it.
 */
enum xiw_nego_first xiw_nego_first_fpdu(const struct xiw_mpa_nego *nego,
					u32 ulpdu_len,
					const struct xiw_ddp_hdr *h,
					const u8 *body);

#endif /* _XIW_NEGO_H */
