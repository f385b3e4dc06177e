/* trace_dump.c - what a tracer saw, as lines a test can compare.
 *
 *	trace_dump [--tracer NAME] [--events] [--facts] [--sums] -o FILE
 *		-- CMD [ARG]...
 *	trace_dump --list
 *
 * Runs CMD under a backend and writes to FILE (the command owns stdout and
 * stderr) one line per event, one line per fact, or both, and a last line with
 * how the command ended.  Only what lies under $TRACE_ROOT (the current
 * directory when unset) is told, with names relative to it: loaders, locales
 * and other habits of the system would only make the lines differ.
 *
 *	open rw+create out	flags: create, trunc, tmpfile, inherited
 *	rename a -> b		exchange a <-> b, link a -> b, symlink TEXT -> b
 *	unlink a		truncate a
 *	exec ./prog		fork, exit 0, killed 9
 *	gap io_uring
 *	change a		the job was told that its content may change
 *	stopped 20		the command itself was stopped by that signal
 *	input a			output, intermediate, temporary, touched
 *	special p		a FIFO, socket or device: no content
 *	bytes input 9 0 a	--sums: read from that file, and written to it
 *	status exit 0		status killed 9, status exec-errno 2
 *	untraced REASON		the backend was refused, nobody looked
 *
 * Events of several backends may differ in repetitions and in CLOSE hints
 * (left out here); facts may not differ at all.  A backend that is refused by
 * the machine is followed by "none", as `roar run` does it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/quote.h"
#include "base/stamp.h"
#include "base/str.h"
#include "event/event.h"
#include "lineage/fold.h"
#include "trace/sums.h"
#include "trace/tracer.h"

extern char **environ;

struct dump {
	const char *tracer; /* backend, or "none" */
	const char *output; /* -o */
	char *root; /* only names below it are told */
	bool events;
	bool facts;
	bool tell_sums;
	struct sums sums;
	struct fold *fold;
	struct str text;
	int error; /* first failure of the fold */
};

static bool is_ours(const struct dump *d, const char *path)
{
	return path[0] == '/' && path_is_under(path, d->root);
}

static void add_name(struct dump *d, const char *path)
{
	const char *name = path;

	if (is_ours(d, path))
		name = path_relative(path, d->root);
	quote_printable(&d->text, name, strlen(name));
}

static void add_line(struct dump *d, const char *word, const char *path)
{
	str_adds(&d->text, word);
	str_addc(&d->text, ' ');
	add_name(d, path);
	str_addc(&d->text, '\n');
}

static void add_pair(struct dump *d, const char *word, const char *arrow,
		     const struct event *ev)
{
	str_addf(&d->text, "%s ", word);
	add_name(d, event_path(ev));
	str_addf(&d->text, " %s ", arrow);
	add_name(d, event_path2(ev));
	str_addc(&d->text, '\n');
}

static void add_open(struct dump *d, const struct event *ev)
{
	static const struct {
		unsigned flag;
		const char *text;
	} marks[] = {
		{ EVENT_CREATE, "+create" },
		{ EVENT_TRUNC, "+trunc" },
		{ EVENT_TMPFILE, "+tmpfile" },
		{ EVENT_INHERITED, "+inherited" },
	};
	struct str word = STR_INIT;

	/* Reading a directory is no business of lineage; O_TMPFILE is. */
	if (ev->ftype == EVENT_FTYPE_DIRECTORY && !(ev->flags & EVENT_TMPFILE))
		return;
	/* It depends on the test's own standard streams. */
	if (ev->flags & EVENT_PASSED)
		return;
	str_adds(&word, "open ");
	if (ev->flags & EVENT_READ)
		str_addc(&word, 'r');
	if (ev->flags & EVENT_WRITE)
		str_addc(&word, 'w');
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (ev->flags & marks[i].flag)
			str_adds(&word, marks[i].text);
	add_line(d, str_cstr(&word), event_path(ev));
	str_release(&word);
}

static void add_status(struct dump *d, const char *prefix, int status)
{
	if (WIFSIGNALED(status))
		str_addf(&d->text, "%skilled %d\n", prefix, WTERMSIG(status));
	else
		str_addf(&d->text, "%sexit %d\n", prefix, WEXITSTATUS(status));
}

static bool concerns_root(const struct dump *d, const struct event *ev)
{
	switch (ev->kind) {
	case EVENT_FORK:
	case EVENT_EXIT:
	case EVENT_GAP:
		return true;
	case EVENT_SYMLINK: /* path is only a text */
		return is_ours(d, event_path2(ev));
	default:
		return is_ours(d, event_path(ev)) ||
		       is_ours(d, event_path2(ev));
	}
}

static void add_event(struct dump *d, const struct event *ev)
{
	switch (ev->kind) {
	case EVENT_FORK:
		str_adds(&d->text, "fork\n");
		break;
	case EVENT_EXIT:
		add_status(d, "", ev->aux);
		break;
	case EVENT_OPEN:
		add_open(d, ev);
		break;
	case EVENT_RENAME:
		if (ev->flags & EVENT_EXCHANGE)
			add_pair(d, "exchange", "<->", ev);
		else
			add_pair(d, "rename", "->", ev);
		break;
	case EVENT_LINK:
	case EVENT_SYMLINK:
		add_pair(d, event_kind_name(ev->kind), "->", ev);
		break;
	case EVENT_EXEC:
	case EVENT_UNLINK:
	case EVENT_TRUNCATE:
		add_line(d, event_kind_name(ev->kind), event_path(ev));
		break;
	case EVENT_GAP:
		str_addf(&d->text, "gap %s\n",
			 event_gap_name((unsigned)ev->aux));
		break;
	default: /* CLOSE is a hint */
		break;
	}
}

static void sink(void *ctx, const struct event *ev)
{
	struct dump *d = ctx;
	struct fold_change change;
	int r;

	if (event_check(ev, ev->size) != (int64_t)ev->size) {
		d->error = -EBADMSG;
		return;
	}
	if (d->events && concerns_root(d, ev))
		add_event(d, ev);
	r = fold_add(d->fold, ev, &change);
	if (r < 0 && !d->error)
		d->error = r;
}

static void on_change(void *ctx, const char *path, size_t len,
		      const struct stamp *stamp)
{
	struct dump *d = ctx;

	(void)len;
	(void)stamp;
	if (d->events && is_ours(d, path))
		add_line(d, "change", path);
}

static void on_stopped(void *ctx, int sig)
{
	struct dump *d = ctx;

	if (d->facts && sig != SIGCONT)
		str_addf(&d->text, "stopped %d\n", sig);
}

static bool is_special(unsigned ftype)
{
	return ftype == EVENT_FTYPE_FIFO || ftype == EVENT_FTYPE_SOCKET ||
	       ftype == EVENT_FTYPE_DEVICE;
}

/* What has this very name now, not what a link in it leads to: the run may have
 * put one in the place of a directory.  A directory is not what the file was. */
static struct stamp stamp_now(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS };
	CLEANUP(closep)
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	struct stat st;

	if (fd < 0 && errno != ENOSYS)
		return (struct stamp){ 0 };
	if ((fd < 0 ? lstat(path, &st) : fstat(fd, &st)) < 0 ||
	    S_ISDIR(st.st_mode))
		return (struct stamp){ 0 };
	return stamp_of(&st);
}

static void add_sum(struct dump *d, const char *role,
		    const struct lineage_file *file, const struct sum *sum)
{
	CLEANUP(str_release) struct str word = STR_INIT;

	if (!d->tell_sums || !sum)
		return;
	str_addf(&word, "bytes %s %llu %llu", role,
		 (unsigned long long)sum->bytes_read,
		 (unsigned long long)sum->bytes_written);
	add_line(d, str_cstr(&word), file->path);
}

/* As `roar run` finds them for its record. */
static void add_sums(struct dump *d, const struct lineage_file *file,
		     unsigned roles, const struct stamp *after)
{
	if (roles & LINEAGE_INPUT)
		add_sum(d, "input", file,
			sums_find(&d->sums, file->first.dev, file->first.ino,
				  file->first_ns));
	if (roles & LINEAGE_OUTPUT)
		add_sum(d, "output", file,
			sums_find(&d->sums, after->dev, after->ino, INT64_MAX));
}

static void add_roles(struct dump *d, const struct lineage_file *file)
{
	static const char *const words[] = { "input", "output", "intermediate",
					     "temporary", "touched" };
	struct stamp after;
	unsigned roles;

	if (is_special(file->ftype)) {
		add_line(d, "special", file->path);
		return;
	}
	after = fold_sight(d->fold, file) == FOLD_SHOWN ?
			stamp_now(file->path) :
			(struct stamp){ 0 };
	roles = lineage_roles(file, &after);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (roles & 1U << i)
			add_line(d, words[i], file->path);
	add_sums(d, file, roles, &after);
}

static void add_facts(struct dump *d)
{
	size_t n;
	struct lineage_file *const *files = fold_files(d->fold, &n);
	const struct lineage_gap *gaps;

	for (size_t i = 0; i < n; i++)
		if (is_ours(d, files[i]->path))
			add_roles(d, files[i]);
	gaps = fold_gaps(d->fold, &n);
	for (size_t i = 0; i < n; i++)
		str_addf(&d->text, "gap %s\n",
			 event_gap_name((unsigned)gaps[i].code));
}

/* The program execvp() would take; NULL when there is none. */
static char *find_program(const char *name)
{
	const char *dirs = getenv("PATH");

	if (strchr(name, '/'))
		return strdup(name);
	for (const char *p = dirs ? dirs : "/usr/bin:/bin"; *p;) {
		size_t len = strcspn(p, ":");
		struct str path = STR_INIT;

		str_add(&path, p, len);
		str_addf(&path, "/%s", name);
		if (access(str_cstr(&path), X_OK) == 0)
			return str_take(&path);
		str_release(&path);
		p += len + (p[len] == ':');
	}
	return NULL;
}

/* The command must not see that we stand between it and its parent. */
static void note_signals(struct tracer_job *job)
{
	struct sigaction sa;

	(void)sigprocmask(SIG_SETMASK, NULL, &job->mask);
	sigemptyset(&job->ignored);
	for (int sig = 1; sig < NSIG; sig++)
		if (sigaction(sig, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN)
			sigaddset(&job->ignored, sig);
}

/* Under the backend or, where that is refused, under none. */
static int start(struct dump *d, const struct tracer_job *job,
		 struct tracer **ret_tracer, struct roar_error *err)
{
	const struct tracer_ops *ops = tracer_find(d->tracer);
	int r;

	if (strcmp(d->tracer, tracer_none.name) == 0)
		ops = &tracer_none;
	if (!ops)
		return error_set(err, -EINVAL, "no tracer \"%s\"", d->tracer);
	r = tracer_start(ops, job, ret_tracer, err);
	if (r == -ENOMEM || r == -EAGAIN || r == 0)
		return r;
	return tracer_start(&tracer_none, job, ret_tracer, NULL);
}

static void add_end(struct dump *d, const struct tracer_result *result,
		    const char *reason)
{
	if (!result->traced)
		fold_add_gap(d->fold, EVENT_GAP_UNTRACED, reason);
	if (result->n_outlived)
		fold_add_gap(d->fold, EVENT_GAP_OUTLIVED, "");
	if (d->facts)
		add_facts(d);
	if (!result->traced)
		str_addf(&d->text, "untraced %s\n", reason);
	if (result->exec_errno)
		str_addf(&d->text, "status exec-errno %d\n",
			 result->exec_errno);
	else
		add_status(d, "status ", result->status);
}

static int run(struct dump *d, char **argv, struct roar_error *err)
{
	CLEANUP(freep) char *file = find_program(argv[0]);
	CLEANUP(tracer_freep) struct tracer *tracer = NULL;
	struct tracer_result result = { 0 };
	struct tracer_job job = {
		.file = file,
		.argv = argv,
		.envp = environ,
		.control = tracer_control_new(),
		.sink = sink,
		.before_change = on_change,
		.stopped = on_stopped,
		.sums = &d->sums,
		.ctx = d,
	};
	int r;

	if (!file || !job.control)
		return error_set(err, -ENOENT, "no program \"%s\"", argv[0]);
	note_signals(&job);
	r = start(d, &job, &tracer, err);
	if (r == 0)
		r = tracer_run(tracer, &result, err);
	if (r < 0)
		return r;
	add_end(d, &result, err->text);
	if (result.n_outlived)
		tracer_linger(tracer);
	return d->error ? error_set(err, d->error, "the events are unsound") :
			  str_error(&d->text);
}

static int write_output(const struct dump *d)
{
	CLEANUP(closep)
	int fd = open(d->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		      0644);

	if (fd < 0)
		return -errno;
	return fd_write_all(fd, str_cstr(&d->text), d->text.len);
}

static int list(void)
{
	for (size_t i = 0; tracer_backends[i]; i++)
		printf("%s\n", tracer_backends[i]->name);
	return 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: trace_dump [--tracer NAME] [--events] "
			"[--facts] [--sums] -o FILE -- CMD [ARG]...\n"
			"       trace_dump --list\n");
	return 2;
}

int main(int argc, char **argv)
{
	const char *root = getenv("TRACE_ROOT");
	struct dump d = { .tracer = "auto" };
	struct roar_error err = { 0 };
	int i, r;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--list") == 0)
			return list();
		if (strcmp(argv[i], "--events") == 0)
			d.events = true;
		else if (strcmp(argv[i], "--facts") == 0)
			d.facts = true;
		else if (strcmp(argv[i], "--sums") == 0)
			d.tell_sums = true;
		else if (strcmp(argv[i], "--tracer") == 0 && i + 1 < argc)
			d.tracer = argv[++i];
		else if (strcmp(argv[i], "-o") == 0 && i + 1 < argc)
			d.output = argv[++i];
		else
			return usage();
	}
	if (i + 1 >= argc || !d.output)
		return usage();

	d.root = realpath(root ? root : ".", NULL);
	if (!d.root || fold_new(&d.fold) < 0)
		return 1;
	r = run(&d, argv + i + 1, &err);
	if (r == 0)
		r = write_output(&d);
	if (r < 0)
		fprintf(stderr, "trace_dump: %s\n",
			err.text[0] ? err.text : strerror(-r));
	fold_free(d.fold);
	sums_release(&d.sums);
	str_release(&d.text);
	free(d.root);
	return r < 0;
}
