/* fixture.c - see fixture.h */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

static void format_command(struct str *out, const struct fixture *f,
			   const char *fmt, va_list ap)
{
	str_addf(out, "cd %s && { ", f->work);
	str_addv(out, fmt, ap);
	str_adds(out, "\n}");
	assert_int_equal(str_error(out), 0);
}

void sh(const struct fixture *f, const char *fmt, ...)
{
	CLEANUP(str_release) struct str command = STR_INIT;
	va_list ap;
	int status;

	va_start(ap, fmt);
	format_command(&command, f, fmt, ap);
	va_end(ap);
	status = system(command.data);
	if (status != 0)
		fail_msg("status %d from: %s", status, command.data);
}

static char *run_for_output(const struct fixture *f, const char *fmt,
			    va_list ap)
{
	CLEANUP(str_release) struct str command = STR_INIT;
	struct str out = STR_INIT;
	char piece[4096];
	size_t n;
	FILE *pipe;

	format_command(&command, f, fmt, ap);
	pipe = popen(command.data, "re");
	assert_non_null(pipe);
	while ((n = fread(piece, 1, sizeof(piece), pipe)) > 0)
		str_add(&out, piece, n);
	if (pclose(pipe) != 0)
		fail_msg("failed: %s", command.data);
	if (out.len && out.data[out.len - 1] == '\n')
		out.data[--out.len] = '\0';
	return str_take(&out);
}

char *sh_out(const struct fixture *f, const char *fmt, ...)
{
	va_list ap;
	char *out;

	va_start(ap, fmt);
	out = run_for_output(f, fmt, ap);
	va_end(ap);
	return out;
}

void assert_sh(const struct fixture *f, const char *expected, const char *fmt,
	       ...)
{
	CLEANUP(freep) char *out = NULL;
	va_list ap;

	va_start(ap, fmt);
	out = run_for_output(f, fmt, ap);
	va_end(ap);
	assert_string_equal(out, expected);
}

void settle(void)
{
	(void)usleep(60 * 1000);
}

int fixture_setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char home[96];

	if (!f)
		return -1;
	(void)strcpy(f->top, "/tmp/roar-git-XXXXXX");
	if (!mkdtemp(f->top))
		return -1;
	(void)snprintf(f->work, sizeof(f->work), "%s/work", f->top);
	(void)snprintf(f->cache, sizeof(f->cache), "%s/cache/look", f->top);
	(void)snprintf(home, sizeof(home), "%s/home", f->top);
	(void)setenv("HOME", home, 1);
	(void)setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	(void)unsetenv("XDG_CONFIG_HOME");
	(void)unsetenv("GIT_DIR");
	*state = f;
	if (mkdir(f->work, 0755) < 0)
		return -1;
	sh(f, "mkdir ../home ../cache\n"
	      "git config --global user.name Tester\n"
	      "git config --global user.email tester@example.com\n"
	      "git config --global init.defaultBranch main\n"
	      "git config --global protocol.file.allow always\n"
	      "git init -q\n"
	      "mkdir lib\n"
	      "echo 'print(1)' > a.py; echo 'print(2)' > lib/b.py\n"
	      "echo 'out/' > .gitignore\n"
	      "git add . && git commit -qm first");
	settle();
	return 0;
}

int fixture_teardown(void **state)
{
	struct fixture *f = *state;
	char command[256];

	(void)snprintf(command, sizeof(command), "chmod -R u+w %s && rm -rf %s",
		       f->top, f->top);
	if (system(command) != 0)
		return -1;
	free(f);
	return 0;
}

struct git_facts look_at(const struct fixture *f, const char *dir,
			 const struct git_options *options)
{
	CLEANUP(str_release) struct str cwd = STR_INIT;
	struct git_state *started = NULL;
	struct git_facts facts = { 0 };

	str_addf(&cwd, "%s/%s", f->work, dir);
	assert_int_equal(git_state_start(cwd.data, f->cache, options, &started),
			 0);
	assert_int_equal(git_state_finish(started, 30000, &facts), 0);
	return facts;
}

struct git_facts look(const struct fixture *f)
{
	return look_at(f, ".", NULL);
}

struct git_facts look_without_git(const struct fixture *f)
{
	CLEANUP(freep) char *path = strdup(getenv("PATH"));
	struct git_facts facts;

	(void)setenv("PATH", "/nonexistent", 1);
	facts = look(f);
	(void)setenv("PATH", path, 1);
	return facts;
}
