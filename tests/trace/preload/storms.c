/* storms.c - the preloaded library under stress; see test_preload.py.
 *
 *	storms threads | fork | signals | stack | churn | cancel | cancel_blocked |
 *	       directory
 *
 * Each ends with 0 when everything behaved, and prints how many opens it made
 * where the log is to be compared. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(x)                                                      \
	do {                                                          \
		if (!(x)) {                                           \
			fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, \
				__LINE__, #x, strerror(errno));       \
			_exit(1);                                     \
		}                                                     \
	} while (0)

static void open_one(const char *format, int a, int b)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), format, a, b);
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	CHECK(fd >= 0);
	close(fd);
}

/* ---- 200 threads, each with its own files ---- */

static void *open_many(void *arg)
{
	for (int i = 0; i < 20; i++)
		open_one("t%d-%d", (int)(intptr_t)arg, i);
	return NULL;
}

static void storm_threads(void)
{
	pthread_t threads[200];

	for (int i = 0; i < 200; i++)
		CHECK(!pthread_create(&threads[i], NULL, open_many,
				      (void *)(intptr_t)i));
	for (int i = 0; i < 200; i++)
		pthread_join(threads[i], NULL);
}

/* ---- threads that fork while others open ---- */

static void *fork_many(void *arg)
{
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			open_one("f%d-%d", (int)(intptr_t)arg, i);
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
	return NULL;
}

static void storm_fork(void)
{
	pthread_t threads[16];

	for (int i = 0; i < 16; i++)
		CHECK(!pthread_create(&threads[i], NULL,
				      i % 2 ? fork_many : open_many,
				      (void *)(intptr_t)i));
	for (int i = 0; i < 16; i++)
		pthread_join(threads[i], NULL);
}

/* ---- a handler that opens, every 50 microseconds ---- */

static atomic_int n_signals;

/* errno is not saved: calls that succeed leave it alone. */
static void on_alarm(int sig)
{
	int in = open("r1", O_RDONLY);
	int out = open("handler", O_WRONLY | O_CREAT | O_TRUNC, 0644);

	(void)sig;
	if (in < 0 || out < 0)
		_exit(1);
	close(in);
	close(out);
	n_signals++;
}

static void storm_signals(void)
{
	struct itimerval every = { .it_interval = { 0, 50 },
				   .it_value = { 0, 50 } };
	struct itimerval off = { 0 };

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < 5000; i++) {
		int fd;

		open_one("s%d-%d", i % 50, 0);
		errno = 4321;
		fd = open("r2", O_RDONLY);
		CHECK(fd >= 0 && errno == 4321);
		close(fd);
		if (i % 100 == 0) {
			CHECK(rename("s0-0", "s1-0") == 0);
			open_one("s%d-%d", 0, 0);
		}
	}
	setitimer(ITIMER_REAL, &off, NULL);
	CHECK(n_signals > 100);
}

/* ---- the smallest stack there is ---- */

static void *on_small_stack(void *arg)
{
	pid_t pid;
	int status;

	(void)arg;
	open_one("small%d-%d", 0, 0);
	CHECK(close(open("r1", O_RDONLY)) == 0);
	CHECK(rename("small0-0", "small") == 0);
	CHECK(chdir(".") == 0 && unlink("small") == 0);
	pid = vfork();
	if (pid == 0) {
		execlp("true", "true", NULL);
		_exit(1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	return NULL;
}

static void storm_stack(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *stack = mmap(NULL, 16384 + page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;

	CHECK(stack != MAP_FAILED && !mprotect(stack, page, PROT_NONE));
	pthread_attr_init(&attr);
	CHECK(!pthread_attr_setstack(&attr, stack + page, 16384));
	CHECK(!pthread_create(&thread, &attr, on_small_stack, NULL));
	pthread_join(thread, NULL);
}

/* ---- opens until killed ---- */

static void storm_churn(void)
{
	for (int i = 0;; i++) {
		open_one("c%d-%d", i % 100, 0);
		CHECK(close(open("r1", O_RDONLY)) == 0);
	}
}

/* ---- cancellation ---- */

static atomic_int cleaned, at_work;

static void clean(void *arg)
{
	(void)arg;
	cleaned++;
}

static void *open_forever(void *arg)
{
	pthread_cleanup_push(clean, NULL);
	for (;;) {
		int fd = open(arg, O_RDONLY);

		at_work = 1;
		close(fd);
	}
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancel_in(const char *path, int wait_us)
{
	pthread_t thread;
	void *result;

	cleaned = at_work = 0;
	CHECK(!pthread_create(&thread, NULL, open_forever, (void *)path));
	usleep((useconds_t)wait_us);
	CHECK(!pthread_cancel(thread) && !pthread_join(thread, &result));
	CHECK(result == PTHREAD_CANCELED && cleaned == 1);
}

static void storm_cancel(void)
{
	for (int i = 0; i < 50; i++)
		cancel_in("r1", 1000);
}

/* Nobody ever opens the other end. */
static void storm_cancel_blocked(void)
{
	CHECK(mkfifo("fifo", 0600) == 0);
	for (int i = 0; i < 5; i++)
		cancel_in("fifo", 20000);
}

/* ---- one thread changes the directory while another opens ---- */

static atomic_int stop;

static void *change_forever(void *arg)
{
	(void)arg;
	while (!stop)
		CHECK(chdir("sub") == 0 && chdir("..") == 0);
	return NULL;
}

static void storm_directory(void)
{
	pthread_t thread;

	CHECK(mkdir("sub", 0755) == 0);
	CHECK(!pthread_create(&thread, NULL, change_forever, NULL));
	for (int i = 0; i < 300; i++)
		open_one("d%d-%d", i, 0);
	stop = 1;
	pthread_join(thread, NULL);
}

/* ---- the table ---- */

static const struct {
	const char *name;
	void (*run)(void);
} storms[] = {
	{ "threads", storm_threads },
	{ "fork", storm_fork },
	{ "signals", storm_signals },
	{ "stack", storm_stack },
	{ "churn", storm_churn },
	{ "cancel", storm_cancel },
	{ "cancel_blocked", storm_cancel_blocked },
	{ "directory", storm_directory },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(storms) / sizeof(storms[0]);
	     i++) {
		if (strcmp(storms[i].name, argv[1]) == 0) {
			storms[i].run();
			return 0;
		}
	}
	fputs("storms: no such storm\n", stderr);
	return 2;
}
