/* A program wants to be told of another's calls, as a supervisor of containers
 * does.  The kernel allows one listener: where that is the tracer's, the program
 * notices, and the record says why. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "workload.h"

static void listen_to_myself(void)
{
	struct sock_filter allow[] = {
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 1, allow };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	/* Whether it may is the subject, not a condition. */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		    SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) < 0)
		REQUIRE(errno == EBUSY);
	put("out.txt", "x");
}

void act(void)
{
	in_child(listen_to_myself);
	expect("output out.txt");
	expect("only hybrid gap escaped");
}
