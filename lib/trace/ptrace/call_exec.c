/* call_exec.c - programs that are executed
 *
 * The kernel itself opens what it executes: the script, the interpreter its
 * first line names, the program and the program's loader.  None of that is a
 * system call, so after a successful execve() the files are read the way the
 * kernel did. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/quote.h"
#include "trace/ptrace/call.h"
#include "trace/ptrace/loader.h"
#include "trace/ptrace/memory.h"

enum {
	HEAD_LEN = 4096, /* enough for a first line or an ELF header */
	CHAIN_MAX = 5, /* the kernel's own limit on nested scripts */
	COMMAND_MAX = 4096, /* bytes kept of a command line */
};

void call_execve(struct ptracer *p, struct tracee *t, int dirfd, uint64_t path,
		 uint64_t flags)
{
	struct stat st;
	ssize_t n;

	if (p->quiet)
		return;
	str_clear(&t->exec_path);
	n = call_read_path(p, t, path);
	if (n < 0)
		return;
	if (n == 0 && (flags & AT_EMPTY_PATH)) {
		(void)resolve_fd(t->tid, dirfd, &t->exec_path, &st);
		return;
	}
	/* A failed one is simply overwritten by the next. */
	if (resolve_name(&p->resolver, &p->tree, t, dirfd, p->path, (size_t)n,
			 &t->exec_path) < 0)
		str_clear(&t->exec_path);
	else
		(void)resolve_follow(t, &t->exec_path, &st);
}

/* ---- what the kernel loaded ---- */

static ssize_t read_head(const char *path, char head[HEAD_LEN])
{
	CLEANUP(closep)
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	return fd_read_all(fd, head, HEAD_LEN - 1);
}

static void emit_loaded(struct ptracer *p, struct tracee *t,
			const struct str *path, unsigned flags,
			const struct str *command)
{
	struct stat st;

	if (stat(path->data, &st) == 0)
		call_emit(p, t, EVENT_EXEC, flags, 0, &st, path, command);
}

/* Sends `path` and whatever it needs to run. */
static void emit_chain(struct ptracer *p, struct tracee *t, struct str *path,
		       unsigned flags, const struct str *command)
{
	char head[HEAD_LEN];

	for (int depth = 0; depth < CHAIN_MAX; depth++) {
		const char *next;
		struct stat st;
		ssize_t n;

		emit_loaded(p, t, path, flags, depth ? NULL : command);
		n = read_head(path->data, head);
		if (n <= 0)
			return;
		next = loader_of(head, (size_t)n);
		if (!next)
			return;
		if (resolve_name(&p->resolver, &p->tree, t, AT_FDCWD, next,
				 strlen(next), path) < 0 ||
		    resolve_follow(t, path, &st) < 0)
			return;
	}
}

/* The command line as the process sees it, quoted, cut. */
static void read_command(pid_t tid, struct str *out)
{
	CLEANUP(closep) int fd = -1;
	char text[COMMAND_MAX + 1];
	char path[32];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : fd_read_all(fd, text, COMMAND_MAX);
	if (n <= 0)
		return;
	text[n] = '\0';
	for (char *word = text; word < text + n; word += strlen(word) + 1) {
		if (word != text)
			str_addc(out, ' ');
		quote_shell(out, word);
	}
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
static void check_privilege(struct ptracer *p, struct tracee *t,
			    const char *exe)
{
	if (!changes_rights(exe))
		return;
	if (geteuid() != 0)
		call_gap(p, t, EVENT_GAP_SETUID, exe);
	t->process->restricted = true;
}

static uint64_t namespace_of(pid_t tid, const char *which)
{
	char path[48];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)tid, which);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

void call_check_namespaces(struct ptracer *p, struct tracee *t)
{
	uint64_t mounts = namespace_of(t->tid, "mnt");
	uint64_t users = namespace_of(t->tid, "user");

	if (!p->mount_ns) {
		p->mount_ns = namespace_of(getpid(), "mnt");
		p->user_ns = namespace_of(getpid(), "user");
	}
	if (mounts)
		t->process->foreign_mounts = mounts != p->mount_ns;
	/* Another user namespace has less rights over our files. */
	if (users && users != p->user_ns)
		t->process->restricted = true;
}

void call_exec_done(struct ptracer *p, struct tracee *t)
{
	CLEANUP(str_release) struct str command = STR_INIT;
	unsigned flags = t->process->pid == p->root ? EVENT_ROOT : 0;
	char link[32];
	char exe[4096];
	ssize_t n;

	if (p->quiet)
		return;
	call_check_namespaces(p, t);
	read_command(t->tid, &command);
	(void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)t->tid);
	n = readlink(link, exe, sizeof(exe) - 1);
	exe[n < 0 ? 0 : n] = '\0';
	if (!t->exec_path.len)
		str_adds(&t->exec_path, exe);
	emit_chain(p, t, &t->exec_path, flags, &command);
	check_privilege(p, t, exe);
	str_clear(&t->exec_path);
}
