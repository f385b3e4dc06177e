/* storm.c - process trees that are too much.
 *
 *	storm processes N	N short processes, 32 at a time; each thousandth
 *				writes a file
 *	storm threads T N	T threads, each makes N children that read in.txt
 *				and writes one file
 *	storm chain N		N generations, each the parent of the next, which
 *				it does not wait for; the last one writes a file
 *	storm trickle N		N files, one a millisecond, then the file "done"
 *
 * Exits with 0 when every child did what it should. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N_AT_ONCE = 32, EVERY = 1000 };

static long n_children; /* of each thread */

static void fail(const char *what)
{
	fprintf(stderr, "storm: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static void put(const char *prefix, long i)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "%s-%ld", prefix, i);
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, name, strlen(name)) < 0)
		fail(name);
	close(fd);
}

/* A process cannot be made for a while when very many are being reaped. */
static pid_t patient_fork(void)
{
	struct timespec pause = { 0, 1000000 };
	pid_t pid;

	for (int i = 0; (pid = fork()) < 0 && errno == EAGAIN && i < 5000; i++)
		nanosleep(&pause, NULL);
	if (pid < 0)
		fail("fork");
	return pid;
}

static void reap_one(void)
{
	int status;

	if (wait(&status) < 0 || status != 0)
		fail("wait");
}

static void processes(long n)
{
	for (long i = 0; i < n; i++) {
		if (patient_fork() == 0) {
			if (i % EVERY == 0)
				put("p", i / EVERY);
			_exit(0);
		}
		if (i >= N_AT_ONCE)
			reap_one();
	}
	for (long i = 0; i < n && i < N_AT_ONCE; i++)
		reap_one();
}

static void read_input(void)
{
	char buf[64];
	int fd = open("in.txt", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, buf, sizeof(buf)) < 0)
		_exit(2);
	_exit(0);
}

static void *fork_storm(void *arg)
{
	for (long i = 0; i < n_children; i++) {
		pid_t pid = patient_fork();
		int status;

		if (pid == 0)
			read_input();
		if (waitpid(pid, &status, 0) != pid || status != 0)
			fail("child");
	}
	put("t", (long)arg);
	return NULL;
}

static void threads(long n)
{
	pthread_t *all = calloc((size_t)n, sizeof(*all));

	if (!all)
		fail("calloc");
	for (long i = 0; i < n; i++)
		if (pthread_create(&all[i], NULL, fork_storm, (void *)i) != 0)
			fail("pthread_create");
	for (long i = 0; i < n; i++)
		pthread_join(all[i], NULL);
	free(all);
}

/* The end of a pipe tells the command when the last generation is through. */
static void chain(long n)
{
	int ends[2];
	char byte;

	if (pipe(ends) < 0)
		fail("pipe");
	for (long i = 0; i < n; i++) {
		if (patient_fork() > 0) {
			if (i > 0)
				_exit(0);
			close(ends[1]);
			if (read(ends[0], &byte, 1) != 0)
				fail("read");
			reap_one();
			return;
		}
	}
	put("c", n);
	_exit(0);
}

static void trickle(long n)
{
	struct timespec pause = { 0, 1000000 };

	for (long i = 0; i < n; i++) {
		put("f", i);
		nanosleep(&pause, NULL);
	}
	put("done", 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(long n);
	} storms[] = { { "processes", processes },
		       { "threads", threads },
		       { "chain", chain },
		       { "trickle", trickle } };

	if (argc > 3)
		n_children = strtol(argv[3], NULL, 10);
	for (size_t i = 0; i < sizeof(storms) / sizeof(storms[0]); i++) {
		if (argc > 2 && strcmp(argv[1], storms[i].name) == 0) {
			storms[i].run(strtol(argv[2], NULL, 10));
			return 0;
		}
	}
	fprintf(stderr, "usage: storm processes|threads|chain|trickle N [N]\n");
	return 2;
}
