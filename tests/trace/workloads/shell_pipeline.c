/* What people type: redirections, pipes, a file that is read again. */
#include "workload.h"

void prepare(void)
{
	put("a", "2\n1\n2\n");
}

void act(void)
{
	pid_t pid = CHECK(fork());

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c",
		      "sort < a | uniq > b; cat b > c; : > stamp; "
		      "(cd . && echo x >> c); rm -f b.tmp; exit 6",
		      NULL);
		fail("execl", __LINE__);
	}
	await(pid, 6);
	expect("input a");
	expect("output b");
	expect("intermediate b");
	expect("output c");
	expect("output stamp");
}
