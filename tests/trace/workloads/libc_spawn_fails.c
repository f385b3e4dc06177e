/* posix_spawn() whose file action or program fails: the child ends before it has
 * done anything else. */
#include <spawn.h>

#include "workload.h"

extern char **environ;

static int spawn(const char *program, const char *in, int flags)
{
	char *argv[] = { (char *)program, NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int r;

	REQUIRE(posix_spawn_file_actions_init(&actions) == 0);
	REQUIRE(posix_spawn_file_actions_addopen(&actions, 0, in, flags,
						 0644) == 0);
	r = posix_spawn(&pid, program, &actions, NULL, argv, environ);
	REQUIRE(posix_spawn_file_actions_destroy(&actions) == 0);
	return r;
}

void prepare(void)
{
	put("in.txt", "hello");
}

void act(void)
{
	REQUIRE(spawn(self, "nothing", O_RDONLY) == ENOENT);
	REQUIRE(spawn("./nothing", "in.txt", O_RDONLY) == ENOENT);
	REQUIRE(spawn("./in.txt", "made", O_WRONLY | O_CREAT) == EACCES);
	expect("input in.txt");
	expect("output made");
}
