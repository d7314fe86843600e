// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unusual mappings as regions, pinned and on demand: registers of devices, the
 * queues of the process itself, huge pages, memory that another thread fills,
 * that the kernel merges with other memory, or moves.
 *
 * XT_FILE=PATH: a file on a file system with or without DAX; adds the case
 * "file", which is the last.
 */
#include "xt.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOM		(4 * XT_PAGE)
#define ODP		IBV_ACCESS_ON_DEMAND
#define HUGE		(2048 * 1024UL)
#define RW		(PROT_READ | PROT_WRITE)
#define ANON		(MAP_PRIVATE | MAP_ANONYMOUS)

static const int kinds[] = { XT_REMOTE, XT_REMOTE | ODP };

static void *map(size_t len, int prot, int flags, int fd)
{
	void *at = mmap(NULL, len, prot, flags, fd, 0);

	XT_CHECK(at != MAP_FAILED, "mmap: %m");
	return at;
}

/* The region as a buffer of the functions that send; NULL, and errno. */
static struct xt_buf region(struct xt_end *e, void *at, size_t len, int access)
{
	return (struct xt_buf){
		.p = at, .len = len, .mr = ibv_reg_mr(e->pd, at, len, access),
	};
}

/* One operation of @e on all of @to. */
static enum ibv_wc_status op(struct xt_end *e, enum ibv_wr_opcode opcode,
			     struct xt_buf *from, struct xt_buf *to)
{
	struct ibv_sge sge = xt_sge(from, 0, ROOM);
	struct ibv_send_wr wr = xt_wr_to(opcode, 1, &sge, 1, to, 0);
	struct ibv_wc wc;

	xt_send(e, &wr);
	xt_wait(e->scq, &wc);
	XT_EQ(wc.wr_id, 1);
	return wc.status;
}

/* A message of @from to @to at the other end */
static void message(struct xt_pair *p, struct xt_buf *from, struct xt_buf *to)
{
	struct ibv_sge sge = xt_sge(to, 0, ROOM);

	xt_recv(&p->a, 2, &sge, 1);
	XT_EQ(op(&p->b, IBV_WR_SEND, from, from), IBV_WC_SUCCESS);
	xt_wc_ok(p->a.rcq, 2);
}

/* The peer reads and writes @at, which side a has, and then sends to it. */
static void exchange(struct xt_pair *p, void *at, int access, __u64 seed)
{
	struct xt_buf there = region(&p->a, at, ROOM, access);
	struct xt_buf here = xt_buf(&p->b, ROOM, XT_REMOTE);

	XT_CHECK(there.mr, "ibv_reg_mr: %m");
	xt_fill(at, ROOM, seed);
	XT_EQ(op(&p->b, IBV_WR_RDMA_READ, &here, &there), IBV_WC_SUCCESS);
	XT_SAME(here.p, ROOM, seed);
	xt_fill(here.p, ROOM, seed + 1);
	XT_EQ(op(&p->b, IBV_WR_RDMA_WRITE, &here, &there), IBV_WC_SUCCESS);
	/* A Read is behind the Write. */
	memset(here.p, 0, ROOM);
	XT_EQ(op(&p->b, IBV_WR_RDMA_READ, &here, &there), IBV_WC_SUCCESS);
	XT_SAME(here.p, ROOM, seed + 1);
	XT_SAME(at, ROOM, seed + 1);
	xt_fill(here.p, ROOM, seed + 2);
	message(p, &here, &there);
	XT_SAME(at, ROOM, seed + 2);
	xt_buf_free(&here);
	XT_OK(ibv_dereg_mr(there.mr));
}

static void exchanges(struct xt_pair *p, void *at, __u64 seed)
{
	size_t i;

	for (i = 0; i < XT_NELEM(kinds); i++)
		exchange(p, at, kinds[i], seed + 10 * i);
}

static void pair(struct xt_pair *p)
{
	struct xt_opts o = XT_OPTS;

	xt_pair(p, &o, &o);
	xt_needs_odp(&p->a);
}

/* ---- refused ----------------------------------------------------------- */

/* Every kind of access to a region on demand without memory fails. */
static void nothing_there(void *at)
{
	struct xt_buf here;
	struct xt_buf there;
	struct ibv_sge sge;
	struct xt_pair p;

	pair(&p);
	here = xt_buf(&p.b, ROOM, XT_REMOTE);
	there = region(&p.a, at, ROOM, XT_REMOTE | ODP);
	XT_CHECK(there.mr, "a region on demand: %m");
	sge = xt_sge(&there, 0, ROOM);
	XT_CHECK(ibv_advise_mr(p.a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			       IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1),
		 "a prefetch succeeded");
	XT_EQ(op(&p.b, IBV_WR_RDMA_READ, &here, &there), IBV_WC_REM_ACCESS_ERR);
	pair(&p);
	there = region(&p.a, at, ROOM, XT_REMOTE | ODP);
	XT_EQ(op(&p.a, IBV_WR_SEND, &there, &there), IBV_WC_LOC_PROT_ERR);
	pair(&p);
	here = xt_buf(&p.b, ROOM, XT_REMOTE);
	there = region(&p.a, at, ROOM, XT_REMOTE | ODP);
	XT_EQ(op(&p.a, IBV_WR_RDMA_READ, &there, &here), IBV_WC_LOC_PROT_ERR);
}

/* The BIOS of a PC, without the memory of a PCI device */
#define BIOS		0xf0000

static void *try_map(const char *path, off_t offset)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *at = MAP_FAILED;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) &&
	    (S_ISCHR(st.st_mode) || st.st_size >= (off_t)ROOM))
		at = mmap(NULL, ROOM, RW, MAP_SHARED, fd, offset);
	close(fd);
	if (at == MAP_FAILED)
		return NULL;
	xt_note("%s", path);
	return at;
}

/* A mapping of the memory of a device, or NULL */
static void *device_memory(void)
{
	void *at = NULL;
	glob_t g;
	size_t i;

	if (!glob("/sys/bus/pci/devices/*/resource[0-5]", 0, NULL, &g)) {
		for (i = 0; i < g.gl_pathc && !at; i++)
			at = try_map(g.gl_pathv[i], 0);
		globfree(&g);
	}
	return at ? at : try_map("/dev/mem", BIOS);
}

static void test_device(void)
{
	void *at = device_memory();
	struct xt_pair p;

	if (!at)
		xt_skip("no memory of a device can be mapped");
	pair(&p);
	XT_CHECK(!region(&p.a, at, ROOM, XT_REMOTE).mr && errno == EFAULT,
		 "pinned: %m");
	XT_CHECK(!region(&p.a, at, ROOM, 0).mr && errno == EFAULT,
		 "for reading: %m");
	nothing_there(at);
}

/* ---- own queues -------------------------------------------------------- */

/**
 * struct ring - a mapping of a queue
 * @at: its first byte
 * @len: its bytes
 */
struct ring {
	void *at;
	size_t len;
};

static int find_rings(struct ring *rings, int most)
{
	FILE *f = XT_PTR(fopen("/proc/self/maps", "r"));
	unsigned long start, end;
	char line[300];
	int n = 0;

	while (n < most && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "uverbs") ||
		    sscanf(line, "%lx-%lx", &start, &end) != 2)
			continue;
		rings[n].at = (void *)start;
		rings[n++].len = end - start;
	}
	fclose(f);
	return n;
}

/* A receive into a queue, and a Send or a Write of random bytes into it */
static void overwrite(struct xt_pair *p, struct xt_buf *from, struct ring *ring,
		      struct ibv_mr *mr, bool send)
{
	struct ibv_sge sge = {
		.addr = (__u64)ring->at, .lkey = mr->lkey,
		.length = ring->len < ROOM ? ring->len : ROOM,
	};
	struct ibv_send_wr wr;

	xt_try_recv(&p->a, 1, &sge, 1);
	wr = xt_wr(send ? IBV_WR_SEND : IBV_WR_RDMA_WRITE, 1, &sge, 1);
	wr.wr.rdma.remote_addr = sge.addr;
	wr.wr.rdma.rkey = mr->rkey;
	sge.addr = (__u64)from->p;
	sge.lkey = from->mr->lkey;
	xt_try_send(&p->b, &wr);
}

/* Uses queues that perhaps have random contents. */
static void use(struct xt_pair *p)
{
	struct ibv_cq *cq[] = { p->a.scq, p->a.rcq, p->b.scq, p->b.rcq };
	struct ibv_sge sge = xt_sge(&p->b.spare, 0, 8);
	struct ibv_send_wr wr = xt_wr(IBV_WR_SEND, 1, &sge, 1);
	struct ibv_sge to = xt_sge(&p->a.spare, 0, 8);
	struct ibv_wc wc;
	size_t i;

	xt_try_recv(&p->a, 1, &to, 1);
	xt_try_send(&p->b, &wr);
	for (i = 0; i < XT_NELEM(cq); i++)
		ibv_poll_cq(cq[i], 1, &wc);
}

/*
 * Writes into the queues of all ends, also into those that carry out that
 * request, while they are used. What becomes of this process does not matter.
 */
static void overwrite_all(int access)
{
	struct ring rings[32];
	struct xt_pair p, q;
	struct xt_buf from;
	struct ibv_mr *mr;
	int i, k, n;

	pair(&p);
	pair(&q);
	n = find_rings(rings, XT_NELEM(rings));
	XT_CHECK(n >= 12, "%d mappings of queues", n);
	from = xt_buf(&p.b, ROOM, XT_REMOTE);
	for (i = 0; i < 4 * n; i++) {
		mr = ibv_reg_mr(p.a.pd, rings[i % n].at, rings[i % n].len,
				access);
		XT_CHECK(mr, "ibv_reg_mr: %m");
		xt_fill(from.p, ROOM, i);
		overwrite(&p, &from, &rings[i % n], mr, i / n % 2);
		for (k = 0; k < 100; k++) {
			use(&p);
			use(&q);
		}
	}
}

static void own_queues(int access)
{
	struct xt_pair p;
	int status;
	pid_t pid;
	void *at;
	int i;

	for (i = 0; i < 5; i++) {
		pid = xt_fork();
		if (!pid) {
			xt_watchdog(20);
			overwrite_all(access);
			_exit(0);
		}
		XT_EQ(waitpid(pid, &status, 0), pid);
		xt_note("the process ended with status 0x%x", status);
	}
	/* The kernel has no damage. */
	pair(&p);
	at = map(ROOM, RW, ANON, -1);
	exchanges(&p, at, 1);
	xt_hang_up(&p, &p.b);
}

static void test_own_queues(void)
{
	own_queues(XT_REMOTE);
}

static void test_own_queues_odp(void)
{
	own_queues(XT_REMOTE | ODP);
}

/* ---- other memory ------------------------------------------------------ */

static void test_locked(void)
{
	struct xt_pair p;
	void *at;

	pair(&p);
	at = map(ROOM, RW, ANON, -1);
	XT_OK(mlock2(at, ROOM, MLOCK_ONFAULT));
	exchanges(&p, at, 100);
	XT_OK(munlock(at, ROOM));
	exchanges(&p, at, 200);
	xt_hang_up(&p, &p.b);
}

/* A child has a hole there, and the parent's region stays as it is. */
static void test_not_inherited(void)
{
	struct xt_pair p;
	void *at;
	pid_t pid;
	int status;

	pair(&p);
	at = map(ROOM, RW, ANON, -1);
	XT_OK(madvise(at, ROOM, MADV_DONTFORK));
	memset(at, 1, ROOM);
	pid = xt_fork();
	if (!pid) {
		memset(at, 2, ROOM);
		_exit(0);
	}
	exchanges(&p, at, 300);
	XT_EQ(waitpid(pid, &status, 0), pid);
	XT_CHECK(WIFSIGNALED(status), "the child has the memory");
	xt_hang_up(&p, &p.b);
}

static bool sysctl_write(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, value, strlen(value)) > 0;

	close(fd);
	return ok;
}

static void test_huge(void)
{
	struct xt_pair p;
	void *at;

	sysctl_write("/proc/sys/vm/nr_hugepages", "4");
	at = mmap(NULL, HUGE, RW, ANON | MAP_HUGETLB, -1, 0);
	if (at == MAP_FAILED)
		xt_skip("no huge pages: %m");
	pair(&p);
	exchanges(&p, at + HUGE / 2, 400);
	XT_OK(madvise(at, HUGE, MADV_DONTNEED));
	exchanges(&p, at + HUGE - ROOM, 500);
	XT_OK(munmap(at, HUGE));
	nothing_there(at);
	xt_hang_up(&p, &p.b);
}

/* Answers faults by pages of zeros. */
static void *fill_in(void *arg)
{
	int fd = *(int *)arg;
	struct uffd_msg msg;
	struct uffdio_zeropage zero;

	while (read(fd, &msg, sizeof(msg)) == sizeof(msg)) {
		if (msg.event != UFFD_EVENT_PAGEFAULT)
			continue;
		zero = (struct uffdio_zeropage){
			.range = { msg.arg.pagefault.address & -XT_PAGE,
				   XT_PAGE },
		};
		ioctl(fd, UFFDIO_ZEROPAGE, &zero);
	}
	return NULL;
}

/* Pins memory that a thread of the process fills in when it is touched. */
static void test_userfaultfd(void)
{
	static int fd;
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	struct xt_buf buf;
	pthread_t thread;
	struct xt_pair p;
	void *at;

	fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (fd < 0)
		xt_skip("no userfaultfd: %m");
	XT_OK(ioctl(fd, UFFDIO_API, &api));
	at = map(2 * ROOM, RW, ANON, -1);
	reg.range.start = (__u64)at;
	reg.range.len = 2 * ROOM;
	XT_OK(ioctl(fd, UFFDIO_REGISTER, &reg));
	pair(&p);
	XT_OK(pthread_create(&thread, NULL, fill_in, &fd));
	buf = region(&p.a, at, ROOM, XT_REMOTE);
	if (!buf.mr && errno == EFAULT && xt_kernel_before(6, 3))
		xt_skip("the kernel pins no such memory");
	XT_CHECK(buf.mr, "ibv_reg_mr: %m");
	XT_ALL(at, ROOM, 0);
	exchange(&p, at, XT_REMOTE, 600);
	exchange(&p, at, XT_REMOTE | ODP, 700);
	XT_OK(ibv_dereg_mr(buf.mr));
	xt_hang_up(&p, &p.b);
}

/* ---- memory that changes its pages ------------------------------------- */

static long ksm_count(const char *name)
{
	char path[60], text[30] = {};
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/mm/ksm/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return -1;
	close(fd);
	return atol(text);
}

/* Two equal mappings; only one of them gets the peer's bytes. */
static void test_merged(void)
{
	struct xt_pair p;
	__u8 *at, *twin;
	int i;

	if (ksm_count("run") < 0)
		xt_skip("the kernel does not merge pages");
	pair(&p);
	at = map(ROOM, RW, ANON, -1);
	twin = map(ROOM, RW, ANON, -1);
	XT_OK(madvise(at, ROOM, MADV_MERGEABLE));
	XT_OK(madvise(twin, ROOM, MADV_MERGEABLE));
	sysctl_write("/sys/kernel/mm/ksm/sleep_millisecs", "0");
	sysctl_write("/sys/kernel/mm/ksm/pages_to_scan", "10000");
	XT_CHECK(sysctl_write("/sys/kernel/mm/ksm/run", "1"), "run: %m");
	for (i = 0; i < 4; i++) {
		memset(at, 7 + i, ROOM);
		memset(twin, 7 + i, ROOM);
		while (!ksm_count("pages_sharing"))
			sched_yield();
		exchange(&p, at, kinds[i % 2], 800 + 10 * i);
		XT_ALL(twin, ROOM, 7 + i);
	}
	sysctl_write("/sys/kernel/mm/ksm/run", "2");
	xt_hang_up(&p, &p.b);
}

static atomic_bool enough;

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

/* Whatever the kernel refuses of this does not matter. */
static void *advise(void *at)
{
	static const int advice[] = {
		MADV_COLD, MADV_PAGEOUT, MADV_COLLAPSE, MADV_HUGEPAGE,
		MADV_NOHUGEPAGE, MADV_MERGEABLE, MADV_UNMERGEABLE,
		MADV_WILLNEED, MADV_RANDOM,
	};
	unsigned int i;

	for (i = 0; !atomic_load(&enough); i++)
		madvise(at, HUGE, advice[i % XT_NELEM(advice)]);
	return NULL;
}

static void test_advice(void)
{
	pthread_t thread;
	struct xt_pair p;
	__u8 *at;
	int i;

	pair(&p);
	at = map(2 * HUGE, RW, ANON, -1);
	at += -(__u64)at % HUGE;
	memset(at, 1, HUGE);
	XT_OK(pthread_create(&thread, NULL, advise, at));
	for (i = 0; i < xt_count(200); i++)
		exchange(&p, at + i * XT_PAGE, kinds[i % 2], 1000 + 10 * i);
	atomic_store(&enough, true);
	XT_OK(pthread_join(thread, NULL));
	xt_hang_up(&p, &p.b);
}

/* ---- a file ------------------------------------------------------------ */

static const char *result(struct xt_buf *b)
{
	const char *text = b->mr ? "registered" : strerrorname_np(errno);

	if (b->mr)
		XT_OK(ibv_dereg_mr(b->mr));
	return text;
}

/* The file system has the bytes of the peer on its medium. */
static void written(int fd, __u64 seed)
{
	__u8 bytes[ROOM];

	XT_OK(fsync(fd));
	sysctl_write("/proc/sys/vm/drop_caches", "3");
	XT_EQ(pread(fd, bytes, ROOM, 0), ROOM);
	XT_SAME(bytes, ROOM, seed);
}

static void test_file(void)
{
	const char *path = getenv("XT_FILE");
	struct xt_buf b;
	struct xt_pair p;
	void *at;
	int fd;

	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	XT_CHECK(fd >= 0, "%s: %m", path);
	XT_OK(ftruncate(fd, 0));
	XT_OK(posix_fallocate(fd, 0, ROOM));
	pair(&p);
	at = map(ROOM, RW, MAP_SHARED, fd);
	memset(at, 1, ROOM);
	b = region(&p.a, at, ROOM, XT_REMOTE);
	printf("shared, pinned, for writing: %s\n", result(&b));
	b = region(&p.a, at, ROOM, 0);
	printf("shared, pinned, for reading: %s\n", result(&b));
	exchange(&p, at, XT_REMOTE | ODP, 2000);
	printf("shared, on demand: works\n");
	b = region(&p.a, map(ROOM, RW, MAP_PRIVATE, fd), ROOM, XT_REMOTE);
	printf("private, pinned, for writing: %s\n", result(&b));
	written(fd, 2002);
	/* A truncation takes it away. */
	b = region(&p.a, at, ROOM, XT_REMOTE | ODP);
	XT_OK(ftruncate(fd, 0));
	nothing_there(at);
	XT_OK(ibv_dereg_mr(b.mr));
	xt_hang_up(&p, &p.b);
}

static const struct xt_case cases[] = {
	{ "device", "memory of a device is refused with EFAULT, or absent",
	  test_device },
	{ "own-queues", "queues that are overwritten as regions do no harm",
	  test_own_queues },
	{ "own-queues-odp", "nor do they on demand", test_own_queues_odp },
	{ "locked", "mlocked memory", test_locked },
	{ "not-inherited", "memory with MADV_DONTFORK", test_not_inherited },
	{ "huge", "huge pages", test_huge },
	{ "userfaultfd", "memory that a thread fills in", test_userfaultfd },
	{ "merged", "pages that the kernel merges with others", test_merged },
	{ "advice", "pages that are moved while messages arrive", test_advice },
	{ "file", "a file on a file system that is named", test_file },
};

int main(int argc, char **argv)
{
	return xt_main(argc, argv, cases,
		       XT_NELEM(cases) - !getenv("XT_FILE"));
}
