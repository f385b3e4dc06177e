/* Somebody else renames the directory in which a process works. */
#include "workload.h"

static void move(void)
{
	CHECK(rename("w", "w2"));
}

void prepare(void)
{
	CHECK(mkdir("w", 0755));
	put("w/a", "1");
	put("w/b", "2");
	stranger_waits(move);
}

void act(void)
{
	CHECK(chdir("w"));
	take("a");
	stranger_go();
	take("b");
	expect_watched("input w/a");
	expect("only ebpf input w/a"); /* the kernel's own name, at once */
	expect_watched("input w2/b");
	expect("may gap path"); /* they look later, and say so */
}
