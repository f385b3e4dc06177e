/* A process stops all threads of its parent, as LeakSanitizer does before it looks
 * for leaks, while these threads open files. */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ptrace.h>

#include "workload.h"

enum { THREADS = 4 };

static atomic_bool enough;

void prepare(void)
{
	put("in.txt", "hello");
}

static void *take_often(void *unused)
{
	while (!atomic_load(&enough))
		take("in.txt");
	return unused;
}

/* False: a tracer has it, which was not to be. */
static bool stop(pid_t tid)
{
	int status;

	if (ptrace(PTRACE_ATTACH, tid, NULL, NULL) < 0) {
		REQUIRE(errno == EPERM);
		return false;
	}
	REQUIRE(CHECK(waitpid(tid, &status, __WALL)) == tid);
	REQUIRE(WIFSTOPPED(status));
	return true;
}

static void stop_parent(void)
{
	char path[64];
	struct dirent *entry;
	int n = 0;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)getppid());
	dir = opendir(path);
	REQUIRE(dir);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			n += stop((pid_t)atoi(entry->d_name));
	closedir(dir);
	if (n != THREADS + 1)
		expect("except ptrace gap escaped");
	/* The end of a tracer lets them go. */
}

void act(void)
{
	pthread_t threads[THREADS];

	take("in.txt");
	for (int i = 0; i < THREADS; i++)
		REQUIRE(pthread_create(&threads[i], NULL, take_often, NULL) ==
			0);
	sleep_ms(20);
	in_child(stop_parent);
	atomic_store(&enough, true);
	for (int i = 0; i < THREADS; i++)
		REQUIRE(pthread_join(threads[i], NULL) == 0);
	put("out.txt", "x");
	expect("input in.txt");
	expect("output out.txt");
	expect("only ptrace gap escaped");
}
