// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Many connections under load, each end a process of its own, for tests that
 * need them repeatedly, without the time to start programs:
 *
 *	xt_swarm PASSIVE-SIDE ACTIVE-SIDE
 *
 * reads commands from stdin, and answers each line with "ok" or an error:
 *
 *	start N		start both ends of N connections
 *	running		wait until messages went both ways on all of them
 *	kill WHICH	SIGKILL to the "passive" or "active" ends, or to "all"
 *	ended		those not killed end by themselves and without error
 */
#include "load.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX		64
#define PATIENCE	60	/* seconds for each step of the slow kernel */
#define PORTS		21000

/**
 * struct member - one end, in memory shared with the parent
 * @pid: its process, 0 if there is none
 * @listens: the passive end listens
 * @runs: its first message has arrived
 */
struct member {
	pid_t pid;
	volatile bool listens;
	volatile bool runs;
};

static struct member *members;	/* even: passive, odd: its active end */
static struct member *self;
static int next_port = PORTS;
static const char *passive_side;
static const char *active_side;

static void listens(void)
{
	self->listens = true;
}

static void runs(void)
{
	self->runs = true;
}

/* Waits until the flag is set; false after the time limit. */
static bool wait_flag(const volatile bool *flag)
{
	int ms;

	for (ms = 0; !*flag && ms < PATIENCE * 1000; ms++)
		poll(NULL, 0, 1);
	return *flag;
}

static void live(int i, int port)
{
	struct load_opts lo = {
		.side = i & 1 ? &xt_b : &xt_a,
		.peer = &xt_a,
		.port = port,
		.passive = !(i & 1),
		.listens = listens,
		.runs = runs,
	};

	self = &members[i];
	xt_watchdog(PATIENCE);
	if (i & 1)
		XT_CHECK(wait_flag(&members[i - 1].listens), "nobody listens");
	load_run(&lo);
	_exit(0);
}

static void start_one(int i)
{
	pid_t pid;

	if (!(i & 1))
		next_port = next_port < 60000 ? next_port + 1 : PORTS;
	memset(&members[i], 0, sizeof(members[i]));
	pid = xt_fork();
	if (!pid)
		live(i, next_port);
	members[i].pid = pid;
}

/*
 * Starts both ends of N connections. The test has created the namespaces anew
 * since the last call, and this process must not have a reference on them.
 */
static const char *start(int n)
{
	int i;

	if (n < 1 || n > MAX)
		return "how many?";
	xt_side_set(&xt_a, passive_side);
	xt_side_set(&xt_b, active_side);
	for (i = 0; i < 2 * n; i++)
		start_one(i);
	close(xt_a.ns);
	close(xt_b.ns);
	return NULL;
}

static const char *running(void)
{
	int i;

	for (i = 0; i < 2 * MAX; i++)
		if (members[i].pid && !wait_flag(&members[i].runs))
			return i & 1 ? "an active end did not run" :
				       "a passive end did not run";
	return NULL;
}

/* Returns the status of wait(2). */
static int reap(struct member *m)
{
	int status;

	while (waitpid(m->pid, &status, 0) < 0)
		XT_CHECK(errno == EINTR, "waitpid: %m");
	m->pid = 0;
	return status;
}

static const char *kill_which(const char *which)
{
	bool passive = strcmp(which, "active");
	bool active = strcmp(which, "passive");
	int i;

	for (i = 0; i < 2 * MAX; i++)
		if (members[i].pid && (i & 1 ? active : passive))
			kill(members[i].pid, SIGKILL);
	for (i = 0; i < 2 * MAX; i++)
		if (members[i].pid && (i & 1 ? active : passive))
			reap(&members[i]);
	return NULL;
}

static const char *ended(void)
{
	const char *wrong = NULL;
	int i;

	for (i = 0; i < 2 * MAX; i++)
		if (members[i].pid && reap(&members[i]))
			wrong = i & 1 ? "an active end failed" :
					"a passive end failed";
	return wrong;
}

static const char *obey(char *line)
{
	char *word = strtok(line, "\n ");
	char *arg = strtok(NULL, "\n ");

	if (!word)
		return "what?";
	if (!strcmp(word, "start"))
		return start(arg ? atoi(arg) : 1);
	if (!strcmp(word, "running"))
		return running();
	if (!strcmp(word, "kill"))
		return kill_which(arg ? arg : "all");
	if (!strcmp(word, "ended"))
		return ended();
	return "what?";
}

int main(int argc, char **argv)
{
	const char *wrong;
	char line[64];

	XT_CHECK(argc == 3, "usage: %s PASSIVE-SIDE ACTIVE-SIDE", argv[0]);
	passive_side = argv[1];
	active_side = argv[2];
	members = mmap(NULL, 2 * MAX * sizeof(*members), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	XT_CHECK(members != MAP_FAILED, "mmap: %m");
	/* Output of the children must not be taken for an answer. */
	XT_CHECK(dup2(1, 3) == 3 && dup2(2, 1) == 1, "dup2: %m");
	while (fgets(line, sizeof(line), stdin)) {
		wrong = obey(line);
		dprintf(3, "%s\n", wrong ? wrong : "ok");
	}
	return 0;
}
