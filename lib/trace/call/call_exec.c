/* call_exec.c - programs that are executed
 *
 * The kernel itself opens what it executes: the script, the interpreter its
 * first line names, the program and the program's loader.  None of that is a
 * system call, so after a successful execve() the files are read the way the
 * kernel did. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc.h"
#include "base/quote.h"
#include "base/stamp.h"
#include "trace/call/call.h"
#include "trace/call/loader.h"
#include "trace/call/memory.h"

enum { COMMAND_MAX = 4096 }; /* bytes kept of a command line */

/* The program exists for the process, but has no name in our view. */
static void hide(struct observer *o, struct tracee *t, const char *path)
{
	call_gap(o, t, EVENT_GAP_NAMESPACE, path);
	str_clear(&t->exec_path);
}

/* A success is an event of its own; the name of a failed call is overwritten by the
 * next. */
bool call_execve(struct observer *o, struct tracee *t,
		 const struct call_args *a)
{
	struct stat st;
	int r;

	t->exec_stat = call_no_file;
	if (a->len == 0 && (a->flags & AT_EMPTY_PATH)) {
		r = resolve_fd(t->tid, a->dirfd, &t->exec_path, &st);
		if (r == 0 &&
		    !resolve_is_visible(t->tid, a->dirfd, &t->exec_path, &st))
			hide(o, t, str_cstr(&t->exec_path));
		return false;
	}
	r = resolve_file(&o->resolver, &o->tree, t, a->dirfd, a->path, a->len,
			 &t->exec_path, &st);
	if (r == 0)
		t->exec_stat = st;
	else if (r == -EREMOTE)
		hide(o, t, a->path);
	else if (resolve_name(&o->resolver, &o->tree, t, a->dirfd, a->path,
			      a->len, &t->exec_path) < 0)
		str_clear(&t->exec_path);
	else
		(void)resolve_follow(&o->resolver, t, &t->exec_path, &st);
	return false;
}

/* ---- what the kernel loaded ---- */

/* Sends `path`, whose stat may be `seen`, and the files that it needs to run. */
static void emit_chain(struct observer *o, struct tracee *t, struct str *path,
		       const struct stat *seen, unsigned flags)
{
	const struct str *command = &t->exec_command;
	char head[LOADER_HEAD];
	struct stat st;

	if (seen)
		st = *seen;
	else if (!path->len || stat(path->data, &st) < 0)
		return;
	for (int depth = 0; depth < LOADER_CHAIN; depth++) {
		const char *next;
		ssize_t n;
		int r;

		call_emit(o, t, EVENT_EXEC, flags, 0, &st, path,
			  depth ? NULL : command);
		n = loader_read_known(path->data, &st, head);
		next = n > 0 ? loader_of(head, (size_t)n) : NULL;
		if (!next)
			return;
		r = resolve_file(&o->resolver, &o->tree, t, AT_FDCWD, next,
				 strlen(next), path, &st);
		if (r == -EREMOTE)
			call_gap(o, t, EVENT_GAP_NAMESPACE, next);
		if (r < 0)
			return;
	}
}

void call_exec_quote(struct str *out, const char *words, size_t n)
{
	for (const char *word = words; word < words + n;
	     word += strlen(word) + 1) {
		if (word != words)
			str_addc(out, ' ');
		quote_shell(out, word);
	}
}

/* The command line as the process sees it, quoted, cut. */
static void read_command(pid_t tid, struct str *out)
{
	char text[COMMAND_MAX + 1];
	ssize_t n = proc_read(tid, "cmdline", text, sizeof(text));

	if (n > 0)
		call_exec_quote(out, text, (size_t)n);
}

static bool changes_rights(const char *exe, const struct stat *st)
{
	return (st->st_mode & S_ISUID && st->st_uid != geteuid()) ||
	       ((st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
		st->st_gid != getegid()) ||
	       loader_has_capability(exe, st);
}

/* A program that should have other privileges than we have.  Under a tracer or filter
 * without privileges it did not get them; traced by root it may have fewer than we
 * have. */
static void check_privilege(struct observer *o, struct tracee *t,
			    const char *exe, const struct stat *st)
{
	if (!changes_rights(exe, st))
		return;
	if (geteuid() != 0 && !o->keeps_rights)
		call_gap(o, t, EVENT_GAP_SETUID, exe);
	t->process->restricted = true;
}

/* The number in "mnt:[4026531841]"; 0 when it is not shown.  Reading the link costs
 * half as much as stat() of its target. */
static uint64_t namespace_of(pid_t tid, const char *which)
{
	char text[32];
	const char *number;

	(void)proc_readlink(tid, which, text, sizeof(text));
	number = strchr(text, '[');
	return number ? strtoull(number + 1, NULL, 10) : 0;
}

void call_check_namespaces(struct observer *o, struct tracee *t)
{
	uint64_t mounts = namespace_of(t->tid, "ns/mnt");
	uint64_t users = namespace_of(t->tid, "ns/user");

	if (!o->mount_ns) {
		o->mount_ns = namespace_of(getpid(), "ns/mnt");
		o->user_ns = namespace_of(getpid(), "ns/user");
	}
	if (mounts)
		t->process->foreign_mounts = mounts != o->mount_ns;
	t->process->placed = mounts && users;
	/* Another user namespace has fewer rights over our files. */
	if (users && users != o->user_ns)
		t->process->restricted = true;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && stat_same_file(&x, &y);
}

/* The file that the process runs, for callers that do not know it; empty where it has
 * no name in our view. */
static void read_exe(struct tracee *t, struct str *exe)
{
	char text[4096];
	ssize_t n = proc_readlink(t->tid, "exe", text, sizeof(text));

	if (process_is_elsewhere(t->process) &&
	    !is_same_file(proc_path(t->tid, "exe").text, text))
		return;
	if (!t->exec_path.len)
		str_adds(&t->exec_path, text);
	/* It may be gone already. */
	str_adds(exe, n < 0 ? str_cstr(&t->exec_path) : text);
}

void call_exec_done(struct observer *o, struct tracee *t, const char *exe,
		    const struct stat *exe_stat)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	unsigned flags = t->process->pid == o->root ? EVENT_ROOT : 0;
	const struct stat *seen = exe_stat;
	struct stat st;

	if (!call_looks(o))
		return;
	if (!exe_stat || !t->process->placed)
		call_check_namespaces(o, t);
	if (!t->exec_command.len)
		read_command(t->tid, &t->exec_command);
	if (!exe_stat) {
		read_exe(t, &text);
		exe = str_cstr(&text);
		exe_stat = stat(exe, &st) == 0 ? &st : NULL;
	}
	emit_chain(o, t, &t->exec_path,
		   seen && strcmp(exe, str_cstr(&t->exec_path)) == 0 ? seen :
								       NULL,
		   flags);
	if (exe_stat)
		check_privilege(o, t, exe, exe_stat);
	str_clear(&t->exec_path);
	str_clear(&t->exec_command);
}

bool call_runs_roar(pid_t tid)
{
	return is_same_file("/proc/self/exe", proc_path(tid, "exe").text);
}
