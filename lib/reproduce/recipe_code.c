/* recipe_code.c - the versions of the code, and which files they have
 *
 * A version is looked for in the recorded work tree and in that of the project.  Its list
 * of files says which inputs the code brings along. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/pool.h"
#include "base/str.h"
#include "git/git_child.h"
#include "git/git_env.h"
#include "git/git_owner.h"
#include "git/git_repo.h"
#include "query/query.h"
#include "reproduce/recipe.h"
#include "store/store.h"

enum { FILES_MAX = 4 << 20 };

static bool is_commit(const char *id)
{
	size_t len = strlen(id);

	return (len == 40 || len == 64) &&
	       strspn(id, "0123456789abcdef") == len;
}

/* ---- the list of files ---- */

struct listing {
	struct recipe_code *code;
	struct pool *pool;
	struct str record; /* "MODE TYPE ID\tNAME", being received */
};

static int take_record(struct listing *l)
{
	const char *name = strchr(str_cstr(&l->record), '\t');
	char *copy;

	if (!name || l->code->files.count >= FILES_MAX)
		return -EBADMSG;
	if (strncmp(l->record.data, "160000", 6) == 0) {
		l->code->has_submodules = true;
		return 0;
	}
	copy = pool_strdup(l->pool, name + 1);
	if (!copy)
		return -ENOMEM;
	return map_set(&l->code->files, copy, strlen(copy), copy);
}

static int take(void *ctx, const char *data, size_t len)
{
	struct listing *l = ctx;
	int r = 0;

	while (len && r == 0) {
		const char *nul = memchr(data, '\0', len);
		size_t part = nul ? (size_t)(nul - data) : len;

		str_add(&l->record, data, part);
		if (str_error(&l->record) < 0)
			return -ENOMEM;
		if (nul) {
			r = take_record(l);
			str_clear(&l->record);
			part++;
		}
		data += part;
		len -= part;
	}
	return r;
}

int recipe_code_list(struct recipe_code *code, struct pool *pool,
		     const char *root)
{
	CLEANUP(git_repo_release) struct git_repo repo = { 0 };
	CLEANUP(git_env_release) struct git_env env = { 0 };
	struct listing l = { .code = code, .pool = pool };
	struct git_owner owner;
	struct git_runner runner = { .root = root,
				     .env = &env,
				     .cancel_fd = -1 };
	const struct git_command command = {
		.args = { "ls-tree", "-r", "-z", "--full-tree", code->tree },
		.take = take,
		.ctx = &l,
	};
	int r = git_repo_open(root, &repo);

	if (r <= 0)
		return r == -ENOMEM ? r : -ENOENT;
	r = git_env_init(&env, environ);
	if (r < 0)
		return r;
	if (git_owner_find(&repo, &owner))
		runner.owner = &owner;
	r = git_run(&runner, &command, NULL);
	str_release(&l.record);
	if (r == 0)
		return 0;
	/* What was listed until then is of no use. */
	map_release(&code->files);
	code->files = MAP_INIT;
	return r == -ENOMEM ? r : -ENOENT;
}

static int look_in(struct recipe_code *code, struct pool *pool,
		   const char *root)
{
	int r;

	if (code->found_in || !root || *root != '/')
		return 0;
	r = recipe_code_list(code, pool, root);
	if (r == -ENOENT)
		return 0;
	code->found_in = pool_strdup(pool, root);
	return r < 0 ? r : code->found_in ? 0 : -ENOMEM;
}

static int look(struct recipe_code *code, struct pool *pool,
		const char *project)
{
	CLEANUP(git_repo_release) struct git_repo repo = { 0 };
	int r = look_in(code, pool, code->root);

	if (r < 0 || code->found_in || !project)
		return r;
	r = git_repo_find(project, &repo);
	return r > 0 ? look_in(code, pool, repo.root) : 0;
}

/* ---- the codes ---- */

static struct recipe_code *find(const struct recipe *r,
				const struct store_job *job, const char *tree)
{
	for (size_t i = 0; i < r->n_codes; i++)
		if (!strcmp(r->codes[i]->tree, tree) &&
		    !strcmp(r->codes[i]->root, job->git_root))
			return r->codes[i];
	return NULL;
}

static int add(struct recipe *r, struct query *q, const struct store_job *job,
	       const char *tree, const char *project)
{
	struct recipe_code *code = pool_alloc(q->pool, sizeof(*code));
	int e;

	if (!code)
		return -ENOMEM;
	*code = (struct recipe_code){
		.root = job->git_root,
		.commit = is_commit(job->git_commit) ? job->git_commit : "",
		.snapshot = is_commit(job->git_snapshot) ? job->git_snapshot :
							   "",
		.remote = job->git_remote,
		.tree = tree,
	};
	r->codes[r->n_codes++] = code;
	e = recipe_place(&r->roots, q->pool, job->git_root, &code->place);
	return e < 0 ? e : look(code, q->pool, project);
}

int recipe_code_find(struct recipe *r, struct query *q,
		     const struct recipe_options *options)
{
	int e = 0;

	r->codes = pool_alloc(q->pool, (r->n_steps + 1) * sizeof(*r->codes));
	if (!r->codes)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_steps && e == 0; i++) {
		const struct store_job *job = r->steps[i].job;
		const char *tree = *job->git_snapshot ? job->git_snapshot :
							job->git_commit;

		if (!*job->git_root || !is_commit(tree))
			continue;
		if (!find(r, job, tree))
			e = add(r, q, job, tree, options->project);
		r->steps[i].code = find(r, job, tree);
	}
	return e;
}

bool recipe_code_has(const struct recipe_step *step, const char *path)
{
	const char *name;

	if (!step->code || !path_is_under(path, step->code->root))
		return false;
	name = path_relative(path, step->code->root);
	return map_get(&step->code->files, name, strlen(name)) != NULL;
}
