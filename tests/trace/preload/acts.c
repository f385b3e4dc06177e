/* acts.c - one act per behaviour of the preloaded library; see test_preload.py.
 *
 *	acts NAME [ARG]...
 *
 * Each act does one thing in the current directory and ends with 0 if all went as
 * it does without the library. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);

#define CHECK(x)                                                      \
	do {                                                          \
		if (!(x)) {                                           \
			fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, \
				__LINE__, #x, strerror(errno));       \
			exit(1);                                      \
		}                                                     \
	} while (0)

static void close_ok(int fd)
{
	CHECK(fd >= 0);
	CHECK(close(fd) == 0);
}

static void make(const char *name)
{
	close_ok(open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644));
}

/* ---- opens ---- */

static void act_reads(void)
{
	int dir = open(".", O_RDONLY | O_DIRECTORY);

	close_ok(open("r1", O_RDONLY));
	close_ok(open64("r2", O_RDONLY | O_CLOEXEC));
	close_ok(openat(AT_FDCWD, "r3", O_RDONLY));
	close_ok(openat64(AT_FDCWD, "r4", O_RDONLY));
	close_ok(__open_2("r5", O_RDONLY));
	close_ok(__open64_2("r6", O_RDONLY));
	close_ok(__openat_2(AT_FDCWD, "r7", O_RDONLY));
	close_ok(__openat64_2(AT_FDCWD, "r8", O_RDONLY));
	close_ok(open("r9", O_PATH));
	close_ok(openat(dir, "r10", O_RDONLY)); /* a directory: asked */
	close_ok(open("/proc/self/status", O_RDONLY));
	CHECK(open("nothing", O_RDONLY) < 0 && errno == ENOENT);
}

/* Under a filter that refuses opens which are not the library's. */
static void act_marked(void)
{
	int dir = open(".", O_RDONLY | O_DIRECTORY);

	close_ok(open("r1", O_RDONLY));
	close_ok(open64("r2", O_RDONLY));
	CHECK(syscall(SYS_openat, AT_FDCWD, "r3", O_RDONLY) < 0);
	CHECK(errno == EXDEV);
	CHECK(openat(dir, "r4", O_RDONLY) < 0 && errno == EXDEV);
}

static void act_writes(void)
{
	make("w1");
	close_ok(creat("w2", 0644));
	close_ok(creat64("w3", 0644));
	close_ok(open("w4", O_RDWR | O_CREAT | O_EXCL, 0644));
	CHECK(open("w4", O_RDWR | O_CREAT | O_EXCL, 0644) < 0);
	CHECK(errno == EEXIST);
	close_ok(open("w1", O_WRONLY)); /* asked: nothing is emptied */
	close_ok(open("w1", O_WRONLY | O_APPEND));
	close_ok(open("w1", O_RDONLY));
	make("w1"); /* asked: it has been read */
	close_ok(open("w5", O_RDONLY | O_CREAT, 0644));
	close_ok(open(".", O_TMPFILE | O_RDWR, 0600));
	CHECK(open("no/where", O_WRONLY | O_CREAT | O_TRUNC, 0644) < 0);
	CHECK(errno == ENOENT);
}

static void act_modes(void)
{
	struct stat st;

	umask(0);
	close_ok(open("m1", O_WRONLY | O_CREAT | O_TRUNC, 0640));
	close_ok(open("m2", O_WRONLY | O_CREAT, 0604));
	CHECK(stat("m1", &st) == 0 && (st.st_mode & 0777) == 0640);
	CHECK(stat("m2", &st) == 0 && (st.st_mode & 0777) == 0604);
	CHECK((fcntl(open("m1", O_RDONLY), F_GETFD) & FD_CLOEXEC) == 0);
	CHECK(fcntl(open("m1", O_RDONLY | O_CLOEXEC), F_GETFD) == FD_CLOEXEC);
	CHECK((fcntl(open("m1", O_RDONLY), F_GETFL) & ~0100000) == O_RDONLY);
}

static void act_streams(void)
{
	FILE *f = fopen("s1", "w");
	char text[8] = "";

	CHECK(f && fputs("abc", f) >= 0 && fclose(f) == 0);
	f = fopen64("s1", "rbe");
	CHECK(f && fcntl(fileno(f), F_GETFD) == FD_CLOEXEC);
	CHECK(fread(text, 1, 8, f) == 3 && !strcmp(text, "abc"));
	f = freopen("s2", "w", f);
	CHECK(f && fclose(f) == 0);
	f = fopen("s1", "a");
	CHECK(f && fputs("def", f) >= 0 && fclose(f) == 0);
	f = fopen("s1", "r+");
	CHECK(f && fgets(text, 8, f) && !strcmp(text, "abcdef"));
	CHECK(fclose(f) == 0);
	CHECK(!fopen("s1", "wx") && errno == EEXIST);
	CHECK(!fopen("nothing", "r") && errno == ENOENT);
	CHECK(!fopen("s1", "q") && errno == EINVAL);
}

static void act_temporary(void)
{
	char a[] = "tXXXXXX", b[] = "tXXXXXX.txt", c[] = "tXXXXXX";

	close_ok(mkstemp(a));
	close_ok(mkstemps(b, 4));
	close_ok(mkostemp(c, O_CLOEXEC));
	CHECK(rename(a, "t1") == 0 && rename(b, "t2") == 0 &&
	      rename(c, "t3") == 0);
}

static void act_known(void)
{
	for (int i = 0; i < 100; i++)
		close_ok(open("r1", O_RDONLY));
	make("other"); /* voids what is known */
	for (int i = 0; i < 100; i++)
		close_ok(open("r1", O_RDONLY));
}

static int errno_at_start;

static void act_errno(void)
{
	char *volatile none = NULL; /* the compiler must not know */
	char **volatile nobody = NULL;

	CHECK(errno_at_start == 0);
	errno = 1234;
	close_ok(open("r1", O_RDONLY));
	close_ok(open("e1", O_WRONLY | O_CREAT | O_TRUNC, 0644));
	CHECK(rename("e1", "e2") == 0 && unlink("e2") == 0);
	CHECK(chdir(".") == 0);
	CHECK(errno == 1234);
	CHECK(open(none, O_RDONLY) < 0 && errno == EFAULT);
	CHECK(open(none, O_WRONLY | O_CREAT | O_TRUNC, 0644) < 0 &&
	      errno == EFAULT);
	CHECK(rename(none, none - 1) < 0 && errno == EFAULT);
	CHECK(execve(none, nobody, nobody) < 0 && errno == EFAULT);
	CHECK(open("", O_RDONLY) < 0 && errno == ENOENT);
	CHECK(openat(-7, "r1", O_RDONLY) < 0 && errno == EBADF);
}

/* ---- names and places ---- */

static void act_names(void)
{
	make("a");
	CHECK(rename("a", "b") == 0);
	CHECK(renameat(AT_FDCWD, "b", AT_FDCWD, "c") == 0);
	CHECK(renameat2(AT_FDCWD, "c", AT_FDCWD, "d", 0) == 0);
	CHECK(link("d", "e") == 0);
	CHECK(linkat(AT_FDCWD, "d", AT_FDCWD, "f", 0) == 0);
	CHECK(symlink("text", "g") == 0);
	CHECK(symlinkat("text", AT_FDCWD, "h") == 0);
	CHECK(unlink("e") == 0);
	CHECK(unlinkat(AT_FDCWD, "f", 0) == 0);
	CHECK(mkdir("i", 0755) == 0 && rmdir("i") == 0);
	CHECK(mkdir("i", 0755) == 0 && remove("i") == 0);
	CHECK(remove("g") == 0);
	CHECK(truncate("d", 5) == 0);
	CHECK(mknod("j", S_IFREG | 0644, 0) == 0);
	CHECK(mkfifo("k", 0644) == 0);
	CHECK(rename("nothing", "b") < 0 && errno == ENOENT);
}

static void act_places(void)
{
	int up;

	CHECK(mkdir("sub", 0755) == 0);
	up = open(".", O_RDONLY | O_DIRECTORY);
	CHECK(chdir("sub") == 0);
	make("x");
	CHECK(fchdir(up) == 0);
	CHECK(chdir("nowhere") < 0 && errno == ENOENT);
	close_ok(open("sub/x", O_RDONLY));
}

static void act_deep(void)
{
	char name[201];

	memset(name, 'n', 200);
	name[200] = '\0';
	for (int i = 0; i < 10; i++)
		CHECK(mkdir(name, 0755) == 0 && chdir(name) == 0);
}

static void act_elsewhere(void)
{
	if (chroot(".") < 0)
		exit(77);
	close_ok(open("/r1", O_RDONLY));
}

static void act_raw(void)
{
	syscall(SYS_openat, AT_FDCWD, "r1", O_RDONLY);
	syscall(SYS_renameat2, AT_FDCWD, "r2", AT_FDCWD, "r2b", 0);
	CHECK(syscall(SYS_getpid) == getpid());
	CHECK(syscall(SYS_io_uring_setup, 0, NULL) < 0);
	CHECK(syscall(SYS_openat, AT_FDCWD, "nothing", O_RDONLY) == -1 &&
	      errno == ENOENT);
}

/* ---- descriptors over a socket ---- */

static struct msghdr message(struct iovec *iov, char *control, size_t size)
{
	static char byte;

	*iov = (struct iovec){ &byte, 1 };
	return (struct msghdr){ .msg_iov = iov,
				.msg_iovlen = 1,
				.msg_control = control,
				.msg_controllen = size };
}

static void act_receive(void)
{
	char control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec iov;
	struct msghdr m = message(&iov, control, sizeof(control));
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int fd = open("r1", O_RDONLY), pair[2];

	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
	*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS,
			       .cmsg_len = CMSG_LEN(sizeof(int)) };
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	CHECK(sendmsg(pair[0], &m, 0) == 1);
	m = message(&iov, control, sizeof(control));
	CHECK(recvmsg(pair[1], &m, 0) == 1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	close_ok(fd);
	CHECK(recvmsg(pair[1], &m, MSG_DONTWAIT) < 0 && errno == EAGAIN);
}

/* ---- processes ---- */

static void wait_ok(pid_t pid)
{
	int status;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void act_fork(void)
{
	pid_t pid;

	errno = 1234;
	pid = fork();
	CHECK(errno == 1234); /* on both sides */
	if (pid == 0) {
		close_ok(open("r1", O_RDONLY));
		_exit(0);
	}
	wait_ok(pid);
}

/* A child that no handler of libc knows of. */
static void act_clone(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (pid == 0) {
		close_ok(open("r1", O_RDONLY));
		_exit(0);
	}
	wait_ok(pid);
}

static void act_vfork(void)
{
	pid_t pid;

	CHECK(mkdir("sub", 0755) == 0);
	pid = vfork();
	if (pid == 0) {
		if (chdir("sub") < 0)
			_exit(1);
		close(open("../r2", O_RDONLY));
		execl("/bin/cat", "cat", "../r1", NULL);
		_exit(1);
	}
	wait_ok(pid);
	close_ok(open("r3", O_RDONLY));
}

static void act_exec(char **argv)
{
	static char *const args[] = { "cat", "r1", NULL };
	static char *const empty[] = { NULL };
	const char *how = argv[0];

	if (!strcmp(how, "execve"))
		execve("/bin/cat", args, empty);
	else if (!strcmp(how, "execv"))
		execv("/bin/cat", args);
	else if (!strcmp(how, "execvp"))
		execvp("cat", args);
	else if (!strcmp(how, "execvpe"))
		execvpe("cat", args, empty);
	else if (!strcmp(how, "execl"))
		execl("/bin/cat", "cat", "r1", NULL);
	else if (!strcmp(how, "execlp"))
		execlp("cat", "cat", "r1", NULL);
	else if (!strcmp(how, "execle"))
		execle("/bin/cat", "cat", "r1", NULL, empty);
	else if (!strcmp(how, "fexecve"))
		fexecve(open("/bin/cat", O_RDONLY | O_CLOEXEC), args, empty);
	else if (!strcmp(how, "execveat"))
		execveat(AT_FDCWD, "/bin/cat", args, empty, 0);
	exit(1);
}

static void act_spawn(char **argv)
{
	char *const args[] = { "cat", "r1", NULL };
	pid_t pid;

	if (!strcmp(argv[0], "posix_spawn")) {
		CHECK(posix_spawn(&pid, "/bin/cat", NULL, NULL, args,
				  environ) == 0);
		wait_ok(pid);
		CHECK(posix_spawn(&pid, "/nothing", NULL, NULL, args,
				  environ) == ENOENT);
	} else if (!strcmp(argv[0], "posix_spawnp")) {
		CHECK(posix_spawnp(&pid, "cat", NULL, NULL, args, NULL) == 0);
		wait_ok(pid);
	} else if (!strcmp(argv[0], "system")) {
		CHECK(system(NULL) != 0);
		CHECK(system("cat r1; exit 3") == 3 << 8);
	} else {
		FILE *f = popen("cat r1", "r");
		char text[8];

		CHECK(f && fgets(text, 8, f) && pclose(f) == 0);
	}
	CHECK(!getenv("LD_PRELOAD") && !getenv("ROAR_PRELOAD_LOG"));
}

/* Executes ARGs by itself. */
static void act_run(char **argv)
{
	execvp(argv[0], argv);
	exit(126);
}

/* An environment that does not fit on the stack, through vfork, again and again:
 * the memory must not grow. */
static void act_big(void)
{
	static char *envp[5002];
	struct rusage before, after;

	for (int i = 0; i < 5000; i++)
		CHECK(asprintf(&envp[i], "V%d=%d", i, i) > 0);
	envp[5000] = "LD_PRELOAD=";
	getrusage(RUSAGE_SELF, &before);
	for (int i = 0; i < 50; i++) {
		pid_t pid = vfork();

		if (pid == 0) {
			execle("/bin/true", "true", NULL, envp);
			_exit(1);
		}
		wait_ok(pid);
	}
	getrusage(RUSAGE_SELF, &after);
	CHECK(after.ru_maxrss - before.ru_maxrss < 1000);
}

static unsigned count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n - 3; /* ".", ".." and d itself */
}

static void act_descriptors(void)
{
	unsigned before = count_fds();

	act_names();
	close_ok(open("r1", O_RDONLY));
	CHECK(system("true") == 0);
	CHECK(count_fds() == before);
	closefrom(3);
	close_ok(open("r2", O_RDONLY));
	CHECK(rename("r2", "r2b") == 0);
}

static void act_nothing(void)
{
}

static void act_environment(void)
{
	for (char **e = environ; *e; e++)
		puts(*e);
}

/* ---- the table ---- */

static const struct {
	const char *name;
	void (*run)(void);
	void (*run_args)(char **);
} acts[] = {
	{ "big", act_big, NULL },
	{ "clone", act_clone, NULL },
	{ "deep", act_deep, NULL },
	{ "descriptors", act_descriptors, NULL },
	{ "elsewhere", act_elsewhere, NULL },
	{ "environment", act_environment, NULL },
	{ "errno", act_errno, NULL },
	{ "exec", NULL, act_exec },
	{ "marked", act_marked, NULL },
	{ "fork", act_fork, NULL },
	{ "known", act_known, NULL },
	{ "modes", act_modes, NULL },
	{ "names", act_names, NULL },
	{ "nothing", act_nothing, NULL },
	{ "places", act_places, NULL },
	{ "raw", act_raw, NULL },
	{ "reads", act_reads, NULL },
	{ "receive", act_receive, NULL },
	{ "run", NULL, act_run },
	{ "spawn", NULL, act_spawn },
	{ "streams", act_streams, NULL },
	{ "temporary", act_temporary, NULL },
	{ "vfork", act_vfork, NULL },
	{ "writes", act_writes, NULL },
};

int main(int argc, char **argv)
{
	errno_at_start = errno;
	for (size_t i = 0; argc > 1 && i < sizeof(acts) / sizeof(acts[0]);
	     i++) {
		if (strcmp(acts[i].name, argv[1]) != 0)
			continue;
		if (acts[i].run)
			acts[i].run();
		else
			acts[i].run_args(argv + 2);
		return 0;
	}
	fputs("acts: no such act\n", stderr);
	return 2;
}
