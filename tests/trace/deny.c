/* deny.c - runs a command where the kernel forbids what a tracer needs.
 *
 *	deny WORD... -- CMD [ARG]...
 *
 * The words name calls that fail with EPERM in CMD and all its children, as in
 * a container with a strict profile:
 *
 *	ptrace		ptrace()
 *	seccomp		seccomp(), prctl(PR_SET_SECCOMP)
 *	vm		process_vm_readv(), process_vm_writev()
 *	io_uring	io_uring_setup()
 *
 * As root the filter needs no no_new_privs, so CMD sees the same world. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CODE_MAX = 64 };

static struct sock_filter code[CODE_MAX];
static unsigned short n_code;

static void add(struct sock_filter instruction)
{
	if (n_code < CODE_MAX)
		code[n_code++] = instruction;
}

static void add_number(void)
{
	add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					 offsetof(struct seccomp_data, nr)));
}

static void add_refusal(void)
{
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
					 SECCOMP_RET_ERRNO | EPERM));
}

static void deny_call(unsigned number)
{
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0,
					 1));
	add_refusal();
}

/* prctl() with that first argument; the number is loaded again behind it. */
static void deny_prctl(unsigned option)
{
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl,
					 0, 4));
	add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					 offsetof(struct seccomp_data,
						  args[0])));
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, option, 0,
					 1));
	add_refusal();
	add_number();
}

static int deny(const char *word)
{
	if (strcmp(word, "ptrace") == 0) {
		deny_call(SYS_ptrace);
	} else if (strcmp(word, "seccomp") == 0) {
		deny_call(SYS_seccomp);
		deny_prctl(PR_SET_SECCOMP);
	} else if (strcmp(word, "vm") == 0) {
		deny_call(SYS_process_vm_readv);
		deny_call(SYS_process_vm_writev);
	} else if (strcmp(word, "io_uring") == 0) {
		deny_call(SYS_io_uring_setup);
	} else {
		return -EINVAL;
	}
	return 0;
}

static int install(void)
{
	struct sock_fprog program = { n_code, code };

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ?
		       -errno :
		       0;
}

int main(int argc, char **argv)
{
	int i;

	add_number();
	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (deny(argv[i]) < 0) {
			fprintf(stderr, "deny: unknown word \"%s\"\n", argv[i]);
			return 2;
		}
	}
	if (i + 1 >= argc) {
		fprintf(stderr, "usage: deny WORD... -- CMD [ARG]...\n");
		return 2;
	}
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	if (install() < 0) {
		fprintf(stderr, "deny: the kernel takes no seccomp filter\n");
		return 77;
	}
	execvp(argv[i + 1], argv + i + 1);
	fprintf(stderr, "deny: %s: %s\n", argv[i + 1], strerror(errno));
	return 127;
}
