/* A link to a directory is switched to another one during the run; so is a
 * directory for a link.  A name is what it is at that moment. */
#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("v1", 0755));
	CHECK(mkdir("v2", 0755));
	put("v1/in.txt", "hello");
	put("v2/in.txt", "hello");
	CHECK(symlink("v1", "current"));
	CHECK(symlink("v2", "next"));
}

void act(void)
{
	take("current/in.txt");
	CHECK(rename("next", "current"));
	take("current/in.txt");
	CHECK(unlink("current"));
	CHECK(mkdir("current", 0755));
	put("current/real.txt", "x");
	CHECK(rename("current", "other"));
	CHECK(symlink("v1", "current"));
	put("current/linked.txt", "x");
	expect("event open r v1/in.txt");
	expect("event rename next -> current");
	expect("event open r v2/in.txt");
	expect("event unlink current");
	expect("event open w+create current/real.txt");
	expect("event rename current -> other");
	expect("event symlink v1 -> current");
	expect("event open w+create v1/linked.txt");
	expect("input v1/in.txt");
	expect("input v2/in.txt");
	expect("output other/real.txt");
	expect("output current");
	expect("output v1/linked.txt");
}
