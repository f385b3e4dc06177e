/* Relative names follow fchdir(), also after the directory was renamed. */
#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("a", 0755));
	put("a/in.txt", "hello");
	put("a/late.txt", "hello");
}

void act(void)
{
	int top = CHECK(open(".", O_RDONLY | O_DIRECTORY));
	int dir = CHECK(open("a", O_RDONLY | O_DIRECTORY));

	CHECK(fchdir(dir));
	take("in.txt");
	CHECK(renameat(top, "a", top, "b"));
	put("out.txt", "x");
	CHECK(fchdir(top));
	put("top.txt", "x");
	expect("input a/in.txt");
	expect("output b/out.txt");
	expect("output top.txt");
	/* The input moved with its directory: b/in.txt is its new name. */
	expect("output b/in.txt");
}
