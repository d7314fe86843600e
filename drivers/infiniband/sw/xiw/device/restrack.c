// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Driver details of "rdma resource show". They contain no addresses and no
 * STags, as any user may run the command.
 *
 * Values of queue pairs are read without the locks of the data path, so they
 * may be inconsistent with each other.
 */
#include "device.h"

#include <net/netlink.h>
#include <rdma/restrack.h>
#include <uapi/rdma/rdma_netlink.h>

#include "qp/qp.h"
#include "verbs/verbs.h"

struct fact {
	const char *name;
	u32 value;
};

static int restrack_put_facts(struct sk_buff *msg, const struct fact *facts,
			      size_t n)
{
	struct nlattr *table;
	size_t i;

	table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	for (i = 0; i < n; i++) {
		if (rdma_nl_put_driver_u32(msg, facts[i].name,
					   facts[i].value)) {
			nla_nest_cancel(msg, table);
			return -EMSGSIZE;
		}
	}
	nla_nest_end(msg, table);
	return 0;
}

/* Add the details of an object to @msg. 0 or -EMSGSIZE. */
int xiw_fill_res_qp(struct sk_buff *msg, struct ib_qp *ibqp)
{
	const struct xiw_qp *qp = to_xqp(ibqp);
	const struct xiw_stream *s = &qp->stream;
	const struct fact facts[] = {
		{ "state", READ_ONCE(s->state) },
		{ "sq_size", qp->sq.max_wr },
		{ "sq_posted", READ_ONCE(qp->sq.prod) },
		{ "sq_started", READ_ONCE(qp->sq.next) },
		{ "sq_completed", READ_ONCE(qp->sq.head) },
		{ "rq_size", qp->srq ? 0 : qp->rq.max_wr },
		{ "rq_taken", qp->srq ? 0 : READ_ONCE(qp->rq.cons) },
		{ "ord", READ_ONCE(s->ord) },
		{ "ord_used", READ_ONCE(s->orq_tail) -
			      READ_ONCE(s->orq_head) },
		{ "ird", READ_ONCE(s->ird_size) },
		{ "ird_used", READ_ONCE(s->ird_tail) -
			      READ_ONCE(s->ird_head) },
		{ "emss", READ_ONCE(s->tx.space.emss) },
		{ "tx_crc", READ_ONCE(s->tx.mpa.crc) },
		{ "rx_crc", READ_ONCE(s->rx.mpa.crc) },
		{ "rx_stalled", READ_ONCE(s->rx.stalled) },
	};

	return restrack_put_facts(msg, facts, ARRAY_SIZE(facts));
}

int xiw_fill_res_cq(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct xiw_cq *cq = to_xcq(ibcq);
	struct fact facts[] = {
		{ "prod" }, { "cons" }, { "armed" }, { "broken" },
		{ "mod_count" }, { "mod_usecs" },
	};

	/* Resize replaces the ring, destroy frees it before the object. */
	spin_lock_irq(&cq->lock);
	facts[0].value = cq->prod;
	if (cq->queue.ctrl) {
		facts[1].value = READ_ONCE(cq->queue.ctrl->cons);
		facts[2].value = READ_ONCE(cq->queue.ctrl->arm);
	}
	facts[3].value = cq->broken;
	facts[4].value = cq->mod.count;
	facts[5].value = cq->mod.usecs;
	spin_unlock_irq(&cq->lock);
	return restrack_put_facts(msg, facts, ARRAY_SIZE(facts));
}

int xiw_fill_res_mr(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct xiw_mem *mem = to_xmr(ibmr)->mem;
	const struct fact facts[] = {
		{ "kind", mem->kind },
		{ "valid", READ_ONCE(mem->state) == XIW_MEM_VALID },
		{ "access", READ_ONCE(mem->access) },
		{ "blocks", READ_ONCE(mem->num_pages) },
		{ "block_shift", READ_ONCE(mem->page_shift) },
		{ "windows", atomic_read(&mem->num_mw) },
	};

	return restrack_put_facts(msg, facts, ARRAY_SIZE(facts));
}

int xiw_fill_res_srq(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	struct xiw_srq *srq = to_xsrq(ibsrq);
	struct fact facts[] = {
		{ "size", srq->rq.max_wr },
		{ "taken", READ_ONCE(srq->rq.cons) },
		{ "limit", READ_ONCE(srq->rq.limit) },
		{ "waiting", !list_empty_careful(&srq->waiters) },
		{ "posted" },
	};

	/* The ring may be freed already, as the object outlives it. */
	spin_lock_irq(&srq->rq.lock);
	if (srq->rq.queue.ctrl)
		facts[4].value = READ_ONCE(srq->rq.queue.ctrl->prod);
	spin_unlock_irq(&srq->rq.lock);
	return restrack_put_facts(msg, facts, ARRAY_SIZE(facts));
}
