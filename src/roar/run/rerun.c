/* rerun.c - see rerun.h */
#include "run/rerun.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/pool.h"
#include "lineage/redact.h"
#include "project/project.h"
#include "query/query.h"
#include "query/target.h"
#include "run/argv_json.h"
#include "run/stale_warning.h"
#include "store/store.h"
#include "ui/confirm.h"

bool rerun_is_step(const char *word)
{
	return target_is_step(word);
}

/* "--key" of "--key=value": its length, 0 when it is not such an option. */
static size_t key_length(const char *word)
{
	const char *equal = strchr(word, '=');

	if (strncmp(word, "--", 2) != 0 || !equal || equal == word + 2)
		return 0;
	return (size_t)(equal - word);
}

int rerun_check(char *const operands[], const char *command,
		struct roar_error *err)
{
	struct target_step step;
	int r = target_parse_step(operands[0], &step, err);

	if (r < 0)
		return r;
	if (strcmp(command, "build") == 0 && strcmp(step.kind, "build") != 0)
		return error_set(
			err, -EINVAL,
			"step '%s' is not a build step: use 'roar run %s'",
			operands[0], operands[0]);
	for (size_t i = 1; operands[i]; i++)
		if (!key_length(operands[i]))
			return error_set(
				err, -EINVAL,
				"unexpected argument '%s' after a step: use --KEY=VALUE to "
				"change an option",
				operands[i]);
	return 0;
}

/* ---- changes ---- */

/* The stored command on its way to the new one. */
struct edit {
	char *const *stored; /* NULL at the end */
	char *const *changes; /* --key=value each */
	bool *done; /* per change: the first of its key has found its place */
	char **argv;
	size_t n;
};

static bool same_key(const char *a, const char *b, size_t len)
{
	return strncmp(a, b, len) == 0 && (b[len] == '=' || b[len] == '\0');
}

/* The first change of the option that `word` is; NULL when it is not changed. */
static char *const *find_change(const struct edit *e, const char *word)
{
	for (char *const *c = e->changes; *c; c++)
		if (same_key(*c, word, key_length(*c)))
			return c;
	return NULL;
}

/* Is the argument after "--key" its value?  Another option is not. */
static bool is_value(const char *word)
{
	return word &&
	       (word[0] != '-' || !word[1] || strchr("0123456789.", word[1]));
}

/* All new values of this option, in the form that it had. */
static void put_changes(struct edit *e, const char *word, bool apart)
{
	for (char *const *c = e->changes; *c; c++) {
		size_t len = key_length(*c);

		if (!same_key(*c, word, len))
			continue;
		if (!apart) {
			e->argv[e->n++] = *c;
			continue;
		}
		e->argv[e->n++] = (char *)word;
		e->argv[e->n++] = *c + len + 1;
	}
}

/* The first time an option comes it is changed, later ones go: most programs
 * believe the last.  What did not come is added at the end. */
static void change(struct edit *e)
{
	for (size_t i = 0; e->stored[i]; i++) {
		char *const *c = i ? find_change(e, e->stored[i]) : NULL;
		bool apart;

		if (!c) {
			e->argv[e->n++] = e->stored[i];
			continue;
		}
		apart = !strchr(e->stored[i], '=') &&
			is_value(e->stored[i + 1]);
		if (!e->done[c - e->changes])
			put_changes(e, e->stored[i], apart);
		e->done[c - e->changes] = true;
		i += apart;
	}
	for (char *const *c = e->changes; *c; c++)
		if (!e->done[find_change(e, *c) - e->changes])
			e->argv[e->n++] = *c;
}

static int apply(struct pool *pool, char *const stored[], size_t n,
		 char *const changes[], char ***ret)
{
	struct edit e = { .stored = stored, .changes = changes };
	size_t n_changes = 0;

	while (changes[n_changes])
		n_changes++;
	e.argv = pool_zalloc(pool, (n + 2 * n_changes + 1) * sizeof(*e.argv));
	e.done = pool_zalloc(pool, n_changes + 1);
	if (!e.argv || !e.done)
		return -ENOMEM;
	change(&e);
	*ret = e.argv;
	return 0;
}

static bool has_secrets(char *const argv[])
{
	for (size_t i = 0; argv[i]; i++)
		if (strstr(argv[i], REDACTED))
			return true;
	return false;
}

static int read_tags(struct store *store, struct pool *pool, int64_t job_id,
		     struct run_tags *ret, struct roar_error *err)
{
	struct job_tag *rows;
	size_t n;
	int r = store_tags(store, pool, job_id, &rows, &n, err);

	if (r < 0)
		return r;
	ret->list = pool_alloc(pool, (n + 1) * sizeof(*ret->list));
	if (!ret->list)
		return error_set(err, -ENOMEM, "out of memory");
	for (ret->n = 0; ret->n < n; ret->n++)
		ret->list[ret->n] = rows[ret->n].tag;
	return 0;
}

/* Its inputs may be out of date: the user is warned, and asked on a terminal. */
static int warn_of_stale(struct store *store, const struct store_job *job,
			 const struct args *args, struct roar_error *err)
{
	int n = stale_warning_print(store, job);

	if (n <= 0 || args_has(args, "yes") || !isatty(STDIN_FILENO) ||
	    !isatty(STDERR_FILENO))
		return 0;
	if (confirm_ask("Run this step anyway?"))
		return 0;
	return error_set(err, -ECANCELED, "step '%s' was not run",
			 args->operands[0]);
}

static int read_command(struct pool *pool, const struct store_job *job,
			char *const operands[], char ***ret,
			struct roar_error *err)
{
	char **stored;
	size_t n;
	int r;

	/* It is our own, and records itself. */
	if (!strcmp(job->tracer, "transfer"))
		return error_set(err, -EINVAL,
				 "step '%s' is a transfer, not a command to "
				 "observe: type it again, %.300s",
				 operands[0], job->command);
	if (!strcmp(job->tracer, "python"))
		return error_set(
			err, -EINVAL,
			"step '%s' is a block of a Python process, not a "
			"command: run its program again",
			operands[0]);
	r = argv_json_decode(pool, job->argv, &stored, &n);
	if (r < 0 || n == 0)
		return error_set(err, -EBADMSG,
				 "the command of step '%s' "
				 "cannot be read from the record: type it "
				 "again",
				 operands[0]);
	r = apply(pool, stored, n, operands + 1, ret);
	if (r < 0)
		return error_set(err, r, "out of memory");
	if (has_secrets(*ret))
		return error_set(err, -ENOKEY,
				 "step '%s' was recorded without "
				 "the secrets of its command line: type the "
				 "command again",
				 operands[0]);
	return 0;
}

int rerun_command(struct project *project, struct pool *pool,
		  const struct args *args, struct rerun *ret,
		  struct roar_error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct query q = { .pool = pool };
	struct target target;
	int r;

	r = project_store(project, STORE_READONLY, &store, err);
	q.store = store;
	if (r == 0)
		r = target_resolve(&q, project->cwd, args->operands[0],
				   TARGET_WANT_JOB, &target, err);
	if (r == 0)
		r = read_command(pool, &target.job, args->operands, &ret->argv,
				 err);
	if (r == 0)
		r = read_tags(store, pool, target.job.id, &ret->tags, err);
	if (r == 0 && !args_has(args, "quiet") && project->config.hints)
		r = warn_of_stale(store, &target.job, args, err);
	if (r < 0)
		return r;
	ret->cwd = target.job.cwd;
	ret->kind = target.job.kind;
	ret->name = target.job.name;
	ret->job_id = target.job.id;
	/* Only the proxy changes the environment of a command. */
	ret->proxy = *target.job.environment;
	return 0;
}
