/* run_proxy.c - see run_proxy.h */
#include "run/run_proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cli/cli.h"
#include "lineage/redact.h"
#include "project/owner.h"
#include "project/project.h"
#include "proxy/proxy_daemon.h"
#include "proxy/proxy_environment.h"
#include "run/objects.h"
#include "run/run.h"

enum { END_MS = 5 * 1000 }; /* it waits 2 s for open requests */

/* ---- before the command ---- */

/* The log exists from the start, as a file of the project's owner. */
static int make_log(struct run *run, char **ret_path)
{
	char name[OBJECTS_NAME_MAX];
	CLEANUP(closep) int fd = -1;
	bool acted = owner_act(run->project->dirfd);

	objects_name(run->meta.uid, name);
	fd = openat(run->project->dirfd, name,
		    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	owner_act_as_self(acted);
	if (fd < 0)
		return -errno;
	*ret_path = pool_printf(&run->pool, "%s/%s", run->project->dir, name);
	return *ret_path ? 0 : -ENOMEM;
}

/* A daemon that asks another server is not the one. */
static bool open_by_daemon(struct run_proxy *p, struct run *run,
			   const char *upstream)
{
	struct proxy_daemon daemon;

	if (proxy_daemon_find(run->project->dirfd, &daemon) <= 0 ||
	    strcmp(daemon.upstream, upstream ? upstream : "") != 0)
		return false;
	p->by_daemon = proxy_daemon_open(run->project->dirfd, p->log,
					 p->process.endpoint, NULL) == 0;
	return p->by_daemon;
}

static int start(struct run_proxy *p, struct run *run, char *const *envp,
		 struct roar_error *err)
{
	const struct config *c = &run->project->config;
	struct proxy_options o = {
		.upstream = proxy_environment_upstream(
			envp, run->options.proxy_upstream, c->proxy_upstream),
		.region = strcmp(c->proxy_region, "auto") == 0 ?
				  NULL :
				  c->proxy_region,
		.no_hash = !c->proxy_hash,
		.sha256 = c->proxy_hash &&
			  run->options.want & (digest_set)1 << DIGEST_SHA256,
		.dirfd = -1,
		.errors_fd = -1,
		.envp = envp,
	};
	int r = make_log(run, &p->log);

	if (r < 0)
		return error_set(err, r, "its log cannot be created: %s",
				 strerror(-r));
	if (open_by_daemon(p, run, o.upstream))
		return 0;
	o.log = p->log;
	return proxy_process_start(&o, &p->process, err);
}

/* The command runs nevertheless. */
static char **go_without(struct run_proxy *p, struct run *run, char **envp,
			 const char *reason)
{
	CLEANUP(str_release) struct str clean = STR_INIT;
	const char *why;

	/* It may quote a URL that has a password. */
	redact_text(run->redact, reason, strlen(reason), &clean);
	why = clean.failed ? "out of memory" : str_cstr(&clean);
	fold_add_gap(run->fold, EVENT_GAP_PROXY, why);
	if (!run->options.quiet)
		(void)cli_fail("the command runs without the S3 proxy, and its "
			       "objects are not recorded: %s",
			       why);
	objects_remove(run->project->dirfd, run->meta.uid);
	proxy_process_release(&p->process);
	p->log = NULL;
	return envp;
}

char **run_proxy_start(struct run_proxy *p, struct run *run, char **envp)
{
	struct roar_error err = { "out of memory" };
	char **changed;

	*p = RUN_PROXY_INIT;
	if (!run->options.proxy)
		return envp;
	if (start(p, run, envp, &err) < 0)
		return go_without(p, run, envp, err.text);
	changed = proxy_environment_set(&run->pool, envp, p->process.endpoint);
	if (!changed) {
		run_proxy_end(p, run);
		return go_without(p, run, envp, err.text);
	}
	run->meta.environment = PROXY_VARIABLES;
	return changed;
}

/* ---- after it ---- */

void run_proxy_end(struct run_proxy *p, struct run *run)
{
	if (!p->log)
		return;
	/* What is missing in the log is a gap; there is nothing to add. */
	if (p->by_daemon)
		(void)proxy_daemon_end(run->project->dirfd, p->log, NULL);
	else
		(void)proxy_process_end(p->process.pid_fd, END_MS);
	proxy_process_release(&p->process);
	p->log = NULL;
}
