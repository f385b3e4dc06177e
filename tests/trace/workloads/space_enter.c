/* A process enters the mount namespace of another, where nothing else is mounted, and
 * comes back. */
#include "elsewhere.h"

void prepare(void)
{
	CHECK(mkdir("d", 0755));
	put("d/in.txt", "hello");
	prepare_elsewhere(CLONE_NEWNS);
}

static int line[2];

static void live_there(void)
{
	char byte = 'x';

	go_elsewhere(CLONE_NEWNS);
	REQUIRE(write(line[1], &byte, 1) == 1);
	pause();
}

void act(void)
{
	char cwd[2048], name[4096], byte;
	int home = CHECK(open("/proc/self/ns/mnt", O_RDONLY));
	pid_t pid;

	REQUIRE(getcwd(cwd, sizeof(cwd)));
	CHECK(pipe(line));
	pid = CHECK(fork());
	if (pid == 0)
		live_there();
	REQUIRE(read(line[0], &byte, 1) == 1);
	snprintf(name, sizeof(name), "/proc/%d/ns/mnt", (int)pid);
	CHECK(setns(CHECK(open(name, O_RDONLY)), CLONE_NEWNS));
	snprintf(name, sizeof(name), "%s/d/in.txt", cwd);
	take(name);
	CHECK(chdir(cwd));
	put("d/there.txt", "x");
	CHECK(setns(home, CLONE_NEWNS));
	CHECK(chdir(cwd));
	put("d/here.txt", "x");
	CHECK(kill(pid, SIGKILL));
	CHECK(waitpid(pid, NULL, 0));
	expect("input d/in.txt");
	expect("output d/there.txt");
	expect("output d/here.txt");
}
