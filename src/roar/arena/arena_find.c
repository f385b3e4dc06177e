/* arena_find.c - see arena_find.h */
#include "arena/arena_find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/proc.h"
#include "base/vec.h"

#define LINK_NAME "/memfd:roar-arena"

/* The kernel writes " (deleted)" behind the name of every memfd. */
static bool is_arena(int dirfd, const char *name)
{
	char target[64];
	ssize_t n = readlinkat(dirfd, name, target, sizeof(target) - 1);

	if (n < (ssize_t)strlen(LINK_NAME))
		return false;
	target[n] = '\0';
	return strcmp(target, LINK_NAME) == 0 ||
	       strcmp(target, LINK_NAME " (deleted)") == 0;
}

static struct arena_found *find(struct arena_list *list, const struct stat *st)
{
	struct arena_found *found;

	for (size_t i = 0; i < list->n; i++)
		if (list->arenas[i].inode == st->st_ino &&
		    list->arenas[i].device == st->st_dev)
			return &list->arenas[i];
	found = VEC_PUSH(list->arenas, list->n, list->cap);
	if (found) {
		found->inode = st->st_ino;
		found->device = st->st_dev;
	}
	return found;
}

/* The name is that of the program until it gives itself another one. */
static void name_program(struct arena_holder *holder)
{
	ssize_t n = proc_read(holder->pid, "comm", holder->program,
			      sizeof(holder->program));

	if (n > 0)
		holder->program[strcspn(holder->program, "\n")] = '\0';
	else
		holder->program[0] = '\0';
}

static int add_holder(struct arena_found *found, pid_t pid, int fd)
{
	struct arena_holder *holder;

	for (size_t i = 0; i < found->n_holders; i++) {
		holder = &found->holders[i];
		if (holder->pid != pid)
			continue;
		if (fd < holder->fd)
			holder->fd = fd;
		return 0;
	}
	holder = VEC_PUSH(found->holders, found->n_holders, found->cap);
	if (!holder)
		return -ENOMEM;
	holder->pid = pid;
	holder->fd = fd;
	name_program(holder);
	return 0;
}

/* What one process has.  A descriptor that is closed meanwhile is none. */
static int look_into(struct arena_list *list, pid_t pid)
{
	CLEANUP(closedirp) DIR *dir = opendir(proc_path(pid, "fd").text);
	const struct dirent *entry;

	if (!dir)
		return -errno;
	while ((errno = 0, entry = readdir(dir))) {
		struct arena_found *found;
		struct stat st;
		int64_t fd;

		if (number_parse(entry->d_name, 0, INT32_MAX, &fd) < 0 ||
		    !is_arena(dirfd(dir), entry->d_name) ||
		    fstatat(dirfd(dir), entry->d_name, &st, 0) < 0)
			continue;
		found = find(list, &st);
		if (!found || add_holder(found, pid, (int)fd) < 0)
			return -ENOMEM;
	}
	return -errno;
}

static int by_pid(const void *a, const void *b)
{
	const struct arena_holder *x = a;
	const struct arena_holder *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static int by_inode(const void *a, const void *b)
{
	const struct arena_found *x = a;
	const struct arena_found *y = b;

	return (x->inode > y->inode) - (x->inode < y->inode);
}

static void sort(struct arena_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		qsort(list->arenas[i].holders, list->arenas[i].n_holders,
		      sizeof(*list->arenas[i].holders), by_pid);
	if (list->n)
		qsort(list->arenas, list->n, sizeof(*list->arenas), by_inode);
}

/* Processes come and go while we look, and some are not ours to look at. */
static int look_at_all(struct arena_list *list)
{
	CLEANUP(closedirp) DIR *dir = opendir("/proc");
	const struct dirent *entry;

	if (!dir)
		return -errno;
	while ((errno = 0, entry = readdir(dir))) {
		int64_t pid;
		int r = number_parse(entry->d_name, 1, INT32_MAX, &pid);

		if (r == 0)
			r = look_into(list, (pid_t)pid);

		if (r == -ENOMEM)
			return r;
		if (r == -EACCES || r == -EPERM)
			list->n_shut++;
	}
	return -errno;
}

int arena_find_all(struct arena_list *ret)
{
	struct arena_list list = { 0 };
	int r = look_at_all(&list);

	if (r < 0) {
		arena_list_release(&list);
		return r;
	}
	sort(&list);
	*ret = list;
	return 0;
}

static bool has_holder(const struct arena_found *found, pid_t pid)
{
	for (size_t i = 0; i < found->n_holders; i++)
		if (found->holders[i].pid == pid)
			return true;
	return false;
}

/* Keeps the arenas of one process. */
static void keep_of(struct arena_list *list, pid_t pid)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (has_holder(&list->arenas[i], pid))
			list->arenas[n++] = list->arenas[i];
		else
			free(list->arenas[i].holders);
	}
	list->n = n;
}

/* The process itself is asked first: only it can say why it shows nothing. */
int arena_find_of(pid_t pid, struct arena_list *ret)
{
	struct arena_list list = { 0 };
	int r = look_into(&list, pid);
	bool none = list.n == 0;

	arena_list_release(&list);
	if (r == -ENOENT)
		return -ESRCH;
	if (r < 0)
		return r == -EPERM ? -EACCES : r;
	if (none)
		return -ENOENT;
	r = arena_find_all(&list);
	if (r < 0)
		return r;
	keep_of(&list, pid);
	if (!list.n) {
		arena_list_release(&list);
		return -ENOENT;
	}
	*ret = list;
	return 0;
}

void arena_list_release(struct arena_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->arenas[i].holders);
	free(list->arenas);
	*list = (struct arena_list){ 0 };
}

/* A process may have closed it, and another file may have its number by now: only what is
 * the same inode is opened, since opening alone does things to some devices. */
static int open_holder(const struct arena_found *found,
		       const struct arena_holder *holder)
{
	CLEANUP(closep)
	int there = open(proc_path(holder->pid, "fd/%d", holder->fd).text,
			 O_PATH | O_CLOEXEC);
	struct stat st;
	int fd;

	if (there < 0 || fstat(there, &st) < 0)
		return -errno;
	if (st.st_ino != found->inode || st.st_dev != found->device)
		return -ESTALE;
	fd = open(proc_fd_path(there).text, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int arena_found_open(const struct arena_found *found)
{
	int r = -ENOENT;

	for (size_t i = 0; i < found->n_holders; i++) {
		r = open_holder(found, &found->holders[i]);
		if (r >= 0)
			break;
	}
	return r;
}
