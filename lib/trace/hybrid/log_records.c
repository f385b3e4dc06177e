/* log_records.c - records of the library, read in order
 *
 * Handles the process of a record (LOG_HELLO of a new program, LOG_FORK of a child),
 * its directory, and the calls it asks for.  Opens are in log_opens.c. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macros.h"
#include "base/proc.h"
#include "base/vec.h"
#include "trace/hybrid/hybrid_internal.h"

enum {
	STUCK_NS = 50000000, /* timeout for a commit when no process waits */
	URGENT_NS = 1000000, /* the same when a process waits */
};

void log_records_raise_generation(struct hybrid *h)
{
	atomic_fetch_add(&h->log.header->generation, 1);
	h->stale = false;
}

/* ---- who speaks ---- */

static void set_cwd(struct hybrid *h, struct tracee *t, const char *path,
		    size_t len)
{
	str_clear(&t->cwd);
	t->cwd_told = false;
	if (path[0] == '(') /* "(unreachable)" */
		h->o.tree.detached = true;
	/* Unreachable, not logged, or as seen from another root: use /proc. */
	if (path[0] != '/' || process_is_elsewhere(t->process))
		return;
	str_add(&t->cwd, path, len);
	t->cwd_told = true;
	t->cwd_generation = h->o.tree.cwd_generation;
}

int32_t log_records_root_mount(void)
{
	static int32_t number = -1;
	struct statx st;

	if (number >= 0)
		return number;
	number = 0;
	if (statx(AT_FDCWD, "/", AT_NO_AUTOMOUNT, STATX_MNT_ID, &st) == 0 &&
	    st.stx_mask & STATX_MNT_ID)
		number = (int32_t)st.stx_mnt_id;
	return number;
}

static void on_hello(struct hybrid *h, const struct log_view *v)
{
	struct tracee *t;
	struct member *m;

	if (v->value <= 0)
		return;
	t = member_add(h, v->value, v->dirfd);
	m = t ? member_of(h, t) : NULL;
	if (!m)
		return;
	pending_call_end(h, t);
	log_opens_abandon(h, m);
	member_exec_end(h, m, 0);
	(void)member_set_teller(h, m, v->process);
	set_cwd(h, t, v->path, v->path_len);
	/* Its change of directory was not seen. */
	if (v->dirfd2 && v->dirfd2 != log_records_root_mount())
		call_check_namespaces(&h->o, t);
}

static void on_fork(struct hybrid *h, const struct log_view *v)
{
	struct member *parent = member_of_teller(h, v->other);
	struct tracee *t;
	struct member *m;

	if (v->value <= 0)
		return;
	t = member_add(h, v->value, parent ? parent->pid : 0);
	m = t ? member_of(h, t) : NULL;
	if (!m)
		return;
	(void)member_set_teller(h, m, v->process);
	set_cwd(h, t, v->path, v->path_len);
}

/* A descriptor of unknown origin; if it is closed already, its file is unknown. */
static void on_descriptor(struct hybrid *h, struct tracee *t, int fd)
{
	struct stat st;

	str_clear(&h->o.name);
	if (resolve_fd(t->tid, fd, &h->o.name, &st) == -ENOENT && !h->o.name.len)
		call_gap(&h->o, t, EVENT_GAP_LOST,
			 "a descriptor was closed before it was examined");
	else
		call_scan_file(&h->o, t, fd, 0);
}

/* ---- calls that are asked for ---- */

static enum call call_of(unsigned asked)
{
	static const enum call calls[LOG_CALL_END] = {
		[LOG_CALL_OPEN] = CALL_OPEN,
		[LOG_CALL_RENAME] = CALL_RENAMEAT2,
		[LOG_CALL_LINK] = CALL_LINKAT,
		[LOG_CALL_SYMLINK] = CALL_SYMLINKAT,
		[LOG_CALL_UNLINK] = CALL_UNLINKAT,
		[LOG_CALL_TRUNCATE] = CALL_TRUNCATE,
		[LOG_CALL_MKNOD] = CALL_MKNODAT,
		[LOG_CALL_CHDIR] = CALL_CHDIR,
		[LOG_CALL_EXEC] = CALL_EXECVEAT,
		[LOG_CALL_NAMESPACE] = CALL_NAMESPACE,
		[LOG_CALL_IO_URING] = CALL_IO_URING,
		[LOG_CALL_HANDLE] = CALL_HANDLE,
	};

	return calls[asked];
}

static void enter_exec(struct hybrid *h, struct tracee *t,
		       const struct log_view *v, const struct call_args *a)
{
	struct call_args exec = *a;

	exec.flags &= ~(uint64_t)LOG_EXEC_SPAWN;
	str_clear(&t->exec_path);
	str_clear(&t->exec_command);
	(void)call_enter_named(&h->o, t, CALL_EXECVEAT, &exec);
	call_exec_quote(&t->exec_command, v->path2, v->path2_len);
	if (!(v->flags & LOG_EXEC_SPAWN))
		member_exec_begin(h, t);
}

static void enter_named(struct hybrid *h, struct tracee *t, enum call call,
			struct call_args *a)
{
	if (call == CALL_OPEN && a->dirfd2) {
		a->rules = (uint64_t)a->dirfd2;
		if (call_open_by_rules(&h->o, t, a))
			pending_call_add(h, t);
		return;
	}
	if (call == CALL_OPEN && magic_replace(h, t, a, &h->magic) < 0)
		return;
	if (!call_enter_named(&h->o, t, call, a))
		return;
	pending_call_prepare(h, t, a);
	if (t->pending.call != CALL_NONE)
		pending_call_add(h, t);
}

static void enter_asked(struct hybrid *h, struct tracee *t,
			const struct log_view *v)
{
	static const uint64_t no_args[6];
	enum call call = call_of(v->call);
	struct call_args a = {
		.dirfd = v->dirfd,
		.path = v->path,
		.len = v->path_len,
		.dirfd2 = v->dirfd2,
		.path2 = v->path2,
		.len2 = v->path2_len,
		.flags = v->flags,
	};

	pending_call_end(h, t);
	pending_calls_check(h);
	log_opens_abandon_gone(h, true);
	h->current.entering = true;
	if (call == CALL_NONE)
		return;
	if (call == CALL_CHDIR)
		members_share(h, t);
	if (call == CALL_EXECVEAT)
		enter_exec(h, t, v, &a);
	else if (call_names_files(call))
		enter_named(h, t, call, &a);
	else if (call_enter(&h->o, t, call, no_args))
		pending_call_add(h, t);
}

static void answer(struct hybrid *h, const struct log_view *v)
{
	struct log_header *header = h->log.header;

	atomic_store(&header->answered, (uint32_t)(v->cell + 1));
	(void)syscall(SYS_futex, &header->answered, FUTEX_WAKE, INT32_MAX, NULL,
		      NULL, 0);
}

static void on_ask(struct hybrid *h, const struct log_view *v)
{
	struct tracee *t = member_thread(h, v->tid);

	if (t)
		enter_asked(h, t, v);
	h->current.entering = false;
	answer(h, v);
}

/* A program that was started by posix_spawn(), and how. */
static void on_spawned(struct hybrid *h, struct tracee *t, pid_t child)
{
	struct tracee *c = member_add(h, child, t->process->pid);
	struct member *m = c ? member_of(h, c) : NULL;

	if (!m || m->teller || m->exec_open || !t->exec_path.len)
		return; /* it has reported itself */
	str_add(&c->exec_path, t->exec_path.data, t->exec_path.len);
	c->exec_stat = t->exec_stat;
	str_add(&c->exec_command, str_cstr(&t->exec_command),
		t->exec_command.len);
	member_exec_begin(h, c);
}

static void on_asked_result(struct hybrid *h, const struct log_view *v)
{
	struct tracee *t = tree_find(&h->o.tree, v->tid);
	struct member *m = t ? member_of(h, t) : NULL;

	if (!m)
		return;
	if (v->call == LOG_CALL_EXEC) {
		if (v->value > 0 && !hybrid_has_filter(h))
			on_spawned(h, t, v->value);
		else if (v->value < 0 && m->exec_open)
			member_exec_failed(m);
		return;
	}
	if (v->call == LOG_CALL_NAMESPACE && v->value >= 0 &&
	    pending_call_has_other_root(t->tid)) {
		t->process->foreign_root = true;
		h->o.tree.cwd_generation++;
	}
	pending_call_result(h, t, v->value);
}

/* ---- all records ---- */

static void set_shared_cwd(struct hybrid *h, pid_t pid, const char *path,
			   size_t len)
{
	struct member *m;
	size_t pos = 0;

	while ((m = map_next(&h->members, &pos))) {
		struct tracee *t = tree_find(&h->o.tree, m->pid);

		if (m->shares_with == pid && t)
			set_cwd(h, t, path, len);
	}
}

/* Usually a process has one directory.  A thread that left it (CLONE_FS) is tracked
 * separately from then on: the leader is in another directory. */
void log_records_directory(struct hybrid *h, struct tracee *leader, pid_t tid,
			   const char *path, size_t len)
{
	char text[LOG_PATH_MAX + 1];
	struct tracee *t;
	ssize_t n;

	if (tid == leader->tid) {
		set_cwd(h, leader, path, len);
		set_shared_cwd(h, leader->tid, path, len);
		return;
	}
	n = readlink(proc_path(leader->tid, "cwd").text, text, sizeof(text));
	t = member_thread(h, tid);
	if (n >= 0 && t && t->process == leader->process &&
	    ((size_t)n != len || memcmp(text, path, len) != 0))
		set_cwd(h, t, path, len);
	else
		set_cwd(h, leader, path, len);
}

/* The thread of a record: the leader stands for all threads with the same directory. */
static struct tracee *teller_of(struct hybrid *h, const struct log_view *v)
{
	struct member *m = member_of_teller(h, v->process);
	struct tracee *leader = m ? tree_find(&h->o.tree, m->pid) : NULL;
	struct tracee *t;

	if (!leader || leader->process->n_threads == 1 || v->tid == m->pid)
		return leader;
	t = tree_find(&h->o.tree, v->tid);
	return t && t->process == leader->process && t->cwd_told ? t : leader;
}

/* A thread that writes a record has left the call it made before. */
static void settle_speaker(struct hybrid *h, const struct log_view *v)
{
	struct tracee *t = h->waiting.n ? tree_find(&h->o.tree, v->tid) : NULL;

	if (t && t->pending.call != CALL_NONE && hybrid_has_filter(h))
		pending_call_end(h, t);
}

static void on_told(struct hybrid *h, const struct log_view *v)
{
	struct tracee *t;

	settle_speaker(h, v);
	if (h->o.blind && v->kind != LOG_CWD)
		return;
	t = teller_of(h, v);
	if (!t) {
		if (h->o.root && (t = tree_find(&h->o.tree, h->o.root)))
			call_gap(&h->o, t, EVENT_GAP_LOST,
				 "an unknown process reported files");
		return;
	}
	switch (v->kind) {
	case LOG_OPEN:
		log_opens_read(h, t, v);
		break;
	case LOG_INTENT:
		log_opens_intent(h, t, v);
		break;
	case LOG_RESULT:
		log_opens_result(h, t, v);
		break;
	case LOG_CWD:
		log_records_directory(h, t, v->tid, v->path, v->path_len);
		break;
	case LOG_FD:
		on_descriptor(h, t, v->value);
		break;
	default:
		break;
	}
}

void log_records_who(struct hybrid *h, const struct log_view *v)
{
	struct tracee *t = teller_of(h, v);

	if (v->kind == LOG_HELLO)
		on_hello(h, v);
	else if (v->kind == LOG_FORK)
		on_fork(h, v);
	else if (v->kind == LOG_CWD && t)
		log_records_directory(h, t, v->tid, v->path, v->path_len);
}

/* Its parent reported it.  If the process is alive, it was mistaken for another (pid
 * namespaces). */
static void on_gone(struct hybrid *h, const struct log_view *v)
{
	pid_t pid = v->value;
	struct member *m = map_get(&h->members, &pid, sizeof(pid));

	if (m && pid != h->o.root && member_is_gone(pid))
		member_gone(h, m, (int32_t)v->other);
}

/* It shares the memory of the process of the record, and so its id. */
static void on_child(struct hybrid *h, const struct log_view *v)
{
	struct member *parent = member_of_teller(h, v->process);

	if (parent && v->value > 0 && v->value != parent->pid)
		family_announce(h, v->value, parent->pid);
}

static void on_record(struct hybrid *h, const struct log_view *v)
{
	switch (v->kind) {
	case LOG_GONE:
		on_gone(h, v);
		break;
	case LOG_HELLO:
		on_hello(h, v);
		break;
	case LOG_CHILD:
		on_child(h, v);
		break;
	case LOG_FORK:
		on_fork(h, v);
		break;
	case LOG_ASK:
		on_ask(h, v);
		break;
	case LOG_RESULT_ASKED:
		on_asked_result(h, v);
		break;
	default:
		on_told(h, v);
		break;
	}
}

static void say(struct hybrid *h, enum event_gap gap, const char *detail)
{
	struct process none = { .pid = h->o.root };
	struct tracee nobody = { .tid = h->o.root, .process = &none };

	call_gap(&h->o, &nobody, gap, detail);
}

/* An inconsistent log is closed: its processes stop logging. */
static void close_log(struct hybrid *h)
{
	h->log_health.dead = true;
	atomic_store(&h->log.header->closed, 1);
	(void)syscall(SYS_futex, &h->log.header->answered, FUTEX_WAKE,
		      INT32_MAX, NULL, NULL, 0);
	say(h, EVENT_GAP_LOST, "the shared log was damaged");
}

static void read_until(struct hybrid *h, uint64_t end)
{
	int r;

	while ((int64_t)(end - h->log.tail) > 0 &&
	       (r = log_read(&h->log, &h->view)) != 0) {
		if (r == -EPROTO) {
			close_log(h);
			return;
		}
		if (r < 0)
			say(h, EVENT_GAP_LOST,
			    "a record in the shared log was invalid");
		else
			on_record(h, &h->view);
	}
}

/* Cells are reserved and not committed.  Their producer is filling them, or was killed,
 * or stopped; a record that a process waits for may come after them. */
static bool waited_enough(struct hybrid *h, bool urgent)
{
	int64_t now = clock_mono_ns();

	if (!h->log_health.stuck_ns)
		h->log_health.stuck_ns = now;
	return now - h->log_health.stuck_ns >= (urgent ? URGENT_NS : STUCK_NS);
}

/* Up to the head at the time of the question: records that other processes add
 * meanwhile must not keep us. */
void log_records_drain(struct hybrid *h, bool urgent)
{
	uint64_t end = atomic_load(&h->log.header->head);

	if (h->waiting.n && h->log.tail != end)
		pending_calls_check(h);

	while (!h->log_health.dead && !log_is_empty(&h->log) &&
	       (int64_t)(end - h->log.tail) > 0) {
		read_until(h, end);
		if (h->log_health.dead || !log_is_stuck(&h->log)) {
			h->log_health.stuck_ns = 0;
			continue;
		}
		if (waited_enough(h, urgent)) {
			log_skip(&h->log);
			h->log_health.stuck_ns = 0;
		} else if (urgent) {
			(void)sched_yield();
		} else {
			return;
		}
	}
	h->log_health.stuck_ns = 0;
}

void log_records_trouble(struct hybrid *h)
{
	static const struct {
		uint32_t flag;
		const char *text;
	} troubles[] = {
		{ LOG_LATE, "the tracer did not answer a process in time" },
		{ LOG_FULL, "the shared log was full" },
		{ LOG_UNSEEN, "posix_spawn() opened files unseen" },
	};
	uint32_t now = atomic_load(&h->log.header->trouble);

	for (size_t i = 0; i < ARRAY_SIZE(troubles); i++)
		if (now & ~h->log_health.trouble & troubles[i].flag)
			say(h, EVENT_GAP_LOST, troubles[i].text);
	h->log_health.trouble |= now;
}
