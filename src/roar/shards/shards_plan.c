/* shards_plan.c - see shards_plan.h */
#include "shards/shards_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/macros.h"
#include "base/number.h"
#include "base/quote.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "shard/deal/hash_placement.h"
#include "shard/deal/table.h"
#include "shards/shards_homes.h"
#include "ui/table.h"

DEFINE_CLEANUP(struct shard_table *, shard_table_free)

static const char *const mode_names[] = {
	[SHARD_TABLE] = "table",
	[SHARD_RENDEZVOUS] = "rendezvous",
	[SHARD_JUMP] = "jump",
	[SHARD_RING] = "ring",
};

enum { N_MODES = 4 };

/* ---- what is asked for ---- */

struct numbers {
	uint64_t *list;
	size_t n, cap;
};

struct plan {
	uint64_t n_workers, n_shards, n_join;
	struct numbers leave, weights, sizes;
	struct homes homes;
	bool has_mode[N_MODES];
};

struct outcome {
	enum shard_mode mode;
	struct shard_certificate before, after;
};

static void plan_release(struct plan *p)
{
	free(p->leave.list);
	free(p->weights.list);
	free(p->sizes.list);
	homes_release(&p->homes);
}

/* An option that is one number. */
static int parse_number(const struct args *args, const char *name, uint64_t max,
			uint64_t *ret)
{
	CLEANUP(str_release) struct str shown = STR_INIT;
	const char *text = args_get(args, name), *at = text;

	if (!text)
		return 0;
	if (number_take(&at, max, ret) == 0 && !*at)
		return 0;
	quote_printable_cut(&shown, text, 100);
	return cli_usage(args->command,
			 "--%s is '%s'; it must be a number up to %llu", name,
			 str_cstr(&shown), (unsigned long long)max);
}

static int add_number(struct numbers *to, uint64_t number)
{
	uint64_t *slot = VEC_PUSH(to->list, to->n, to->cap);

	if (!slot)
		return -ENOMEM;
	*slot = number;
	return 0;
}

/* An option that is a list of numbers with commas. */
static int parse_list(const struct args *args, const char *name, uint64_t max,
		      struct numbers *ret)
{
	CLEANUP(str_release) struct str shown = STR_INIT;
	const char *text = args_get(args, name), *at = text;
	uint64_t number;

	while (at && number_take(&at, max, &number) == 0) {
		if (add_number(ret, number) < 0)
			return cli_fail("out of memory");
		if (!*at)
			return 0;
		at += *at == ',';
	}
	if (!text)
		return 0;
	quote_printable_cut(&shown, text, 100);
	return cli_usage(
		args->command,
		"--%s is '%s'; it must be numbers up to %llu with commas", name,
		str_cstr(&shown), (unsigned long long)max);
}

/* ---- sizes ---- */

static int read_line(const char *path, const char *line, struct numbers *ret)
{
	CLEANUP(str_release) struct str shown = STR_INIT;
	const char *at = line;
	uint64_t number;

	if (number_take(&at, INT64_MAX, &number) == 0 && (!*at || *at == '\n'))
		return add_number(ret, number) < 0 ? cli_fail("out of memory") :
						     0;
	quote_printable_cut(&shown, path, 100);
	return cli_fail(
		"line %zu of '%s' is not a number of bytes: each line has "
		"the size of one shard",
		ret->n + 1, str_cstr(&shown));
}

static int read_sizes(const struct args *args, struct numbers *ret)
{
	const char *path = args_get(args, "sizes");
	CLEANUP(fclosep) FILE *file = path ? fopen(path, "re") : NULL;
	CLEANUP(str_release) struct str shown = STR_INIT;
	char line[64];
	int r = 0;

	if (!path)
		return 0;
	while (file && r == 0 && fgets(line, sizeof(line), file))
		r = ret->n < SHARD_MAX_SHARDS ?
			    read_line(path, line, ret) :
			    cli_fail("too many shards; a table has %d at most",
				     SHARD_MAX_SHARDS);
	if (file && !ferror(file))
		return r;
	quote_printable_cut(&shown, path, 100);
	return cli_fail("cannot read '%s': %s", str_cstr(&shown),
			strerror(errno));
}

/* ---- all of it ---- */

static int choose_modes(const struct args *args, struct plan *p)
{
	const char *mode = args_get(args, "mode");
	bool all = args_has(args, "compare");

	for (int i = 0; i < N_MODES; i++)
		p->has_mode[i] = all || strcmp(mode ? mode : "table",
					       mode_names[i]) == 0;
	if (p->sizes.n && p->homes.n_shards)
		return cli_usage(args->command,
				 "--sizes and --homes exclude each other");
	if (!all && p->has_mode[SHARD_TABLE])
		return 0;
	if (p->sizes.n)
		return cli_usage(args->command,
				 "--sizes requires --mode table");
	if (p->homes.n_shards)
		return cli_usage(args->command,
				 "--homes requires --mode table");
	return 0;
}

static int check_leavers(const struct args *args, const struct plan *p)
{
	for (size_t i = 0; i < p->leave.n; i++) {
		if (p->leave.list[i] >= p->n_workers)
			return cli_usage(
				args->command,
				"worker %llu cannot leave: the workers have the numbers 0 "
				"to %llu",
				(unsigned long long)p->leave.list[i],
				(unsigned long long)p->n_workers - 1);
		for (size_t j = 0; j < i; j++)
			if (p->leave.list[i] == p->leave.list[j])
				return cli_usage(
					args->command,
					"worker %llu cannot leave twice",
					(unsigned long long)p->leave.list[i]);
	}
	return 0;
}

static int check(const struct args *args, struct plan *p)
{
	size_t n_lines = p->sizes.n ? p->sizes.n : p->homes.n_shards;

	if (!p->n_workers)
		return cli_usage(args->command,
				 "--workers is missing: the number of workers");
	if (n_lines && args_has(args, "shards") && p->n_shards != n_lines)
		return cli_usage(args->command,
				 "--shards is %llu, but --%s has %zu lines",
				 (unsigned long long)p->n_shards,
				 p->sizes.n ? "sizes" : "homes", n_lines);
	if (n_lines)
		p->n_shards = n_lines;
	if (!p->n_shards)
		return cli_usage(
			args->command,
			"--shards is missing: the number of shards of the dataset");
	return check_leavers(args, p);
}

static int parse(const struct args *args, struct plan *p)
{
	int r = parse_number(args, "workers", SHARD_MAX_WORKERS / 2,
			     &p->n_workers);

	if (r == 0)
		r = parse_number(args, "shards", SHARD_MAX_SHARDS,
				 &p->n_shards);
	if (r == 0)
		r = parse_number(args, "join", SHARD_MAX_WORKERS / 2,
				 &p->n_join);
	if (r == 0)
		r = parse_list(args, "leave", SHARD_MAX_WORKERS, &p->leave);
	if (r == 0)
		r = parse_list(args, "weights", UINT32_MAX, &p->weights);
	if (r == 0)
		r = read_sizes(args, &p->sizes);
	if (r == 0)
		r = homes_parse(args, &p->homes);
	if (r == 0)
		r = choose_modes(args, p);
	return r ? r : check(args, p);
}

/* ---- dealing ---- */

static int join(const struct plan *p, struct shard_table *t, uint64_t number)
{
	char name[32];
	struct shard_worker who = { .weight = 1,
				    .home = homes_of_worker(&p->homes, number) };
	int len = snprintf(name, sizeof(name), "worker-%llu",
			   (unsigned long long)number);

	who.key = placement_key(name, (size_t)len);
	if (number < p->weights.n)
		who.weight = (uint32_t)p->weights.list[number];
	return shard_table_join(t, (uint32_t)number, &who);
}

static int deal(const struct plan *p, struct outcome *o)
{
	struct shard_options options = { .mode = o->mode,
					 .bytes = p->sizes.list,
					 .homes = p->homes.shards };
	CLEANUP(shard_table_freep) struct shard_table *t = NULL;
	int r = shard_table_new((uint32_t)p->n_shards, &options, &t);

	for (uint64_t w = 0; r == 0 && w < p->n_workers; w++)
		r = join(p, t, w);
	if (r == 0)
		r = shard_table_deal(t, &o->before);
	for (size_t i = 0; r == 0 && i < p->leave.n; i++)
		r = shard_table_leave(t, (uint32_t)p->leave.list[i]);
	for (uint64_t w = 0; r == 0 && w < p->n_join; w++)
		r = join(p, t, p->n_workers + w);
	return r < 0 ? r : shard_table_deal(t, &o->after);
}

/* ---- telling ---- */

static void json_certificate(struct json *j, const char *name,
			     const struct shard_certificate *c,
			     const struct plan *p)
{
	const struct {
		const char *key;
		uint64_t number;
		bool is_there;
	} fields[] = {
		{ "version", c->version, true },
		{ "workers", c->n_workers, true },
		{ "shards", c->n_shards, true },
		{ "most", c->most, true },
		{ "least", c->least, true },
		{ "moved", c->moved, true },
		{ "minimum", c->minimum, true },
		{ "moved_bytes", c->moved_bytes, p->sizes.n },
		{ "minimum_bytes", c->minimum_bytes, p->sizes.n },
		{ "most_bytes", c->most_bytes, p->sizes.n },
		{ "least_bytes", c->least_bytes, p->sizes.n },
		{ "at_home", c->at_home, p->homes.n_shards },
	};
	char hash[17];

	(void)snprintf(hash, sizeof(hash), "%016llx",
		       (unsigned long long)c->hash);
	json_put_key(j, name);
	json_put_object(j);
	json_put_key(j, "hash");
	json_put_string(j, hash);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (!fields[i].is_there)
			continue;
		json_put_key(j, fields[i].key);
		json_put_int(j, (int64_t)fields[i].number);
	}
	json_put_key(j, "ratio");
	json_put_double(j, shard_certificate_ratio(c));
	json_end(j);
}

static void tell_json(struct str *out, const struct plan *p,
		      const struct outcome *list, size_t n)
{
	struct json j = json_writer(out, true);

	json_put_object(&j);
	json_put_key(&j, "plans");
	json_put_array(&j);
	for (size_t i = 0; i < n; i++) {
		json_put_object(&j);
		json_put_key(&j, "mode");
		json_put_string(&j, mode_names[list[i].mode]);
		json_certificate(&j, "before", &list[i].before, p);
		json_certificate(&j, "after", &list[i].after, p);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	str_addc(out, '\n');
}

static void row(struct table *t, const struct plan *p, const struct outcome *o)
{
	const struct shard_certificate *c = &o->after;

	table_text(t, mode_names[o->mode]);
	if (p->sizes.n) {
		table_size(t, c->moved_bytes);
		table_size(t, c->minimum_bytes);
	} else {
		table_number(t, c->moved);
		table_number(t, c->minimum);
	}
	str_addf(&t->cells, "%.2f", shard_certificate_ratio(c));
	table_cell(t);
	if (p->sizes.n) {
		table_size(t, c->most_bytes);
		table_size(t, c->least_bytes);
	} else {
		table_number(t, c->most);
		table_number(t, c->least);
	}
	if (p->homes.n_shards)
		table_number(t, c->at_home);
	str_addf(&t->cells, "%016llx", (unsigned long long)c->hash);
	table_cell(t);
	table_row(t);
}

static void tell_text(struct str *out, const struct plan *p,
		      const struct outcome *list, size_t n)
{
	static const char *const plain[] = { "MODE",  "MOVED", "MINIMUM",
					     "RATIO", "MOST",  "LEAST",
					     "HASH",  NULL };
	static const char *const at_home[] = { "MODE",	"MOVED", "MINIMUM",
					       "RATIO", "MOST",	 "LEAST",
					       "HOME",	"HASH",	 NULL };
	CLEANUP(table_release) struct table t = TABLE_INIT;
	struct term term = term_of(1);

	format_count(out, p->n_shards, "shard");
	str_adds(out, " of ");
	format_count(out, p->n_workers, "worker");
	if (p->leave.n)
		str_addf(out, ", %zu of them %s", p->leave.n,
			 p->leave.n == 1 ? "leaves" : "leave");
	if (p->n_join)
		str_addf(out, ", %llu more %s", (unsigned long long)p->n_join,
			 p->n_join == 1 ? "comes" : "come");
	str_addc(out, '\n');
	table_head(&t, p->homes.n_shards ? at_home : plain);
	for (size_t i = 0; i < n; i++)
		row(&t, p, &list[i]);
	table_print(&t, out, &term, 0);
}

int shards_plan(const struct args *args)
{
	CLEANUP(plan_release) struct plan p = { 0 };
	CLEANUP(str_release) struct str out = STR_INIT;
	struct outcome outcomes[N_MODES];
	size_t n = 0;
	int r = parse(args, &p);

	if (r)
		return r;
	for (int i = 0; i < N_MODES && r == 0; i++) {
		if (!p.has_mode[i])
			continue;
		outcomes[n] = (struct outcome){ .mode = (enum shard_mode)i };
		r = deal(&p, &outcomes[n++]);
	}
	if (r == -EINVAL)
		return cli_fail(
			"the shards have more than 2^62 bytes in total, more than a "
			"table can balance");
	if (r < 0)
		return cli_fail("cannot compute a table: %s", strerror(-r));
	if (args_has(args, "json"))
		tell_json(&out, &p, outcomes, n);
	else
		tell_text(&out, &p, outcomes, n);
	return cli_print(&out);
}
