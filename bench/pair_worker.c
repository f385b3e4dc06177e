/* pair_worker.c - works in blocks, on command, and tells how long each took.
 *
 *	pair_worker IN OUT DIR
 *
 * One byte from descriptor IN asks for a block, a double on descriptor OUT
 * answers: nanoseconds per unit.
 *
 *	f	a unit is a new file: made and written, then opened and read
 *	r	a unit is one pread or pwrite of 4 KiB of a file that is open
 *	q	ends the worker
 *
 * Every block has names of its own, since a tracer may tell a known file only
 * once.  A program of its own, because it is also wanted static. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { N_FILES = 200, N_CALLS = 4000, N_OPEN = 16, BLOCK = 4096 };

static char block[BLOCK];
static int files[N_OPEN];

static void fail(const char *what)
{
	fprintf(stderr, "pair_worker: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int open_file(const char *name, int flags)
{
	int fd = open(name, flags | O_CLOEXEC, 0644);

	if (fd < 0)
		fail(name);
	return fd;
}

static void name_files(char names[N_FILES][32])
{
	static unsigned n_blocks;

	for (int i = 0; i < N_FILES; i++)
		snprintf(names[i], 32, "f_%u_%d", n_blocks, i);
	n_blocks++;
}

static double files_block(void)
{
	static char names[N_FILES][32];
	double start, end;

	name_files(names);
	start = now_ns();
	for (int i = 0; i < N_FILES; i++) {
		int fd = open_file(names[i], O_WRONLY | O_CREAT | O_TRUNC);

		if (write(fd, block, BLOCK) != BLOCK)
			fail("write");
		close(fd);
		fd = open_file(names[i], O_RDONLY);
		if (read(fd, block, BLOCK) != BLOCK)
			fail("read");
		close(fd);
	}
	end = now_ns();
	for (int i = 0; i < N_FILES; i++)
		unlink(names[i]);
	return (end - start) / N_FILES;
}

static double calls_block(void)
{
	double start = now_ns();

	for (int i = 0; i < N_CALLS; i++) {
		int fd = files[i / 2 % N_OPEN];
		ssize_t done = i % 2 ? pread(fd, block, BLOCK, 0) :
				       pwrite(fd, block, BLOCK, 0);

		if (done != BLOCK)
			fail("pread or pwrite");
	}
	return (now_ns() - start) / N_CALLS;
}

static void enter(const char *dir)
{
	char name[32];

	if (chdir(dir) < 0)
		fail(dir);
	for (int i = 0; i < N_OPEN; i++) {
		snprintf(name, sizeof(name), "rw_%d", i);
		files[i] = open_file(name, O_RDWR | O_CREAT);
	}
}

int main(int argc, char **argv)
{
	int in, out;
	char word;

	if (argc != 4) {
		fprintf(stderr, "usage: pair_worker IN OUT DIR\n");
		return 2;
	}
	in = (int)strtol(argv[1], NULL, 10);
	out = (int)strtol(argv[2], NULL, 10);
	enter(argv[3]);
	while (read(in, &word, 1) == 1 && word != 'q') {
		double ns = word == 'f' ? files_block() : calls_block();

		if (write(out, &ns, sizeof(ns)) != sizeof(ns))
			fail("answer");
	}
	return 0;
}
