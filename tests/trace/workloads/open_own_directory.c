/* Directories that only the process itself can reach: one that is removed, through a
 * descriptor, and its own, through links that mean another to everybody. */
#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("sub", 0755));
	put("sub/a", "hello");
	put("sub/b", "hello");
	put("beside", "hello");
	CHECK(mkdir("gone", 0755));
	CHECK(symlink("/proc/self/cwd", "here"));
}

static void expect_input(const char *name)
{
	expect("only ptrace input %s", name);
	expect("only ebpf input %s", name);
}

void act(void)
{
	int gone = CHECK(open("gone", O_RDONLY | O_DIRECTORY));
	char top[2048], path[4096];

	CHECK(rmdir("gone"));
	take_fd(CHECK(openat(gone, "../beside", O_RDONLY)));
	FAILS(openat(gone, "new", O_WRONLY | O_CREAT, 0644), ENOENT);
	REQUIRE(getcwd(top, sizeof(top)));
	CHECK(chdir("sub"));
	take("//proc/self/cwd/a");
	(void)snprintf(path, sizeof(path), "%s/here/b", top);
	take(path);
	expect("input beside");
	expect_input("sub/a");
	expect_input("sub/b");
	/* The library's word does not fit what is found there later. */
	expect("only hybrid gap changed");
}
