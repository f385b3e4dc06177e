/* site_sandbox.c - runs steps without network
 *
 * With bubblewrap, the step also sees the whole file system read-only, but for the new
 * directory and a /tmp of its own.  Without it, a network namespace is left to: the step
 * has no network, and the files as usual.  Both need user namespaces, unless we are root;
 * containers often forbid them. */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "reproduce/child.h"
#include "reproduce/reproduce.h"
#include "reproduce/site.h"
#include "store/store.h"

/* ---- namespaces ---- */

static int write_map(const char *path, const char *text)
{
	CLEANUP(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
}

/* Programs talk to themselves by 127.0.0.1. */
static void raise_loopback(void)
{
	CLEANUP(closep) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	if (fd >= 0)
		(void)ioctl(fd, SIOCSIFFLAGS, &request);
}

int site_sandbox_enter(void)
{
	unsigned uid = geteuid();
	unsigned gid = getegid();
	char text[64];
	int r = 0;

	if (unshare((uid ? CLONE_NEWUSER : 0) | CLONE_NEWNET) < 0)
		return -errno;
	if (uid) {
		(void)write_map("/proc/self/setgroups", "deny");
		(void)snprintf(text, sizeof(text), "%u %u 1", uid, uid);
		r = write_map("/proc/self/uid_map", text);
		(void)snprintf(text, sizeof(text), "%u %u 1", gid, gid);
		if (r == 0)
			r = write_map("/proc/self/gid_map", text);
	}
	raise_loopback();
	return r;
}

/* ---- which one ---- */

static bool works(char *const *argv, int (*prepare)(void))
{
	CLEANUP(str_release) struct str output = STR_INIT;
	const struct child child = { .argv = argv,
				     .dirfd = -1,
				     .output = &output,
				     .prepare = prepare };

	return child_run(&child) == 0;
}

int site_sandbox_find(struct site *s, struct roar_error *err)
{
	char *bwrap[] = { "bwrap",	   "--ro-bind", "/",	  "/",
			  "--dev",	   "/dev",	"--proc", "/proc",
			  "--unshare-net", "true",	NULL };
	char *plain[] = { "true", NULL };

	if (works(bwrap, NULL))
		s->sandbox = SANDBOX_BUBBLEWRAP;
	else if (works(plain, site_sandbox_enter))
		s->sandbox = SANDBOX_NAMESPACES;
	else if (child_stopped())
		return -EINTR;
	else
		return error_set(err, -EOPNOTSUPP,
				 "a sandbox cannot be made here: bubblewrap "
				 "%s, and the kernel refuses a network "
				 "namespace; run without --sandbox, or where "
				 "user namespaces are allowed",
				 site_has_program("bwrap") ?
					 "does not work" :
					 "is not installed");
	return 0;
}

/* ---- bubblewrap ---- */

static void add(const char **argv, size_t *n, const char *option,
		const char *from, const char *to)
{
	if (*n + 3 > SANDBOX_ARGS - 4)
		return;
	argv[(*n)++] = option;
	argv[(*n)++] = from;
	if (to)
		argv[(*n)++] = to;
}

int site_sandbox_argv(struct site *s, const char *cwd, const char **argv,
		      size_t *n)
{
	const struct recipe *recipe = &s->p->recipe;

	if (s->sandbox != SANDBOX_BUBBLEWRAP)
		return 0;
	argv[(*n)++] = "bwrap";
	argv[(*n)++] = "--die-with-parent";
	argv[(*n)++] = "--unshare-net";
	add(argv, n, "--ro-bind", "/", "/");
	add(argv, n, "--dev", "/dev", NULL);
	add(argv, n, "--proc", "/proc", NULL);
	add(argv, n, "--tmpfs", "/tmp", NULL);
	/* What lies in the /tmp that is hidden now. */
	if (path_is_under(s->program, "/tmp"))
		add(argv, n, "--ro-bind", s->program, s->program);
	for (size_t i = 0; i < recipe->n_inputs; i++)
		if (recipe->inputs[i].source == RECIPE_IN_PLACE &&
		    path_is_under(recipe->inputs[i].row->path, "/tmp"))
			add(argv, n, "--ro-bind", recipe->inputs[i].row->path,
			    recipe->inputs[i].row->path);
	argv[(*n)++] = "--bind";
	argv[(*n)++] = s->dir;
	argv[(*n)++] = s->dir;
	argv[(*n)++] = "--chdir";
	argv[(*n)++] = cwd;
	argv[(*n)++] = "--";
	return 0;
}
