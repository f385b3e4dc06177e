/* execveat() by directory and name, by descriptor alone, through a link. */
#include "workload.h"

extern char **environ;

int helper(int argc, char **argv)
{
	(void)argc;
	put(argv[1], "x");
	return 0;
}

static void start(int dir, const char *path, char *word, int flags)
{
	char *argv[] = { "prog", word, NULL };
	pid_t pid = CHECK(fork());

	if (pid == 0) {
		syscall(SYS_execveat, dir, path, argv, environ, flags);
		fail("execveat", __LINE__);
	}
	await(pid, 0);
}

void prepare(void)
{
	CHECK(mkdir("bin", 0755));
	copy_program(self, "bin/one");
	copy_program(self, "bin/two");
	copy_program(self, "bin/three");
	CHECK(symlink("bin/three", "link"));
}

void act(void)
{
	int dir = CHECK(open("bin", O_RDONLY | O_DIRECTORY));
	int fd = CHECK(open("bin/two", O_PATH));

	start(dir, "one", "out-1", 0);
	start(fd, "", "out-2", AT_EMPTY_PATH);
	start(AT_FDCWD, "link", "out-3", 0);
	expect("input bin/one");
	expect("input bin/two");
	expect("input bin/three");
	expect("output out-1");
	expect("output out-2");
	expect("output out-3");
}
