// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * First process of every guest: loads the modules that the root file system
 * needs (the list is empty where the kernel has them built in), mounts the
 * host's root read-only and the mounts over it, and continues with the
 * init found there (XIW_INIT= on the kernel command line).  It is in C because
 * a mount(8) takes most of a second on an emulated debug kernel.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRANSPORT "trans=virtio,version=9p2000.L,msize=262144"

static const struct {
	const char *type;
	const char *dir;
	const char *options;
	int needed;
} mounts[] = {
	{ "proc", "/proc", NULL, 1 },
	{ "sysfs", "/sys", NULL, 1 },
	{ "debugfs", "/sys/kernel/debug", NULL, 1 },
	{ "tracefs", "/sys/kernel/tracing", NULL, 1 },
	{ "configfs", "/sys/kernel/config", NULL, 0 },
	{ "cgroup2", "/sys/fs/cgroup", NULL, 0 },
	{ "devtmpfs", "/dev", "mode=755", 1 },
	{ "devpts", "/dev/pts", "mode=620,ptmxmode=666", 1 },
	{ "tmpfs", "/dev/shm", "mode=1777", 1 },
	{ "tmpfs", "/run", "mode=755", 1 },
};

static void must(int ret, const char *what)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "xiw-init: %s: %s\n", what, strerror(errno));
	exit(1);	/* the kernel panics, so the host gets no verdict */
}

static void load_modules(void)
{
	FILE *list = fopen("/modules", "r");
	char name[256];
	int fd;

	must(list ? 0 : -1, "/modules");
	while (fscanf(list, "%255s", name) == 1) {
		fd = open(name, O_RDONLY | O_CLOEXEC);
		must(fd, name);
		must(syscall(SYS_finit_module, fd, "", 0), name);
		close(fd);
	}
	fclose(list);
}

static void enter_root(void)
{
	must(mount("hostroot", "/host", "9p", MS_RDONLY, TRANSPORT
		   ",cache=loose"), "mount the host's root");
	must(chdir("/host"), "chdir");
	must(mount(".", "/", NULL, MS_MOVE, NULL), "move the root");
	must(chroot("."), "chroot");
	must(chdir("/"), "chdir");
}

static void mount_all(void)
{
	size_t i;
	int ret;

	for (i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		mkdir(mounts[i].dir, 0755);	/* fails unless it is in /dev */
		ret = mount(mounts[i].type, mounts[i].dir, mounts[i].type, 0,
			    mounts[i].options);
		if (mounts[i].needed)
			must(ret, mounts[i].dir);
	}
	must(symlink("/proc/self/fd", "/dev/fd"), "/dev/fd");
	must(mkdir("/run/xiw", 0755), "/run/xiw");
	must(mkdir("/run/xiw/out", 0755), "/run/xiw/out");
	must(mkdir("/run/netns", 0755), "/run/netns");
	must(mkdir("/run/lock", 0755), "/run/lock");
	must(mount("out", "/run/xiw/out", "9p", 0, TRANSPORT ",cache=none"),
	     "mount the results");
}

/* Mounts the clone, if the root is not the host's, which contains it. */
static void mount_clone(void)
{
	const char *dir = getenv("XIW_CLONE");

	if (dir)
		must(mount("clone", dir, "9p", MS_RDONLY, TRANSPORT
			   ",cache=loose"), "mount the clone");
}

int main(void)
{
	/*
	 * Unknown parameters of the kernel's command line are in the
	 * environment.
	 */
	const char *init = getenv("XIW_INIT");

	load_modules();
	must(mkdir("/host", 0755), "/host");
	enter_root();
	mount_all();
	mount_clone();
	errno = ENOENT;
	must(init ? 0 : -1, "XIW_INIT=");
	execl(init, init, NULL);
	must(-1, init);
	return 1;
}
