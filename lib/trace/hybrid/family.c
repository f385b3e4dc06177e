/* family.c - the parent of a process
 *
 * /proc/PID/status has it, but to create that directory for a process that lives for a
 * millisecond costs more than the rest of its exec.  So children of vfork() that have
 * our library report themselves.  Those of posix_spawn(), which cannot, are recognized
 * by the memory that they share with their parent. */
#include <linux/kcmp.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/proc.h"
#include "trace/hybrid/hybrid_internal.h"

void family_announce(struct hybrid *h, pid_t pid, pid_t parent)
{
	if (tree_find(&h->o.tree, pid))
		return;
	h->vforks.announced[h->vforks.n_announced++ % ANNOUNCED] =
		(struct announced){
			.pid = pid,
			.parent = parent,
			.time_ns = h->o.mono_ns,
		};
}

/* Only recent entries, and each once: pids are reused. */
static bool was_announced(struct hybrid *h, pid_t tid, pid_t *ret_parent)
{
	enum { FRESH_NS = 50000000 };

	for (size_t i = 0; i < ANNOUNCED; i++) {
		struct announced *a = &h->vforks.announced[i];

		if (a->pid != tid)
			continue;
		a->pid = 0;
		*ret_parent = a->parent;
		return h->o.mono_ns - a->time_ns < FRESH_NS;
	}
	return false;
}

static bool shares_memory(pid_t a, pid_t b)
{
	return syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0) == 0;
}

/* Signal 0 reaches a thread only with the id of its process. */
static bool is_process(pid_t tid)
{
	return syscall(SYS_tgkill, tid, tid, 0) == 0;
}

/* Is it the child of a process that has had such children before? */
static bool was_spawned(struct hybrid *h, pid_t tid, pid_t *ret_parent)
{
	if (!is_process(tid))
		return false;
	for (size_t i = 0; i < SPAWNERS; i++) {
		pid_t pid = h->vforks.spawners[i];

		if (!pid || pid == tid || !shares_memory(tid, pid))
			continue;
		*ret_parent = pid;
		return true;
	}
	return false;
}

static void remember_spawner(struct hybrid *h, pid_t pid)
{
	h->vforks.spawners[h->vforks.n_spawners++ % SPAWNERS] = pid;
}

int family_find(struct hybrid *h, pid_t tid, struct family *ret)
{
	int r;

	*ret = (struct family){ .pid = tid, .vforked = true };
	if (was_announced(h, tid, &ret->parent) ||
	    was_spawned(h, tid, &ret->parent))
		return 0;
	r = proc_family(tid, &ret->pid, &ret->parent);
	ret->vforked = r == 0 && ret->pid == tid &&
		       shares_memory(tid, ret->parent);
	if (ret->vforked)
		remember_spawner(h, ret->parent);
	return r;
}

bool family_is_of_run(const struct hybrid *h, pid_t pid)
{
	enum { GENERATIONS = 64 };
	pid_t self;

	for (int i = 0; i < GENERATIONS && pid > 1; i++)
		if (map_get(&h->members, &pid, sizeof(pid)))
			return true;
		else if (proc_family(pid, &self, &pid) < 0)
			return false;
	return false;
}
