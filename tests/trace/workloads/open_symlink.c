/* Names are told without symbolic links, for files and for directories. */
#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("real", 0755));
	CHECK(mkdir("real/deep", 0755));
	put("real/in.txt", "hello");
	put("real/deep/in.txt", "hello");
	put("real/beside.txt", "hello");
	CHECK(symlink("real/in.txt", "filelink"));
	CHECK(symlink("real/deep", "dirlink"));
	CHECK(symlink("real/new.txt", "dangling"));
}

void act(void)
{
	take("filelink");
	take("dirlink/in.txt");
	/* ".." leaves the directory the link leads to. */
	take("dirlink/../beside.txt");
	put("dangling", "x");
	put("./dirlink//out.txt", "x");
	expect("input real/in.txt");
	expect("input real/deep/in.txt");
	expect("input real/beside.txt");
	expect("output real/new.txt");
	expect("output real/deep/out.txt");
	expect("event open r real/in.txt");
	expect("event open r real/deep/in.txt");
	expect("event open r real/beside.txt");
	expect("event open w+create real/new.txt");
	expect("event open w+create real/deep/out.txt");
}
