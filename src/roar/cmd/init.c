/* init.c - `roar init`: make a project. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/quote.h"
#include "base/str.h"
#include "commands.h"
#include "project/config.h"
#include "project/gitignore.h"
#include "project/project.h"
#include "store/store.h"

static const struct option_spec options[] = {
	{ .name = "yes",
	  .letter = 'y',
	  .help = "also add .roar/ to the .gitignore of the repository" },
	{ .name = "no",
	  .letter = 'n',
	  .help = "do not change that .gitignore (default)" },
	{ .name = "no-gitignore", .help = "the same as --no" },
	{ .name = "path",
	  .arg = "DIR",
	  .help = "create the project in this directory" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar init", "create a project in the current directory" },
	{ "roar init --path ~/work/vision", "create one in another directory" },
	{ 0 },
};

/* ---- the store ---- */

/* The database, with a first session in it. */
static int make_store(char *dir, struct roar_error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	CLEANUP(closep) int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct project project = { .dir = dir, .dirfd = fd };
	struct store_session session;
	int r;

	r = project_store_create(&project, &store, err);
	if (r == 0)
		r = store_begin(store, err);
	if (r == 0)
		r = store_session_active(store, true, &session, err);
	if (r == 0)
		r = store_commit(store, err);
	return r;
}

/* ---- .gitignore ---- */

static void add_path(struct str *out, const char *path)
{
	quote_printable(out, path, strlen(path));
}

/* .roar ignores itself; who wants the repository to say so as well asks for it. */
static int name_in_gitignore(const char *root, struct str *out,
			     struct roar_error *err)
{
	CLEANUP(gitignore_release) struct gitignore g = { 0 };
	int r = gitignore_find(root, &g);

	if (r == -ENOENT || (r == 0 && g.ignored))
		return 0;
	if (r < 0)
		return error_set(err, r, "cannot search for .gitignore: %s",
				 strerror(-r));
	r = gitignore_add(&g, err);
	if (r > 0) {
		str_adds(out, "Added .roar/ to ");
		add_path(out, g.path);
		str_addc(out, '\n');
	}
	return r < 0 ? r : 0;
}

/* ---- the command ---- */

static int find_root(const struct args *args, char **ret_root,
		     struct roar_error *err)
{
	CLEANUP(str_release) struct str shown = STR_INIT;
	const char *path = args_get(args, "path");

	*ret_root = realpath(path ? path : ".", NULL);
	if (*ret_root)
		return 0;
	add_path(&shown, path ? path : ".");
	return error_set(err, -errno, "cannot create a project in '%s': %s",
			 str_cstr(&shown), strerror(errno));
}

static void add_hint(struct str *out, const char *dir)
{
	CLEANUP(config_release) struct config config = { 0 };

	if (config_load(dir, &config) == 0 && config.hints)
		str_adds(out, "Next: roar run COMMAND, then roar dag\n");
}

static int make_project(const struct args *args, struct str *out,
			struct roar_error *err)
{
	CLEANUP(freep) char *root = NULL;
	CLEANUP(str_release) struct str dir = STR_INIT;
	int made;
	int r;

	r = find_root(args, &root, err);
	if (r < 0)
		return r;
	made = project_init(root, err);
	if (made < 0)
		return made;
	str_addf(&dir, "%s/.roar", root);
	r = str_error(&dir) < 0 ? -ENOMEM : make_store(dir.data, err);
	if (r < 0)
		return r;
	str_adds(out, made ? "Initialised a roar project in " :
			     "A roar project is already initialised in ");
	add_path(out, str_cstr(&dir));
	str_addc(out, '\n');
	if (args_has(args, "yes"))
		r = name_in_gitignore(root, out, err);
	if (r == 0 && made)
		add_hint(out, str_cstr(&dir));
	return r;
}

static int run(const struct args *args)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct roar_error err = { 0 };
	int printed;
	int r;

	if (args_has(args, "yes") &&
	    (args_has(args, "no") || args_has(args, "no-gitignore")))
		return cli_usage(args->command,
				 "--yes and --no exclude each other");
	r = make_project(args, &out, &err);
	printed = cli_print(&out);
	if (r < 0)
		return cli_fail("%s", err.text);
	return printed;
}

const struct command cmd_init = {
	.name = "init",
	.group = GROUP_START,
	.summary = "create a roar project in the current directory",
	.synopsis = "[OPTION]...",
	.about =
#include "init.txt.inc"
		,
	.options = options,
	.examples = examples,
	.operand = OPERAND_NONE,
	.run = run,
};
