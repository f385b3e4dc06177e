/* An exec that fails has executed nothing, and the process goes on. */
#include "workload.h"

extern char **environ;

static void run(const char *path, int error)
{
	char *argv[] = { (char *)path, NULL };

	FAILS(execve(path, argv, environ), error);
}

void prepare(void)
{
	put("plain", "hello");
	put("garbage", "hello");
	CHECK(chmod("garbage", 0755));
	put("script", "#!./no-interpreter\n");
	CHECK(chmod("script", 0755));
	put("script-of-plain", "#!./plain\n");
	CHECK(chmod("script-of-plain", 0755));
}

void act(void)
{
	run("./nothing", ENOENT);
	run("./plain", EACCES);
	run(".", EACCES);
	run("./garbage", ENOEXEC);
	run("./script", ENOENT);
	run("./script-of-plain", EACCES);
	put("out.txt", "x");
	expect("output out.txt");
}
