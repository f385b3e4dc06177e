/* docgen.c - man pages and completions from the tables the parser uses.
 *
 *	docgen man OUTDIR STORY		roar.1 and a page for each command
 *	docgen bash|zsh|fish		a completion script on stdout */
#include "docgen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/cli.h"
#include "commands.h"

enum { STORY_MAX = 1024 * 1024 };

const struct option_spec *option_listed(const struct option_spec *o)
{
	while (o && o->name && o->flags & OPTION_HIDDEN)
		o++;
	return o && o->name ? o : NULL;
}

void add_words(struct str *out, const char *values)
{
	for (; *values; values++)
		str_addc(out, *values == '|' ? ' ' : *values);
}

static int write_file(const char *dir, const char *name, const struct str *text)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(closep) int fd = -1;
	int r = str_error(text);

	str_addf(&path, "%s/%s", dir, name);
	if (r == 0) {
		fd = open(str_cstr(&path),
			  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		r = fd < 0 ? -errno : fd_write_all(fd, text->data, text->len);
	}
	if (r < 0)
		(void)fprintf(stderr, "docgen: cannot write '%s': %s\n",
			      str_cstr(&path), strerror(-r));
	return r;
}

static int write_story(const char *dir, const char *path)
{
	CLEANUP(str_release) struct str story = STR_INIT;
	CLEANUP(str_release) struct str page = STR_INIT;
	int r = fd_read_file(AT_FDCWD, path, STORY_MAX, &story);

	if (r < 0) {
		(void)fprintf(stderr, "docgen: cannot read '%s': %s\n", path,
			      strerror(-r));
		return r;
	}
	man_story(&page, str_cstr(&story));
	return write_file(dir, "roar.1", &page);
}

static int write_pages(const char *dir, const char *story)
{
	int r = write_story(dir, story);

	for (size_t i = 0; commands[i] && r == 0; i++) {
		CLEANUP(str_release) struct str name = STR_INIT;
		CLEANUP(str_release) struct str page = STR_INIT;

		str_addf(&name, "roar-%s.1", commands[i]->name);
		man_command(&page, commands[i]);
		r = write_file(dir, str_cstr(&name), &page);
	}
	return r < 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *shell;
		void (*write)(struct str *out);
	} shells[] = { { "bash", complete_bash },
		       { "zsh", complete_zsh },
		       { "fish", complete_fish } };
	CLEANUP(str_release) struct str text = STR_INIT;

	if (argc == 4 && !strcmp(argv[1], "man"))
		return write_pages(argv[2], argv[3]);
	for (size_t i = 0; argc == 2 && i < 3; i++) {
		if (strcmp(argv[1], shells[i].shell) != 0)
			continue;
		shells[i].write(&text);
		return cli_print(&text);
	}
	(void)fputs("usage: docgen man OUTDIR STORY | docgen bash|zsh|fish\n",
		    stderr);
	return 2;
}
