/* The program has a filter of its own.  What it forbids stays forbidden and
 * is not recorded; what it passes is seen. */
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
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unlinkat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

void act(void)
{
	install();
	put("out.txt", "x");
	FAILS(unlinkat(AT_FDCWD, "out.txt", 0), EPERM);
	expect("output out.txt");
	expect("event open w+create out.txt");
}
