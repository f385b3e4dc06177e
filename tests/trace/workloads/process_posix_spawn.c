/* posix_spawn() opens the files of its actions in the child, before exec. */
#include <spawn.h>

#include "workload.h"

extern char **environ;

int helper(int argc, char **argv)
{
	char buf[16];
	ssize_t n;

	(void)argc;
	(void)argv;
	n = CHECK(read(0, buf, sizeof(buf)));
	REQUIRE(write(1, buf, (size_t)n) == n);
	return 0;
}

void prepare(void)
{
	CHECK(mkdir("sub", 0755));
	put("in.txt", "hello");
}

void act(void)
{
	char *argv[] = { (char *)self, "copy", NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid;

	REQUIRE(posix_spawn_file_actions_init(&actions) == 0);
	REQUIRE(posix_spawn_file_actions_addopen(&actions, 0, "in.txt",
						 O_RDONLY, 0) == 0);
	REQUIRE(posix_spawn_file_actions_addchdir_np(&actions, "sub") == 0);
	REQUIRE(posix_spawn_file_actions_addopen(
			&actions, 1, "out.txt", O_WRONLY | O_CREAT, 0644) == 0);
	REQUIRE(posix_spawn(&pid, self, &actions, NULL, argv, environ) == 0);
	await(pid, 0);
	expect("input in.txt");
	expect("output sub/out.txt");
	expect("event open r in.txt");
	expect("event open w+create sub/out.txt");
}
