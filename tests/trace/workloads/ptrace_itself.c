/* A debugger inside the run is refused politely, and everything goes on. */
#include <sys/ptrace.h>

#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
}

static void traceme(void)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		REQUIRE(errno == EPERM);
	take("in.txt");
}

static void attach_to_parent(void)
{
	if (ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) < 0)
		REQUIRE(errno == EPERM);
}

void act(void)
{
	in_child(traceme);
	in_child(attach_to_parent);
	put("out.txt", "x");
	expect("input in.txt");
	expect("output out.txt");
}
