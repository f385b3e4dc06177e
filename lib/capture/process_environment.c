/* process_environment.c - see process_environment.h
 *
 * A variable is interned by its original text and gets a number; an environment is the
 * sorted list of its numbers, and interned by that list.  So the cost of a process is that
 * of looking up its variables, and only new ones are redacted. */
#include "capture/process_environment.h"

#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/map.h"
#include "base/path.h"
#include "base/pool.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/vec.h"
#include "lineage/redact.h"

enum {
	BLOCK_MAX = 8 * 1024 * 1024, /* the kernel allows 6 MiB */
	TEXT_MAX = 16 * 1024 * 1024, /* bytes of variables, all environments */
	LISTS_MAX = 4 * 1024 * 1024, /* numbers in the lists, likewise */
	PROGRAMS_MAX = 4, /* named per environment */
	/* In the document: */
	WRITTEN_BYTES = 1024 * 1024,
	WRITTEN_ENVIRONMENTS = 256,
};

struct variable {
	uint32_t number;
	uint32_t name_len;
	const char *name; /* "NAME\0VALUE", redacted; the value follows the NUL */
};

struct process_environment {
	uint32_t *list; /* numbers of its variables, ascending */
	uint32_t n_variables;
	uint32_t n_left_out; /* variables beyond the limit */
	uint32_t n_processes;
	uint32_t n_programs;
	const char *programs[PROGRAMS_MAX];
};

struct process_environments {
	struct redact *redact;
	struct pool pool;
	struct map variables; /* original text -> struct variable */
	struct variable **by_number;
	size_t n_variables, cap_variables;
	struct map lists; /* list -> struct process_environment */
	struct process_environment **all; /* in the order of their first process */
	size_t n_all, cap_all;
	struct map processes; /* pid -> struct process_entry */
	size_t n_numbers; /* in all lists */
	uint32_t n_unknown;
	struct str block; /* kept between processes */
	uint32_t scratch[PROCESS_ENVIRONMENT_VARIABLES];
};

struct process_entry {
	int32_t pid;
	struct process_environment *environment; /* NULL: unknown */
};

int process_environments_new(struct redact *redact,
			     struct process_environments **ret)
{
	struct process_environments *set = calloc(1, sizeof(*set));

	if (!set)
		return -ENOMEM;
	set->redact = redact;
	*ret = set;
	return 0;
}

void process_environments_free(struct process_environments *set)
{
	if (!set)
		return;
	map_release(&set->variables);
	map_release(&set->lists);
	map_release(&set->processes);
	free(set->by_number);
	free(set->all);
	str_release(&set->block);
	pool_release(&set->pool);
	free(set);
}

/* ---- variables ---- */

static const char *value_of(const struct variable *v)
{
	return v->name + v->name_len + 1;
}

/* "NAME=VALUE" redacted, as "NAME\0VALUE" in the pool. */
static const char *keep_redacted(struct process_environments *set,
				 const char *entry, size_t len, size_t name_len)
{
	CLEANUP(str_release) struct str clean = STR_INIT;
	char *kept;

	if (len > name_len + 1 + PROCESS_ENVIRONMENT_VALUE)
		len = name_len + 1 + PROCESS_ENVIRONMENT_VALUE;
	(void)redact_add_variable(set->redact, entry, len);
	redact_variable(set->redact, entry, len, &clean);
	if (str_error(&clean) < 0)
		return NULL;
	kept = pool_dup(&set->pool, clean.data, clean.len);
	if (kept)
		kept[name_len] = '\0';
	return kept;
}

/* NULL without memory, or when there are too many. */
static struct variable *intern_variable(struct process_environments *set,
					const char *entry, size_t len,
					size_t name_len)
{
	struct variable *v = map_get(&set->variables, entry, len);
	struct variable **slot;
	const char *key;

	if (v)
		return v;
	if (set->pool.total + len > TEXT_MAX)
		return NULL;
	key = pool_dup(&set->pool, entry, len);
	v = pool_zalloc(&set->pool, sizeof(*v));
	if (!key || !v)
		return NULL;
	v->name = keep_redacted(set, entry, len, name_len);
	v->name_len = (uint32_t)name_len;
	v->number = (uint32_t)set->n_variables;
	if (!v->name || map_set(&set->variables, key, len, v) < 0)
		return NULL;
	slot = VEC_PUSH(set->by_number, set->n_variables, set->cap_variables);
	if (!slot) {
		(void)map_remove(&set->variables, key, len);
		return NULL;
	}
	*slot = v;
	return v;
}

/* ---- environments ---- */

static int compare_numbers(const void *a, const void *b)
{
	const uint32_t *x = a;
	const uint32_t *y = b;

	return (*x > *y) - (*x < *y);
}

/* Length of an entry without what roar itself has put there for the library that it
 * preloads; 0: nothing else is left. */
static size_t users_part(const char *entry, size_t len)
{
	static const char log[] = "ROAR_PRELOAD_LOG=";
	static const char preload[] = "LD_PRELOAD=";
	static const char library[] = "/libroar-preload.so";
	size_t tail = sizeof(library) - 1;
	const char *last;

	if (len >= sizeof(log) - 1 && !memcmp(entry, log, sizeof(log) - 1))
		return 0;
	if (len < sizeof(preload) + tail ||
	    memcmp(entry, preload, sizeof(preload) - 1) != 0 ||
	    memcmp(entry + len - tail, library, tail) != 0)
		return len;
	last = memrchr(entry, ':', len);
	return last ? (size_t)(last - entry) : 0;
}

/* The numbers of the variables in the block, in set->scratch. */
static uint32_t list_variables(struct process_environments *set,
			       const char *block, size_t len,
			       uint32_t *ret_left_out)
{
	const char *end = block + len;
	uint32_t n = 0, kept = 0;

	*ret_left_out = 0;
	for (const char *at = block; at < end;) {
		size_t entry_len = strnlen(at, (size_t)(end - at));
		const char *entry = at;
		const struct variable *v;
		const char *eq;

		at += entry_len + 1;
		entry_len = users_part(entry, entry_len);
		eq = memchr(entry, '=', entry_len);
		/* Empty: the library in the process has removed its own. */
		if (!eq || eq == entry || (eq - entry == 1 && *entry == '_'))
			continue;
		v = n < PROCESS_ENVIRONMENT_VARIABLES ?
			    intern_variable(set, entry, entry_len,
					    (size_t)(eq - entry)) :
			    NULL;
		if (v)
			set->scratch[n++] = v->number;
		else
			(*ret_left_out)++;
	}
	qsort(set->scratch, n, sizeof(*set->scratch), compare_numbers);
	for (uint32_t i = 0; i < n; i++)
		if (!kept || set->scratch[i] != set->scratch[kept - 1])
			set->scratch[kept++] = set->scratch[i];
	return kept;
}

/* The environment with the `n` variables in set->scratch.  NULL without memory, or when
 * there are too many. */
static struct process_environment *
intern_environment(struct process_environments *set, uint32_t n)
{
	size_t size = n * sizeof(*set->scratch);
	struct process_environment *e = map_get(&set->lists, set->scratch,
						size);
	struct process_environment **slot;

	if (e || set->n_numbers + n > LISTS_MAX)
		return e;
	e = pool_zalloc(&set->pool, sizeof(*e));
	if (e)
		e->list = pool_alloc(&set->pool, size + 1);
	if (!e || !e->list)
		return NULL;
	memcpy(e->list, set->scratch, size);
	e->n_variables = n;
	slot = VEC_PUSH(set->all, set->n_all, set->cap_all);
	if (!slot)
		return NULL;
	*slot = e;
	if (map_set(&set->lists, e->list, size, e) < 0) {
		set->n_all--;
		return NULL;
	}
	set->n_numbers += n;
	return e;
}

static void name_program(struct process_environments *set,
			 struct process_environment *e, const char *program)
{
	const char *name = path_basename(program);

	if (!*name || e->n_programs == PROGRAMS_MAX)
		return;
	for (uint32_t i = 0; i < e->n_programs; i++)
		if (strcmp(e->programs[i], name) == 0)
			return;
	e->programs[e->n_programs] = pool_strdup(&set->pool, name);
	e->n_programs += e->programs[e->n_programs] != NULL;
}

/* ---- processes ---- */

/* `e` may be NULL: it is not known. */
static void set_process(struct process_environments *set, int32_t pid,
			struct process_environment *e)
{
	struct process_entry *p = map_get(&set->processes, &pid, sizeof(pid));

	if (!p) {
		p = pool_zalloc(&set->pool, sizeof(*p));
		if (!p)
			return;
		p->pid = pid;
		if (map_set(&set->processes, &p->pid, sizeof(pid), p) < 0)
			return;
	}
	p->environment = e;
}

void process_environments_add(struct process_environments *set, int32_t pid,
			      const char *program, const char *block,
			      size_t len)
{
	struct process_environment *e = NULL;
	uint32_t n, left_out = 0;

	if (len) {
		n = list_variables(set, block, len, &left_out);
		e = intern_environment(set, n);
	}
	set_process(set, pid, e);
	if (!e) {
		set->n_unknown++;
		return;
	}
	e->n_processes++;
	if (left_out > e->n_left_out)
		e->n_left_out = left_out;
	name_program(set, e, program);
}

void process_environments_read(struct process_environments *set, int32_t pid,
			       const char *program)
{
	int r;

	str_clear(&set->block);
	r = fd_read_file(AT_FDCWD, proc_path(pid, "environ").text, BLOCK_MAX,
			 &set->block);
	if (r == 0)
		r = str_error(&set->block);
	process_environments_add(set, pid, program, str_cstr(&set->block),
				 r < 0 ? 0 : set->block.len);
}

void process_environments_fork(struct process_environments *set, int32_t pid,
			       int32_t parent)
{
	const struct process_entry *p = map_get(&set->processes, &parent,
						sizeof(parent));

	if (p)
		set_process(set, pid, p->environment);
}

const char *process_environments_get(const struct process_environments *set,
				     int32_t pid, const char *name)
{
	const struct process_entry *p = map_get(&set->processes, &pid,
						sizeof(pid));
	const struct process_environment *e = p ? p->environment : NULL;

	for (uint32_t i = 0; e && i < e->n_variables; i++) {
		const struct variable *v = set->by_number[e->list[i]];

		if (strcmp(v->name, name) == 0)
			return value_of(v);
	}
	return NULL;
}

size_t process_environments_count(const struct process_environments *set)
{
	return set->n_all;
}

/* ---- the document ---- */

struct writing {
	const struct process_environments *set;
	struct json *json;
	size_t bytes; /* of variables, until now */
	size_t n_left_out;
};

static int compare_names(const void *a, const void *b)
{
	const struct variable *const *x = a;
	const struct variable *const *y = b;
	int order = strcmp((*x)->name, (*y)->name);

	/* Of two with the same name getenv() finds the first. */
	return order ? order : compare_numbers(&(*x)->number, &(*y)->number);
}

/* The variables by name, each name once; the caller frees it.  NULL without memory. */
static const struct variable **
sort_by_name(const struct process_environments *set,
	     const struct process_environment *e, size_t *ret_n)
{
	const struct variable **sorted = calloc(e->n_variables + 1,
						sizeof(*sorted));
	size_t n = 0;

	if (!sorted)
		return NULL;
	for (uint32_t i = 0; i < e->n_variables; i++)
		sorted[i] = set->by_number[e->list[i]];
	qsort(sorted, e->n_variables, sizeof(*sorted), compare_names);
	for (uint32_t i = 0; i < e->n_variables; i++)
		if (!n || strcmp(sorted[n - 1]->name, sorted[i]->name) != 0)
			sorted[n++] = sorted[i];
	*ret_n = n;
	return sorted;
}

static void write_variable(struct writing *w, const struct variable *v)
{
	size_t bytes = v->name_len + strlen(value_of(v));

	if (w->bytes + bytes > WRITTEN_BYTES) {
		w->n_left_out++;
		return;
	}
	w->bytes += bytes;
	json_put_key(w->json, v->name);
	json_put_string(w->json, value_of(v));
}

static void write_changed(struct writing *w, const struct variable **base,
			  size_t n_base, const struct variable **mine, size_t n)
{
	size_t b = 0;

	json_put_key(w->json, "changed");
	json_put_object(w->json);
	for (size_t i = 0; i < n; i++) {
		while (b < n_base && strcmp(base[b]->name, mine[i]->name) < 0)
			b++;
		if (b == n_base || base[b] != mine[i])
			write_variable(w, mine[i]);
	}
	json_end(w->json);
}

static void write_unset(struct writing *w, const struct variable **base,
			size_t n_base, const struct variable **mine, size_t n)
{
	size_t i = 0;

	json_put_key(w->json, "unset");
	json_put_array(w->json);
	for (size_t b = 0; b < n_base; b++) {
		while (i < n && strcmp(mine[i]->name, base[b]->name) < 0)
			i++;
		if (i == n || strcmp(mine[i]->name, base[b]->name) != 0)
			json_put_string(w->json, base[b]->name);
	}
	json_end(w->json);
}

static void write_programs(struct json *json,
			   const struct process_environment *e)
{
	json_put_key(json, "n_processes");
	json_put_int(json, e->n_processes);
	json_put_key(json, "programs");
	json_put_array(json);
	for (uint32_t i = 0; i < e->n_programs; i++)
		json_put_string(json, e->programs[i]);
	json_end(json);
}

static void write_environment(struct writing *w,
			      const struct process_environment *e,
			      const struct variable **base, size_t n_base)
{
	CLEANUP(freep) const struct variable **mine = NULL;
	size_t n = 0;

	mine = sort_by_name(w->set, e, &n);
	json_put_object(w->json);
	write_programs(w->json, e);
	if (mine && e == w->set->all[0]) {
		json_put_key(w->json, "variables");
		json_put_object(w->json);
		for (size_t i = 0; i < n; i++)
			write_variable(w, mine[i]);
		json_end(w->json);
	} else if (mine) {
		write_changed(w, base, n_base, mine, n);
		write_unset(w, base, n_base, mine, n);
	}
	json_end(w->json);
	w->n_left_out += e->n_left_out;
}

void process_environments_write(const struct process_environments *set,
				struct json *json)
{
	CLEANUP(freep) const struct variable **base = NULL;
	struct writing w = { .set = set, .json = json };
	size_t n_base = 0;

	if (set->n_all)
		base = sort_by_name(set, set->all[0], &n_base);
	json_put_object(json);
	json_put_key(json, "environments");
	json_put_array(json);
	for (size_t i = 0; base && i < set->n_all; i++)
		if (i < WRITTEN_ENVIRONMENTS && w.bytes < WRITTEN_BYTES)
			write_environment(&w, set->all[i], base, n_base);
		else
			w.n_left_out++;
	json_end(json);
	json_put_key(json, "n_unknown");
	json_put_int(json, set->n_unknown);
	json_put_key(json, "n_left_out");
	json_put_int(json, (int64_t)w.n_left_out);
	json_end(json);
}
