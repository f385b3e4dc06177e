/* files.c - the work that bench/run measures, as small C programs.
 *
 *	files touch N DIR	N files of 256 bytes in a new folder of DIR: write
 *				all, read all, remove all
 *	files again N DIR	N files of 4 KiB in DIR, there from the last time:
 *				write all, read all, leave them
 *	files reopen K DIR	200 files; K rounds of {open, write 256 bytes} and
 *				{open, read 256 bytes} for all: 400 K operations
 *	files rw N DIR		N alternating pwrite and pread of 4 KiB over 16
 *				files that stay open
 *	files make N DIR	makes DIR, writes N files of 4 KiB there, reads all
 *	files many N DIR	the same with 16 bytes, 1,000 files to a folder
 *
 * No stdio and no output: what is measured is the calls. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 4096, SMALL = 256, TINY = 16, N_REOPENED = 200, N_OPEN = 16 };

static char block[BLOCK];

static void fail(const char *what)
{
	fprintf(stderr, "files: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_file(const char *name, int flags)
{
	int fd = open(name, flags | O_CLOEXEC, 0644);

	if (fd < 0)
		fail(name);
	return fd;
}

static void write_file(const char *name, int flags, size_t len)
{
	int fd = open_file(name, O_WRONLY | flags);

	if (write(fd, block, len) != (ssize_t)len)
		fail(name);
	close(fd);
}

static void read_file(const char *name, size_t len)
{
	int fd = open_file(name, O_RDONLY);

	if (read(fd, block, len) != (ssize_t)len)
		fail(name);
	close(fd);
}

/* The name of file `i`; valid until the next call. */
static const char *name_of(long i)
{
	static char name[32];

	snprintf(name, sizeof(name), "f_%ld", i);
	return name;
}

static void enter_new_folder(const char *dir)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/bench-XXXXXX", dir);
	if (!mkdtemp(path) || chdir(path) < 0)
		fail(path);
}

static void leave_folder(long n)
{
	char path[4096];

	for (long i = 0; i < n; i++)
		unlink(name_of(i));
	if (!getcwd(path, sizeof(path)) || rmdir(path) < 0)
		fail("rmdir");
}

static void touch(long n, const char *dir)
{
	if (n == 0)
		return;
	enter_new_folder(dir);
	for (long i = 0; i < n; i++)
		write_file(name_of(i), O_CREAT | O_TRUNC, SMALL);
	for (long i = 0; i < n; i++)
		read_file(name_of(i), SMALL);
	leave_folder(n);
}

static void again(long n, const char *dir)
{
	if (chdir(dir) < 0)
		fail(dir);
	for (long i = 0; i < n; i++) {
		write_file(name_of(i), O_CREAT, BLOCK);
		read_file(name_of(i), BLOCK);
	}
}

static void reopen(long rounds, const char *dir)
{
	enter_new_folder(dir);
	for (long i = 0; i < N_REOPENED; i++)
		write_file(name_of(i), O_CREAT | O_TRUNC, SMALL);
	for (long k = 0; k < rounds; k++) {
		for (long i = 0; i < N_REOPENED; i++)
			write_file(name_of(i), 0, SMALL);
		for (long i = 0; i < N_REOPENED; i++)
			read_file(name_of(i), SMALL);
	}
	leave_folder(N_REOPENED);
}

static void rw(long n, const char *dir)
{
	int fds[N_OPEN];

	enter_new_folder(dir);
	for (long i = 0; i < N_OPEN; i++)
		fds[i] = open_file(name_of(i), O_RDWR | O_CREAT);
	for (long i = 0; i < n; i++) {
		int fd = fds[i / 2 % N_OPEN];
		ssize_t done = i % 2 ? pread(fd, block, BLOCK, 0) :
				       pwrite(fd, block, BLOCK, 0);

		if (done != BLOCK)
			fail("read or write");
	}
	leave_folder(N_OPEN);
}

static void make(long n, const char *dir)
{
	if (mkdir(dir, 0755) < 0 || chdir(dir) < 0)
		fail(dir);
	for (long i = 0; i < n; i++)
		write_file(name_of(i), O_CREAT | O_TRUNC, BLOCK);
	for (long i = 0; i < n; i++)
		read_file(name_of(i), BLOCK);
}

static void many(long n, const char *dir)
{
	char name[64];

	if (mkdir(dir, 0755) < 0 || chdir(dir) < 0)
		fail(dir);
	for (long i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "d_%ld", i / 1000);
		if (i % 1000 == 0 && mkdir(name, 0755) < 0)
			fail(name);
		snprintf(name, sizeof(name), "d_%ld/f_%ld", i / 1000, i);
		write_file(name, O_CREAT | O_TRUNC, TINY);
		read_file(name, TINY);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(long n, const char *dir);
	} works[] = { { "touch", touch },   { "again", again },
		      { "reopen", reopen }, { "rw", rw },
		      { "make", make },	    { "many", many } };

	memset(block, 'x', sizeof(block));
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
		if (argc == 4 && strcmp(argv[1], works[i].name) == 0) {
			works[i].run(strtol(argv[2], NULL, 10), argv[3]);
			return 0;
		}
	}
	fprintf(stderr, "usage: files touch|again|reopen|rw|make|many N DIR\n");
	return 2;
}
