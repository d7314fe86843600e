// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Faults of regions on demand that never end do not hold up those of other
 * users. XT_FILE is on a frozen file system. A user is here a user namespace
 * made by root, as for a container.
 */
#include "xt.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* PAGER_MAX_ACTIVE of pager.c */
#define FAULTS	64

/* Two pipes: the child writes to @up, the parent to @down. */
struct link {
	int up[2];
	int down[2];
};

static void link_make(struct link *l)
{
	XT_OK(pipe(l->up));
	XT_OK(pipe(l->down));
}

static void tell(const int *end)
{
	XT_CHECK(write(end[1], "x", 1) == 1, "pipe: %m");
}

static void await(const int *end)
{
	char c;

	XT_CHECK(read(end[0], &c, 1) == 1, "the other process has failed");
}

static void map_ids(pid_t pid, const char *name, unsigned int base)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	f = XT_PTR(fopen(path, "w"));
	fprintf(f, "0 %u 1000", base);
	XT_CHECK(!fclose(f), "%s: %m", path);
}

/*
 * Forks root of a new namespace with IDs from @base on, or of this namespace if
 * @base is 0.
 */
static pid_t tenant(struct link *l, unsigned int base)
{
	pid_t pid;

	link_make(l);
	pid = fork();
	XT_CHECK(pid >= 0, "fork: %m");
	if (!pid) {
		close(l->up[0]);
		close(l->down[1]);
		if (!base)
			return 0;
		XT_OK(unshare(CLONE_NEWUSER));
		tell(l->up);
		await(l->down);
		XT_OK(setresgid(0, 0, 0));
		XT_OK(setresuid(0, 0, 0));
		return 0;
	}
	close(l->up[1]);
	close(l->down[0]);
	if (base) {
		await(l->up);
		map_ids(pid, "uid_map", base);
		map_ids(pid, "gid_map", base);
		tell(l->down);
	}
	return pid;
}

static struct ibv_pd *open_pd(void)
{
	struct ibv_device **list = XT_PTR(ibv_get_device_list(NULL));
	struct ibv_context *ctx;
	int i;

	for (i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), "xiwA"))
			break;
	XT_CHECK(list[i], "no device");
	ctx = XT_PTR(ibv_open_device(list[i]));
	return XT_PTR(ibv_alloc_pd(ctx));
}

/* Pages in memory for writing; the error of the verb. */
static int page_in(void *m, __u32 flags)
{
	struct ibv_pd *pd = open_pd();
	struct ibv_mr *mr;
	struct ibv_sge sge;

	mr = XT_PTR(ibv_reg_mr(pd, m, XT_PAGE,
			       XT_LOCAL | IBV_ACCESS_ON_DEMAND));
	sge.addr = (uintptr_t)m;
	sge.length = XT_PAGE;
	sge.lkey = mr->lkey;
	return ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, flags,
			     &sge, 1);
}

/* A process with a fault that never ends */
static void get_stuck(int fd)
{
	void *m;

	m = mmap(NULL, XT_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	XT_CHECK(m != MAP_FAILED, "mmap: %m");
	XT_OK(page_in(m, 0));
}

/* Page-in of ordinary memory in a process of its own; its error. */
static int try_page_in(unsigned int base)
{
	struct link l;
	int status;
	pid_t pid;
	void *m;

	pid = tenant(&l, base);
	if (!pid) {
		m = mmap(NULL, XT_PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		XT_CHECK(m != MAP_FAILED, "mmap: %m");
		_exit(page_in(m, IBV_ADVISE_MR_FLAG_FLUSH));
	}
	XT_EQ(waitpid(pid, &status, 0), pid);
	XT_CHECK(WIFEXITED(status), "status %d", status);
	return WEXITSTATUS(status);
}

/* The tenant: as many stuck processes as it may have, then one that waits */
static void fill(const struct link *l, int fd)
{
	pid_t pids[FAULTS];
	int ready[2];
	int i;

	XT_OK(pipe(ready));
	for (i = 0; i < FAULTS; i++) {
		pids[i] = fork();
		XT_CHECK(pids[i] >= 0, "fork: %m");
		if (!pids[i]) {
			get_stuck(fd);
			tell(ready);
			for (;;)
				pause();
		}
		await(ready);
	}
	XT_EQ(try_page_in(0), EAGAIN);
	tell(l->up);
	await(l->down);
	for (i = 0; i < FAULTS; i++)
		kill(pids[i], SIGKILL);
	_exit(0);
}

static void test_tenants(void)
{
	const char *file = getenv("XT_FILE");
	struct link l;
	pid_t pid;
	int fd;

	XT_CHECK(file, "no XT_FILE");
	fd = open(file, O_RDWR);
	XT_CHECK(fd >= 0, "%s: %m", file);
	xt_enter(&xt_a);
	pid = tenant(&l, 100000);
	if (!pid)
		fill(&l, fd);
	await(l.up);
	XT_EQ(try_page_in(200000), 0);
	XT_EQ(try_page_in(0), 0);
	tell(l.down);
	XT_EQ(waitpid(pid, NULL, 0), pid);
}

static const struct xt_case cases[] = {
	{ "tenants", "a user namespace with its limit of faults does not stop others",
	  test_tenants },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases, XT_NELEM(cases));
}
