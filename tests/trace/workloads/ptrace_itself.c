/* Processes of the run trace each other.  Only the tracer that itself needs ptrace
 * refuses that, and then the record says so. */
#include <sys/ptrace.h>

#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
}

static void may_be_refused(long result)
{
	if (result == 0)
		return;
	REQUIRE(errno == EPERM);
	expect("except ptrace gap escaped");
}

/* A file first: from then on a tracer may have an interest in the thread. */
static void traceme(void)
{
	take("in.txt");
	may_be_refused(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	take("in.txt");
}

static void seize_parent(void)
{
	may_be_refused(ptrace(PTRACE_SEIZE, getppid(), NULL, NULL));
}

void act(void)
{
	take("in.txt");
	in_child(traceme);
	in_child(seize_parent);
	put("out.txt", "x");
	expect("input in.txt");
	expect("output out.txt");
	expect("only ptrace gap escaped");
}
