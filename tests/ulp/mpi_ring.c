// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * An MPI program: a number is passed round all processes some times, then
 * vectors of several sizes are summed up, and compared with the known results.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define LAPS	20
#define LARGEST	200000

static long from[LARGEST], to[LARGEST];

static void check(int ok, const char *what, int n)
{
	if (ok)
		return;
	fprintf(stderr, "%s, %d\n", what, n);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void laps(int rank, int size)
{
	int next = (rank + 1) % size;
	int prev = (rank + size - 1) % size;
	int lap;
	int n;

	for (lap = 0; lap < LAPS; lap++) {
		n = lap;
		if (rank == 0)
			MPI_Send(&n, 1, MPI_INT, next, lap, MPI_COMM_WORLD);
		MPI_Recv(&n, 1, MPI_INT, prev, lap, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		n++;
		if (rank != 0)
			MPI_Send(&n, 1, MPI_INT, next, lap, MPI_COMM_WORLD);
		else
			check(n == lap + size, "the ring lost count", n);
	}
}

static void sums(int rank, int size, int len)
{
	int i;

	for (i = 0; i < len; i++)
		from[i] = (rank + 1L) * (i + len);
	MPI_Allreduce(from, to, len, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	for (i = 0; i < len; i++)
		check(to[i] == size * (size + 1L) / 2 * (i + len),
		      "a wrong sum", i);
}

int main(int argc, char **argv)
{
	int rank;
	int size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	laps(rank, size);
	sums(rank, size, 1);
	sums(rank, size, 1000);
	sums(rank, size, LARGEST);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d processes agree\n", size);
	MPI_Finalize();
	return 0;
}
