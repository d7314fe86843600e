/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the test programs share: a runner for cases, the two ends of a
 * connection, registered buffers with guards around them, and waits.
 *
 * A program has both ends. The passive end uses the network namespace and the
 * address of side a, the active end those of side b. Each case runs in a
 * process of its own, which ends at the first failed check or at its time
 * limit. So most functions return no error, and the exit of the process closes
 * all objects.
 */
#ifndef _XT_H
#define _XT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <linux/types.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>

/* Exit status of a case if the device lacks the feature */
#define XT_SKIP		4

#define XT_PAGE		4096UL
#define XT_NELEM(a)	(sizeof(a) / sizeof((a)[0]))

/* A failed check ends the case. */
void xt_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));
void xt_skip(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));
void xt_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void xt_here(const char *file, int line);

#define XT_HERE()	xt_here(__FILE__, __LINE__)

#define XT_CHECK(cond, ...) do {					\
	if (!(cond))							\
		xt_fail(__FILE__, __LINE__, __VA_ARGS__);		\
} while (0)

/* A call that returns 0, an errno, or -1 with errno set. */
#define XT_OK(call) do {						\
	int xt_ret = (call);						\
									\
	if (xt_ret)							\
		xt_fail(__FILE__, __LINE__, "%s: %d (%m)", #call,	\
			xt_ret);					\
} while (0)

/* A call that returns a pointer, NULL with errno set. */
#define XT_PTR(call) ({							\
	__typeof__(call) xt_ptr = (call);				\
									\
	if (!xt_ptr)							\
		xt_fail(__FILE__, __LINE__, "%s: %m", #call);		\
	xt_ptr;								\
})

#define XT_EQ(got, want) do {						\
	long long xt_got = (long long)(got);				\
	long long xt_want = (long long)(want);				\
									\
	if (xt_got != xt_want)						\
		xt_fail(__FILE__, __LINE__, "%s is %lld, not %lld",	\
			#got, xt_got, xt_want);				\
} while (0)

/**
 * struct xt_case - one claim
 * @name: for -t
 * @what: the claim in words
 * @run: returns if the claim holds
 */
struct xt_case {
	const char *name;
	const char *what;
	void (*run)(void);
};

int xt_main(int argc, char **argv, const struct xt_case *cases, size_t n);
int xt_count(int otherwise);
void xt_watchdog(unsigned int seconds);
pid_t xt_fork(void);
/* Does the kernel have the patches of packaging/patches-for/linux? */
bool xt_patched(void);
/* Is the running kernel older than this release? */
bool xt_kernel_before(int version, int patchlevel);

/**
 * struct xt_side - namespace and address of an end
 * @sa: its address, port 0
 * @ns: its network namespace, -1 for that of the process
 */
struct xt_side {
	struct sockaddr_storage sa;
	int ns;
};

extern struct xt_side xt_a;
extern struct xt_side xt_b;
extern struct xt_side xt_other;

void xt_side_set(struct xt_side *side, const char *spec);
void xt_enter(const struct xt_side *side);
struct sockaddr_storage xt_addr(const struct xt_side *side, int port);
socklen_t xt_addr_len(const struct sockaddr_storage *sa);

/**
 * struct xt_event - copy of an event of the connection manager
 * @type: RDMA_CM_EVENT_*
 * @status: 0 or -errno
 * @id: the new connection, for a request
 * @data: private data
 * @data_len: bytes of it
 * @responder_resources: as reported
 * @initiator_depth: as reported
 */
struct xt_event {
	enum rdma_cm_event_type type;
	int status;
	struct rdma_cm_id *id;
	__u8 data[256];
	unsigned int data_len;
	__u8 responder_resources;
	__u8 initiator_depth;
};

/**
 * struct xt_opts - parameters of the objects of an end
 * @send_wr: depth of the send queue
 * @recv_wr: depth of the receive queue
 * @send_sge: gather elements
 * @recv_sge: scatter elements
 * @inline_len: inline bytes
 * @cqe: entries of each completion queue
 * @sig_all: every send completes
 * @no_hello: leave out the first exchange, so that the queues are untouched
 * @srq_wr: depth of a shared receive queue of its own, 0 for none
 * @srq: shared receive queue that the caller owns
 * @pd: protection domain that the caller owns
 * @rcq: completion queue for receives that the caller owns
 * @ird: reads that the peer may have outstanding
 * @ord: reads that this end may have outstanding
 */
struct xt_opts {
	unsigned int send_wr;
	unsigned int recv_wr;
	unsigned int send_sge;
	unsigned int recv_sge;
	unsigned int inline_len;
	unsigned int cqe;
	bool sig_all;
	bool no_hello;
	unsigned int srq_wr;
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	struct ibv_cq *rcq;
	__u8 ird;
	__u8 ord;
};

#define XT_OPTS {							\
	.send_wr = 64, .recv_wr = 64, .send_sge = 2, .recv_sge = 2,	\
	.inline_len = 32, .cqe = 256, .ird = 4, .ord = 4,		\
}

/**
 * struct xt_buf - registered memory with guards on both sides
 * @p: first byte of the region
 * @len: bytes of the region
 * @mr: the region
 * @map: the mapping, whose bytes outside the region hold a known pattern
 * @map_len: its bytes
 */
struct xt_buf {
	__u8 *p;
	size_t len;
	struct ibv_mr *mr;
	__u8 *map;
	size_t map_len;
};

/**
 * struct xt_end - one end of a connection, or a listener
 * @side: its namespace and address
 * @ch: channel of its rdma_cm events
 * @id: identifier of rdma_cm
 * @pd: protection domain
 * @scq: completion queue of sends, with a channel of its own
 * @rcq: completion queue of receives, with a channel of its own
 * @srq: shared receive queue or NULL
 * @qp: queue pair or NULL
 * @cap: capacities of the queue pair as created
 * @spare: buffer of messages whose bytes are not checked
 */
struct xt_end {
	const struct xt_side *side;
	struct rdma_event_channel *ch;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *scq;
	struct ibv_cq *rcq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_qp_cap cap;
	struct xt_buf spare;
};

/* Skips the case if the device of @e has no on-demand paging. */
void xt_needs_odp(struct xt_end *e);

/**
 * struct xt_pair - a connection
 * @a: passive end
 * @b: active end
 */
struct xt_pair {
	struct xt_end a;
	struct xt_end b;
};

/* Ends and their events. */
void xt_id(struct xt_end *e, const struct xt_side *side);
int xt_listen(struct xt_end *e, const struct sockaddr_storage *sa, int backlog);
void xt_resolve(struct xt_end *e, const struct sockaddr_storage *to);
void xt_adopt(struct xt_end *e, const struct xt_side *side,
	      struct rdma_cm_id *id);
void xt_qp(struct xt_end *e, const struct xt_opts *o);
void xt_dial(struct xt_end *e, const struct xt_opts *o, const void *data,
	     unsigned int len);
void xt_answer(struct xt_end *e, const struct xt_opts *o, const void *data,
	       unsigned int len);
void xt_next_event(struct xt_end *e, struct xt_event *ev);
void xt_do_expect(struct xt_end *e, enum rdma_cm_event_type type,
		  struct xt_event *ev);
void xt_close(struct xt_end *e);

/* Whole connections. */
void xt_do_pair(struct xt_pair *p, const struct xt_opts *oa,
		const struct xt_opts *ob);
void xt_do_hello(struct xt_pair *p);
void xt_do_hang_up(struct xt_pair *p, struct xt_end *first);

#define xt_expect(e, type, ev)	(XT_HERE(), xt_do_expect(e, type, ev))
#define xt_pair(p, oa, ob)	(XT_HERE(), xt_do_pair(p, oa, ob))
#define xt_hello(p)		(XT_HERE(), xt_do_hello(p))
#define xt_hang_up(p, first)	(XT_HERE(), xt_do_hang_up(p, first))

struct xt_buf xt_buf_at(struct ibv_pd *pd, size_t len, size_t page_off,
			int access);
struct xt_buf xt_buf(struct xt_end *e, size_t len, int access);
void xt_buf_free(struct xt_buf *b);
void xt_guards(const struct xt_buf *b, const char *file, int line);

#define XT_GUARDS(b)	xt_guards(b, __FILE__, __LINE__)
#define XT_LOCAL	IBV_ACCESS_LOCAL_WRITE
#define XT_REMOTE	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ)

/* Patterns of bytes, which depend on the seed and on the offset. */
void xt_fill(void *p, size_t len, __u64 seed);
void xt_same(const char *file, int line, const void *p, size_t len, __u64 seed);
void xt_all(const char *file, int line, const void *p, size_t len, __u8 byte);

#define XT_SAME(p, len, seed)	xt_same(__FILE__, __LINE__, p, len, seed)
#define XT_ALL(p, len, byte)	xt_all(__FILE__, __LINE__, p, len, byte)

/* Work requests. */
struct ibv_sge xt_sge(const struct xt_buf *b, size_t off, size_t len);
struct ibv_send_wr xt_wr(enum ibv_wr_opcode op, __u64 wr_id,
			 struct ibv_sge *sge, int n);
struct ibv_send_wr xt_wr_to(enum ibv_wr_opcode op, __u64 wr_id,
			    struct ibv_sge *sge, int n, const struct xt_buf *to,
			    size_t off);
struct ibv_send_wr xt_atomic(enum ibv_wr_opcode op, __u64 wr_id,
			     struct ibv_sge *sge, const struct xt_buf *to,
			     size_t off, __u64 compare_add, __u64 swap);
int xt_try_send(struct xt_end *e, struct ibv_send_wr *wr);
int xt_try_recv(struct xt_end *e, __u64 wr_id, struct ibv_sge *sge, int n);
void xt_do_send(struct xt_end *e, struct ibv_send_wr *wr);
void xt_do_recv(struct xt_end *e, __u64 wr_id, struct ibv_sge *sge, int n);
void xt_do_recvs(struct xt_end *e, __u64 first, unsigned int n);

#define xt_send(e, wr)		(XT_HERE(), xt_do_send(e, wr))
#define xt_recv(e, id, sge, n)	(XT_HERE(), xt_do_recv(e, id, sge, n))
#define xt_recvs(e, id, n)	(XT_HERE(), xt_do_recvs(e, id, n))

/* Completions. */
void xt_do_wait(struct ibv_cq *cq, struct ibv_wc *wc);
void xt_do_spin(struct ibv_cq *cq, struct ibv_wc *wc);
struct ibv_wc xt_do_wc(struct ibv_cq *cq, __u64 wr_id, enum ibv_wc_status want);
void xt_do_flushed(struct ibv_cq *cq, __u64 first, unsigned int n);
bool xt_readable(int fd);
/* Calls a function for each line on stdin; false at the end of stdin. */
bool xt_commands(void (*obey)(char *line));
__u64 xt_now_us(void);
const char *xt_wc_name(enum ibv_wc_status status);

#define xt_wait(cq, wc)		(XT_HERE(), xt_do_wait(cq, wc))
#define xt_spin(cq, wc)		(XT_HERE(), xt_do_spin(cq, wc))
#define xt_wc(cq, id, want)	(XT_HERE(), xt_do_wc(cq, id, want))
#define xt_wc_ok(cq, id)	xt_wc(cq, id, IBV_WC_SUCCESS)
#define xt_flushed(cq, id, n)	(XT_HERE(), xt_do_flushed(cq, id, n))

/* Asynchronous events. */
void xt_do_async(struct xt_end *e, enum ibv_event_type type);

#define xt_async(e, type)	(XT_HERE(), xt_do_async(e, type))

#endif /* _XT_H */
