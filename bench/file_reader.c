/* file_reader.c - how fast a file comes off its device, by each way of hash/read/file_reader.h.
 *
 *	file_reader [-c] [-o] [-w WAY] [-t THREADS] [-l LEAF_KIB] [-n ROUNDS] FILE
 *
 * The sink does nothing: what is measured is the reading.  Before each round the
 * file is brought into the page cache, or with -c dropped from it.  -o asks for the
 * order of the file.  Prints one JSON object; the rate is the median of the
 * rounds, in 10^9 bytes a second. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "hash/read/file_reader.h"

enum { MAX_ROUNDS = 101, BLOCK = 1024 * 1024 };

struct plan {
	const char *file;
	bool is_cold;
	int n_rounds;
	struct file_reader_options options;
};

static void fail(const char *what, int r)
{
	fprintf(stderr, "file_reader: %s: %s\n", what, strerror(-r));
	exit(1);
}

static int ignore(void *ctx, unsigned worker, uint64_t offset,
		  const uint8_t *data, size_t len)
{
	(void)ctx;
	(void)worker;
	(void)offset;
	(void)data;
	(void)len;
	return 0;
}

static void warm(int fd, uint64_t size)
{
	static char block[BLOCK];

	for (uint64_t at = 0; at < size; at += BLOCK) {
		if (pread(fd, block, BLOCK, (off_t)at) <= 0)
			fail("read", -errno);
	}
}

static void cool(int fd)
{
	int r;

	if (fsync(fd) < 0)
		fail("fsync", -errno);
	r = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (r)
		fail("fadvise", -r);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double rate(int fd, uint64_t size,
		   const struct file_reader_options *options)
{
	int64_t start_ns = clock_mono_ns();
	int r = file_reader_read(fd, size, options, ignore, NULL);

	if (r < 0)
		fail("file_reader_read", r);
	return (double)size / (double)(clock_mono_ns() - start_ns);
}

static void measure(const struct plan *p, struct file_reader_report *report)
{
	int fd = open(p->file, O_RDONLY | O_CLOEXEC);
	double rates[MAX_ROUNDS];
	struct stat st;
	uint64_t size;

	if (fd < 0 || fstat(fd, &st) < 0)
		fail(p->file, -errno);
	size = (uint64_t)st.st_size;
	for (int i = 0; i < p->n_rounds; i++) {
		if (p->is_cold)
			cool(fd);
		else
			warm(fd, size);
		rates[i] = rate(fd, size, &p->options);
	}
	close(fd);
	qsort(rates, (size_t)p->n_rounds, sizeof(rates[0]), by_value);
	printf("{\"asked\": \"%s\", \"way\": \"%s\", \"cold\": %s, "
	       "\"in_order\": %s, \"workers\": %u, \"bytes\": %llu, "
	       "\"bytes_direct\": %llu, \"rounds\": %d, \"gb_per_s\": %.3f, "
	       "\"gb_per_s_min\": %.3f, \"gb_per_s_max\": %.3f}\n",
	       file_reader_way_name(p->options.way),
	       file_reader_way_name(report->way), p->is_cold ? "true" : "false",
	       p->options.in_order ? "true" : "false", report->n_workers,
	       (unsigned long long)size,
	       (unsigned long long)report->bytes_direct, p->n_rounds,
	       rates[p->n_rounds / 2], rates[0], rates[p->n_rounds - 1]);
}

static void usage(void)
{
	fprintf(stderr, "usage: file_reader [-c] [-o] [-w WAY] [-t THREADS] "
			"[-l LEAF_KIB] [-n ROUNDS] FILE\n");
	exit(2);
}

static enum file_reader_way way_of(const char *name)
{
	for (int i = 0; i < FILE_READER_WAY_END; i++) {
		if (strcmp(name, file_reader_way_name(i)) == 0)
			return i;
	}
	usage();
	return FILE_READER_AUTO;
}

int main(int argc, char **argv)
{
	struct file_reader_report report;
	struct plan p = {
		.n_rounds = 5,
		.options = { .report = &report, .may_map = true },
	};

	for (int c; (c = getopt(argc, argv, "cow:t:l:n:")) != -1;) {
		if (c == 'c')
			p.is_cold = true;
		else if (c == 'o')
			p.options.in_order = true;
		else if (c == 'w')
			p.options.way = way_of(optarg);
		else if (c == 't')
			p.options.n_threads = (unsigned)strtoul(optarg, NULL,
								10);
		else if (c == 'l')
			p.options.leaf = strtoul(optarg, NULL, 10) * 1024;
		else if (c == 'n')
			p.n_rounds = (int)strtol(optarg, NULL, 10);
		else
			usage();
	}
	if (optind != argc - 1 || p.n_rounds < 1 || p.n_rounds > MAX_ROUNDS)
		usage();
	p.file = argv[optind];
	measure(&p, &report);
	return 0;
}
