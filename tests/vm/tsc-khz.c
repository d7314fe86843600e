// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Prints the frequency of this machine's time stamp counter in kHz, which is
 * also that of an emulated one. A guest that had to measure it against an
 * emulated timer can be wrong by a factor of ten when the host is busy, and its
 * timeouts with it.
 */
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#define SPAN_NS	100000000LL

static long long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/*
 * A pair of readings, from the shortest of some tries: the one that was not
 * interrupted between its two halves.
 */
static void sample(unsigned long long *tsc, long long *ns)
{
	unsigned long long before, after, best = ~0ULL;
	long long t;
	int i;

	for (i = 0; i < 1000; i++) {
		before = __rdtsc();
		t = now_ns();
		after = __rdtsc();
		if (after - before >= best)
			continue;
		best = after - before;
		*tsc = before + best / 2;
		*ns = t;
	}
}

int main(void)
{
	struct timespec span = { .tv_nsec = SPAN_NS };
	unsigned long long tsc0, tsc1;
	long long ns0, ns1;

	sample(&tsc0, &ns0);
	nanosleep(&span, NULL);
	sample(&tsc1, &ns1);
	printf("%.0f\n", (tsc1 - tsc0) * 1e6 / (ns1 - ns0));
	return 0;
}
