/* sums.h - for workloads that say how many bytes they read and write.
 *
 * One backend counts; the others must make the same of the files. */
#ifndef SUMS_H
#define SUMS_H

#include "workload.h"

#define expect_bytes(role, n_read, n_written, name)                \
	expect("only ebpf bytes %s %d %d %s", role, (int)(n_read), \
	       (int)(n_written), name)

/* Reads or writes that many bytes, by one call. */
static inline void get_bytes(int fd, size_t n)
{
	char buf[4096];

	REQUIRE(n <= sizeof(buf) && read(fd, buf, n) == (ssize_t)n);
}

static inline void put_bytes(int fd, size_t n)
{
	char buf[4096] = { 0 };

	REQUIRE(n <= sizeof(buf) && write(fd, buf, n) == (ssize_t)n);
}

/* A file of that many bytes, in one write. */
static inline void make_file(const char *name, size_t n)
{
	int fd = CHECK(open(name, O_WRONLY | O_CREAT | O_EXCL, 0644));

	put_bytes(fd, n);
	CHECK(close(fd));
}

#endif
