/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Programs for the device's end of connections with a peer in Python, see
 * tests/conformance. Such a program carries out the commands that it reads
 * from stdin, one a line, and answers each by a line "ok ..." or "error ERRNO".
 * Before the answer it reports events, as "cN event|wc|async ...".
 */
#ifndef XT_TARGET_H
#define XT_TARGET_H

#include "xt.h"

#define TARGET_QUEUE		64
#define TARGET_ALL		(XT_REMOTE | IBV_ACCESS_REMOTE_ATOMIC)

/* Bit in the wr_id of sends; the other bits are the number of the send. */
#define TARGET_SENT		0x8000000000000000ULL

/* A memory region that the test knows by name */
struct target_region {
	const char *name;
	struct xt_buf *buf;
};

/**
 * struct target_ops - a program
 * @regions: its memory regions
 * @num_regions: how many
 * @port: of the listener, 0 for any
 * @backlog: of the listener
 * @set_up: registers the regions but those in struct target
 * @answer: carries out a command and prints the answer; false for others
 * @execute: carries out one of the others; returns 0 or a positive errno
 * @on_cm_event: reads an event of rdma_cm
 * @on_wc: reports a completion
 * @on_async: reports an asynchronous event of a QP, or of others if @qpn is 0
 */
struct target_ops {
	const struct target_region *regions;
	size_t num_regions;
	int port;
	int backlog;
	void (*set_up)(void);
	bool (*answer)(char **arg);
	int (*execute)(char **arg);
	void (*on_cm_event)(void);
	void (*on_wc)(const struct ibv_wc *wc);
	void (*on_async)(int type, __u32 qpn);
};

/**
 * struct target - what all such programs have
 * @end: listener, and event channel of all identifiers
 * @pd: protection domain
 * @comp: completion channel
 * @cq: completion queue of all queue pairs
 * @rw: region with all rights for the peer
 * @sink: region for its own sends and reads
 * @recvs: region for receives, with a gap behind each
 */
struct target {
	struct xt_end end;
	struct ibv_pd *pd;
	struct ibv_comp_channel *comp;
	struct ibv_cq *cq;
	struct xt_buf rw, sink, recvs;
};

extern struct target target;

unsigned long long num(const char *arg);
void target_print_hex(const void *p, size_t len);
void target_init_attr(struct ibv_qp_init_attr *attr);
void target_guards(void);

/* Both return 0 or a positive errno, and add the posted requests to @posted. */
int target_post_recvs(struct ibv_qp *qp, unsigned int *posted,
		      unsigned int count);
int target_post_sends(struct ibv_qp *qp, unsigned int *posted,
		      unsigned int count, struct ibv_send_wr *wr);

/* Reports a completion of connection @nr: "sN" for a send, "rN" a receive. */
void target_print_wc(int nr, const struct ibv_wc *wc);

/*
 * Makes an identifier that has resolved the peer at @port, on @end's channel.
 */
struct rdma_cm_id *target_resolve(int port);

int target_main(int argc, char **argv, const struct target_ops *ops);

#endif
