/* A directory gets another name while processes are in it or have it open, and another
 * gets its old one. */
#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("a", 0755));
	CHECK(mkdir("a/sub", 0755));
	CHECK(mkdir("b", 0755));
	CHECK(mkdir("b/sub", 0755));
	put("a/in.txt", "a");
	put("a/sub/in.txt", "a");
	put("b/in.txt", "b");
	put("b/sub/in.txt", "b");
}

void act(void)
{
	int dir = CHECK(open("a", O_RDONLY | O_DIRECTORY));
	int top = CHECK(open(".", O_RDONLY | O_DIRECTORY));

	CHECK(rename("a", "moved"));
	CHECK(rename("b", "a"));
	CHECK(fchdir(dir));
	take("in.txt");
	put("out.txt", "x");
	CHECK(chdir("sub"));
	CHECK(renameat(top, "moved", top, "again"));
	take("in.txt");
	put("../out2.txt", "x");
	CHECK(fchdir(top));
	take("a/in.txt");
	/* Inputs have the names they had before the run. */
	expect("input a/in.txt");
	expect("input a/sub/in.txt");
	expect("input b/in.txt");
	expect("output a/in.txt");
	expect("output again/in.txt");
	expect("output again/sub/in.txt");
	expect("output again/out.txt");
	expect("output again/out2.txt");
}
