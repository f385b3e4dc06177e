/* hybrid.c - life cycle and loop of the two tracers of hybrid.h
 *
 *	start()	 the log; the child, which installs the filter and sends us its
 *		 listener before it waits at the gate; the guardian
 *	run()	 open the gate; then sleep until the next notification (on the
 *		 listener) or record (on the bell of the log), or a signal:
 *
 *	  SIGALRM	time has passed: read the log, check the processes
 *	  SIGCHLD	the command has ended, stopped or continues; a seized
 *			thread (seize.c) has stopped
 *	  SIGUSR1	the front process has changed the control page,
 *			or the guardian has died
 *
 * The tree has ended when the kernel reports that no process has the filter any more
 * or, without one, when no known process is left. */
#include "trace/hybrid/hybrid.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macros.h"
#include "trace/call/seccomp_filter.h"
#include "trace/command.h"
#include "trace/hybrid/environment.h"
#include "trace/hybrid/hybrid_internal.h"
#include "trace/launch.h"
#include "trace/preload/preload_target.h"
#include "trace/tick_alarm.h"

enum {
	SHORT_MS = 5, /* while records come, or the end is near */
	MEDIUM_MS = 20, /* a while after that */
	LONG_MS = 80,
	CALM_NS = 2000000000, /* the length of that while */
	LOOK_NS = 100000000, /* between checks for processes that have ended */
	SWEEP_EVERY = 16, /* runs; removing leftovers is not urgent */
};

/* Written by the signal handlers and read by the tracer's thread, on which they run. */
static volatile sig_atomic_t alarmed;
static volatile sig_atomic_t stirred; /* a child or a seized thread must be
				       * waited for */
static volatile sig_atomic_t bell = -1; /* eventfd that the handler writes to;
					 * -1: none */

static struct tracer_control *control; /* the job's page, for the handler */

/* True unless the front sent the signal, or a child has ended: then it was sent to the
 * whole group, and the command has it too. */
static void on_signal(int sig, siginfo_t *info, void *context)
{
	const uint64_t one = 1;
	int saved = errno;

	(void)context;
	if (info->si_code == SI_USER && info->si_pid != getppid())
		atomic_store(&control->signal_ns[sig], clock_now_ns());
	if (sig == SIGCHLD)
		stirred = 1;
	if (sig != SIGCHLD || info->si_code != CLD_TRAPPED)
		alarmed = 1;
	if (bell >= 0)
		(void)!write(bell, &one, sizeof(one));
	errno = saved;
}

static void catch_signals(struct tracer_control *c)
{
	/* No SA_RESTART: the blocking call must return. */
	struct sigaction sa = { .sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO };
	static const int signals[] = { SIGALRM, SIGCHLD, SIGUSR1 };
	sigset_t set;

	control = c;
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		sigaddset(&set, signals[i]);
		(void)sigaction(signals[i], &sa, NULL);
	}
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* ---- the command ---- */

static void on_root_end(struct hybrid *h, int status)
{
	struct member *m = map_get(&h->members, &h->o.root, sizeof(pid_t));

	h->root_gone = true;
	h->result.status = status;
	log_records_drain(h, true);
	if (atomic_load(&h->o.job->control->child_errno) && m)
		member_exec_failed(m);
	if (m)
		member_gone(h, m, status);
}

static void wait_for_root(struct hybrid *h)
{
	int status = 0;

	if (!h->root_gone && command_wait_seized(h->o.job, h->o.root, WNOHANG,
						 &status, seize_stopped, h) != 0)
		on_root_end(h, status);
}

/* ---- the loop ---- */

static void sleep_for_bell(struct hybrid *h)
{
	struct log_header *header = h->log.header;
	uint32_t seen = atomic_load(&header->doorbell);
	struct timespec limit = { 0, LONG_MS * 1000000L };

	if (log_is_empty(&h->log) && seen == h->loop.doorbell)
		(void)syscall(SYS_futex, &header->doorbell, FUTEX_WAIT, seen,
			      &limit, NULL, 0);
	h->loop.doorbell = seen;
	observer_set_time(&h->o);
	log_records_drain(h, false);
}

/* Records that are not yet read are lost if we are killed, so the log is read more
 * often while programs open files. */
static unsigned next_timer(struct hybrid *h, bool busy)
{
	unsigned longest;

	if (busy)
		h->loop.busy_ns = h->o.mono_ns;
	if (busy || h->root_gone || h->stale)
		return SHORT_MS;
	longest = h->o.mono_ns - h->loop.busy_ns < CALM_NS ? MEDIUM_MS :
							     LONG_MS;
	return h->loop.timer_ms >= longest / 2 ? longest : 2 * h->loop.timer_ms;
}

static void look_at_seized(struct hybrid *h)
{
	stirred = 0;
	observer_set_time(&h->o);
	seize_look(h);
	wait_for_root(h);
	attach_settle(h);
}

static void look_around(struct hybrid *h)
{
	bool busy = !log_is_empty(&h->log);

	alarmed = 0;
	observer_set_time(&h->o);
	log_records_drain(h, false);
	if (h->stale)
		log_records_raise_generation(h);
	log_records_trouble(h);
	wait_for_root(h);
	attach_settle(h);
	guardian_check(h);
	if (atomic_load(&h->o.job->control->kill_all))
		members_kill(h);
	if (h->o.mono_ns - h->loop.looked_ns >= LOOK_NS || h->root_gone) {
		h->loop.looked_ns = h->o.mono_ns;
		members_look(h, false);
	}
	observer_tick(&h->o);
	alarm_every(next_timer(h, busy), &h->loop.timer_ms);
}

static bool is_over(const struct hybrid *h)
{
	if (!h->root_gone)
		return false;
	return hybrid_has_filter(h) ? notify_is_over(h) : !h->members.count;
}

/* The kernel removes the filter of an ending process a while before its end.  Polling
 * would delay that end: the process may wait for the CPU we run on.  A signal ends the
 * wait. */
static void await_root(struct hybrid *h)
{
	siginfo_t info;

	if (h->root_gone || !notify_is_over(h))
		return;
	guardian_dismiss(h);
	(void)waitid(P_PID, (id_t)h->o.root, &info, WEXITED | WNOWAIT);
}

static void follow(struct hybrid *h)
{
	int64_t deadline = 0;

	alarm_every(SHORT_MS, &h->loop.timer_ms);
	while (!is_over(h)) {
		if (h->root_gone && !deadline)
			deadline = clock_mono_ns() + TRACER_GRACE_NS;
		if (deadline && clock_mono_ns() >= deadline)
			break;
		if (!hybrid_has_filter(h)) {
			sleep_for_bell(h);
		} else if (!notify_serve(h) && !stirred) {
			await_root(h);
			alarmed = 1;
		}
		bell = h->seizing.bell;
		if (stirred)
			look_at_seized(h);
		if (alarmed)
			look_around(h);
	}
	alarm_every(0, &h->loop.timer_ms);
	log_records_drain(h, true);
	log_records_trouble(h);
}

/* The number of processes left: none when the kernel says so, whatever our tables say. */
static void count_outlived(struct hybrid *h)
{
	if (is_over(h)) {
		guardian_dismiss(h);
		members_look(h, true);
		return;
	}
	members_look(h, false);
	h->result.n_outlived = h->members.count ? (unsigned)h->members.count :
						  hybrid_has_filter(h);
}

/* ---- life ---- */

/* Without a filter the command's own exec is not reported. */
static void begin_root_exec(struct hybrid *h, struct tracee *t)
{
	const struct tracer_job *job = h->o.job;
	struct call_args a = {
		.dirfd = AT_FDCWD,
		.path = job->file,
		.len = strlen(job->file),
	};
	struct str words = STR_INIT;

	for (size_t i = 0; job->argv[i]; i++)
		str_add(&words, job->argv[i], strlen(job->argv[i]) + 1);
	(void)call_enter_named(&h->o, t, CALL_EXECVEAT, &a);
	call_exec_quote(&t->exec_command, str_cstr(&words), words.len);
	str_release(&words);
	member_exec_begin(h, t);
}

/* Everything has been read, and no process is left to log more.  The steps after the
 * run need the memory for the record of many files. */
static void let_memory_go(struct hybrid *h)
{
	log_file_remove(&h->file);
	log_file_release(&h->file);
	written_release(&h->written);
	written_release(&h->closed.writable);
}

static int hybrid_run(struct tracer *base, struct tracer_result *ret,
		      struct roar_error *err)
{
	struct hybrid *h = (struct hybrid *)base;
	struct tracee *root;

	h->result.traced = true;
	observer_set_time(&h->o);
	h->start.tick_ns = clock_now_tick_ns();
	h->start.exact_ns = h->file.header->start_ns = clock_now_ns();
	h->file.header->root_mount = log_records_root_mount();
	root = member_add(h, h->o.root, 0);
	if (!root)
		return error_set(err, -ENOMEM, "out of memory");
	call_scan_inherited(&h->o, root);
	if (!hybrid_has_filter(h)) {
		/* Processes that bypass it cannot be counted. */
		call_gap(&h->o, root, EVENT_GAP_LIBRARY, NULL);
		begin_root_exec(h, root);
	}
	launch_open_gate(h->o.job->control);
	follow(h);
	count_outlived(h);
	if (!h->result.n_outlived)
		let_memory_go(h);
	h->result.exec_errno = atomic_load(&h->o.job->control->child_errno);
	(void)getrusage(RUSAGE_CHILDREN, &h->result.usage);
	*ret = h->result;
	return 0;
}

/* The guardian serves the processes that outlived the command. */
static void hybrid_linger(struct tracer *base)
{
	struct hybrid *h = (struct hybrid *)base;

	guardian_check(h);
	guardian_hand_over(h);
	seize_end(h);
}

static void hybrid_free(struct tracer *base)
{
	struct hybrid *h = (struct hybrid *)base;

	guardian_stop(h);
	log_file_remove(&h->file);
	log_file_release(&h->file);
	if (h->listener >= 0)
		(void)close(h->listener);
	if (h->guardian.page)
		(void)munmap(h->guardian.page, sizeof(*h->guardian.page));
	bell = -1;
	seize_release(h);
	environment_free(h->envp);
	members_release(h);
	log_opens_release(h);
	str_release(&h->magic);
	free(h->waiting.tids);
	written_release(&h->written);
	written_release(&h->closed.writable);
	observer_release(&h->o);
	free(h);
}

/* ---- start ---- */

bool hybrid_is_ours(const struct hybrid *h, const char *path)
{
	return path[0] == '/' && (strcmp(path, h->file.path) == 0 ||
				  strcmp(path, h->library) == 0);
}

/* A value that no register holds by accident. */
static uint64_t choose_pass(void)
{
	uint64_t pass = 0;

	(void)getrandom(&pass, sizeof(pass), GRND_NONBLOCK);
	return pass ? pass : UINT64_C(0x9e3779b97f4a7c15);
}

static int make_log(struct hybrid *h, bool filter, struct roar_error *err)
{
	int r = environment_find_library(h->library, sizeof(h->library));

	if (r < 0)
		h->library[0] = '\0';
	/* With a filter everything is seen without the library, only slower. */
	if (r < 0 && !filter)
		return error_set(err, r, "libroar-preload.so was not found");
	if (getpid() % SWEEP_EVERY == 0)
		log_file_sweep();
	r = log_file_new(&h->file, h->o.job->run, filter ? LOG_SECCOMP : 0,
			 h->library, filter ? choose_pass() : 0);
	if (r < 0)
		return error_set(err, r, "cannot make a shared log: %s",
				 strerror(-r));
	log_reader_init(&h->log, h->file.header, h->file.n_cells, h->file.key);
	if (!h->library[0] || !target_path_bears(h->o.job->file, target_open))
		return 0;
	h->envp = environment_new(h->o.job->envp, h->library, h->file.path,
				  h->file.header->pass);
	return h->envp ? 0 : error_set(err, -ENOMEM, "out of memory");
}

/* The steps that take the child some time, and those of the tracer, in parallel. */
static int get_ready(struct hybrid *h, int line, struct roar_error *err)
{
	int r;

	catch_signals(h->o.job->control); /* the guardian's end is one */
	r = guardian_start(h);
	inherited_find(&h->o.inherited);
	if (line >= 0) {
		h->listener = launch_listener(line);
		if (h->listener < 0)
			return error_set(err, h->listener,
					 "seccomp user notification is refused "
					 "here: %s",
					 strerror(-h->listener));
		if (r == 0)
			r = notify_init(h);
		if (r == 0)
			r = guardian_give_listener(h);
	}
	return r < 0 ? error_set(err, r, "cannot watch the command: %s",
				 strerror(-r)) :
		       0;
}

static int launch(struct hybrid *h, bool filter, struct roar_error *err)
{
	struct filter_program program;
	struct launch how = { .envp = h->envp };
	int line = -1;
	int r;

	if (filter) {
		filter_build(&program, SECCOMP_RET_USER_NOTIF,
			     h->file.header->pass, !h->o.proof.override);
		how.filter = &program.prog;
		how.listens = true;
	}
	r = launch_child(h->o.job, &how, &h->o.root, &line);
	if (r < 0)
		return error_set(err, r, "cannot make a process: %s",
				 strerror(-r));
	r = get_ready(h, line, err);
	if (r < 0)
		launch_abort(h->o.job->control, h->o.root);
	return r;
}

static int start(const struct tracer_ops *ops, const struct tracer_job *job,
		 bool filter, struct tracer **ret, struct roar_error *err)
{
	struct hybrid *h = calloc(1, sizeof(*h));
	void *page = MAP_FAILED;
	int r = -ENOMEM;

	if (!h)
		return error_set(err, -ENOMEM, "out of memory");
	h->base.ops = ops;
	h->listener = h->guardian.line = h->seizing.bell = -1;
	h->o.told = emit_event;
	h->o.keeps_rights = !filter;
	page = mmap(NULL, sizeof(*h->guardian.page), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page != MAP_FAILED) {
		h->guardian.page = page;
		r = observer_init(&h->o, job);
	}
	if (r < 0)
		(void)error_set(err, r, "out of memory");
	if (r == 0)
		r = make_log(h, filter, err);
	if (r == 0)
		r = launch(h, filter, err);
	if (r < 0) {
		hybrid_free(&h->base);
		return r;
	}
	*ret = &h->base;
	return 0;
}

static int start_hybrid(const struct tracer_job *job, struct tracer **ret,
			struct roar_error *err)
{
	return start(&tracer_hybrid, job, true, ret, err);
}

static int start_preload(const struct tracer_job *job, struct tracer **ret,
			 struct roar_error *err)
{
	return start(&tracer_preload, job, false, ret, err);
}

const struct tracer_ops tracer_hybrid = {
	.name = "hybrid",
	.summary = "a preloaded library and a seccomp filter: fast, sees "
		   "everything but io_uring",
	.start = start_hybrid,
	.run = hybrid_run,
	.linger = hybrid_linger,
	.free = hybrid_free,
};

const struct tracer_ops tracer_preload = {
	.name = "preload",
	.summary = "a preloaded library alone: set-uid programs keep their "
		   "rights, static programs are not seen",
	.start = start_preload,
	.run = hybrid_run,
	.linger = hybrid_linger,
	.free = hybrid_free,
};
