/* proxy.c - `roar proxy`: an S3 proxy for several runs of the project. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "commands.h"
#include "project/project.h"
#include "proxy/proxy_daemon.h"
#include "proxy/proxy_environment.h"
#include "ui/view.h"

extern char **environ;

#define LOG_NAME "proxy.log"
#define LOCK_NAME "proxy.lock"

enum { STOP_MS = 10 * 1000 };

static int open_project(struct project *project)
{
	struct roar_error err;

	if (project_open(0, project, NULL, &err) < 0)
		return cli_fail("%s", err.text);
	return 0;
}

/* One `start` or `stop` at a time; released with the descriptor. */
static int lock(const struct project *project)
{
	CLEANUP(closep)
	int fd = openat(project->dirfd, LOCK_NAME,
			O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* ---- status ---- */

static void add_json(struct str *out, const struct proxy_daemon *d,
		     const struct str *counters)
{
	struct json j = json_writer(out, true);

	json_put_object(&j);
	view_json_bool(&j, "running", d != NULL);
	view_json_text(&j, "endpoint", d ? d->endpoint : NULL);
	view_json_text(&j, "upstream",
		       d && d->upstream[0] ? d->upstream : NULL);
	view_json_count(&j, "pid", d ? d->pid : -1);
	if (d) {
		view_json_time(&j, "started_at", d->started_ns);
	} else {
		json_put_key(&j, "started_at");
		json_put_null(&j);
	}
	json_put_key(&j, "counters");
	if (counters->len)
		json_put_raw(&j, counters->data, counters->len);
	else
		json_put_null(&j);
	json_end(&j);
	str_addc(out, '\n');
}

static void add_text(struct str *out, const struct proxy_daemon *d)
{
	if (!d) {
		str_adds(out, "The proxy is not running.\n");
		return;
	}
	str_addf(out, "The proxy is running: %s, pid %d, since ", d->endpoint,
		 (int)d->pid);
	clock_format(out, d->started_ns);
	if (d->upstream[0])
		str_addf(out, ", upstream %s", d->upstream);
	str_addc(out, '\n');
}

/* Prints the daemon, NULL for none. */
static int print_daemon(const struct args *args, const struct project *project,
			const struct proxy_daemon *d)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	CLEANUP(str_release) struct str counters = STR_INIT;
	struct roar_error err;

	if (!args_has(args, "json")) {
		add_text(&out, d);
		return cli_print(&out);
	}
	if (d && proxy_daemon_status(project->dirfd, &counters, &err) < 0)
		return cli_fail("%s", err.text);
	add_json(&out, d, &counters);
	return cli_print(&out);
}

static int show_status(const struct args *args, struct project *project)
{
	struct proxy_daemon d;
	bool found = proxy_daemon_find(project->dirfd, &d) > 0;
	int r = print_daemon(args, project, found ? &d : NULL);

	return r ? r : !found;
}

/* ---- start ---- */

static int start_daemon(const struct args *args, struct project *project,
			struct proxy_daemon *ret, struct roar_error *err)
{
	const struct config *c = &project->config;
	CLEANUP(closep)
	int log = openat(project->dirfd, LOG_NAME,
			 O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC |
				 O_NOFOLLOW,
			 0600);
	struct proxy_process p = PROXY_PROCESS_INIT;
	struct proxy_options o = {
		.upstream = proxy_environment_upstream(
			environ, args_get(args, "upstream"), c->proxy_upstream),
		.region = args_get(args, "region"),
		.profile = args_get(args, "profile"),
		.listen = args_get(args, "listen"),
		.control = PROXY_DAEMON_SOCKET,
		.no_hash = !c->proxy_hash,
		.sha256 = c->proxy_hash &&
			  c->hash_run & (digest_set)1 << DIGEST_SHA256,
		.daemon = true,
		.dirfd = project->dirfd,
		.errors_fd = log,
		.envp = environ,
	};
	int r;

	if (!o.region && strcmp(c->proxy_region, "auto") != 0)
		o.region = c->proxy_region;
	if (log < 0)
		return error_set(err, -errno,
				 "cannot open '%s/" LOG_NAME "': %s",
				 project->dir, strerror(errno));
	if (o.upstream && strlen(o.upstream) >= sizeof(ret->upstream))
		return error_set(err, -ENAMETOOLONG,
				 "the URL of the upstream is too long");
	r = proxy_process_start(&o, &p, err);
	if (r < 0)
		return r;
	*ret = (struct proxy_daemon){ .pid = p.pid,
				      .started_ns = clock_now_ns() };
	memcpy(ret->endpoint, p.endpoint, sizeof(p.endpoint));
	(void)snprintf(ret->upstream, sizeof(ret->upstream), "%s",
		       o.upstream ? o.upstream : "");
	r = proxy_daemon_keep(project->dirfd, ret);
	if (r < 0) {
		proxy_process_release(&p);
		return error_set(err, r, "cannot write in '%s': %s",
				 project->dir, strerror(-r));
	}
	closep(&p.pid_fd);
	return 0;
}

static int start(const struct args *args, struct project *project)
{
	CLEANUP(closep) int held = lock(project);
	struct proxy_daemon d;
	struct roar_error err;

	if (held < 0)
		return cli_fail("cannot lock '%s/" LOCK_NAME "': %s",
				project->dir, strerror(-held));
	if (proxy_daemon_find(project->dirfd, &d) > 0 &&
	    (args_has(args, "upstream") || args_has(args, "listen") ||
	     args_has(args, "region") || args_has(args, "profile")))
		return cli_fail("the proxy is running already (pid %d): 'roar "
				"proxy stop' ends it",
				(int)d.pid);
	if (proxy_daemon_find(project->dirfd, &d) <= 0 &&
	    start_daemon(args, project, &d, &err) < 0)
		return cli_fail("the proxy could not be started: %s", err.text);
	return print_daemon(args, project, &d);
}

/* ---- stop ---- */

static int stop(const struct args *args, struct project *project)
{
	CLEANUP(closep) int held = lock(project);
	CLEANUP(closep) int pid_fd = -1;
	struct proxy_daemon d;
	int r;

	if (held < 0)
		return cli_fail("cannot lock '%s/" LOCK_NAME "': %s",
				project->dir, strerror(-held));
	if (proxy_daemon_find(project->dirfd, &d) <= 0)
		return print_daemon(args, project, NULL);
	pid_fd = (int)syscall(SYS_pidfd_open, d.pid, 0);
	r = pid_fd < 0 ? (errno == ESRCH ? 0 : -errno) :
			 proxy_process_end(pid_fd, STOP_MS);
	/* One that is stopped, for example: its runs are incomplete, and say so. */
	if (r == -ETIMEDOUT &&
	    syscall(SYS_pidfd_send_signal, pid_fd, SIGKILL, NULL, 0) == 0)
		r = 0;
	if (r < 0)
		return cli_fail("the proxy (pid %d) did not end: %s",
				(int)d.pid, strerror(-r));
	proxy_daemon_forget(project->dirfd);
	return print_daemon(args, project, NULL);
}

/* ---- the command ---- */

static int run(const struct args *args)
{
	CLEANUP(project_release) struct project project = { .dirfd = -1 };
	const char *verb = args->n_operands ? args->operands[0] : "status";
	int r = open_project(&project);

	if (r)
		return r;
	if (strcmp(verb, "start") == 0)
		return start(args, &project);
	if (strcmp(verb, "stop") == 0)
		return stop(args, &project);
	return show_status(args, &project);
}

static const struct option_spec options[] = {
	{ .name = "upstream",
	  .arg = "URL",
	  .help = "the S3 server (default: the endpoint in the environment, "
		  "proxy.upstream, else AWS)" },
	{ .name = "region",
	  .arg = "NAME",
	  .help = "region of requests that name none" },
	{ .name = "profile",
	  .arg = "NAME",
	  .help = "profile of the AWS configuration to take credentials from" },
	{ .name = "listen",
	  .arg = "ADDRESS",
	  .help = "where to accept requests outside of runs: HOST:PORT or "
		  "unix:PATH (default: a free port of 127.0.0.1)" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct verb_spec verbs[] = {
	{ "start", "", "start the proxy, unless it is running",
	  "upstream region profile listen json" },
	{ "stop", "", "end the proxy; runs that use it get errors", "json" },
	{ "status", "", "show whether it is running (default)", "json" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar proxy start", "one proxy for the following runs" },
	{ "roar run --proxy python train.py",
	  "a run whose objects are recorded" },
	{ "roar proxy stop", "end it" },
	{ 0 },
};

const struct command cmd_proxy = {
	.name = "proxy",
	.group = GROUP_SETUP,
	.summary = "run the S3 proxy for several runs",
	.synopsis = "[start | stop | status] [OPTION]...",
	.about =
#include "proxy.txt.inc"
		,
	.options = options,
	.verbs = verbs,
	.examples = examples,
	.exit_status = "0 on success, 1 when the proxy is not running (status) "
		       "or something failed, 2 on wrong usage.",
	.operand = OPERAND_NONE,
	.max_operands = 0,
	.run = run,
};
