// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * xt_bind ADDRESS PEER SECONDS: identifiers are bound to ADDRESS and resolve
 * PEER, one after the other. None of that may fail, whatever happens to other
 * addresses of the interface.
 */
#include "xt.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct sockaddr_in address(const char *text)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };

	XT_EQ(inet_pton(AF_INET, text, &sin.sin_addr), 1);
	return sin;
}

static int bind_and_resolve(struct rdma_event_channel *channel,
			    struct sockaddr_in *own, struct sockaddr_in *peer)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	int bad;

	XT_EQ(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	bad = rdma_bind_addr(id, (struct sockaddr *)own);
	if (!bad) {
		XT_EQ(rdma_resolve_addr(id, NULL, (struct sockaddr *)peer,
					5000), 0);
		XT_EQ(rdma_get_cm_event(channel, &event), 0);
		bad = event->event != RDMA_CM_EVENT_ADDR_RESOLVED;
		rdma_ack_cm_event(event);
	}
	XT_EQ(rdma_destroy_id(id), 0);
	return bad;
}

int main(int argc, char **argv)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in own, peer;
	unsigned long done, bad = 0;
	time_t end;

	XT_EQ(argc, 4);
	own = address(argv[1]);
	peer = address(argv[2]);
	end = time(NULL) + atoi(argv[3]);
	for (done = 0; time(NULL) < end; done++)
		bad += !!bind_and_resolve(channel, &own, &peer);
	printf("%lu of %lu failed\n", bad, done);
	return bad || !done;
}
