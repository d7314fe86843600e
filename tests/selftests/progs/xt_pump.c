// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Measures the throughput of TCP alone: the sender sends the same pages by
 * sendfile(), the receiver discards received data by MSG_TRUNC. No data is
 * copied, and each call is for a MiB.
 *
 *	xt_pump -s PORT				takes one connection
 *	xt_pump -c ADDRESS PORT SECONDS		prints MiB/s
 */
#include "xt.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#define MIB	(1024 * 1024UL)

static struct addrinfo *resolved(const char *addr, const char *port)
{
	struct addrinfo hints = {
		.ai_family = addr ? AF_UNSPEC : AF_INET6,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
	};
	struct addrinfo *ai;
	int ret;

	ret = getaddrinfo(addr, port, &hints, &ai);
	XT_CHECK(!ret, "address: %s", gai_strerror(ret));
	return ai;
}

static void discard(const char *port)
{
	struct addrinfo *ai = resolved(NULL, port);
	int sock, conn, one = 1;
	ssize_t got;

	sock = socket(ai->ai_family, SOCK_STREAM, 0);
	XT_CHECK(sock >= 0, "socket: %m");
	XT_OK(setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	XT_OK(bind(sock, ai->ai_addr, ai->ai_addrlen));
	XT_OK(listen(sock, 1));
	conn = accept(sock, NULL, NULL);
	XT_CHECK(conn >= 0, "accept: %m");
	do {
		got = recv(conn, NULL, MIB, MSG_TRUNC | MSG_WAITALL);
		XT_CHECK(got >= 0, "recv: %m");
	} while (got);
}

/* A file in memory whose pages are allocated. */
static int pages(void)
{
	int fd = memfd_create("xt_pump", MFD_CLOEXEC);
	char *p;

	XT_CHECK(fd >= 0, "memfd: %m");
	XT_OK(ftruncate(fd, MIB));
	p = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	XT_CHECK(p != MAP_FAILED, "mmap: %m");
	memset(p, 0x5a, MIB);
	return fd;
}

/* Sends, and waits for the FIN of the other end, which has then read all. */
static void pump(const char *addr, const char *port, double seconds)
{
	struct addrinfo *ai = resolved(addr, port);
	int sock, file = pages();
	__u64 begin, sent = 0;
	off_t off;
	char end;

	sock = socket(ai->ai_family, SOCK_STREAM, 0);
	XT_CHECK(sock >= 0, "socket: %m");
	XT_OK(connect(sock, ai->ai_addr, ai->ai_addrlen));
	begin = xt_now_us();
	while (xt_now_us() - begin < seconds * 1e6)
		for (off = 0; off < (off_t)MIB;) {
			ssize_t ret = sendfile(sock, file, &off, MIB - off);

			XT_CHECK(ret > 0, "sendfile: %m");
			sent += ret;
		}
	XT_OK(shutdown(sock, SHUT_WR));
	XT_CHECK(!recv(sock, &end, 1, 0), "the end: %m");
	printf("%.1f MiB/s\n", sent * 1e6 / MIB / (xt_now_us() - begin));
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "-s")) {
		discard(argv[2]);
		return 0;
	}
	if (argc == 5 && !strcmp(argv[1], "-c")) {
		pump(argv[2], argv[3], atof(argv[4]));
		return 0;
	}
	fprintf(stderr, "usage: %s -s PORT | -c ADDRESS PORT SECONDS\n",
		argv[0]);
	return 1;
}
