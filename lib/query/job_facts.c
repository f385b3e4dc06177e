/* job_facts.c - see job_facts.h */
#include "query/job_facts.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/path.h"
#include "base/pool.h"
#include "base/vec.h"
#include "query/query.h"
#include "store/store.h"
#include "store/store_situation.h"

void job_facts_release(struct job_facts *facts)
{
	free(facts->items);
	*facts = (struct job_facts){ 0 };
}

/* Takes strings that are in the pool; NULL: out of memory. */
static void add(struct job_facts *facts, const char *name, const char *value)
{
	struct job_fact *fact = NULL;

	if (name && value)
		fact = VEC_PUSH(facts->items, facts->n, facts->cap);
	if (!fact) {
		facts->failed = true;
		return;
	}
	*fact = (struct job_fact){ .name = name, .value = value };
}

static void add_copy(struct job_facts *facts, const char *name,
		     const char *value)
{
	add(facts, pool_strdup(facts->pool, name),
	    pool_strdup(facts->pool, value));
}

/* ---- parameters ---- */

static const char *argument_text(const json_t *value)
{
	const json_t *text = json_object_get(value, "text");

	return json_string_value(text ? text : value);
}

static bool is_option(const char *argument)
{
	return argument[0] == '-' && argument[1] != '\0' &&
	       !strchr("0123456789.", argument[1]);
}

/* "--lr=0.1", "lr=0.1": the name is what stands before "=". */
static void add_assignment(struct job_facts *facts, const char *argument,
			   const char *equals)
{
	add(facts, pool_dup(facts->pool, argument, (size_t)(equals - argument)),
	    pool_strdup(facts->pool, equals + 1));
}

static void add_arguments(struct job_facts *facts, const json_t *argv)
{
	size_t n = json_array_size(argv), position = 0;

	for (size_t i = 0; i < n; i++) {
		const char *argument = argument_text(json_array_get(argv, i));
		const char *next = argument_text(json_array_get(argv, i + 1));
		const char *equals = argument ? strchr(argument, '=') : NULL;

		if (!argument)
			continue;
		if (i > 0 && equals && equals != argument &&
		    !memchr(argument, '/', (size_t)(equals - argument)) &&
		    !memchr(argument, ' ', (size_t)(equals - argument))) {
			add_assignment(facts, argument, equals);
		} else if (is_option(argument) && next && !is_option(next) &&
			   !strchr(next, '=')) {
			add_copy(facts, argument, next);
			i++;
		} else if (is_option(argument)) {
			add_copy(facts, argument, "given");
		} else {
			add(facts,
			    position++ ?
				    pool_printf(facts->pool, "argument %zu",
						position - 1) :
				    "program",
			    pool_strdup(facts->pool, argument));
		}
	}
}

static int read_parameters(struct job_facts *facts,
			   const struct job_diff_side *side,
			   struct roar_error *err)
{
	const char *cwd = side->job->cwd;
	json_error_t why;
	json_t *argv = json_loads(side->job->argv, 0, &why);

	(void)err;
	if (!argv && json_error_code(&why) == json_error_out_of_memory)
		return -ENOMEM;
	if (json_is_array(argv))
		add_arguments(facts, argv);
	else
		add_copy(facts, "command", side->job->command);
	json_decref(argv);
	add_copy(facts, "directory",
		 side->root ? path_relative(cwd, side->root) : cwd);
	return 0;
}

/* ---- code, and the result ---- */

static void add_known(struct job_facts *facts, const char *name,
		      const char *value)
{
	if (value[0] != '\0')
		add_copy(facts, name, value);
}

static int read_code(struct job_facts *facts, const struct job_diff_side *side,
		     struct roar_error *err)
{
	const struct store_job *job = side->job;

	(void)err;
	add_known(facts, "commit", job->git_commit);
	add_known(facts, "snapshot", job->git_snapshot);
	if (job->git_dirty == TRI_YES && job->git_snapshot[0] == '\0')
		add_copy(facts, "uncommitted changes", "not kept");
	return 0;
}

static int read_result(struct job_facts *facts,
		       const struct job_diff_side *side, struct roar_error *err)
{
	const struct store_job *job = side->job;

	(void)err;
	add(facts, "exit code", pool_printf(facts->pool, "%d", job->exit_code));
	add(facts, "verdict", job->complete ? "complete" : "incomplete");
	add_copy(facts, "tracer", job->tracer);
	add_copy(facts, "roar", job->version);
	add(facts, "duration",
	    pool_printf(facts->pool, "%.3f s", (double)job->duration_ns / 1e9));
	return 0;
}

/* ---- documents of the situation ---- */

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static void add_packages(struct job_facts *facts, const json_t *root)
{
	const json_t *package;
	size_t i;

	json_array_foreach(json_object_get(root, "packages"), i, package) add(
		facts,
		pool_printf(facts->pool, "%s %s", text_of(package, "manager"),
			    text_of(package, "name")),
		pool_strdup(facts->pool, text_of(package, "version")));
}

static void add_libraries(struct job_facts *facts, const json_t *root)
{
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(root, "interpreters"), i, item)
		add(facts,
		    pool_printf(facts->pool, "interpreter %s",
				text_of(item, "kind")),
		    pool_strdup(facts->pool, text_of(item, "version")));
	json_array_foreach(json_object_get(root, "libraries"), i, item)
	{
		const char *name = text_of(item, "soname");
		const char *build = text_of(item, "build_id");

		if (name[0] == '\0')
			name = path_basename(text_of(item, "path"));
		add(facts, pool_strdup(facts->pool, name),
		    pool_printf(facts->pool, "%s%s%.12s",
				text_of(item, "version"),
				build[0] ? " build " : "", build));
	}
}

static void add_variables(struct job_facts *facts, const json_t *root)
{
	const json_t *first = json_array_get(
		json_object_get(root, "environments"), 0);
	const char *name;
	json_t *value;

	json_object_foreach(json_object_get(first, "variables"), name,
			    value) if (json_is_string(value))
		add_copy(facts, name, json_string_value(value));
}

/* Every value of a document, by its path: "gpus[0].name". */
static void add_values(struct job_facts *facts, const char *place,
		       const json_t *value)
{
	const char *dot = place && place[0] != '\0' ? "." : "";
	const char *key;
	json_t *child;
	char *text;
	size_t i;

	if (!place) {
		facts->failed = true;
		return;
	}
	json_object_foreach((json_t *)value, key, child)
		add_values(facts,
			   pool_printf(facts->pool, "%s%s%s", place, dot, key),
			   child);
	json_array_foreach(value, i, child) add_values(
		facts, pool_printf(facts->pool, "%s[%zu]", place, i), child);
	if (json_is_object(value) || json_is_array(value) ||
	    json_is_null(value))
		return;
	text = json_is_string(value) ? NULL :
				       json_dumps(value, JSON_ENCODE_ANY);
	add(facts, place,
	    pool_strdup(facts->pool, text ? text :
				     json_is_string(value) ?
					    json_string_value(value) :
					    ""));
	free(text);
}

static void add_machine(struct job_facts *facts, const json_t *root)
{
	add_values(facts, "", root);
}

static int read_document(struct job_facts *facts,
			 const struct job_diff_side *side,
			 enum situation_kind kind,
			 void (*take)(struct job_facts *, const json_t *),
			 struct roar_error *err)
{
	json_error_t why;
	const char *text;
	int r = store_situation(side->query->store, facts->pool, side->job->id,
				kind, &text, err);

	if (r < 0)
		return r;
	facts->is_unknown = !text;
	if (!text)
		return 0;
	json_t *root = json_loads(text, 0, &why);

	if (!root && json_error_code(&why) == json_error_out_of_memory)
		return -ENOMEM;
	facts->is_unknown = !root;
	if (root)
		take(facts, root);
	json_decref(root);
	return 0;
}

static const struct {
	int (*read)(struct job_facts *facts, const struct job_diff_side *side,
		    struct roar_error *err);
	enum situation_kind situation;
	void (*take)(struct job_facts *facts, const json_t *root);
} readers[JOB_DIFF_KIND_END] = {
	[JOB_DIFF_PARAMETER] = { .read = read_parameters },
	[JOB_DIFF_CODE] = { .read = read_code },
	[JOB_DIFF_RESULT] = { .read = read_result },
	[JOB_DIFF_PACKAGE] = { .situation = SITUATION_PACKAGES,
			       .take = add_packages },
	[JOB_DIFF_LIBRARY] = { .situation = SITUATION_LIBRARIES,
			       .take = add_libraries },
	[JOB_DIFF_VARIABLE] = { .situation = SITUATION_VARIABLES,
				.take = add_variables },
	[JOB_DIFF_MACHINE] = { .situation = SITUATION_MACHINE,
			       .take = add_machine },
};

static int by_name(const void *a, const void *b)
{
	const struct job_fact *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->value, y->value);
}

int job_facts_read(struct job_facts *facts, const struct job_diff_side *side,
		   enum job_diff_kind kind, struct roar_error *err)
{
	int r = 0;

	if (readers[kind].read)
		r = readers[kind].read(facts, side, err);
	else if (readers[kind].take)
		r = read_document(facts, side, readers[kind].situation,
				  readers[kind].take, err);
	if (r == 0 && facts->failed)
		r = -ENOMEM;
	if (r == 0 && facts->n > 1)
		qsort(facts->items, facts->n, sizeof(*facts->items), by_name);
	return r;
}

bool job_fact_is_incidental(enum job_diff_kind kind, const char *name)
{
	static const struct {
		enum job_diff_kind kind;
		const char *start; /* of the name */
	} incidental[] = {
		{ JOB_DIFF_RESULT, "duration" },
		{ JOB_DIFF_RESULT, "tracer" },
		{ JOB_DIFF_VARIABLE, "COLUMNS" },
		{ JOB_DIFF_VARIABLE, "DBUS_" },
		{ JOB_DIFF_VARIABLE, "DISPLAY" },
		{ JOB_DIFF_VARIABLE, "LINES" },
		{ JOB_DIFF_VARIABLE, "OLDPWD" },
		{ JOB_DIFF_VARIABLE, "PWD" },
		{ JOB_DIFF_VARIABLE, "ROAR_" },
		{ JOB_DIFF_VARIABLE, "SHLVL" },
		{ JOB_DIFF_VARIABLE, "SSH_" },
		{ JOB_DIFF_VARIABLE, "TERM" },
		{ JOB_DIFF_VARIABLE, "TMUX" },
		{ JOB_DIFF_VARIABLE, "WINDOWID" },
		{ JOB_DIFF_VARIABLE, "XDG_SESSION" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(incidental); i++)
		if (incidental[i].kind == kind &&
		    strncmp(name, incidental[i].start,
			    strlen(incidental[i].start)) == 0)
			return true;
	return false;
}
