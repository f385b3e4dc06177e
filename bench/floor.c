/* floor.c - what the kernel alone charges for small files, hashing left out.
 *
 *	floor FOLDER NAME...
 *
 * Prints one JSON object: microseconds per file, the best of several rounds over all
 * names, so that a figure of roar's can be read beside what no program can save here.
 * "by path" is with FOLDER/NAME, "near" with NAME from the open folder.  A bracket is
 * what the truth takes: a look by name, open, read, a look at the descriptor, close.
 * A guess is what is left of it where the folder has told what a name is: no look by
 * name, and descriptors are closed in rows. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#ifdef HAVE_URING
#include <liburing.h>
#endif

enum { ROUNDS = 9, DATA = 16 * 1024, CHAINS = 32, ROW = 16 };

static int folder;
static char data[CHAINS][DATA];
static struct stat st;

static void must(int ok)
{
	if (ok)
		return;
	perror("floor");
	exit(1);
}

static void look(int dirfd, const char *name)
{
	must(fstatat(dirfd, name, &st, 0) == 0);
}

static void open_close(int dirfd, const char *name)
{
	must(close(openat(dirfd, name, O_RDONLY | O_CLOEXEC)) == 0);
}

static void open_read_close(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);

	must(fd >= 0 && read(fd, data[0], DATA) >= 0);
	(void)close(fd);
}

static void bracket(int dirfd, const char *name)
{
	int fd;

	look(dirfd, name);
	fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	must(fd >= 0 && read(fd, data[0], DATA) >= 0 && fstat(fd, &st) == 0);
	(void)close(fd);
}

/* What was inherited between them is closed as well. */
static void guess(int dirfd, const char *name)
{
	static int n, first;
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);

	must(fd >= 0 && read(fd, data[0], DATA) >= 0 && fd_stat(fd, &st) == 0);
	if (n++ == 0)
		first = fd;
	if (n < ROW)
		return;
	must(close_range((unsigned)first, (unsigned)fd, 0) == 0);
	n = 0;
}

static double time_calls(void (*call)(int dirfd, const char *name), int dirfd,
			 char **names, int n)
{
	double best = 1e18;

	for (int round = 0; round < ROUNDS; round++) {
		int64_t start_ns = clock_mono_ns();
		double us;

		for (int i = 0; i < n; i++)
			call(dirfd, names[i]);
		us = (double)(clock_mono_ns() - start_ns) / 1e3 / n;
		if (us < best)
			best = us;
	}
	return best;
}

#ifdef HAVE_URING
/* Open, read and close as one linked chain each, on descriptors that only the ring
 * knows. */
static void add_chain(struct io_uring *ring, unsigned slot, const char *name)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	io_uring_prep_openat_direct(sqe, folder, name, O_RDONLY, 0, slot);
	sqe->flags |= IOSQE_IO_LINK;
	sqe = io_uring_get_sqe(ring);
	io_uring_prep_read(sqe, (int)slot, data[slot], DATA, 0);
	/* A short read would break a link of the soft kind. */
	sqe->flags |= IOSQE_FIXED_FILE | IOSQE_IO_HARDLINK;
	sqe = io_uring_get_sqe(ring);
	io_uring_prep_close_direct(sqe, slot);
}

static void run_chains(struct io_uring *ring, char **names, int n)
{
	struct io_uring_cqe *cqe;

	for (int i = 0; i < n; i++)
		add_chain(ring, (unsigned)i, names[i]);
	must(io_uring_submit_and_wait(ring, 3 * (unsigned)n) >= 0);
	for (int i = 0; i < 3 * n; i++) {
		must(io_uring_wait_cqe(ring, &cqe) == 0 && cqe->res >= 0);
		io_uring_cqe_seen(ring, cqe);
	}
}

/* Less than a bracket: there is no look in it.  < 0: not to be had here. */
static double time_uring(char **names, int n)
{
	struct io_uring ring;
	double best = 1e18;

	if (io_uring_queue_init(4 * CHAINS, &ring, 0) < 0)
		return -1;
	if (io_uring_register_files_sparse(&ring, CHAINS) < 0) {
		io_uring_queue_exit(&ring);
		return -1;
	}
	for (int round = 0; round < ROUNDS; round++) {
		int64_t start_ns = clock_mono_ns();
		double us;

		for (int i = 0; i < n; i += CHAINS)
			run_chains(&ring, names + i,
				   n - i < CHAINS ? n - i : CHAINS);
		us = (double)(clock_mono_ns() - start_ns) / 1e3 / n;
		if (us < best)
			best = us;
	}
	io_uring_queue_exit(&ring);
	return best;
}
#else
static double time_uring(char **names, int n)
{
	(void)names;
	(void)n;
	return -1;
}
#endif

static char **full_paths(const char *top, char **names, int n)
{
	char **paths = calloc((size_t)n, sizeof(*paths));

	must(paths != NULL);
	for (int i = 0; i < n; i++)
		must(asprintf(&paths[i], "%s/%s", top, names[i]) > 0);
	return paths;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*call)(int dirfd, const char *name);
	} rows[] = { { "look", look },
		     { "open_close", open_close },
		     { "open_read_close", open_read_close },
		     { "bracket", bracket },
		     { "guess", guess } };
	char **names = argv + 2, **paths;
	int n = argc - 2;

	if (n < 1) {
		(void)fprintf(stderr, "usage: floor FOLDER NAME...\n");
		return 2;
	}
	folder = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
	must(folder >= 0);
	paths = full_paths(argv[1], names, n);
	printf("{");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		printf("\"%s_us\": %.2f, ", rows[i].name,
		       time_calls(rows[i].call, AT_FDCWD, paths, n));
		printf("\"%s_near_us\": %.2f, ", rows[i].name,
		       time_calls(rows[i].call, folder, names, n));
	}
	printf("\"uring_open_read_close_near_us\": %.2f}\n",
	       time_uring(names, n));
	for (int i = 0; i < n; i++)
		free(paths[i]);
	free(paths);
	return 0;
}
