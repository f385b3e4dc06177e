/* The same calls have other numbers in a 32-bit program. */
#include "workload.h"

int helper(int argc, char **argv)
{
	(void)argc;
	put(argv[1], "x");
	return 0;
}

void prepare(void)
{
	CHECK(mkdir("sub", 0755));
	put("in.txt", "hello");
	put("cut.txt", "hello");
	put("old.txt", "hello");
}

static void start_myself(void)
{
	execl(self, self, "child.txt", NULL);
	fail("execl", __LINE__);
}

void act(void)
{
	int fd;

	take("in.txt");
	put("tmp.txt", "x");
	CHECK(rename("tmp.txt", "out.txt"));
	CHECK(link("out.txt", "linked.txt"));
	CHECK(symlink("out.txt", "soft"));
	take("soft");
	CHECK(truncate("cut.txt", 1));
	put("gone.txt", "x");
	CHECK(unlink("gone.txt"));
	fd = (int)CHECK(syscall(SYS_open, "raw.txt", O_WRONLY | O_CREAT, 0644));
	put_fd(fd, "x");
	put_fd((int)CHECK(syscall(SYS_creat, "creat.txt", 0644)), "x");
	in_child(start_myself);
	CHECK(chdir("sub"));
	put("below.txt", "x");
	expect("input in.txt");
	expect("output out.txt");
	expect("intermediate out.txt");
	expect("output linked.txt");
	expect("output soft");
	expect("output cut.txt");
	expect("temporary gone.txt");
	expect("output raw.txt");
	expect("output creat.txt");
	expect("output child.txt");
	expect("output sub/below.txt");
}
