/* The program forbids itself to open files: what fails is not recorded, in its
 * children either. */
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
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

void prepare(void)
{
	put("in.txt", "hello");
}

static void try(void)
{
	FAILS(open("in.txt", O_RDONLY), EPERM);
	FAILS(open("new.txt", O_WRONLY | O_CREAT, 0644), EPERM);
}

void act(void)
{
	put("before.txt", "x");
	install();
	try();
	in_child(try);
	expect("output before.txt");
}
