/* Names that lead through the root or the current directory of a process with other
 * mounts, and through descriptors: files of the same names are outside. */
#include "elsewhere.h"

static int line[2];

void prepare(void)
{
	CHECK(mkdir("mnt", 0755));
	CHECK(mkdir("d", 0755));
	CHECK(mkdir("jail", 0755));
	put("mnt/hidden.txt", "outside");
	put("d/in.txt", "hello");
	put("d/by-cwd.txt", "hello");
	put("d/by-fd.txt", "hello");
	put("jail/in.txt", "hello");
	prepare_elsewhere(CLONE_NEWNS);
}

/* Mounts something, and waits there. */
static void live_there(void)
{
	char byte = 'x';

	go_elsewhere(CLONE_NEWNS);
	CHECK(mount("none", "mnt", "tmpfs", 0, NULL));
	put_fd(CHECK(open("mnt/hidden.txt", O_WRONLY | O_CREAT, 0644)), "x");
	CHECK(chdir("d"));
	REQUIRE(write(line[1], &byte, 1) == 1);
	pause();
}

static void live_in_jail(void)
{
	char byte = 'x';

	CHECK(chroot("jail"));
	REQUIRE(write(line[1], &byte, 1) == 1);
	pause();
}

static pid_t start(void (*fn)(void))
{
	pid_t pid;
	char byte;

	CHECK(pipe(line));
	pid = CHECK(fork());
	if (pid == 0)
		fn();
	REQUIRE(read(line[0], &byte, 1) == 1);
	return pid;
}

static void stop(pid_t pid)
{
	CHECK(kill(pid, SIGKILL));
	CHECK(waitpid(pid, NULL, 0));
}

/* A name as the kernel has it for that process. */
static const char *of(pid_t pid, const char *format, const char *arg)
{
	static char name[8192];

	snprintf(name, sizeof(name), format, (int)pid, arg);
	return name;
}

void act(void)
{
	pid_t pid = start(live_there), jailed = start(live_in_jail);
	int dir = CHECK(open("d", O_PATH | O_DIRECTORY));
	char cwd[4096];

	REQUIRE(getcwd(cwd, sizeof(cwd)));
	take(of(jailed, "/proc/%d/root/%s", "in.txt"));
	put(of(jailed, "/proc/%d/root/%s", "out.txt"), "x");
	take(of(pid, "/proc/%d/root%s/d/in.txt", cwd));
	take(of(pid, "/proc/%d/cwd/%s", "by-cwd.txt"));
	put(of(pid, "/proc/%d/cwd/%s", "../made.txt"), "x");
	take(of(dir, "/proc/self/fd/%d/%s", "by-fd.txt"));
	/* Hidden from us. */
	take(of(pid, "/proc/%d/root%s/mnt/hidden.txt", cwd));
	stop(pid);
	stop(jailed);
	expect("input jail/in.txt");
	expect("output jail/out.txt");
	expect("input d/in.txt");
	expect("input d/by-cwd.txt");
	expect("output made.txt");
	expect("input d/by-fd.txt");
	expect("gap namespace");
}
