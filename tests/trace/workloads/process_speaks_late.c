/* A child is first heard of when its parent and many other processes are gone, and
 * has ended itself by then: where it was must still be known. */
#include "workload.h"

enum { N_OTHERS = 100 };

static int go[2], done[2];

static void write_when_all_are_gone(void)
{
	char byte;

	close(go[1]);
	close(done[0]);
	REQUIRE(read(go[0], &byte, 1) == 0);
	put("out.txt", "x");
	_exit(0);
}

/* _Fork() runs no handlers: nothing tells of this child before it opens a file. */
static void leave_child(void)
{
	if (CHECK(_Fork()) == 0)
		write_when_all_are_gone();
}

static void nothing(void)
{
}

void prepare(void)
{
	CHECK(mkdir("sub", 0755));
}

void act(void)
{
	char byte;

	CHECK(chdir("sub"));
	CHECK(pipe(go));
	CHECK(pipe(done));
	in_child(leave_child);
	for (int i = 0; i < N_OTHERS; i++)
		in_child(nothing);
	close(go[1]);
	close(done[1]);
	REQUIRE(read(done[0], &byte, 1) == 0);
	expect("output sub/out.txt");
}
