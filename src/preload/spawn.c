/* spawn.c - child processes that libc creates: posix_spawn, system, popen.
 *
 * libc itself executes the opens of file actions.  The seccomp filter observes them;
 * without a filter they are not observed, and that is reported to the reader. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>

#include "preload.h"

typedef int (*spawn_function)(pid_t *, const char *,
			      const posix_spawn_file_actions_t *,
			      const posix_spawnattr_t *, char *const *,
			      char *const *);

/* posix_spawn() returns the errno and leaves errno alone. */
static void spawn_done(struct exec_target *x, int error, const pid_t *pid)
{
	int saved = errno;

	errno = error;
	(void)exec_target_done(x, error ? -1 : pid ? *pid : 0);
	errno = saved;
}

static int spawn(enum next which, pid_t *pid, const char *file,
		 const posix_spawn_file_actions_t *actions,
		 const posix_spawnattr_t *attr, char *const *argv,
		 char *const *envp)
{
	spawn_function next = (spawn_function)next_function(which);
	struct exec_target x;
	struct envp_plan plan;
	char *small[ENVP_SMALL];
	int r;

	if (actions && preload.spawn_opens && live() && !preload.seccomp)
		atomic_fetch_or(&preload.log->trouble, LOG_UNSEEN);
	exec_target_init(&x, AT_FDCWD, file, (int)LOG_EXEC_SPAWN, argv,
			 which == NEXT_posix_spawnp);
	envp_plan(&plan, envp, x.bears, small);
	r = next(pid, file, actions, attr, argv, plan.envp);
	envp_release(&plan);
	spawn_done(&x, r, pid);
	return r;
}

/* Which actions will open something is not to be seen from outside; that there are
 * such at all is. */
WRAPPER(int, posix_spawn_file_actions_addopen,
	posix_spawn_file_actions_t *actions, int fd, const char *path,
	int flags, mode_t mode)
{
	atomic_store(&preload.spawn_opens, true);
	return NEXT(posix_spawn_file_actions_addopen)(actions, fd, path, flags,
						      mode);
}

WRAPPER(int, posix_spawn, pid_t *pid, const char *path,
	const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attr, char *const *argv, char *const *envp)
{
	return spawn(NEXT_posix_spawn, pid, path, actions, attr, argv, envp);
}

WRAPPER(int, posix_spawnp, pid_t *pid, const char *file,
	const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attr, char *const *argv, char *const *envp)
{
	return spawn(NEXT_posix_spawnp, pid, file, actions, attr, argv, envp);
}

/* ---- shells ---- */

static bool shell_begin(struct exec_target *x, const char *command)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)command, NULL };

	exec_target_init(x, AT_FDCWD, "/bin/sh", (int)LOG_EXEC_SPAWN, argv,
			 false);
	x->t.argv = NULL; /* it ends here */
	if (x->bears)
		environ_lend();
	return x->bears;
}

static long shell_end(struct exec_target *x, bool lent, long result)
{
	int saved = errno;

	if (lent)
		environ_return();
	errno = saved;
	(void)exec_target_done(x, result);
	return result;
}

WRAPPER(int, system, const char *command)
{
	struct exec_target x;
	bool lent;
	int r;

	if (!command || !live()) /* NULL: is there a shell? */
		return NEXT(system)(command);
	lent = shell_begin(&x, command);
	r = NEXT(system)(command);
	(void)shell_end(&x, lent, r < 0 ? -1 : 0);
	return r;
}

WRAPPER(FILE *, popen, const char *command, const char *mode)
{
	struct exec_target x;
	bool lent;
	FILE *f;

	if (is_no_pointer(command) || !live())
		return NEXT(popen)(command, mode);
	lent = shell_begin(&x, command);
	f = NEXT(popen)(command, mode);
	(void)shell_end(&x, lent, f ? 0 : -1);
	return f;
}
