/* show.c - `roar show`: all that is known of a session, job or artifact. */
#include <errno.h>
#include <string.h>

#include "base/quote.h"
#include "commands.h"
#include "show/select.h"
#include "show/show.h"
#include "ui/view.h"

enum { SESSION_PREFIX_MIN = 4 }; /* digits, where anything may be meant */

struct request {
	struct selection target; /* no word: the active session */
	bool session; /* --session, or no word at all */
};

void show_more(struct view *v, uint64_t n, uint64_t shown)
{
	if (n > shown)
		str_addf(&v->out, "  ... and %llu more (--all)\n",
			 (unsigned long long)(n - shown));
}

/* ---- which thing ---- */

static int parse_request(const struct args *args, struct request *ret)
{
	int n = select_read(args, &ret->target);

	ret->session = args_has(args, "session") || !ret->target.word;
	/* The operand of `show --session UID` is no second thing. */
	if (args_has(args, "session") && !args->n_operands)
		n++;
	if (n > 1)
		return cli_usage(args->command,
				 "one thing at a time: give REF, --path, "
				 "--job, --artifact or --session");
	return 0;
}

/* ---- sessions ---- */

static int find_session(struct view *v, const char *word,
			struct store_session *ret, struct roar_error *err)
{
	struct store_session *sessions;
	struct str shown = STR_INIT;
	size_t len = strlen(word);
	size_t found = 0;
	size_t n;
	int r;

	r = store_sessions(v->store, &v->pool, &sessions, &n, err);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		if (strncasecmp(sessions[i].uid, word, len) != 0)
			continue;
		*ret = sessions[i];
		found++;
	}
	if (r >= 0 && (found != 1 || !len)) {
		quote_printable_cut(&shown, word, 60);
		r = error_set(
			err, -ENOENT,
			found ? "'%s' is the beginning of several sessions: "
				"give more digits" :
				"there is no session '%s': 'roar log "
				"--all-sessions' lists them",
			str_cstr(&shown));
		str_release(&shown);
	}
	return r < 0 ? r : 0;
}

static int answer_session(struct view *v, const struct request *q,
			  const struct show_options *o, struct roar_error *err)
{
	struct store_session session = v->session;
	int r;

	if (q->target.word) {
		r = find_session(v, q->target.word, &session, err);
		if (r < 0)
			return r;
	}
	return show_session(
		v, q->target.word || v->has_session ? &session : NULL, o, err);
}

/* A job has half as many digits, and it, content and files come first. */
static bool may_be_session(const char *word)
{
	size_t len = strlen(word);

	return len >= SESSION_PREFIX_MIN &&
	       strspn(word, "0123456789abcdefABCDEF") == len;
}

/* ---- the command ---- */

static int answer(struct view *v, const struct request *q,
		  const struct show_options *o, struct roar_error *err)
{
	struct roar_error other = { 0 };
	struct target target;
	int r;

	if (q->session)
		return answer_session(v, q, o, err);
	r = target_resolve(&v->query, v->project.cwd, q->target.word,
			   q->target.want, &target, err);
	if (r == -ENOENT && q->target.want == TARGET_ANY &&
	    may_be_session(q->target.word) &&
	    answer_session(v, q, o, &other) >= 0)
		return 0;
	if (r < 0)
		return r;
	if (target.kind == TARGET_JOB)
		return show_job(v, &target.job, o, err);
	return show_artifact(v, &target.artifact, target.path, o, err);
}

static int run(const struct args *args)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	struct show_options o = {
		.all = args_has(args, "all"),
		.json = args_has(args, "json"),
	};
	struct roar_error err = { 0 };
	struct request q;
	int r;

	r = parse_request(args, &q);
	if (r)
		return r;
	r = view_open(&v, STORE_READONLY);
	if (r)
		return r;
	r = answer(&v, &q, &o, &err);
	if (r == -EINVAL) /* the word, which no record could hold */
		return cli_usage(args->command, "%s", err.text);
	return r < 0 ? view_fail(r, &err) : view_print(&v);
}

static const struct option_spec options[] = {
	{ .name = "path", .arg = "PATH", .help = "show the file of that name" },
	{ .name = "job",
	  .arg = "REF",
	  .help = "show a job: @N, @BN or digits of its UID" },
	{ .name = "artifact",
	  .arg = "HASH",
	  .help = "show the content whose hash begins so" },
	{ .name = "session",
	  .help = "show the active session, or the one whose UID is REF" },
	{ .name = "all",
	  .letter = 'a',
	  .help = "everything: long lists, filtered files, processes" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar show", "the active session and its steps" },
	{ "roar show @2", "step 2: command, verdict, inputs, outputs" },
	{ "roar show model.pt", "where that content came from and who used it" },
	{ "roar show --artifact 9f86d081", "the same by hash" },
	{ 0 },
};

const struct command cmd_show = {
	.name = "show",
	.group = GROUP_INSPECT,
	.summary = "show a session, job or artifact",
	.synopsis = "[OPTION]... [REF]",
	.about =
		"Shows all that is recorded about one thing. REF is a step of "
		"the active session (@N, or @BN for a build step; @N.M is its "
		"execution M), a job's UID or the first digits of it, a "
		"content hash or the first digits of it, a file, or a "
		"session's UID or the first digits of it. Without REF the "
		"active session is shown.\n"
		"\n"
		"A job: its command, directory, time, exit code, the verdict "
		"with its reasons, tracer, git state with the snapshot of "
		"uncommitted code, resource use, the tags that its outputs "
		"carry and the job each comes from, and its files. Files are "
		"listed in the order of their first use with hash and size; "
		"an input made by a recorded job names it. Where the tracer "
		"counts bytes (eBPF), an input of which more or less than all "
		"of it was read tells how much. Filtered files are "
		"counted, and listed with --all. Where its processes dealt with "
		"shards (roar.shards in Python), the shards and how many samples of "
		"each were taken, by rank and epoch.\n"
		"\n"
		"An artifact: its digests and size, its tags (those of the "
		"job that made it last, under this path if one is given), the "
		"paths where it was "
		"seen and whether it is still there, the jobs that made it "
		"and the jobs that used it, of each step the latest "
		"execution. A file whose time changed but not "
		"its size is read to compare, up to 256 MiB; beyond that it "
		"is called unverified.\n"
		"\n"
		"--json prints an object whose type is session, job or "
		"artifact.\n"
		"\n"
		"For a session: session (uid, created_at, closed_at, jobs, "
		"run_steps, build_steps), dag_hash and jobs as in roar log.\n"
		"\n"
		"For a job: the fields of roar log and executions, script, "
		"cwd, gaps (reason, text, detail, count), tracer, observation "
		"(tracer, attach_s (null: not known), filters in force, "
		"processes_seen, processes_escaped, events_lost, "
		"io_uring_rings, byte_counts_lost, foreign_namespace_files), "
		"roar_version, host, user, git (root, commit, branch, remote, "
		"dirty (null: not known), snapshot, left_out (path, reason; the "
		"first 100 uncommitted files that are not in the snapshot), "
		"left_out_count, note; null outside a repository), resources "
		"(cpu_user_s, cpu_system_s, max_rss_bytes, processes), tags "
		"(kind, value, origin: user or system, from with job_uid and "
		"step_ref), blocked_tags (kind, value; null: all of the "
		"kind); the "
		"arrays inputs, outputs, temporaries and touched (path, role, "
		"digests, size_bytes, type, intermediate, filter, read_order, "
		"write_order, reader_pid, writer_pid, read_bytes and "
		"written_bytes (what the run read from this file and wrote to "
		"it by system calls; null: not counted), renamed_from, implied_by "
		"(a compiled Python module that was read for its source), and for "
		"inputs made_by with job_uid and step_ref); shards (dataset, "
		"path, epoch, rank (null: none), samples, pid: what processes of "
		"the run said they took of which shard); filtered (filter, "
		"read, written); with --all also processes (pid, parent_pid, "
		"command, started_at, ended_at, wait_status).\n"
		"\n"
		"For an artifact: digests, size_bytes, first_seen_at, "
		"first_path, paths (path and state: present, changed, missing "
		"or unverified), tags, made_by and used_by (job_uid, step_ref, "
		"command, started_at, path, role, read_bytes, "
		"written_bytes).",
	.options = options,
	.examples = examples,
	.operand = OPERAND_TARGET,
	.max_operands = 1,
	.run = run,
};
