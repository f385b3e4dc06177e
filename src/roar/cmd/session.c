/* session.c - `roar session`: the hash of the active session; records of several machines
 * as one step. */
#include <errno.h>
#include <string.h>

#include "base/quote.h"
#include "commands.h"
#include "exchange/import_file.h"
#include "query/join.h"
#include "ui/view.h"

static const struct option_spec options[] = {
	{ .name = "group",
	  .arg = "ID",
	  .help = "join the records of this group (default: that of the newest "
		  "job that has one)" },
	{ 0 },
};

static const struct verb_spec verbs[] = {
	{ "hash", "", "print only the hash of the active session", NULL },
	{ "join", "[FILE...]",
	  "import the files, and join the records of one job on several "
	  "machines into one step",
	  "group" },
	{ 0 },
};

static const struct example examples[] = {
	{ "git tag run-$(roar session hash)",
	  "tag the commit with the hash of the session" },
	{ "roar session join node1.jsonl node2.jsonl",
	  "one step from the records of three machines" },
	{ 0 },
};

static int print_hash(struct view *v)
{
	uint8_t hash[BLAKE3_LEN];
	char hex[2 * BLAKE3_LEN + 1];
	struct roar_error err = { 0 };
	int r;

	if (!v->has_session)
		return cli_fail(
			"there is no active session: 'roar run' starts one");
	r = store_session_hash(v->store, v->session.id, hash, &err);
	if (r < 0)
		return view_fail(r, &err);
	digest_hex(hex, hash, BLAKE3_LEN);
	str_addf(&v->out, "%s\n", hex);
	return view_print(v);
}

/* ---- join ---- */

static int import_all(struct view *v, const struct args *args,
		      struct roar_error *err)
{
	int r = 0;

	for (int i = 1; r == 0 && i < args->n_operands; i++) {
		struct import_result result = { 0 };

		r = import_file(v, args->operands[i], NULL, &result, err);
		if (r < 0)
			break;
		str_adds(&v->out, "Imported ");
		format_count(&v->out, result.n_jobs, "job");
		str_adds(&v->out, " from ");
		quote_printable_cut(&v->out, args->operands[i], 200);
		str_adds(&v->out, ".\n");
	}
	return r;
}

static void add_joined(struct view *v, const struct join *join,
		       const struct store_job *job, bool is_new)
{
	str_addf(&v->out, "%s %zu records of group ",
		 is_new ? "Joined" : "Unchanged:", join->n_parts);
	quote_printable_cut(&v->out, join->group, 100);
	str_adds(&v->out, " as ");
	view_step_full(v, &v->out, job);
	str_addf(&v->out, " %s: %s", job->uid, view_verdict_word(job));
	if (join->missing[0])
		str_addf(&v->out, ", missing: %s", join->missing);
	str_adds(&v->out, ".\n");
}

static int find_group(struct view *v, const struct args *args, const char **ret,
		      struct roar_error *err)
{
	int r = 0;

	*ret = args_get(args, "group");
	if (!*ret)
		r = join_newest_group(&v->query, ret, err);
	if (r == 0 && !(*ret)[0])
		return error_set(err, -ENOENT,
				 "no recorded job belongs to a group: 'roar run "
				 "--group ID' names one");
	return r;
}

static int join_group(struct view *v, const struct args *args,
		      struct roar_error *err)
{
	const struct store_job *job;
	const char *group;
	struct join join = { 0 };
	int r = store_begin(v->store, err);

	if (r == 0)
		r = find_group(v, args, &group, err);
	if (r == 0)
		r = join_read(&v->query, group, &join, err);
	if (r == 0)
		r = store_session_active(v->store, true, &v->session, err);
	if (r < 0)
		return r;
	v->has_session = true;
	r = join_add(&v->query, &join, v->session.id, &job, err);
	if (r < 0)
		return r;
	add_joined(v, &join, job, r > 0);
	return store_commit(v->store, err);
}

static int join_records(const struct args *args)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	struct roar_error err = { 0 };
	int r = view_open(&v, 0);

	if (r)
		return r;
	r = import_all(&v, args, &err);
	if (r == 0)
		r = join_group(&v, args, &err);
	if (r == 0)
		return view_print(&v);
	(void)view_print(&v); /* what was imported before */
	return view_fail(r, &err);
}

static int run(const struct args *args)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	int r;

	if (!strcmp(args->operands[0], "join"))
		return join_records(args);
	r = view_open(&v, STORE_READONLY);
	return r ? r : print_hash(&v);
}

const struct command cmd_session = {
	.name = "session",
	.group = GROUP_SESSIONS,
	.summary = "print the hash of the session, join records of nodes",
	.synopsis = "hash | join [--group ID] [FILE]...",
	.about =
#include "session.txt.inc"
		,
	.options = options,
	.verbs = verbs,
	.examples = examples,
	.exit_status = "0 on success, 1 when there is no active session or the "
		       "record cannot be read, 2 on wrong usage.",
	.operand = OPERAND_NONE,
	.min_operands = 1,
	.run = run,
};
