/* A server drops its privileges and goes on opening files. */
#include "workload.h"

void prepare(void)
{
	if (geteuid() != 0)
		skip("only root has privileges to drop");
	CHECK(chmod(".", 0755));
	CHECK(mkdir("spool", 0777));
	CHECK(chmod("spool", 0777));
	put("in.txt", "hello");
}

static void dropped(void)
{
	CHECK(setgid(65534));
	CHECK(setuid(65534));
	take("in.txt");
	put("spool/out.txt", "x");
}

void act(void)
{
	in_child(dropped);
	expect("input in.txt");
	expect("output spool/out.txt");
}
