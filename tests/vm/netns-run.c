// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * netns-run NETNS SECONDS CMD ARGS...: runs CMD in a network namespace, with a
 * bound on its time; exit status as timeout(1).  The same as "ip netns exec
 * NETNS timeout SECONDS CMD" in a third of the time on an emulated debug
 * kernel, where each exec of a dynamic program and each mount namespace counts.
 * /sys stays that of the caller.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GRACE_SECONDS 5

static void die(const char *what)
{
	fprintf(stderr, "netns-run: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void enter(const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(path);
	close(fd);
}

static int status_of(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) < 0)
		die("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) :
				   128 + WTERMSIG(status);
}

/* Waits for the end of pid; true if it came within the seconds given. */
static int ended(pid_t pid, const sigset_t *set, long seconds)
{
	struct timespec left, now, end;
	int sig;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += seconds;
	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec >= end.tv_sec)
			return 0;
		left.tv_sec = end.tv_sec - now.tv_sec;
		left.tv_nsec = 0;
		sig = sigtimedwait(set, NULL, &left);
		if (sig == SIGCHLD)
			return 1;
		if (sig > 0)
			kill(-pid, sig);
	}
}

int main(int argc, char **argv)
{
	sigset_t set, old;
	pid_t pid;

	if (argc < 4) {
		fprintf(stderr, "usage: netns-run NETNS SECONDS CMD...\n");
		return 125;
	}
	enter(argv[1]);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, &old);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		setpgid(0, 0);
		sigprocmask(SIG_SETMASK, &old, NULL);
		execvp(argv[3], &argv[3]);
		die(argv[3]);
	}
	setpgid(pid, pid);
	if (ended(pid, &set, atol(argv[2])))
		return status_of(pid);
	kill(-pid, SIGTERM);
	if (!ended(pid, &set, GRACE_SECONDS))
		kill(-pid, SIGKILL);
	status_of(pid);
	return 124;
}
