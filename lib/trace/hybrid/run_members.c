/* run_members.c - the processes of the run
 *
 * Forks and exits are not reported.  A process becomes a member when it writes a record
 * (LOG_HELLO, LOG_FORK) or makes a call that stops, and /proc has its parent.  Its end
 * is noticed by polling; that of the command itself by wait().
 *
 * exec: the call is judged before it continues.  Its success shows at the next
 * activity: a new program sends LOG_HELLO, its loader opens our library, or it makes
 * another call while /proc/PID/exe is the expected file.  A process that ends without
 * another activity has executed what it asked for, if that could be executed. */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "trace/call/loader.h"
#include "trace/hybrid/hybrid_internal.h"
#include "trace/preload/preload_target.h"

struct member *member_of(struct hybrid *h, const struct tracee *t)
{
	return map_get(&h->members, &t->process->pid, sizeof(pid_t));
}

struct member *member_of_teller(struct hybrid *h, uint32_t id)
{
	return map_get(&h->tellers, &id, sizeof(id));
}

static struct process *process_of(const struct hybrid *h, pid_t pid)
{
	return map_get(&h->o.tree.processes, &pid, sizeof(pid));
}

static void drop_teller(struct hybrid *h, struct member *m)
{
	if (m->teller)
		(void)map_remove(&h->tellers, &m->teller, sizeof(m->teller));
	m->teller = 0;
}

int member_set_teller(struct hybrid *h, struct member *m, uint32_t id)
{
	struct member *before = id ? member_of_teller(h, id) : NULL;

	drop_teller(h, m);
	if (!id)
		return 0;
	if (before) /* invalid record: the later one is used */
		drop_teller(h, before);
	m->teller = id;
	if (map_set(&h->tellers, &m->teller, sizeof(m->teller), m) == 0)
		return 0;
	m->teller = 0;
	return -ENOMEM;
}

/* ---- birth ---- */

static void inherit(struct hybrid *h, struct process *child, pid_t parent)
{
	const struct process *from = process_of(h, parent);

	if (!from)
		return;
	child->foreign_root = from->foreign_root;
	child->foreign_mounts = from->foreign_mounts;
	child->restricted = from->restricted;
	child->limit = from->limit;
	child->limit_ns = from->limit_ns;
}

/* A child of vfork() is in the directory of its parent; another child may have been
 * made with namespaces of its own. */
static void find_place(struct hybrid *h, struct tracee *t,
		       const struct family *family)
{
	const struct process *from = process_of(h, family->parent);

	t->process->placed = family->vforked && from && from->placed;
	if (!t->process->placed)
		call_check_namespaces(&h->o, t);
}

/* Its memory is a copy of its parent's, or the same. */
static bool brings_library(struct hybrid *h, pid_t parent)
{
	const struct member *m = map_get(&h->members, &parent, sizeof(parent));

	return m && (m->teller || m->patience == PATIENCE_OWN);
}

static struct member *new_member(struct hybrid *h, pid_t pid)
{
	struct member *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->pid = pid;
	if (map_set(&h->members, &m->pid, sizeof(m->pid), m) == 0)
		return m;
	free(m);
	return NULL;
}

static struct tracee *add(struct hybrid *h, const struct family *family)
{
	pid_t pid = family->pid, parent = family->parent;
	struct tracee *t = tree_find(&h->o.tree, pid);
	bool known = process_of(h, parent);
	struct member *m;

	if (t && t->process->pid == pid)
		return t;
	if (t) /* a thread of another process had that id: it has ended */
		(void)tree_remove(&h->o.tree, t);
	m = new_member(h, pid);
	if (!m)
		return NULL;
	if (brings_library(h, parent))
		m->patience = PATIENCE_OWN;
	t = tree_add(&h->o.tree, pid, NULL);
	if (!t)
		return NULL;
	inherit(h, t->process, parent);
	/* Changes of permissions are not seen then, but all results are logged. */
	t->process->restricted |= !hybrid_has_filter(h);
	if (pid == h->o.root) {
		call_emit(&h->o, t, EVENT_FORK, EVENT_ROOT, 0, NULL, NULL,
			  NULL);
		return t;
	}
	/* The parent of an orphan is unknown: the command counts as its parent. */
	call_emit(&h->o, t, EVENT_FORK, 0, known ? parent : h->o.root, NULL,
		  NULL, NULL);
	find_place(h, t, family);
	return t;
}

struct tracee *member_add(struct hybrid *h, pid_t pid, pid_t parent)
{
	return add(h, &(struct family){ .pid = pid, .parent = parent });
}

struct tracee *member_thread(struct hybrid *h, pid_t tid)
{
	struct tracee *t = tree_find(&h->o.tree, tid);
	struct family family;

	if (t)
		return t;
	if (family_find(h, tid, &family) < 0)
		return NULL;
	t = add(h, &family);
	if (!t || tid == family.pid)
		return t;
	return tree_add(&h->o.tree, tid, t->process);
}

/* ---- exec ---- */

static bool is_elf(const char *head, ssize_t n)
{
	return n >= 4 && memcmp(head, "\177ELF", 4) == 0;
}

/* Will the kernel execute it?  Follows scripts to the program that would run and
 * fills in its path and stat. */
static bool is_executable(struct hybrid *h, struct tracee *t, struct str *path,
			  struct stat *st)
{
	char head[LOADER_HEAD];

	str_clear(path);
	str_add(path, str_cstr(&t->exec_path), t->exec_path.len);
	*st = t->exec_stat;
	if (!st->st_ino && stat(str_cstr(path), st) < 0)
		return false;
	for (int depth = 0; depth < LOADER_CHAIN; depth++) {
		const char *next;
		ssize_t n;

		if (!loader_is_executable(path->data, st))
			return false;
		n = loader_read_known(path->data, st, head);
		if (n == -EACCES || n == -EPERM) /* executable, not readable */
			return true;
		if (is_elf(head, n))
			return true;
		next = n > 0 ? loader_of(head, (size_t)n) : NULL;
		if (!next ||
		    resolve_file(&h->o.resolver, &h->o.tree, t, AT_FDCWD, next,
				 strlen(next), path, st) < 0)
			return false;
	}
	return false;
}

static void move_text(struct str *to, struct str *from)
{
	str_clear(to);
	str_add(to, str_cstr(from), from->len);
	str_clear(from);
}

void member_exec_begin(struct hybrid *h, struct tracee *t)
{
	struct member *m = member_of(h, t);

	if (m)
		m->exec_told = false;
	if (!m || !t->exec_path.len ||
	    !is_executable(h, t, &m->exec_exe, &m->exec_stat))
		return;
	if (!hybrid_has_filter(h)) {
		m->wants_hello = target_path_bears(t->exec_path.data,
						   target_open);
		m->escaped = !m->wants_hello;
	}
	move_text(&m->exec_path, &t->exec_path);
	move_text(&m->exec_command, &t->exec_command);
	m->exec_tid = t->tid;
	m->exec_open = true;
}

void member_exec_failed(struct member *m)
{
	m->exec_open = false;
	m->exec_told = true; /* the old program continues */
	m->wants_hello = false;
	m->escaped = false;
}

/* The new program is alone in its process. */
static void drop_other_threads(struct hybrid *h, struct tracee *leader)
{
	size_t pos = 0;
	struct tracee *t;

	while (leader->process->n_threads > 1 &&
	       (t = map_next(&h->o.tree.tracees, &pos))) {
		if (t == leader || t->process != leader->process)
			continue;
		pending_call_end(h, t);
		(void)tree_remove(&h->o.tree, t);
		pos = 0; /* the map has changed */
	}
}

static void escaped(struct hybrid *h, struct tracee *t, const char *program)
{
	call_gap(&h->o, t, EVENT_GAP_ESCAPED, program);
}

/* `seen`: the process was seen to run the expected program. */
static void exec_done(struct hybrid *h, struct member *m, bool seen)
{
	bool known = seen && m->exec_tid == m->pid && hybrid_has_filter(h);
	struct tracee *t = tree_find(&h->o.tree, m->pid);

	if (!t)
		return;
	drop_other_threads(h, t);
	t->process->full = false; /* some may have been closed */
	t->process->n_looks = 0;
	if (m->escaped)
		escaped(h, t, str_cstr(&m->exec_path));
	move_text(&t->exec_path, &m->exec_path);
	move_text(&t->exec_command, &m->exec_command);
	m->exec_open = false;
	m->exec_told = true;
	m->exec_by = 0;
	m->patience = PATIENCE_UNKNOWN;
	log_opens_abandon(h, m);
	drop_teller(h, m);
	call_exec_done(&h->o, t, str_cstr(&m->exec_exe),
		       known ? &m->exec_stat : NULL);
}

/* Is the file it runs the one that was to be executed? */
static bool runs_expected(const struct member *m)
{
	struct stat st;

	return stat(proc_path(m->pid, "exe").text, &st) == 0 &&
	       stat_same_file(&st, &m->exec_stat);
}

void member_exec_end(struct hybrid *h, struct member *m, pid_t tid)
{
	if (!tid) {
		m->wants_hello = false;
		m->escaped = false;
		if (m->exec_open || !m->exec_told)
			exec_done(h, m, false);
	} else if (m->exec_open) {
		if (tid == m->pid && runs_expected(m))
			exec_done(h, m, true);
		else if (tid == m->exec_tid)
			member_exec_failed(m);
	}
}

void member_exec_seen(struct hybrid *h, struct member *m)
{
	if (m->exec_open)
		exec_done(h, m, true);
}

/* ---- the current directory ---- */

/* Rare, so only few processes are compared. */
void members_share(struct hybrid *h, const struct tracee *t)
{
	enum { FEW = 64 };
	pid_t pid = t->process->pid;
	struct member *m;
	size_t pos = 0;

	if (h->members.count > FEW)
		return;
	while ((m = map_next(&h->members, &pos)))
		if (m->pid != pid &&
		    syscall(SYS_kcmp, pid, m->pid, KCMP_FS, 0, 0) == 0)
			m->shares_with = pid;
}

/* ---- end ---- */

static void free_member(struct member *m)
{
	str_release(&m->exec_path);
	str_release(&m->exec_command);
	str_release(&m->exec_exe);
	free(m);
}

void member_gone(struct hybrid *h, struct member *m, int status)
{
	struct tracee *t = tree_find(&h->o.tree, m->pid);

	if (m->exec_open && m->wants_hello)
		m->escaped = true; /* it never sent a record */
	if (m->exec_open)
		exec_done(h, m, false);
	log_opens_abandon(h, m);
	if (t) {
		drop_other_threads(h, t);
		pending_call_end(h, t);
		call_emit(&h->o, t, EVENT_EXIT, 0, status, NULL, NULL, NULL);
		(void)tree_remove(&h->o.tree, t);
	}
	drop_teller(h, m);
	(void)map_remove(&h->members, &m->pid, sizeof(m->pid));
	free_member(m);
}

/* The directory of threads has a link for each. */
static bool has_other_threads(pid_t pid)
{
	struct stat st;

	return stat(proc_path(pid, "task").text, &st) == 0 && st.st_nlink > 3;
}

/* A zombie does not run a program any more. */
static bool is_empty(pid_t tid)
{
	char c;

	return readlink(proc_path(tid, "exe").text, &c, 1) < 0 &&
	       (errno == ENOENT || errno == ESRCH);
}

/* The first thread may be a zombie before the others are: they still finish the calls
 * in which they were killed.  A process that was waited for does not exist, which a
 * signal finds out faster. */
bool member_is_gone(pid_t pid)
{
	if (kill(pid, 0) < 0 && errno == ESRCH)
		return true;
	return is_empty(pid) && !has_other_threads(pid);
}

bool member_thread_is_gone(const struct tracee *t)
{
	if (t->tid == t->process->pid)
		return is_empty(t->tid);
	return syscall(SYS_tgkill, t->process->pid, t->tid, 0) < 0 &&
	       errno == ESRCH;
}

bool member_has_moved(const struct tracee *t, struct str *ret_cwd)
{
	char text[LOG_PATH_MAX + 1];
	ssize_t n = readlink(proc_path(t->tid, "cwd").text, text, sizeof(text));

	if (n <= 0 || ((size_t)n == t->cwd.len &&
		       memcmp(text, t->cwd.data, (size_t)n) == 0))
		return false;
	str_clear(ret_cwd);
	str_add(ret_cwd, text, (size_t)n);
	return true;
}

/* Another process may have moved the directory a process is in: then the reported name
 * is the old one. */
static void look_for_moved(struct hybrid *h)
{
	enum { FEW = 64 };
	struct member *m;
	size_t pos = 0;

	if (h->members.count > FEW || h->o.tree.n_chdir)
		return;
	while ((m = map_next(&h->members, &pos))) {
		struct tracee *t = tree_find(&h->o.tree, m->pid);

		if (t && t->cwd_told)
			(void)member_has_moved(t, &t->cwd);
	}
}

/* The last records of a thread may still be unread: it counts as ended after they were
 * read. */
static void look_for_threads(struct hybrid *h)
{
	size_t pos = 0;
	struct tracee *t;

	while ((t = map_next(&h->o.tree.tracees, &pos))) {
		if (t->tid == t->process->pid || !member_thread_is_gone(t) ||
		    log_has_result(&h->log, t->tid))
			continue;
		pending_call_end(h, t);
		(void)tree_remove(&h->o.tree, t);
		pos = 0;
	}
}

void members_look(struct hybrid *h, bool all)
{
	CLEANUP(freep) pid_t *gone = NULL;
	size_t n = 0, cap = 0, pos = 0;
	struct member *m;

	if (!all && h->o.tree.tracees.count > h->members.count)
		look_for_threads(h);
	if (!all && log_is_empty(&h->log))
		look_for_moved(h);
	while ((m = map_next(&h->members, &pos))) {
		pid_t *slot;

		if (!all && (m->pid == h->o.root || !member_is_gone(m->pid)))
			continue;
		slot = VEC_PUSH(gone, n, cap);
		if (slot)
			*slot = m->pid;
	}
	/* Their last records are in the log by now. */
	if (n)
		log_records_drain(h, true);
	for (size_t i = 0; i < n; i++) {
		int status = proc_zombie_status(gone[i]);

		_Static_assert(EVENT_STATUS_UNKNOWN == -1, "as proc.h has it");
		m = map_get(&h->members, &gone[i], sizeof(gone[i]));
		if (!m)
			continue; /* removed by those records */
		/* Its parent may be about to report it: check again later. */
		if (all || status != EVENT_STATUS_UNKNOWN || m->missed)
			member_gone(h, m, status);
		else
			m->missed = true;
	}
}

void members_kill(struct hybrid *h)
{
	size_t pos = 0;
	struct member *m;

	while ((m = map_next(&h->members, &pos)))
		if (!h->root_gone || m->pid != h->o.root)
			(void)kill(m->pid, SIGKILL);
}

void members_release(struct hybrid *h)
{
	size_t pos = 0;
	struct member *m;

	while ((m = map_next(&h->members, &pos)))
		free_member(m);
	map_release(&h->members);
	map_release(&h->tellers);
}
