/* cp, mv, ln, install, sed -i, find | xargs: each has its own way. */
#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("from", 0755));
	CHECK(mkdir("from/sub", 0755));
	put("from/a", "hello\n");
	put("from/sub/b", "hello\n");
	put("edited", "hello\n");
	put("moved", "hello\n");
}

void act(void)
{
	REQUIRE(system("cp -r from to && mv moved there && ln from/a hard && "
		       "ln -s from/a soft && install -m 600 from/a placed && "
		       "sed -i s/hello/bye/ edited && "
		       "find to -type f | xargs cat > all") == 0);
	expect("input from/a");
	expect("input from/sub/b");
	expect("output to/a");
	expect("intermediate to/a");
	expect("output to/sub/b");
	expect("intermediate to/sub/b");
	expect("output there");
	expect("output hard");
	expect("output soft");
	expect("output placed");
	expect("input edited");
	expect("output edited");
	expect("output all");
}
