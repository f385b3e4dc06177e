/* The working directory is renamed, then removed, under the process. */
#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("old", 0755));
	put("old/in.txt", "hello");
	CHECK(mkdir("gone", 0755));
}

static void in_gone(void)
{
	CHECK(chdir("gone"));
	CHECK(rmdir("../gone"));
	FAILS(open("new", O_WRONLY | O_CREAT, 0644), ENOENT);
	put("../beside", "x");
}

void act(void)
{
	in_child(in_gone);
	CHECK(chdir("old"));
	CHECK(rename("../old", "../new"));
	take("in.txt");
	put("out.txt", "x");
	/* A library asked for its directory can only say that it has none. */
	expect("only ptrace output beside");
	expect("only ebpf output beside");
	expect("only hybrid gap path");
	/* Unless the tracer looks while the child is still there. */
	expect("only preload may gap path");
	expect("only preload may output beside");
	expect("input old/in.txt");
	expect("output new/in.txt");
	expect("output new/out.txt");
}
