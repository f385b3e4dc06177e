/* tracer_enable.c - see tracer_enable.h */
#include "tracer/tracer_enable.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/install_path.h"
#include "base/quote.h"
#include "base/str.h"
#include "trace/ebpf/ebpf.h"
#include "trace/ebpf/remote.h"
#include "trace/tracer.h"
#include "ui/confirm.h"

extern char **environ;

enum { STEPS_MAX = 4, WORDS_MAX = 8 };

struct step {
	const char *words[WORDS_MAX]; /* the command, without sudo */
	const char *why; /* what it does, in a few words */
};

struct plan {
	struct step steps[STEPS_MAX];
	size_t n;
	char roard[PATH_MAX]; /* the program */
	bool sudo; /* we are not root */
};

/* ---- what is there ---- */

static bool is_readable(const char *path)
{
	return access(path, R_OK) == 0;
}

static bool find_roard(char path[PATH_MAX])
{
	static const char *const places[] = {
		"roard",
		"../roard/roard", /* as built */
		"../" ROAR_SBINDIR "/roard", /* as installed */
		NULL,
	};
	char found[PATH_MAX];

	return install_path_find(places, ROAR_PREFIX "/" ROAR_SBINDIR "/roard",
				 X_OK, found, sizeof(found)) == 0 &&
	       realpath(found, path);
}

/* Does systemd run here, and does it know our units? */
static bool has_unit(void)
{
	return access("/run/systemd/system", F_OK) == 0 &&
	       (is_readable(ROAR_UNITDIR "/roard.socket") ||
		is_readable("/etc/systemd/system/roard.socket") ||
		is_readable("/usr/lib/systemd/system/roard.socket"));
}

static bool has_program(const char *name)
{
	const char *path = getenv("PATH");
	char at[PATH_MAX];

	for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
		size_t len = strcspn(p, ":");

		(void)snprintf(at, sizeof(at), "%.*s/%s", (int)len, p, name);
		if (len && access(at, X_OK) == 0)
			return true;
		p += len + (p[len] == ':');
	}
	return false;
}

/* ---- the plan ---- */

static void add_step(struct plan *p, const char *why, const char *const *words)
{
	struct step *s = &p->steps[p->n++];

	s->why = why;
	for (size_t i = 0; words[i] && i + 1 < WORDS_MAX; i++)
		s->words[i] = words[i];
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void describe_step(struct str *out, const struct plan *p,
			  const struct step *s)
{
	str_adds(out, p->sudo ? "  sudo " : "  ");
	quote_argv(out, (char *const *)s->words);
	str_addf(out, "\n      %s\n", s->why);
}

static int show_plan(const struct plan *p, const char *title)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	str_addf(&out, "%s\n", title);
	for (size_t i = 0; i < p->n; i++)
		describe_step(&out, p, &p->steps[i]);
	return cli_print(&out);
}

static int run_step(const struct plan *p, const struct step *s)
{
	const char *argv[WORDS_MAX + 1] = { "sudo" };
	size_t n = p->sudo;
	int status;
	pid_t pid;

	for (size_t i = 0; s->words[i]; i++)
		argv[n++] = s->words[i];
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		(void)execvp(argv[0], (char *const *)argv);
		(void)cli_fail("cannot execute '%s': %s", argv[0],
			       strerror(errno));
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	if (pid < 0)
		return cli_fail("cannot start a process: %s", strerror(errno));
	if (status)
		return cli_fail("'%s' failed", s->words[0]);
	return 0;
}

static int run_plan(const struct args *args, const struct plan *p,
		    const char *title, const char *deed)
{
	int r = show_plan(p, title);

	if (r == 0 && p->sudo && !has_program("sudo"))
		return cli_fail(
			"this needs root, and sudo is not installed: run the "
			"commands above as root");
	if (r == 0)
		r = confirm(args, deed, "Do this?");
	for (size_t i = 0; r == 0 && i < p->n; i++)
		r = run_step(p, &p->steps[i]);
	return r;
}

static int plan_init(struct plan *p)
{
	*p = (struct plan){ .sudo = geteuid() != 0 };
	if (!tracer_ebpf.run)
		return cli_fail("this roar was built without eBPF (it needs "
				"clang and the headers of libbpf)");
	if (!find_roard(p->roard))
		return cli_fail(
			"the program roard was not found: install it together with "
			"this roar");
	return 0;
}

/* ---- both ways ---- */

/* A daemon that was started this moment may need another. */
static bool comes_up(void)
{
	struct timespec pause = { .tv_nsec = 50000000 };

	for (int i = 0; i < 40; i++) {
		if (remote_answers())
			return true;
		(void)nanosleep(&pause, NULL);
	}
	return false;
}

static int say_done(const char *text)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	str_addf(&out, "%s\n", text);
	return cli_print(&out);
}

int tracer_enable(const struct args *args)
{
	struct plan p;
	int r;

	if (!args_has(args, "pin") && remote_answers())
		return say_done("eBPF is already enabled: roard is running.");
	r = plan_init(&p);
	if (r)
		return r;
	if (args_has(args, "pin"))
		add_step(&p,
			 "keeps the programs in the kernel until the next "
			 "boot, for runs of root",
			 WORDS(p.roard, "--pin"));
	else if (has_unit())
		add_step(&p, "starts roard on demand, now and after every boot",
			 WORDS("systemctl", "enable", "--now", "roard.socket"));
	else
		add_step(&p,
			 "starts the daemon; without systemd it is not started again "
			 "after a boot",
			 WORDS(p.roard, "--daemon"));
	r = run_plan(args, &p, "To enable eBPF:", "sets up eBPF");
	if (r || args_has(args, "pin"))
		return r;
	if (!comes_up())
		return cli_fail(
			"roard does not answer: run 'roard --foreground' as root to "
			"see why");
	return say_done(
		"eBPF is enabled: 'roar tracer check ebpf' tests it, 'roar "
		"tracer use ebpf' makes it the tracer of a project.");
}

int tracer_disable(const struct args *args)
{
	struct plan p;
	int r = plan_init(&p);

	if (r)
		return r;
	if (has_unit())
		add_step(&p, "stops starting roard on demand",
			 WORDS("systemctl", "disable", "--now", "roard.socket",
			       "roard.service"));
	add_step(&p, "stops a daemon that was started by hand",
		 WORDS(p.roard, "--stop"));
	add_step(&p, "removes programs that were kept in the kernel",
		 WORDS(p.roard, "--unpin"));
	r = run_plan(args, &p,
		     "To disable eBPF:", "disables eBPF for all users");
	return r ? r : say_done("eBPF is disabled.");
}
