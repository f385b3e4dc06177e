/* load_watch.c - hooks at every system call of the machine
 *
 * All processes pay for them, so they exist only while there are watchers.  They are
 * never pinned: only the descriptors of the watchers hold them, and when the last one
 * is closed, however its owner ended, the kernel detaches the hooks.
 *
 * A process that has loaded its own programs attaches them alone.  Pinned programs are
 * shared; attached twice they would record everything twice.  So the ids of the hooks
 * are in a map that is pinned with them: a new watcher opens living hooks by their ids,
 * or attaches new ones.
 *
 * Lock: flock() of the pin directory, between processes.  It covers the map of ids and
 * the steps of attaching and detaching. */
#include <errno.h>
#include <sys/file.h>
#include <unistd.h>

#include "trace/ebpf/bpf.h"
#include "trace/ebpf/load_internal.h"

/* The holder of the lock needs half a millisecond, unless it was stopped. */
enum { LOCK_TURNS = 2000, DYING_TURNS = 100, TURN_US = 100 };

static int lock(const struct ebpf *e)
{
	if (e->folder < 0)
		return 0;
	for (int i = 0; i < LOCK_TURNS; i++) {
		if (flock(e->folder, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		(void)usleep(TURN_US);
	}
	return -EBUSY;
}

static void unlock(const struct ebpf *e)
{
	if (e->folder >= 0)
		(void)flock(e->folder, LOCK_UN);
}

/* A hook that another process holds, or -ENOENT. */
static int find_hook(const struct ebpf *e, __u32 i)
{
	CLEANUP(closep) int link = -1;
	__u32 id = 0, link_id, ours, its;
	int r = bpf_map_lookup(e->hook_ids, &i, &id);

	if (r < 0 || !id)
		return r < 0 ? r : -ENOENT;
	link = bpf_link_by_id(id);
	if (link < 0)
		return link;
	r = bpf_program_id(e->hook_programs[i], &ours);
	if (r == 0)
		r = bpf_link_ids(link, &link_id, &its);
	if (r < 0)
		return r;
	return its == ours ? TAKE_FD(link) : -ENOENT;
}

/* Before Linux 6.10 a program cannot be attached again while the kernel still detaches
 * the hook of a killed process. */
static int attach(int program, const char *tracepoint)
{
	int link = -EEXIST;

	for (int i = 0; i < DYING_TURNS && link == -EEXIST; i++) {
		if (i)
			(void)usleep(TURN_US);
		link = bpf_attach(program, tracepoint);
	}
	return link;
}

static int make_hook(const struct ebpf *e, __u32 i)
{
	CLEANUP(closep)
	int link = attach(e->hook_programs[i], load_hook_targets[i]);
	__u32 id, program;
	int r;

	if (link < 0 || e->hook_ids < 0)
		return TAKE_FD(link);
	r = bpf_link_ids(link, &id, &program);
	if (r == 0)
		r = bpf_map_update(e->hook_ids, &i, &id, BPF_ANY);
	return r < 0 ? r : TAKE_FD(link);
}

static void take_off(struct ebpf *e)
{
	for (int i = 0; i < EBPF_HOOKS; i++) {
		closep(&e->hooks[i]);
		e->hooks[i] = -1;
	}
}

static int hook_in(struct ebpf *e)
{
	for (__u32 i = 0; i < EBPF_HOOKS; i++) {
		int r = e->hook_ids < 0 ? -ENOENT : find_hook(e, i);

		if (r == -ENOENT)
			r = make_hook(e, i);
		if (r < 0) {
			take_off(e);
			return r;
		}
		e->hooks[i] = r;
	}
	return 0;
}

int ebpf_watch(struct ebpf *e)
{
	int r;

	if (e->hook_programs[0] < 0 || e->n_watchers) {
		e->n_watchers++;
		return 0;
	}
	r = lock(e);
	if (r < 0)
		return r;
	r = hook_in(e);
	unlock(e);
	e->n_watchers += r == 0;
	return r;
}

/* With the lock, so that no process attaches while the kernel still detaches ours. */
void ebpf_unwatch(struct ebpf *e)
{
	int r;

	if (!e->n_watchers || --e->n_watchers || e->hook_programs[0] < 0)
		return;
	r = lock(e);
	take_off(e);
	if (r == 0)
		unlock(e);
}
