// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A network that damages data without violating TCP's checksum: relays a TCP
 * connection, and flips one bit of it.
 *
 *	xt_relay [NS/]ADDRESS PORT TO-ADDRESS TO-PORT SEED
 *
 * Listens at the first address, connects to the second one from the same
 * namespace, and prints "flipped ..." when it has flipped the bit. SEED
 * determines the direction, and the bit, in the SPAN bytes after the startup
 * frames. If the bit is in the length of an FPDU, the receiver detects the
 * damage only if the sender sends more data.
 */
#include "xt.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Bytes that are not damaged: more than a startup frame has */
#define STARTUP		1024
#define SPAN		65536

/**
 * struct way - one direction
 * @thread: passes it on
 * @name: of the direction
 * @from: socket
 * @to: socket
 * @flip: offset of the byte that is damaged, or -1
 * @bit: which bit of it
 * @passed: bytes passed on
 */
struct way {
	pthread_t thread;
	const char *name;
	int from;
	int to;
	long flip;
	int bit;
	long passed;
};

static void damage(struct way *w, __u8 *data, long len)
{
	if (w->flip < w->passed || w->flip >= w->passed + len)
		return;
	data[w->flip - w->passed] ^= 1 << w->bit;
	printf("flipped bit %d of byte %ld, %s\n", w->bit, w->flip, w->name);
	fflush(stdout);
}

static bool put_all(int fd, const __u8 *data, long len)
{
	ssize_t n;

	for (; len; data += n, len -= n) {
		n = send(fd, data, len, MSG_NOSIGNAL);
		if (n <= 0)
			return false;
	}
	return true;
}

static void *pass_on(void *arg)
{
	static __thread __u8 data[16384];
	struct way *w = arg;
	ssize_t n;

	while ((n = recv(w->from, data, sizeof(data), 0)) > 0) {
		damage(w, data, n);
		w->passed += n;
		if (!put_all(w->to, data, n))
			break;
	}
	/* FIN and RST are both passed on as an end. */
	shutdown(w->to, SHUT_WR);
	return NULL;
}

static int listen_on(const struct sockaddr_storage *sa)
{
	int fd = socket(sa->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	XT_CHECK(fd >= 0, "socket: %m");
	XT_OK(bind(fd, (const struct sockaddr *)sa, xt_addr_len(sa)));
	XT_OK(listen(fd, 1));
	return fd;
}

int main(int argc, char **argv)
{
	struct way ways[2] = {
		{ .name = "request", .flip = -1 },
		{ .name = "reply", .flip = -1 },
	};
	struct sockaddr_storage from;
	struct sockaddr_storage to;
	int listener;
	int out;
	int in;
	int i;

	XT_CHECK(argc == 6, "usage: %s [NS/]ADDRESS PORT TO TO-PORT SEED",
		 argv[0]);
	xt_watchdog(60);
	xt_side_set(&xt_a, argv[1]);
	xt_side_set(&xt_b, argv[3]);
	xt_enter(&xt_a);
	from = xt_addr(&xt_a, atoi(argv[2]));
	to = xt_addr(&xt_b, atoi(argv[4]));
	listener = listen_on(&from);
	in = accept(listener, NULL, NULL);
	XT_CHECK(in >= 0, "accept: %m");
	out = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	XT_CHECK(out >= 0, "socket: %m");
	XT_OK(connect(out, (struct sockaddr *)&to, xt_addr_len(&to)));

	srandom(atoi(argv[5]));
	i = random() & 1;
	ways[i].flip = STARTUP + random() % SPAN;
	ways[i].bit = random() & 7;
	ways[0].from = in;
	ways[0].to = out;
	ways[1].from = out;
	ways[1].to = in;
	for (i = 0; i < 2; i++)
		XT_OK(pthread_create(&ways[i].thread, NULL, pass_on, &ways[i]));
	for (i = 0; i < 2; i++)
		XT_OK(pthread_join(ways[i].thread, NULL));
	return 0;
}
