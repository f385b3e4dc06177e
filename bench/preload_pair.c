/* preload_pair.c - what the preloaded library costs an open, in nanoseconds.
 *
 *	preload_pair LIBRARY DIRECTORY
 *
 * Pairs in one process: a block of opens by libc's own function, a block by the
 * library's, in turn, over the same files; the median of the differences with its
 * quartiles.  DIRECTORY should be on a tmpfs, where an open is cheapest and the noise
 * least.  A second process drains the log, as a tracer would.
 *
 *	read, new	told: every block voids what is known
 *	read, known	not told again
 *	write		O_CREAT|O_TRUNC of a name nobody has read: two records */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "trace/preload/log.h"

enum {
	FILES = 500,
	PAIRS = 101,
	PASS = 0x7e5d0000,
	SIZE = LOG_RING_AT + LOG_CELLS_DEFAULT * LOG_CELL,
};

typedef int (*open_function)(const char *, int, ...);

static char names[FILES][64];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct log_header *map_log(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *map;

	if (fd < 0 || ftruncate(fd, SIZE) < 0)
		die(path);
	map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_POPULATE, fd, 0);
	if (map == MAP_FAILED)
		die("mmap");
	close(fd);
	return map;
}

static void make_log(struct log_header *log, const char *library)
{
	log->n_cells = LOG_CELLS_DEFAULT;
	log->mode = LOG_SECCOMP;
	log->pass = PASS;
	log->key = (uint64_t)time(NULL);
	snprintf(log->preload, sizeof(log->preload), "%s", library);
	atomic_store(&log->next_process, 1);
	log->magic = LOG_MAGIC;
}

/* Forgets whatever was told, every few milliseconds. */
static void drain_forever(struct log_header *log)
{
	char *ring = (char *)log + LOG_RING_AT;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		uint64_t tail = atomic_load(&log->tail);

		while (tail != atomic_load(&log->head)) {
			memset(ring + tail % LOG_CELLS_DEFAULT * LOG_CELL, 0,
			       LOG_CELL);
			tail++;
		}
		atomic_store(&log->tail, tail);
		usleep(3000);
	}
}

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double block(open_function f, int flags)
{
	double start = now_ns();

	for (int i = 0; i < FILES; i++) {
		int fd = f(names[i], flags, 0600);

		if (fd < 0)
			die(names[i]);
		close(fd);
	}
	return (now_ns() - start) / FILES;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void compare(const char *what, open_function off, int flags,
		    struct log_header *log, bool forget)
{
	double difference[PAIRS], plain[PAIRS];

	for (int i = 0; i < PAIRS; i++) {
		double on;

		if (forget)
			atomic_fetch_add(&log->generation, 1);
		plain[i] = block(off, flags);
		on = block(open, flags);
		difference[i] = on - (plain[i] + block(off, flags)) / 2;
	}
	qsort(difference, PAIRS, sizeof(double), by_value);
	qsort(plain, PAIRS, sizeof(double), by_value);
	printf("%-12s %6.0f ns plain, %+5.0f ns [%.0f..%.0f]\n", what,
	       plain[PAIRS / 2], difference[PAIRS / 2], difference[PAIRS / 4],
	       difference[PAIRS * 3 / 4]);
}

static void measure(const char *log_path, const char *dir)
{
	struct log_header *log = map_log(log_path);
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	open_function off = (open_function)dlsym(libc, "open");

	if (atomic_load(&log->head) == 0 || off == (open_function)open)
		die("the library is not there");
	unlink(log_path);
	for (int i = 0; i < FILES; i++) {
		snprintf(names[i], sizeof(names[i]), "%.40s/w%d", dir, i);
		close(off(names[i], O_WRONLY | O_CREAT, 0600));
	}
	compare("write", off, O_WRONLY | O_CREAT | O_TRUNC, log, false);
	compare("read, new", off, O_RDONLY, log, true);
	compare("read, known", off, O_RDONLY, log, false);
	for (int i = 0; i < FILES; i++)
		unlink(names[i]);
}

int main(int argc, char **argv)
{
	char path[] = "/dev/shm/roar-pair-XXXXXX";
	struct log_header *log;

	if (argc == 4) {
		measure(argv[3], argv[2]);
		return 0;
	}
	if (argc != 3) {
		fputs("usage: preload_pair LIBRARY DIRECTORY\n", stderr);
		return 2;
	}
	close(mkstemp(path));
	log = map_log(path);
	make_log(log, argv[1]);
	if (fork() == 0)
		drain_forever(log);
	setenv("LD_PRELOAD", argv[1], 1);
	setenv(LOG_ENV, path, 1);
	execl("/proc/self/exe", argv[0], argv[1], argv[2], path, NULL);
	die("exec");
}
