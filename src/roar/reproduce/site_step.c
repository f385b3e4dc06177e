/* site_step.c - runs the steps
 *
 * A step is run by `roar run` in its place in the new directory, so the new directory has a
 * record of its own.  Recorded directories in its arguments and variables are replaced by
 * the new ones.
 *
 * Of the recorded variables, a step gets those that the project sets (`roar env`) and those
 * that are known to change results; the rest is the environment of this machine. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/pool.h"
#include "base/quote.h"
#include "lineage/fold.h"
#include "lineage/redact.h"
#include "project/config.h"
#include "reproduce/child.h"
#include "reproduce/enclosure.h"
#include "reproduce/reproduce.h"
#include "reproduce/site.h"
#include "store/store_situation.h"
#include "ui/view.h"

enum { VARIABLES_MAX = 512 };

static const char *const decisive[] = {
	"CUBLAS_WORKSPACE_CONFIG",
	"CUDA_VISIBLE_DEVICES",
	"LANG",
	"LC_ALL",
	"MKL_NUM_THREADS",
	"NUMEXPR_NUM_THREADS",
	"OMP_NUM_THREADS",
	"OPENBLAS_NUM_THREADS",
	"PYTHONHASHSEED",
	"SOURCE_DATE_EPOCH",
	"TF_DETERMINISTIC_OPS",
	"TZ",
};

/* ---- variables ---- */

struct variables {
	struct site *s;
	char **list; /* "NAME=VALUE" */
	size_t n;
	const struct config *config;
	const char *ref; /* of the step */
};

static bool is_wanted(const struct variables *v, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(decisive); i++)
		if (strcmp(name, decisive[i]) == 0)
			return true;
	for (size_t i = 0; !v->s->p->foreign && i < v->config->n_env; i++)
		if (!strncmp(v->config->env[i], name, len) &&
		    v->config->env[i][len] == '=')
			return true;
	return false;
}

/* Asks on the terminal, without echo; the steps after this one have it too. */
static void ask_secret(const char *name)
{
	struct termios shown, hidden;
	CLEANUP(freep) char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	if (tcgetattr(STDIN_FILENO, &shown) < 0)
		return;
	hidden = shown;
	hidden.c_lflag &= ~(tcflag_t)ECHO;
	(void)fprintf(stderr, "Value of %s (empty: leave it out): ", name);
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
	n = getline(&line, &cap, stdin);
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
	(void)fputc('\n', stderr);
	if (n > 1) {
		line[n - 1] = '\0';
		(void)setenv(name, line, 1);
	}
}

/* Its value is not in the record; ours is inherited. */
static void take_redacted(struct variables *v, const char *name)
{
	if (!getenv(name) && !args_has(v->s->p->args, "yes") &&
	    isatty(STDIN_FILENO))
		ask_secret(name);
	if (!getenv(name))
		site_say("note: the variable %s of step %s holds a secret, "
			 "which is not in the record: it is not set",
			 name, v->ref);
}

static int take_variable(struct variables *v, const char *name,
			 const char *value)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	if (!value || !is_wanted(v, name) || v->n == VARIABLES_MAX)
		return 0;
	if (strstr(value, REDACTED)) {
		take_redacted(v, name);
		return 0;
	}
	str_addf(&text, "%s=", name);
	(void)recipe_place_word(v->s->changes, v->s->n_changes, value, &text);
	v->list[v->n] = str_error(&text) < 0 ?
				NULL :
				pool_strdup(&v->s->p->view->pool, text.data);
	return v->list[v->n++] ? 0 : -ENOMEM;
}

static int take_variables(struct variables *v, const char *document)
{
	CLEANUP(json_decrefp) json_t *root = json_loads(document, 0, NULL);
	json_t *first = json_array_get(json_object_get(root, "environments"),
				       0);
	const char *name;
	json_t *value;
	int r = 0;

	json_object_foreach(json_object_get(first, "variables"), name,
			    value) if (r == 0)
		r = take_variable(v, name, json_string_value(value));
	return r;
}

int site_step_variables(struct site *s, size_t step, char ***ret,
			bool *ret_recorded, struct roar_error *err)
{
	CLEANUP(config_release) struct config config = { 0 };
	struct view *view = s->p->view;
	struct variables v = { .s = s, .config = &config };
	const char *document = NULL;
	int r;

	v.list = pool_zalloc(&view->pool,
			     (VARIABLES_MAX + 1) * sizeof(*v.list));
	if (!v.list)
		return -ENOMEM;
	v.ref = reproduce_step_ref(s->p, &s->p->recipe.steps[step]);
	/* Without a configuration, none of its variables is set. */
	(void)config_load(view->project.dir, &config);
	r = store_situation(view->store, &view->pool,
			    s->p->recipe.steps[step].job->id,
			    SITUATION_VARIABLES, &document, err);
	if (r == 0 && document)
		r = take_variables(&v, document);
	*ret_recorded = document != NULL;
	*ret = v.list;
	return r;
}

/* Is the variable `mine` of our environment replaced, or to be unset? */
static bool is_replaced(char *const *vars, bool recorded, const char *venv,
			const char *mine)
{
	size_t len = strcspn(mine, "=") + 1;

	for (; *vars; vars++)
		if (strncmp(mine, *vars, len) == 0)
			return true;
	/* It was not set, or holds a secret that is asked for. */
	for (size_t i = 0; recorded && i < ARRAY_SIZE(decisive); i++)
		if (!strncmp(mine, decisive[i], len - 1) &&
		    !decisive[i][len - 1])
			return true;
	return venv && (!strncmp(mine, "PATH=", len) ||
			!strncmp(mine, "VIRTUAL_ENV=", len) ||
			!strncmp(mine, "PYTHONHOME=", len));
}

/* Ours, then those of the step, then those of its virtual environment. */
static int make_environment(struct site *s, size_t step, char ***ret,
			    struct roar_error *err)
{
	struct pool *pool = &s->p->view->pool;
	const char *path = getenv("PATH");
	const char *venv = NULL;
	bool recorded;
	size_t n = 0;
	char **envp;
	char **vars;
	int r = site_step_variables(s, step, &vars, &recorded, err);

	if (r < 0)
		return r;
	if (s->python_of[step])
		venv = s->pythons[s->python_of[step] - 1].dir;
	while (environ[n])
		n++;
	envp = pool_zalloc(pool, (n + VARIABLES_MAX + 3) * sizeof(*envp));
	if (!envp)
		return -ENOMEM;
	n = 0;
	for (char **e = environ; *e; e++)
		if (!is_replaced(vars, recorded, venv, *e))
			envp[n++] = *e;
	while (*vars)
		envp[n++] = *vars++;
	if (venv) {
		envp[n++] = pool_printf(pool, "VIRTUAL_ENV=%s", venv);
		envp[n++] = pool_printf(pool, "PATH=%s/bin:%s", venv,
					path ? path : "/usr/bin:/bin");
		if (!envp[n - 1] || !envp[n - 2])
			return -ENOMEM;
	}
	*ret = envp;
	return 0;
}

/* ---- arguments ---- */

static bool is_plain(const char *dir)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	quote_shell(&text, dir);
	return strcmp(str_cstr(&text), dir) == 0;
}

int site_step_argv(struct site *s, size_t step, char ***ret,
		   struct roar_error *err)
{
	const struct recipe_step *t = &s->p->recipe.steps[step];
	struct pool *pool = &s->p->view->pool;
	size_t n = 0;
	char **argv;

	while (t->argv[n])
		n++;
	argv = pool_zalloc(pool, (n + 1) * sizeof(*argv));
	for (size_t i = 0; argv && i < n; i++) {
		CLEANUP(str_release) struct str text = STR_INIT;
		int mixed = recipe_place_word(s->changes, s->n_changes,
					      t->argv[i], &text);

		if (mixed && !s->imagined && !is_plain(s->dir))
			return error_set(
				err, -EINVAL,
				"step %s names its directory inside of a "
				"longer argument, and the name of the new one, "
				"'%.200s', has characters that a shell "
				"interprets: choose another --into",
				reproduce_step_ref(s->p, t), s->dir);
		argv[i] = str_error(&text) < 0 ?
				  NULL :
				  pool_dup(pool, str_cstr(&text), text.len);
		if (!argv[i])
			return -ENOMEM;
	}
	*ret = argv;
	return argv ? 0 : -ENOMEM;
}

/* bwrap ... roar run -q --name NAME -- COMMAND */
static int whole_argv(struct site *s, size_t step, const char *cwd,
		      const char ***ret, struct roar_error *err)
{
	const struct store_job *job = s->p->recipe.steps[step].job;
	const char **argv;
	char **command;
	size_t n_command = 0;
	size_t n = 0;
	int r = site_step_argv(s, step, &command, err);

	if (r < 0)
		return r;
	while (command[n_command])
		n_command++;
	argv = pool_zalloc(&s->p->view->pool,
			   (SANDBOX_ARGS + n_command + 8) * sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	r = site_sandbox_argv(s, cwd, argv, &n);
	argv[n++] = s->program;
	argv[n++] = strcmp(job->kind, "build") == 0 ? "build" : "run";
	argv[n++] = "--quiet";
	if (*job->name) {
		argv[n] = pool_printf(&s->p->view->pool, "--name=%s",
				      job->name);
		if (!argv[n++])
			return -ENOMEM;
	}
	argv[n++] = "--";
	for (size_t i = 0; i < n_command; i++)
		argv[n++] = command[i];
	*ret = argv;
	return r;
}

/* ---- running ---- */

/* Directories of what it writes: they may have been there, empty. */
static int make_directories(struct site *s, size_t step, struct roar_error *err)
{
	const struct recipe_step *t = &s->p->recipe.steps[step];
	int r = 0;

	for (size_t i = 0; i < t->n_files && r == 0; i++) {
		const char *place;

		if (t->files[i].role != LINEAGE_OUTPUT)
			continue;
		r = recipe_place(&s->p->recipe.roots, &s->p->view->pool,
				 t->files[i].path, &place);
		if (r == 0 && place && strcmp(place, ".") != 0)
			r = enclosure_make_parents(s->dirfd, place);
		if (r < 0)
			return error_set(err, r,
					 "the directory of '%.300s' cannot be "
					 "made in the new directory: %s",
					 t->files[i].path, strerror(-r));
	}
	return r;
}

static int judge(struct site *s, size_t step, int status,
		 struct roar_error *err)
{
	const struct recipe_step *t = &s->p->recipe.steps[step];
	const char *ref = reproduce_step_ref(s->p, t);

	if (status == -EINTR)
		return status;
	if (status < 0)
		return error_set(err, status, "step %s cannot be run: %s", ref,
				 strerror(-status));
	if (status == t->job->exit_code || t->job->status == STORE_INTERRUPTED)
		return 0;
	return error_set(err, -EIO,
			 "step %s ended with exit code %d; the record says %d",
			 ref, status, t->job->exit_code);
}

int site_step_run(struct site *s, size_t step, struct roar_error *err)
{
	const struct recipe_step *t = &s->p->recipe.steps[step];
	const char *cwd = site_path(s, t->place);
	CLEANUP(closep) int dir = enclosure_open_dir(s->dirfd, t->place, true);
	CLEANUP(str_release) struct str shown = STR_INIT;
	struct child child = { .dirfd = dir };
	const char **argv = NULL;
	char **envp = NULL;
	int r;

	if (dir < 0 || !cwd)
		return error_set(err, dir < 0 ? dir : -ENOMEM,
				 "the directory of step %s cannot be opened: "
				 "%s",
				 reproduce_step_ref(s->p, t),
				 strerror(dir < 0 ? -dir : ENOMEM));
	r = make_directories(s, step, err);
	if (r == 0)
		r = whole_argv(s, step, cwd, &argv, err);
	if (r == 0)
		r = make_environment(s, step, &envp, err);
	if (r < 0)
		return r;
	view_cut(&shown, t->command, 200);
	site_say("step %s: %s", reproduce_step_ref(s->p, t), str_cstr(&shown));
	child.argv = (char *const *)argv;
	child.envp = envp;
	if (s->sandbox == SANDBOX_NAMESPACES)
		child.prepare = site_sandbox_enter;
	return judge(s, step, child_run(&child), err);
}
