/* The command ends before its children; a subreaper still gets its own. */
#include <sys/prctl.h>

#include "workload.h"

static void leave_orphan(void)
{
	if (CHECK(fork()) == 0) {
		sleep_ms(100);
		put("orphan.txt", "x");
		_exit(5);
	}
}

void act(void)
{
	int status;

	CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1));
	in_child(leave_orphan);
	CHECK(wait(&status));
	expect("state orphan's exit %d", WEXITSTATUS(status));
	expect("output orphan.txt");
}
