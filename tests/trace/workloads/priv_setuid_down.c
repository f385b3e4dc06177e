/* Root executes a program that belongs to somebody with less rights. */
#include "workload.h"

int helper(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (geteuid() == 0)
		return 0; /* the file system is mounted nosuid */
	FAILS(open("secret", O_RDONLY), EACCES);
	FAILS(open("new.txt", O_WRONLY | O_CREAT, 0644), EACCES);
	return 0;
}

void prepare(void)
{
	if (geteuid() != 0)
		skip("only root has rights to lose");
	put("secret", "hello");
	CHECK(chmod("secret", 0600));
	copy_program(self, "prog");
	CHECK(chown("prog", 65534, 65534));
	CHECK(chmod("prog", 04755));
	CHECK(chmod(".", 0755));
}

static void start(void)
{
	execl("./prog", "prog", "try", NULL);
	fail("execl", __LINE__);
}

void act(void)
{
	in_child(start);
	expect("input prog");
}
