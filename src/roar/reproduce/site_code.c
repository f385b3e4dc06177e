/* site_code.c - restores the code, for each step the version it ran with
 *
 * Each work tree of the record becomes a new repository, which knows nothing of the
 * configuration and hooks of the one it fetches from.  It receives the commits that are
 * needed, by their ids.
 *
 * A snapshot has the outputs of earlier steps as well, when they look like code and are not
 * ignored.  Restoring them would be no reproduction.  So a file that a step makes is not
 * checked out, unless a step reads it before any has made it. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/pool.h"
#include "base/quote.h"
#include "base/str.h"
#include "git/git_child.h"
#include "git/git_env.h"
#include "lineage/fold.h"
#include "reproduce/child.h"
#include "reproduce/enclosure.h"
#include "reproduce/reproduce.h"
#include "reproduce/site.h"
#include "ui/view.h"

/* What is known of a path that steps write. */
struct made {
	size_t first; /* the first step that does */
	bool needed; /* a step reads it from the code */
};

/* ---- git ---- */

/* git's last line, without its prefix. */
static void add_reason(struct str *out, const struct str *errors)
{
	CLEANUP(freep) char *text = strdup(str_cstr(errors));
	char *last = NULL;

	for (char *line = text ? strtok(text, "\n") : NULL; line;
	     line = strtok(NULL, "\n"))
		if (!last || strncmp(line, "fatal: ", 7) == 0 ||
		    strncmp(line, "error: ", 7) == 0)
			last = line;
	if (last &&
	    (!strncmp(last, "fatal: ", 7) || !strncmp(last, "error: ", 7)))
		last += 7;
	quote_printable_cut(out, last ? last : "git failed", 300);
}

/* Runs git in the work tree at `place`.  Its exit status, or a negative errno; `why`, which
 * may be NULL, receives its reason. */
static int git(struct site *s, const char *place, struct git_command *command,
	       struct str *why)
{
	CLEANUP(git_env_release) struct git_env env = { 0 };
	CLEANUP(str_release) struct str errors = STR_INIT;
	struct git_runner runner = { .env = &env,
				     .root = site_path(s, place),
				     .cancel_fd = child_stop_fd() };
	int r = runner.root ? git_env_init(&env, environ) : -ENOMEM;

	if (r < 0)
		return r;
	command->env[0] = "GIT_TERMINAL_PROMPT=0";
	command->env[1] = "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh";
	r = git_run(&runner, command, &errors);
	if (child_stopped())
		return -EINTR;
	if (r > 0 && why)
		add_reason(why, &errors);
	if (r == -ENOPKG && why)
		str_adds(why, "git is not installed");
	return r;
}

/* The same where any failure ends the reproduction. */
static int git_must(struct site *s, const char *place,
		    struct git_command *command, struct roar_error *err)
{
	CLEANUP(str_release) struct str why = STR_INIT;
	int r = git(s, place, command, &why);

	if (r == 0 || r == -EINTR)
		return r;
	return error_set(err, r < 0 ? r : -EIO,
			 "the code cannot be restored: git %s: %s",
			 command->args[0], why.len ? why.data : strerror(-r));
}

/* ---- fetching ---- */

static bool has_commit(struct site *s, const struct recipe_code *code)
{
	CLEANUP(str_release) struct str object = STR_INIT;
	struct git_command command = { .args = { "cat-file", "-e" } };

	str_addf(&object, "%s^{commit}", code->tree);
	command.args[2] = str_cstr(&object);
	return git(s, code->place, &command, NULL) == 0;
}

static int init(struct site *s, const struct recipe_code *code,
		struct roar_error *err)
{
	struct git_command command = {
		.args = { "init", "-q", "--template=",
			  strlen(code->tree) == 64 ? "--object-format=sha256" :
						     "--object-format=sha1" },
	};
	CLEANUP(closep)
	int fd = enclosure_open_dir(s->dirfd, code->place, true);

	if (fd < 0)
		return error_set(err, fd,
				 "cannot create the work tree '%s': "
				 "%s",
				 code->place, strerror(-fd));
	return git_must(s, code->place, &command, err);
}

/* Fetches the commit by its id, or else all branches and tags.  0, or git's status with its
 * reason. */
static int fetch(struct site *s, const struct recipe_code *code,
		 const char *from, bool all, struct str *why)
{
	CLEANUP(str_release) struct str one = STR_INIT;
	struct git_command by_id = {
		.args = { "fetch", "-q", "--no-tags", "--no-auto-gc",
			  "--no-recurse-submodules", "--", from },
	};
	struct git_command wide = {
		.args = { "fetch", "-q", "--tags", "--no-auto-gc",
			  "--no-recurse-submodules", "--", from,
			  "+refs/heads/*:refs/remotes/origin/*" },
	};

	str_addf(&one, "+%s:refs/roar/%s", code->tree, code->tree);
	by_id.args[7] = str_cstr(&one);
	return git(s, code->place, all ? &wide : &by_id, why);
}

static int fetch_from(struct site *s, const struct recipe_code *code,
		      const char *from, struct roar_error *err)
{
	const char *what = *code->snapshot ? "snapshot" : "commit";
	CLEANUP(str_release) struct str why = STR_INIT;
	int r = fetch(s, code, from, false, &why);

	if (r > 0) {
		str_clear(&why);
		r = fetch(s, code, from, true, &why);
	}
	if (r == -EINTR)
		return r;
	if (r)
		return error_set(err, -EIO,
				 "the code cannot be fetched from '%.300s': "
				 "%.300s",
				 from, why.len ? why.data : strerror(-r));
	if (has_commit(s, code))
		return 0;
	return error_set(err, -ENOENT,
			 "the %s %.12s is gone: '%.300s' does not have it%s",
			 what, code->tree, from,
			 *code->snapshot ? ", and a snapshot is only where it "
					   "was made or pushed to" :
					   "");
}

static int fetch_code(struct site *s, struct recipe_code *code,
		      struct roar_error *err)
{
	const char *from = code->found_in ? code->found_in : code->remote;
	int r = 0;

	if (!*from)
		return error_set(err, -ENOENT,
				 "the code at %.12s is in no repository here, "
				 "and no remote was recorded",
				 code->tree);
	if (!has_commit(s, code))
		r = fetch_from(s, code, from, err);
	if (r == 0 && !code->found_in)
		r = recipe_code_list(code, &s->p->view->pool,
				     site_path(s, code->place));
	return r;
}

static bool is_first_at_place(const struct recipe *r, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(r->codes[k]->place, r->codes[i]->place) == 0)
			return false;
	return true;
}

/* ---- what is not restored ---- */

static int note_made(struct site *s, size_t step, const struct store_file *row)
{
	struct made *made = map_get(&s->made, row->path, strlen(row->path));
	const struct recipe_step *t = &s->p->recipe.steps[step];

	if (made)
		return 0;
	made = pool_alloc(&s->p->view->pool, sizeof(*made));
	if (!made)
		return -ENOMEM;
	*made = (struct made){ .first = step,
			       .needed = recipe_changes_unread(t, row) };
	return map_set(&s->made, row->path, strlen(row->path), made);
}

int site_code_find_made(struct site *s)
{
	const struct recipe *recipe = &s->p->recipe;
	int r = 0;

	for (size_t i = 0; i < recipe->n_steps && r == 0; i++)
		for (size_t k = 0; k < recipe->steps[i].n_files && r == 0; k++)
			if (recipe->steps[i].files[k].role == LINEAGE_OUTPUT)
				r = note_made(s, i, &recipe->steps[i].files[k]);
	for (size_t i = 0; i < recipe->n_inputs && r == 0; i++) {
		const struct recipe_input *input = &recipe->inputs[i];
		struct made *made = map_get(&s->made, input->row->path,
					    strlen(input->row->path));

		if (made && input->source == RECIPE_CODE &&
		    input->step <= made->first)
			made->needed = true;
	}
	return r;
}

int site_code_fetch(struct site *s, struct roar_error *err)
{
	const struct recipe *recipe = &s->p->recipe;
	int r = 0;

	s->current = pool_zalloc(&s->p->view->pool,
				 (recipe->n_codes + 1) * sizeof(*s->current));
	if (!s->current)
		r = -ENOMEM;
	for (size_t i = 0; i < recipe->n_codes && r == 0; i++) {
		struct recipe_code *code = recipe->codes[i];

		if (is_first_at_place(recipe, i))
			r = init(s, code, err);
		if (r == 0)
			r = fetch_code(s, code, err);
	}
	return r;
}

/* ---- switching ---- */

bool site_code_leaves(struct site *s, const struct recipe_code *code,
		      const char *name, size_t step, struct str *path)
{
	const struct made *made;

	if (reproduce_is_reserved(name))
		return true;

	str_clear(path);
	str_addf(path, "%s/%s", code->root, name);
	made = map_get(&s->made, str_cstr(path), path->len);
	return made && !(made->needed && step <= made->first);
}

/* Files of the version before that this one does not have. */
static int remove_old(struct site *s, const struct recipe_code *old,
		      const struct recipe_code *code, size_t step)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(closep)
	int fd = enclosure_open_dir(s->dirfd, code->place, false);
	int r = fd < 0 ? fd : 0;

	for (size_t i = 0; i < old->files.n_slots && r == 0; i++) {
		const char *name = old->files.slots[i].value;

		if (name && !map_get(&code->files, name, strlen(name)) &&
		    !site_code_leaves(s, old, name, step, &path))
			r = enclosure_remove(fd, name);
	}
	return str_error(&path) < 0 ? -ENOMEM : r;
}

static int check_out(struct site *s, const struct recipe_code *code,
		     size_t step, struct roar_error *err)
{
	CLEANUP(str_release) struct str names = STR_INIT;
	CLEANUP(str_release) struct str path = STR_INIT;
	struct git_command files = {
		.args = { "checkout-index", "-q", "-f", "-u", "-z", "--stdin" },
	};

	for (size_t i = 0; i < code->files.n_slots; i++) {
		const char *name = code->files.slots[i].value;

		if (name && !site_code_leaves(s, code, name, step, &path))
			str_add(&names, name, strlen(name) + 1);
	}
	if (str_error(&names) < 0 || str_error(&path) < 0)
		return -ENOMEM;
	files.input = str_cstr(&names);
	files.input_len = names.len;
	return git_must(s, code->place, &files, err);
}

static int read_tree(struct site *s, const struct recipe_code *code,
		     const char *tree, struct roar_error *err)
{
	struct git_command command = { .args = { "read-tree", tree } };

	return git_must(s, code->place, &command, err);
}

/* HEAD and the index become those of the commit, so that uncommitted changes are again
 * uncommitted. */
static int set_head(struct site *s, const struct recipe_code *code,
		    struct roar_error *err)
{
	struct git_command command = { .args = { "update-ref", "--no-deref",
						 "HEAD", code->commit } };
	struct git_command none = { .args = { "read-tree", "--empty" } };
	int r;

	if (!*code->commit)
		return git_must(s, code->place, &none, err);
	r = git_must(s, code->place, &command, err);
	if (r == 0 && *code->snapshot)
		r = read_tree(s, code, code->commit, err);
	return r;
}

static struct recipe_code **current_at(struct site *s, const char *place)
{
	for (size_t i = 0; i < s->p->recipe.n_codes; i++)
		if (strcmp(s->p->recipe.codes[i]->place, place) == 0)
			return &s->current[i];
	return NULL;
}

int site_code_switch(struct site *s, size_t step, struct roar_error *err)
{
	struct recipe_code *code = s->p->recipe.steps[step].code;
	struct recipe_code **current = code ? current_at(s, code->place) : NULL;
	int r;

	if (!current || *current == code)
		return 0;
	r = read_tree(s, code, code->tree, err);
	if (r == 0 && *current)
		r = remove_old(s, *current, code, step);
	if (r == 0)
		r = check_out(s, code, step, err);
	if (r == 0)
		r = set_head(s, code, err);
	if (r == 0)
		*current = code;
	return r;
}
