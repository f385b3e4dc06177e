/* Relative names follow chdir(). */
#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("a", 0755));
	CHECK(mkdir("a/b", 0755));
	put("a/in.txt", "hello");
	put("a/b/in.txt", "hello");
	CHECK(symlink("a/b", "link"));
}

static void in_b(void)
{
	CHECK(chdir("b"));
	take("in.txt");
}

void act(void)
{
	CHECK(chdir("a"));
	take("in.txt");
	in_child(in_b);
	put("out.txt", "x");
	CHECK(chdir("../link"));
	put("out.txt", "x");
	CHECK(chdir(".."));
	put("last.txt", "x");
	expect("input a/in.txt");
	expect("input a/b/in.txt");
	expect("output a/out.txt");
	expect("output a/b/out.txt");
	expect("output a/last.txt");
}
