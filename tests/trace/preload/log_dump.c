/* log_dump.c - the smallest reader of the preload log, for tests.
 *
 *	log_dump [--cells N] [--seccomp] [--deaf] [--closed] [--bad] [--filter]
 *		 -l LIBRARY -o FILE -- CMD [ARG]...
 *
 * Makes a log, runs CMD with the library loaded, answers every question at once and
 * writes one line per record to FILE:
 *
 *	hello 1 DIRECTORY	fork 2 of 1		cwd 1 DIRECTORY
 *	open 1 FLAGS PATH	intent 1 FLAGS PATH	result 1 ok
 *	ask 1 CALL PATH [PATH2]	done 1 CALL ENOENT	fd 1 FILE
 *	skipped			a record that was never finished
 *	bad			a record that makes no sense
 *	trouble N		at the end, if any
 *	status exit 0		how the command ended
 *
 * --seccomp makes the library mark its calls and ask by those without a mark,
 * without a filter to see them.  --deaf: nobody reads until the command has ended.  --closed:
 * the log is closed from the start.  --bad: the header makes no sense.  --filter:
 * as --seccomp, and open(path, O_RDONLY) without a mark fails with
 * EXDEV. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "trace/preload/log.h"
#include "trace/preload/preload_target.h"

enum {
	MAX_PROCESSES = 1 << 16,
	SKIP_AFTER_MS = 300,
	PASS = 0x7e5d1234,
};

struct dump {
	struct log_header *log;
	char path[64];
	FILE *out;
	uint32_t n_cells;
	bool seccomp, filter, deaf, closed, bad;
	const char *library;
	int64_t waiting_since; /* at an unfinished record; 0: none */
	int32_t pids[MAX_PROCESSES];
};

static const char *const call_names[LOG_CALL_END] = {
	[LOG_CALL_OPEN] = "open",	  [LOG_CALL_RENAME] = "rename",
	[LOG_CALL_LINK] = "link",	  [LOG_CALL_SYMLINK] = "symlink",
	[LOG_CALL_UNLINK] = "unlink",	  [LOG_CALL_TRUNCATE] = "truncate",
	[LOG_CALL_MKNOD] = "mknod",	  [LOG_CALL_CHDIR] = "chdir",
	[LOG_CALL_EXEC] = "exec",	  [LOG_CALL_NAMESPACE] = "namespace",
	[LOG_CALL_IO_URING] = "io_uring", [LOG_CALL_HANDLE] = "handle",
	[LOG_CALL_SYNC] = "sync",
};

static void die(const char *what)
{
	perror(what);
	exit(99);
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ---- the log ---- */

static void make_log(struct dump *d)
{
	size_t size = LOG_RING_AT + (size_t)d->n_cells * LOG_CELL;
	int fd;

	snprintf(d->path, sizeof(d->path), "/dev/shm/roar-log-XXXXXX");
	fd = mkstemp(d->path);
	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		die("log");
	d->log = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (d->log == MAP_FAILED)
		die("mmap");
	close(fd);
	d->log->n_cells = d->bad ? d->n_cells * 4 : d->n_cells;
	d->log->mode = d->seccomp ? LOG_SECCOMP : 0;
	d->log->pass = d->seccomp ? PASS : 0;
	if (getrandom(&d->log->key, sizeof(d->log->key), 0) < 0)
		die("getrandom");
	snprintf(d->log->preload, sizeof(d->log->preload), "%s", d->library);
	atomic_store(&d->log->next_process, 1);
	atomic_store(&d->log->closed, d->closed);
	d->log->magic = LOG_MAGIC;
}

/* ---- lines ---- */

static void print_flags(struct dump *d, uint32_t flags)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} names[] = { { O_CREAT, "+creat" },
		      { O_EXCL, "+excl" },
		      { O_TRUNC, "+trunc" },
		      { O_APPEND, "+append" } };
	static const char *const access[] = { "r", "w", "rw", "?" };

	fputs(access[flags & O_ACCMODE], d->out);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (flags & names[i].bit)
			fputs(names[i].name, d->out);
	fputc(' ', d->out);
}

static void print_result(struct dump *d, int32_t value)
{
	fprintf(d->out, "%s\n", value >= 0 ? "ok" : strerrorname_np(-value));
}

static void print_fd(struct dump *d, const struct log_record *r)
{
	char link[64], name[LOG_PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/fd/%d",
		 d->pids[r->process % MAX_PROCESSES], r->value);
	n = readlink(link, name, sizeof(name) - 1);
	name[n > 0 ? n : 0] = '\0';
	fprintf(d->out, "fd %u %s\n", r->process, name);
}

/* path2 of an exec has NULs. */
static void print_ask(struct dump *d, const struct log_record *r)
{
	const char *path2 = r->paths + r->path_len + 1;

	fprintf(d->out, "ask %u %s%s ", r->process, call_names[r->call],
		r->call == LOG_CALL_EXEC && r->flags & LOG_EXEC_SPAWN ?
			"+spawn" :
			"");
	if (r->call == LOG_CALL_OPEN)
		print_flags(d, r->flags);
	fputs(r->paths, d->out);
	if (r->path2_len)
		fputc(' ', d->out);
	for (unsigned i = 0; i < r->path2_len; i++)
		fputc(path2[i] ? path2[i] : ' ', d->out);
	fputc('\n', d->out);
}

static bool is_sound(const struct log_record *r, uint64_t room)
{
	size_t size = offsetof(struct log_record, paths) + r->path_len +
		      r->path2_len + 2u;

	if (r->n_cells == 0 || r->n_cells > room || r->kind == 0 ||
	    r->kind >= LOG_KIND_END || r->call >= LOG_CALL_END)
		return false;
	if (r->kind == LOG_PAD)
		return true;
	return size <= (size_t)r->n_cells * LOG_CELL &&
	       r->paths[r->path_len] == '\0';
}

static void print_record(struct dump *d, const struct log_record *r)
{
	unsigned p = r->process;

	switch (r->kind) {
	case LOG_HELLO:
		d->pids[p % MAX_PROCESSES] = r->value;
		fprintf(d->out, "hello %u %s\n", p, r->paths);
		break;
	case LOG_FORK:
		d->pids[p % MAX_PROCESSES] = r->value;
		fprintf(d->out, "fork %u of %u %s\n", p, r->other, r->paths);
		break;
	case LOG_CWD:
		fprintf(d->out, "cwd %u %s\n", p, r->paths);
		break;
	case LOG_OPEN:
	case LOG_INTENT:
		fprintf(d->out, "%s %u ",
			r->kind == LOG_OPEN ? "open" : "intent", p);
		print_flags(d, r->flags);
		fprintf(d->out, "%s\n", r->paths);
		break;
	case LOG_RESULT:
		fprintf(d->out, "result %u ", p);
		print_result(d, r->value);
		break;
	case LOG_RESULT_ASKED:
		fprintf(d->out, "done %u %s ", p, call_names[r->call]);
		print_result(d, r->value);
		break;
	case LOG_FD:
		print_fd(d, r);
		break;
	case LOG_ASK:
		print_ask(d, r);
		break;
	default:
		break;
	}
}

/* ---- reading ---- */

static void move_tail(struct dump *d, uint64_t tail, uint64_t n)
{
	atomic_store(&d->log->tail, tail + n);
}

static void answer(struct dump *d, uint64_t cell)
{
	atomic_store(&d->log->answered, (uint32_t)cell + 1);
	syscall(SYS_futex, &d->log->answered, FUTEX_WAKE, 1 << 30, NULL, NULL,
		0);
}

/* An unfinished record: true when it was skipped. */
static bool skip(struct dump *d, struct log_record *r, uint64_t tail)
{
	uint64_t word = atomic_load(&r->commit);

	if (!d->waiting_since)
		d->waiting_since = now_ms();
	if (now_ms() - d->waiting_since < SKIP_AFTER_MS)
		return false;
	if (word == log_commit(d->log, tail) ||
	    !atomic_compare_exchange_strong(&r->commit, &word,
					    log_skipped(d->log, tail)))
		return true; /* just now */
	fputs("skipped\n", d->out);
	atomic_store(&d->log->tail, tail + 1);
	return true;
}

/* Takes one record; false when there is none. */
static bool take(struct dump *d)
{
	uint64_t tail = atomic_load(&d->log->tail);
	struct log_record *r = (void *)((char *)d->log + LOG_RING_AT +
					(tail & (d->n_cells - 1)) * LOG_CELL);
	uint8_t kind;
	uint16_t n;

	if (atomic_load(&d->log->head) == tail)
		return false;
	if (atomic_load(&r->commit) != log_commit(d->log, tail))
		return skip(d, r, tail);
	d->waiting_since = 0;
	if (!is_sound(r, d->n_cells - (tail & (d->n_cells - 1)))) {
		fputs("bad\n", d->out);
		move_tail(d, tail, 1);
		return true;
	}
	kind = r->kind;
	n = r->n_cells;
	print_record(d, r);
	move_tail(d, tail, n);
	if (kind == LOG_ASK)
		answer(d, tail);
	return true;
}

static void drain(struct dump *d)
{
	while (take(d))
		;
}

/* ---- the command ---- */

static void install_filter(void)
{
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, O_RDONLY, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[5])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PASS ^ SYS_openat, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(77);
}

static void run_child(struct dump *d, char **argv)
{
	const char *user = getenv("LD_PRELOAD");
	char *value;

	if (asprintf(&value, "%s%s%s", user ? user : "", user ? ":" : "",
		     d->library) < 0)
		die("asprintf");
	setenv("LD_PRELOAD", value, 1);
	setenv(LOG_ENV, d->path, 1);
	if (d->filter)
		install_filter();
	execvp(argv[0], argv);
	_exit(127);
}

static int serve(struct dump *d, pid_t pid)
{
	struct timespec nap = { .tv_nsec = 1000000 };
	int status;

	for (;;) {
		uint32_t bell = atomic_load(&d->log->doorbell);

		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		if (!d->deaf)
			drain(d);
		syscall(SYS_futex, &d->log->doorbell, FUTEX_WAIT, bell, &nap,
			NULL, 0);
	}
}

/* What children that outlive the command still say for a moment. */
static void finish(struct dump *d, int status)
{
	int64_t end = now_ms() + 2 * SKIP_AFTER_MS;
	uint32_t trouble;

	do {
		drain(d);
		usleep(1000);
	} while (now_ms() < end &&
		 atomic_load(&d->log->head) != atomic_load(&d->log->tail));
	trouble = atomic_load(&d->log->trouble);
	if (trouble)
		fprintf(d->out, "trouble %u\n", trouble);
	if (WIFSIGNALED(status))
		fprintf(d->out, "status killed %d\n", WTERMSIG(status));
	else
		fprintf(d->out, "status exit %d\n", WEXITSTATUS(status));
	atomic_store(&d->log->closed, 1);
	fclose(d->out);
	unlink(d->path);
}

static bool take_option(struct dump *d, int *i, char **argv)
{
	const char *a = argv[*i];

	if (strcmp(a, "--seccomp") == 0)
		d->seccomp = true;
	else if (strcmp(a, "--filter") == 0)
		d->seccomp = d->filter = true;
	else if (strcmp(a, "--deaf") == 0)
		d->deaf = true;
	else if (strcmp(a, "--closed") == 0)
		d->closed = true;
	else if (strcmp(a, "--bad") == 0)
		d->bad = true;
	else if (strcmp(a, "--cells") == 0)
		d->n_cells = (uint32_t)atoi(argv[++*i]);
	else if (strcmp(a, "-l") == 0)
		d->library = argv[++*i];
	else if (strcmp(a, "-o") == 0)
		d->out = fopen(argv[++*i], "we");
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	static struct dump d = { .n_cells = LOG_CELLS_DEFAULT };
	int i = 1;
	pid_t pid;

	/* Nothing but the question whether a program bears the library. */
	if (argc == 3 && strcmp(argv[1], "--bears") == 0)
		return target_path_bears(argv[2], target_open) ? 0 : 1;
	while (i < argc && take_option(&d, &i, argv))
		i++;
	if (i >= argc - 1 || strcmp(argv[i], "--") != 0 || !d.out ||
	    !d.library) {
		fputs("usage: log_dump -l LIBRARY -o FILE -- CMD...\n", stderr);
		return 99;
	}
	make_log(&d);
	pid = fork();
	if (pid == 0)
		run_child(&d, argv + i + 1);
	finish(&d, serve(&d, pid));
	return 0;
}
