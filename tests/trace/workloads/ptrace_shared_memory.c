/* A process that shares the memory of its parent stops all threads of it, reads their
 * registers and lets them go on: what LeakSanitizer does.  One thread sleeps in a call,
 * the others open files. */
#include <dirent.h>
#include <elf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "workload.h"

enum { THREADS = 4, STACK = 65536 };

static _Alignas(16) char stack[STACK];
static atomic_bool enough;
static int sleeper[2];

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

/* A stop must not end its call. */
static void *sleep_long(void *unused)
{
	char byte;

	REQUIRE(read(sleeper[0], &byte, 1) == 1);
	return unused;
}

static void stop(pid_t tid)
{
	int status = 0;

	CHECK(ptrace(PTRACE_ATTACH, tid, NULL, NULL));
	REQUIRE(ptrace(PTRACE_ATTACH, tid, NULL, NULL) < 0 && errno == EPERM);
	REQUIRE(CHECK(waitpid(tid, &status, __WALL)) == tid);
	REQUIRE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	REQUIRE(waitpid(tid, &status, __WALL | WNOHANG) == 0);
}

static void look(pid_t tid)
{
	struct user_regs_struct registers[2] = { 0 };
	struct iovec all = { registers, sizeof(registers) };

	CHECK(ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &all));
	REQUIRE(all.iov_len == sizeof(registers[0]));
#ifdef __x86_64__
	REQUIRE(registers[0].rsp);
	CHECK(ptrace(PTRACE_GETREGS, tid, NULL, &registers[1]));
	REQUIRE(memcmp(&registers[0], &registers[1], sizeof(registers[0])) == 0);
#endif
	REQUIRE(ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, NULL) < 0 &&
		errno == EFAULT);
}

/* Of the parent; the end of this process lets go those that are not detached. */
static int stop_threads(void *unused)
{
	char path[64];
	struct dirent *entry;
	pid_t tids[THREADS + 1];
	int n = 0;
	DIR *dir;

	(void)unused;
	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)getppid());
	dir = opendir(path);
	REQUIRE(dir);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' && n <= THREADS)
			tids[n++] = (pid_t)atoi(entry->d_name);
	REQUIRE(n == THREADS + 1);
	closedir(dir);
	for (int i = 0; i < n; i++)
		stop(tids[i]);
	for (int i = 0; i < n; i++)
		look(tids[i]);
	for (int i = 0; i < n / 2; i++)
		CHECK(ptrace(PTRACE_DETACH, tids[i], NULL, NULL));
	REQUIRE(ptrace(PTRACE_DETACH, tids[0], NULL, NULL) < 0 &&
		errno == ESRCH);
	return 0;
}

void act(void)
{
	pthread_t threads[THREADS];
	int status;
	pid_t pid;

	CHECK(pipe(sleeper));
	take("in.txt");
	for (int i = 0; i < THREADS; i++)
		REQUIRE(pthread_create(&threads[i], NULL,
				       i ? take_often : sleep_long, NULL) == 0);
	sleep_ms(20);
	pid = clone(stop_threads, stack + STACK,
		    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED, NULL);
	CHECK(pid);
	REQUIRE(CHECK(waitpid(pid, &status, __WALL)) == pid);
	REQUIRE(status == 0);
	atomic_store(&enough, true);
	REQUIRE(write(sleeper[1], "x", 1) == 1);
	for (int i = 0; i < THREADS; i++)
		REQUIRE(pthread_join(threads[i], NULL) == 0);
	put("out.txt", "x");
	expect("input in.txt");
	expect("output out.txt");
}
