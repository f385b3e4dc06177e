/* Below another root, names are told from the outside. */
#include "workload.h"

void prepare(void)
{
	if (geteuid() != 0)
		skip("chroot() needs root");
	CHECK(mkdir("jail", 0755));
	CHECK(mkdir("jail/sub", 0755));
	put("jail/in.txt", "hello");
	put("jail/sub/in.txt", "hello");
	CHECK(symlink("/sub/in.txt", "jail/link"));
}

static void in_jail(void)
{
	CHECK(chroot("jail"));
	CHECK(chdir("/"));
	take("/in.txt");
	take("/link");
	put("/../../out.txt", "x");
	CHECK(rename("/out.txt", "/renamed.txt"));
	put("/gone", "x");
	CHECK(unlink("/gone"));
}

void act(void)
{
	in_child(in_jail);
	put("outside.txt", "x");
	expect("input jail/in.txt");
	expect("input jail/sub/in.txt");
	expect("output jail/renamed.txt");
	expect("temporary jail/gone");
	expect("output outside.txt");
}
