/* A process enters the mount namespace of another, as `nsenter` does. */
#include <sched.h>
#include <sys/mount.h>

#include "workload.h"

void prepare(void)
{
	if (geteuid() != 0)
		skip("a mount namespace needs root");
	if (unshare(CLONE_NEWNS) < 0)
		skip("no mount namespaces here");
	CHECK(mkdir("mnt", 0755));
}

static void live_there(int ready, int end)
{
	char byte = 'x';

	CHECK(unshare(CLONE_NEWNS));
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CHECK(mount("none", "mnt", "tmpfs", 0, NULL));
	REQUIRE(write(ready, &byte, 1) == 1);
	REQUIRE(read(end, &byte, 1) == 1);
	_exit(0);
}

static int namespace_of(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	return CHECK(open(path, O_RDONLY | O_CLOEXEC));
}

void act(void)
{
	char cwd[4096], byte = 'x';
	int ready[2], end[2];
	pid_t pid;

	REQUIRE(getcwd(cwd, sizeof(cwd)));
	CHECK(pipe(ready));
	CHECK(pipe(end));
	pid = CHECK(fork());
	if (pid == 0)
		live_there(ready[1], end[0]);
	REQUIRE(read(ready[0], &byte, 1) == 1);
	put("before.txt", "x");
	CHECK(setns(namespace_of(pid), CLONE_NEWNS));
	CHECK(chdir(cwd));
	put("mnt/hidden.txt", "x");
	REQUIRE(write(end[1], &byte, 1) == 1);
	await(pid, 0);
	expect("output before.txt");
	expect("gap namespace");
}
