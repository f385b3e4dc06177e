/* The program's filter asks for a tracer that is not there: the call must fail
 * with ENOSYS, as it does without us, and must not be taken for one of ours. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "workload.h"

static void install(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE | 7),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

void act(void)
{
	install();
	errno = 0;
	expect("state getppid %s", syscall(SYS_getppid) < 0 && errno == ENOSYS ?
					   "fails with ENOSYS" :
					   "works");
	put("out.txt", "x");
	expect("output out.txt");
}
