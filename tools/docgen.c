/* docgen.c - man pages and completions from the tables the parser uses.
 *
 *	docgen commands OUTDIR		a page for each command of roar
 *	docgen page PROGRAM STORY	the page of a program on stdout
 *	docgen bash|zsh|fish PROGRAM	its completion script on stdout */
#include "docgen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/macros.h"
#include "base/str.h"
#include "cli/cli.h"
#include "commands.h"

extern const struct program coordinator_program;
extern const struct program proxy_program;
extern const struct program roard_program;

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

static int write_pages(const char *dir)
{
	int r = 0;

	for (size_t i = 0; roar_program.commands[i] && r == 0; i++) {
		const struct command *c = roar_program.commands[i];
		CLEANUP(str_release) struct str name = STR_INIT;
		CLEANUP(str_release) struct str page = STR_INIT;

		str_addf(&name, "roar-%s.1", c->name);
		man_command(&page, c);
		r = write_file(dir, str_cstr(&name), &page);
	}
	return r < 0;
}

static int print_page(const char *path)
{
	CLEANUP(str_release) struct str story = STR_INIT;
	CLEANUP(str_release) struct str page = STR_INIT;
	int r = fd_read_file(AT_FDCWD, path, STORY_MAX, &story);

	if (r < 0) {
		(void)fprintf(stderr, "docgen: cannot read '%s': %s\n", path,
			      strerror(-r));
		return 1;
	}
	man_story(&page, str_cstr(&story));
	return cli_print(&page);
}

static int print_completion(const char *shell)
{
	static const struct {
		const char *shell;
		void (*write)(struct str *out);
		void (*write_single)(struct str *out, const struct command *c);
	} shells[] = { { "bash", complete_bash, complete_bash_single },
		       { "zsh", complete_zsh, complete_zsh_single },
		       { "fish", complete_fish, complete_fish_single } };
	CLEANUP(str_release) struct str text = STR_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		if (strcmp(shell, shells[i].shell) != 0)
			continue;
		if (program_selected()->single)
			shells[i].write_single(&text,
					       program_selected()->single);
		else
			shells[i].write(&text);
		return cli_print(&text);
	}
	return 2;
}

/* Of the programs that this build has or could have. */
static bool select_program(const char *name)
{
	static const struct program *const programs[] = { &roar_program,
							  &coordinator_program,
							  &proxy_program,
							  &roard_program };

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		if (!strcmp(programs[i]->name, name)) {
			program_select(programs[i]);
			return true;
		}
	}
	return false;
}

int main(int argc, char **argv)
{
	int status = 2;

	program_select(&roar_program);
	if (argc == 3 && !strcmp(argv[1], "commands"))
		return write_pages(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "page") && select_program(argv[2]))
		return print_page(argv[3]);
	if (argc == 3 && select_program(argv[2]))
		status = print_completion(argv[1]);
	if (status == 2)
		(void)fputs("usage: docgen commands OUTDIR | docgen page "
			    "PROGRAM STORY | docgen bash|zsh|fish PROGRAM\n",
			    stderr);
	return status;
}
