/* call_exec.c - programs that are executed
 *
 * The kernel itself opens what it executes: the script, the interpreter its
 * first line names, the program and the program's loader.  None of that is a
 * system call, so after a successful execve() the files are read the way the
 * kernel did. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/proc.h"
#include "base/quote.h"
#include "trace/call/call.h"
#include "trace/call/loader.h"
#include "trace/call/memory.h"

enum { COMMAND_MAX = 4096 }; /* bytes kept of a command line */

/* Success is an event of its own; the name of a failed one is overwritten by the
 * next. */
bool call_execve(struct observer *o, struct tracee *t,
		 const struct call_args *a)
{
	struct stat st;

	if (a->len == 0 && (a->flags & AT_EMPTY_PATH))
		(void)resolve_fd(t->tid, a->dirfd, &t->exec_path, &st);
	else if (resolve_name(&o->resolver, &o->tree, t, a->dirfd, a->path,
			      a->len, &t->exec_path) < 0)
		str_clear(&t->exec_path);
	else
		(void)resolve_follow(t, &t->exec_path, &st);
	return false;
}

/* ---- what the kernel loaded ---- */

static bool emit_loaded(struct observer *o, struct tracee *t,
			const struct str *path, unsigned flags,
			const struct str *command, struct stat *ret_stat)
{
	if (stat(path->data, ret_stat) < 0)
		return false;
	call_emit(o, t, EVENT_EXEC, flags, 0, ret_stat, path, command);
	return true;
}

/* Sends `path` and whatever it needs to run. */
static void emit_chain(struct observer *o, struct tracee *t, struct str *path,
		       unsigned flags, const struct str *command)
{
	char head[LOADER_HEAD];

	for (int depth = 0; depth < LOADER_CHAIN; depth++) {
		const char *next;
		struct stat st;
		ssize_t n;

		n = emit_loaded(o, t, path, flags, depth ? NULL : command,
				&st) ?
			    loader_read_known(path->data, &st, head) :
			    0;
		next = n > 0 ? loader_of(head, (size_t)n) : NULL;
		if (!next)
			return;
		if (resolve_name(&o->resolver, &o->tree, t, AT_FDCWD, next,
				 strlen(next), path) < 0 ||
		    resolve_follow(t, path, &st) < 0)
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

static bool changes_rights(const char *exe)
{
	struct stat st;

	if (stat(exe, &st) < 0)
		return false;
	return (st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
	       ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
		st.st_gid != getegid()) ||
	       getxattr(exe, "security.capability", NULL, 0) > 0;
}

/* A program that should have other rights than we.  Traced by a process without
 * privileges it did not get them; traced by root it may have fewer than we. */
static void check_privilege(struct observer *o, struct tracee *t,
			    const char *exe)
{
	if (!changes_rights(exe))
		return;
	if (geteuid() != 0)
		call_gap(o, t, EVENT_GAP_SETUID, exe);
	t->process->restricted = true;
}

static uint64_t namespace_of(pid_t tid, const char *which)
{
	char path[48];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)tid, which);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

void call_check_namespaces(struct observer *o, struct tracee *t)
{
	uint64_t mounts = namespace_of(t->tid, "mnt");
	uint64_t users = namespace_of(t->tid, "user");

	if (!o->mount_ns) {
		o->mount_ns = namespace_of(getpid(), "mnt");
		o->user_ns = namespace_of(getpid(), "user");
	}
	if (mounts)
		t->process->foreign_mounts = mounts != o->mount_ns;
	/* Another user namespace has less rights over our files. */
	if (users && users != o->user_ns)
		t->process->restricted = true;
}

void call_exec_done(struct observer *o, struct tracee *t)
{
	unsigned flags = t->process->pid == o->root ? EVENT_ROOT : 0;
	char link[32];
	char exe[4096];
	ssize_t n;

	if (o->quiet)
		return;
	call_check_namespaces(o, t);
	if (!t->exec_command.len)
		read_command(t->tid, &t->exec_command);
	(void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)t->tid);
	n = readlink(link, exe, sizeof(exe) - 1);
	exe[n < 0 ? 0 : n] = '\0';
	if (!t->exec_path.len)
		str_adds(&t->exec_path, exe);
	if (n < 0) /* gone already */
		(void)snprintf(exe, sizeof(exe), "%s", str_cstr(&t->exec_path));
	emit_chain(o, t, &t->exec_path, flags, &t->exec_command);
	check_privilege(o, t, exe);
	str_clear(&t->exec_path);
	str_clear(&t->exec_command);
}
