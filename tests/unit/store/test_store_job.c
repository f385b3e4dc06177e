/* test_job.c - jobs, their steps, their processes and gaps, and searching. */
#include "fixture.h"

static size_t find(struct fixture *f, struct store_job_query query,
		   struct store_job **ret)
{
	size_t n = 0;

	ok(f, store_jobs(f->s, &f->pool, &query, ret, &n, &f->err));
	return n;
}

static struct store_job one(struct fixture *f, int64_t id)
{
	struct store_job *jobs;

	assert_int_equal(
		find(f, (struct store_job_query){ .job_id = id }, &jobs), 1);
	return jobs[0];
}

#define AT(field) offsetof(struct store_job, field)

/* What the store keeps as it is given: strings and int64_t. */
static const size_t texts[] = {
	AT(name),	 AT(command),	 AT(argv),	   AT(script),
	AT(cwd),	 AT(tracer),	 AT(filters),	   AT(version),
	AT(host),	 AT(user),	 AT(git_root),	   AT(git_commit),
	AT(git_branch),	 AT(git_remote), AT(git_snapshot), AT(git_note),
	AT(environment),
};
static const size_t numbers[] = {
	AT(started_ns),	 AT(duration_ns),  AT(attach_ns),
	AT(n_escaped),	 AT(n_lost),	   AT(n_rings),
	AT(n_sums_lost), AT(n_namespaces), AT(git_n_left_out),
	AT(n_inputs),	 AT(n_outputs),	   AT(n_filtered),
	AT(n_processes), AT(cpu_user_ns),  AT(cpu_system_ns),
	AT(max_rss_kib),
};

enum {
	N_TEXTS = sizeof(texts) / sizeof(texts[0]),
	N_NUMBERS = sizeof(numbers) / sizeof(numbers[0]),
};

static const char **text_of(struct store_job *job, size_t i)
{
	return (const char **)(void *)((char *)job + texts[i]);
}

static int64_t *number_of(struct store_job *job, size_t i)
{
	return (int64_t *)(void *)((char *)job + numbers[i]);
}

/* No value is that of another field. */
static void fill(struct fixture *f, struct store_job *job)
{
	for (size_t i = 0; i < N_TEXTS; i++)
		*text_of(job, i) = pool_printf(&f->pool, "text\n%zu", i);
	for (size_t i = 0; i < N_NUMBERS; i++)
		*number_of(job, i) = 1763182800123456789 + (int64_t)i;
}

static void assert_as_filled(struct store_job *a, struct store_job *b)
{
	for (size_t i = 0; i < N_TEXTS; i++)
		assert_string_equal(*text_of(a, i), *text_of(b, i));
	for (size_t i = 0; i < N_NUMBERS; i++)
		assert_int_equal(*number_of(a, i), *number_of(b, i));
}

static void all_fields_come_back(void **state)
{
	struct fixture *f = *state;
	struct store_job job;
	struct store_job back;

	ok(f, store_begin(f->s, &f->err));
	job = a_job(f, "0123abcd", "", 1, 2);
	fill(f, &job);
	job.status = STORE_INTERRUPTED;
	job.exit_code = 130;
	job.complete = false;
	job.git_dirty = TRI_YES;
	ok(f, store_job_add(f->s, &job, &f->err));
	ok(f, store_commit(f->s, &f->err));
	reopen(f, STORE_READONLY);

	back = one(f, job.id);
	assert_as_filled(&back, &job);
	assert_int_equal(back.id, job.id);
	assert_string_equal(back.uid, "0123abcd");
	assert_int_equal(back.session_id, job.session_id);
	assert_int_equal(back.step, 1);
	assert_int_equal(back.attempt, 1);
	assert_string_equal(back.kind, "run");
	assert_int_equal(back.status, STORE_INTERRUPTED);
	assert_int_equal(back.exit_code, 130);
	assert_false(back.complete);
	assert_int_equal(back.git_dirty, TRI_YES);
	assert_memory_equal(back.command_id, job.command_id, 16);
	assert_memory_equal(back.output_id, job.output_id, 16);
}

static void missing_strings_are_read_as_empty(void **state)
{
	struct fixture *f = *state;
	struct store_job job;
	struct store_job back;

	ok(f, store_begin(f->s, &f->err));
	job = a_job(f, "aaaa", NULL, 0, 0);
	job.name = NULL;
	ok(f, store_job_add(f->s, &job, &f->err));
	ok(f, store_commit(f->s, &f->err));
	back = one(f, job.id);
	assert_string_equal(back.command, "");
	assert_string_equal(back.name, "");
}

static void command_of_two_megabytes_is_kept_and_found(void **state)
{
	struct fixture *f = *state;
	enum { LEN = 2 * 1024 * 1024 };
	CLEANUP(freep) char *command = malloc(LEN + 1);
	struct store_job *jobs;
	struct store_job back;
	int64_t id;

	assert_non_null(command);
	for (int i = 0; i < LEN; i++)
		command[i] = i % 10 == 9 ? ' ' : (char)('a' + i % 26);
	memcpy(command + LEN - 10, " needle \xff\xfe", 10);
	command[LEN] = '\0';
	id = add_job(f, "aaaa", command, 1, 0);
	reopen(f, 0);
	back = one(f, id);
	assert_string_equal(back.command, command);
	assert_int_equal(find(f, (struct store_job_query){ .search = "needle" },
			      &jobs),
			 1);
	ok(f, store_begin(f->s, &f->err));
	ok(f, store_job_remove(f->s, id, &f->err));
	ok(f, store_commit(f->s, &f->err));
	assert_int_equal(find(f, (struct store_job_query){ .search = "needle" },
			      &jobs),
			 0);
}

static void assert_place(struct fixture *f, int64_t id, int64_t step,
			 int64_t attempt)
{
	struct store_job job = one(f, id);

	assert_int_equal(job.step, step);
	assert_int_equal(job.attempt, attempt);
}

static void same_command_is_the_same_step(void **state)
{
	struct fixture *f = *state;

	assert_place(f, add_job(f, "a1", "x", 1, 0), 1, 1);
	assert_place(f, add_job(f, "a2", "y", 2, 0), 2, 1);
	assert_place(f, add_job(f, "a3", "x", 1, 0), 1, 2);
	assert_place(f, add_job(f, "a4", "z", 3, 0), 3, 1);
	assert_place(f, add_job(f, "a5", "x", 1, 0), 1, 3);
}

static void same_outputs_are_the_same_step(void **state)
{
	struct fixture *f = *state;

	assert_place(f, add_job(f, "a1", "x --lr 1", 1, 7), 1, 1);
	assert_place(f, add_job(f, "a2", "x --lr 2", 2, 7), 1, 2);
	assert_place(f, add_job(f, "a3", "x --lr 3", 3, 8), 2, 1);
	/* The command goes before the outputs. */
	assert_place(f, add_job(f, "a4", "x --lr 1", 1, 8), 1, 3);
	/* No outputs are not the same outputs. */
	assert_place(f, add_job(f, "a5", "true", 4, 0), 3, 1);
	assert_place(f, add_job(f, "a6", "false", 5, 0), 4, 1);
}

static void latest_job_decides_the_step_of_an_output(void **state)
{
	struct fixture *f = *state;

	assert_place(f, add_job(f, "a1", "x", 1, 7), 1, 1);
	assert_place(f, add_job(f, "a2", "y", 2, 0), 2, 1);
	assert_place(f, add_job(f, "a3", "y", 2, 7), 2, 2);
	assert_place(f, add_job(f, "a4", "z", 3, 7), 2, 3);
}

static void what_runs_a_job_again_is_its_step(void **state)
{
	struct fixture *f = *state;
	int64_t first = add_job(f, "a1", "x", 1, 7);
	struct store_session old;
	struct store_session new;
	struct store_job job;

	assert_place(f, add_job(f, "a2", "y", 2, 8), 2, 1);
	ok(f, store_begin(f->s, &f->err));
	/* Whatever its command and outputs would say. */
	job = a_job(f, "a3", "y", 2, 8);
	job.rerun_of = first;
	ok(f, store_job_add(f->s, &job, &f->err));
	assert_int_equal(job.step, 1);
	assert_int_equal(job.attempt, 2);
	/* Not of a job that is gone, nor in another session. */
	job = a_job(f, "a4", "y", 2, 0);
	job.rerun_of = 4711;
	ok(f, store_job_add(f->s, &job, &f->err));
	assert_int_equal(job.step, 1); /* that of a3, the latest such command */
	ok(f, store_session_reset(f->s, &old, &new, &f->err));
	job = a_job(f, "a5", "z", 3, 0);
	job.session_id = new.id;
	job.rerun_of = first;
	ok(f, store_job_add(f->s, &job, &f->err));
	assert_int_equal(job.step, 1);
	assert_int_equal(job.attempt, 1);
	ok(f, store_commit(f->s, &f->err));
}

static void kinds_and_sessions_have_their_own_steps(void **state)
{
	struct fixture *f = *state;
	struct store_session old;
	struct store_session new;
	struct store_job job;

	assert_place(f, add_job(f, "a1", "x", 1, 7), 1, 1);
	assert_place(f, add_job(f, "a2", "y", 2, 8), 2, 1);
	ok(f, store_begin(f->s, &f->err));
	job = a_job(f, "a3", "x", 1, 7);
	job.kind = "build";
	ok(f, store_job_add(f->s, &job, &f->err));
	assert_int_equal(job.step, 1);
	assert_int_equal(job.attempt, 1);
	ok(f, store_session_reset(f->s, &old, &new, &f->err));
	ok(f, store_commit(f->s, &f->err));
	assert_place(f, add_job(f, "a4", "y", 2, 8), 1, 1);
}

static void a_placed_job_gets_its_step_before_it_is_added(void **state)
{
	struct fixture *f = *state;
	struct store_job job;

	(void)add_job(f, "aaaa", "x", 1, 0);
	ok(f, store_begin(f->s, &f->err));
	job = a_job(f, "aaaa", "x", 1, 0);
	fails(f, store_job_place(f->s, &job, &f->err), EEXIST,
	      "job aaaa is in '");
	job = a_job(f, "bbbb", "x", 1, 0);
	ok(f, store_job_place(f->s, &job, &f->err));
	assert_int_equal(job.step, 1);
	assert_int_equal(job.attempt, 2);
	assert_int_equal(count(f, "SELECT count(*) FROM jobs"), 1);
	ok(f, store_job_add(f->s, &job, &f->err));
	ok(f, store_commit(f->s, &f->err));
	assert_place(f, job.id, 1, 2);
}

static void known_uid_is_refused_and_the_transaction_goes_on(void **state)
{
	struct fixture *f = *state;
	struct store_job job;

	(void)add_job(f, "aaaa", "x", 1, 0);
	ok(f, store_begin(f->s, &f->err));
	job = a_job(f, "aaaa", "y", 2, 0);
	fails(f, store_job_add(f->s, &job, &f->err), EEXIST,
	      "job aaaa is in '");
	job = a_job(f, "bbbb", "y", 2, 0);
	ok(f, store_job_add(f->s, &job, &f->err));
	ok(f, store_commit(f->s, &f->err));
	assert_int_equal(count(f, "SELECT n_jobs FROM sessions"), 2);
}

static void unknown_kind_and_session_are_refused(void **state)
{
	struct fixture *f = *state;
	struct store_job job;

	ok(f, store_begin(f->s, &f->err));
	job = a_job(f, "aaaa", "x", 1, 0);
	job.kind = "walk";
	fails(f, store_job_add(f->s, &job, &f->err), EINVAL, "kind 'walk'");
	job.kind = "run";
	job.session_id = 99;
	fails(f, store_job_add(f->s, &job, &f->err), EINVAL,
	      "a row contradicts what is in '");
}

/* ---- queries ---- */

static void some_jobs(struct fixture *f)
{
	(void)add_job(f, "a0000001", "python prepare.py", 1, 0);
	(void)add_job(f, "a0000002", "python train.py --lr 0.1", 2, 0);
	(void)add_job(f, "a0000003", "python train.py --lr 0.1", 2, 0);
	(void)add_job(f, "b0000004", "./evaluate \"model\"", 3, 0);
}

static void jobs_come_oldest_first(void **state)
{
	struct fixture *f = *state;
	struct store_job *jobs;

	some_jobs(f);
	assert_int_equal(find(f, (struct store_job_query){ 0 }, &jobs), 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(jobs[i].id, i + 1);
}

static void limit_keeps_the_newest(void **state)
{
	struct fixture *f = *state;
	struct store_job *jobs;

	some_jobs(f);
	assert_int_equal(
		find(f, (struct store_job_query){ .session_id = 1, .limit = 2 },
		     &jobs),
		2);
	assert_int_equal(jobs[0].id, 3);
	assert_int_equal(jobs[1].id, 4);
}

static void conditions_combine(void **state)
{
	struct fixture *f = *state;
	const struct {
		struct store_job_query query;
		size_t n;
		int64_t first;
	} cases[] = {
		{ { .session_id = 2 }, 0, 0 },
		{ { .uid_prefix = "a00" }, 3, 1 },
		{ { .uid_prefix = "" }, 4, 1 },
		{ { .uid_prefix = "a0000003" }, 1, 3 },
		{ { .uid_prefix = "a00000031" }, 0, 0 },
		{ { .uid_prefix = "%" }, 0, 0 },
		{ { .uid_prefix = "'; --" }, 0, 0 },
		{ { .kind = "run" }, 4, 1 },
		{ { .kind = "build" }, 0, 0 },
		{ { .step = 2 }, 2, 2 },
		{ { .step = 2, .attempt = 1 }, 1, 2 },
		{ { .step = 2, .attempt = 3 }, 0, 0 },
		{ { .step = 2, .latest_only = true }, 1, 3 },
		{ { .latest_only = true }, 3, 1 },
		{ { .session_id = 1, .kind = "run", .step = 2, .limit = 1 },
		  1,
		  3 },
		{ { .uid_prefix = "a", .search = "train", .limit = 1 }, 1, 3 },
		{ { .search = "train", .latest_only = true }, 1, 3 },
	};

	some_jobs(f);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct store_job *jobs;

		assert_int_equal(find(f, cases[i].query, &jobs), cases[i].n);
		if (cases[i].n)
			assert_int_equal(jobs[0].id, cases[i].first);
	}
}

static void words_are_found_in_command_script_and_name(void **state)
{
	struct fixture *f = *state;
	struct store_job job;
	const struct {
		const char *search;
		size_t n;
	} cases[] = {
		{ "train", 2 },		{ "TRAIN.py", 2 },
		{ "lr 0.1 python", 2 }, { "lr evaluate", 0 },
		{ "pyth", 3 },		{ "bench_one", 1 },
		{ "nightly", 1 },	{ "\"model\"", 1 },
		{ "-- train", 2 },	{ "", 5 },
		{ " \t ", 5 },		{ "--", 0 },
	};

	some_jobs(f);
	ok(f, store_begin(f->s, &f->err));
	job = a_job(f, "cccc", "sh x", 9, 0);
	job.script = "bench_one.sh";
	job.name = "nightly";
	ok(f, store_job_add(f->s, &job, &f->err));
	ok(f, store_commit(f->s, &f->err));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct store_job *jobs;
		struct store_job_query query = { .search = cases[i].search };

		if (find(f, query, &jobs) != cases[i].n)
			fail_msg("'%s' found something else", cases[i].search);
	}
}

static void search_text_is_never_syntax(void **state)
{
	struct fixture *f = *state;
	static const char *const texts[] = {
		"\"",
		"\"\"",
		"a\"b",
		"NOT",
		"a AND",
		"OR OR",
		"NEAR(",
		"(",
		")",
		"*",
		"a*",
		"^a",
		"command:",
		"command : x",
		"{a b} : c",
		"-",
		"+",
		"'",
		"';DROP TABLE jobs;--",
		"\\",
		"\xff\xfe",
		"\xc3",
		"\x01",
		"a\nb",
		"%s%n",
		"?1",
		"rowid",
		"jobs_text",
		"NEAR/2",
		"\xed\xa0\x80",
		"\xf4\x90\x80\x80",
	};

	some_jobs(f);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct store_job *jobs;

		(void)find(f, (struct store_job_query){ .search = texts[i] },
			   &jobs);
		(void)find(f,
			   (struct store_job_query){ .uid_prefix = texts[i] },
			   &jobs);
	}
	assert_int_equal(count(f, "SELECT count(*) FROM jobs"), 4);
}

static void endless_search_text_is_refused(void **state)
{
	struct fixture *f = *state;
	struct store_job_query query = { 0 };
	struct store_job *jobs;
	char text[5000];
	size_t n;

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	query.search = text;
	fails(f, store_jobs(f->s, &f->pool, &query, &jobs, &n, &f->err), E2BIG,
	      "longer than 4096 bytes");
	for (size_t i = 1; i < 400; i += 2)
		text[i] = ' ';
	text[400] = '\0';
	fails(f, store_jobs(f->s, &f->pool, &query, &jobs, &n, &f->err), E2BIG,
	      "more than 64 words");
}

/* ---- removal ---- */

static void removed_job_takes_its_rows_and_lonely_artifacts(void **state)
{
	struct fixture *f = *state;
	int64_t kept = add_job(f, "a1", "python keep.py", 1, 0);
	int64_t gone = add_job(f, "a2", "python gone.py", 2, 0);
	struct store_file shared = a_file(kept, "/p/shared", LINEAGE_INPUT, 1);
	struct store_file lonely = a_file(gone, "/p/lonely", LINEAGE_OUTPUT, 2);
	struct store_job *jobs;

	add_file(f, &shared);
	shared.job_id = gone;
	add_file(f, &shared);
	add_file(f, &lonely);
	lonely.role = LINEAGE_INPUT;
	add_file(f, &lonely);
	ok(f, store_begin(f->s, &f->err));
	ok(f, store_process_add(f->s, gone, &(struct store_process){ .pid = 1 },
				&f->err));
	ok(f, store_gap_add(f->s, gone, &(struct store_gap){ .code = 1 },
			    &f->err));
	ok(f, store_job_remove(f->s, gone, &f->err));
	ok(f, store_commit(f->s, &f->err));

	assert_int_equal(count(f, "SELECT count(*) FROM jobs"), 1);
	assert_int_equal(count(f, "SELECT count(*) FROM job_files"), 1);
	assert_int_equal(count(f, "SELECT count(*) FROM processes"), 0);
	assert_int_equal(count(f, "SELECT count(*) FROM gaps"), 0);
	assert_int_equal(count(f, "SELECT count(*) FROM artifacts"), 1);
	assert_int_equal(count(f, "SELECT n_jobs FROM sessions"), 1);
	assert_int_equal(count(f, "SELECT n_steps FROM sessions"), 1);
	assert_int_equal(find(f, (struct store_job_query){ .search = "gone" },
			      &jobs),
			 0);
	assert_int_equal(find(f, (struct store_job_query){ .search = "keep" },
			      &jobs),
			 1);
	ok(f, store_check(f->s, &f->err));
}

static void removed_attempt_leaves_its_step(void **state)
{
	struct fixture *f = *state;
	int64_t id;

	(void)add_job(f, "a1", "x", 1, 0);
	id = add_job(f, "a2", "x", 1, 0);
	ok(f, store_begin(f->s, &f->err));
	ok(f, store_job_remove(f->s, id, &f->err));
	ok(f, store_commit(f->s, &f->err));
	assert_int_equal(count(f, "SELECT n_steps FROM sessions"), 1);
	assert_place(f, add_job(f, "a3", "x", 1, 0), 1, 2);
}

static void files_can_follow_a_removal_in_one_transaction(void **state)
{
	struct fixture *f = *state;
	struct store_job job;
	struct store_file file;

	ok(f, store_begin(f->s, &f->err));
	for (int i = 0; i < 2; i++) {
		job = a_job(f, "a1", "x", 1, 0);
		ok(f, store_job_add(f->s, &job, &f->err));
		file = a_file(job.id, "/p", LINEAGE_INPUT, 1);
		ok(f, store_file_add(f->s, &file, &f->err));
		if (i == 0)
			ok(f, store_job_remove(f->s, job.id, &f->err));
	}
	ok(f, store_commit(f->s, &f->err));
	assert_int_equal(count(f, "SELECT count(*) FROM job_files"), 1);
}

static void removal_of_an_unknown_job_is_refused(void **state)
{
	struct fixture *f = *state;

	ok(f, store_begin(f->s, &f->err));
	fails(f, store_job_remove(f->s, 5, &f->err), ENOENT, "has no job 5");
	store_rollback(f->s);
	fails(f, store_job_remove(f->s, 5, &f->err), EINVAL,
	      "nothing was written");
}

/* ---- processes and gaps ---- */

static void processes_come_back_in_order(void **state)
{
	struct fixture *f = *state;
	int64_t id = add_job(f, "a1", "x", 1, 0);
	const struct store_process in[] = {
		{ 40, 0, "sh -c \xff", 1, 9, 256, 1 },
		{ 7, 40, "", 2, 3, 0, 1 },
		{ 7, 40, "again", 4, 0, 0, 1 },
	};
	struct store_process *out;
	size_t n;

	ok(f, store_begin(f->s, &f->err));
	for (int i = 0; i < 3; i++)
		ok(f, store_process_add(f->s, id, &in[i], &f->err));
	ok(f, store_commit(f->s, &f->err));
	ok(f, store_processes(f->s, &f->pool, id, &out, &n, &f->err));
	assert_int_equal(n, 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(out[i].pid, in[i].pid);
		assert_int_equal(out[i].parent, in[i].parent);
		assert_string_equal(out[i].command, in[i].command);
		assert_int_equal(out[i].start_ns, in[i].start_ns);
		assert_int_equal(out[i].end_ns, in[i].end_ns);
		assert_int_equal(out[i].status, in[i].status);
	}
	ok(f, store_processes(f->s, &f->pool, 99, &out, &n, &f->err));
	assert_int_equal(n, 0);
}

static void gaps_come_back_in_order(void **state)
{
	struct fixture *f = *state;
	int64_t id = add_job(f, "a1", "x", 1, 0);
	struct store_gap *out;
	size_t n;

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_gap_add(f->s, id,
			    &(struct store_gap){ EVENT_GAP_PATH, "/x", 3 },
			    &f->err));
	ok(f, store_gap_add(f->s, id,
			    &(struct store_gap){ EVENT_GAP_IO_URING, "", 1 },
			    &f->err));
	ok(f, store_commit(f->s, &f->err));
	ok(f, store_gaps(f->s, &f->pool, id, &out, &n, &f->err));
	assert_int_equal(n, 2);
	assert_int_equal(out[0].code, EVENT_GAP_PATH);
	assert_string_equal(out[0].detail, "/x");
	assert_int_equal(out[0].count, 3);
	assert_int_equal(out[1].code, EVENT_GAP_IO_URING);
	assert_string_equal(out[1].detail, "");
}

static void rows_of_an_unknown_job_are_refused(void **state)
{
	struct fixture *f = *state;
	struct store_process process = { .pid = 1 };
	struct store_gap gap = { .code = 1 };
	struct store_file file = a_file(99, "/p", LINEAGE_INPUT, 0);

	ok(f, store_begin(f->s, &f->err));
	fails(f, store_process_add(f->s, 99, &process, &f->err), EINVAL,
	      "a row contradicts");
	fails(f, store_gap_add(f->s, 99, &gap, &f->err), EINVAL,
	      "a row contradicts");
	fails(f, store_file_add(f->s, &file, &f->err), EINVAL,
	      "a row contradicts");
	store_rollback(f->s);
	fails(f, store_process_add(f->s, 1, &process, &f->err), EINVAL,
	      "nothing was written");
	fails(f, store_gap_add(f->s, 1, &gap, &f->err), EINVAL,
	      "nothing was written");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(all_fields_come_back),
		STORE_TEST(missing_strings_are_read_as_empty),
		STORE_TEST(command_of_two_megabytes_is_kept_and_found),
		STORE_TEST(same_command_is_the_same_step),
		STORE_TEST(same_outputs_are_the_same_step),
		STORE_TEST(latest_job_decides_the_step_of_an_output),
		STORE_TEST(what_runs_a_job_again_is_its_step),
		STORE_TEST(kinds_and_sessions_have_their_own_steps),
		STORE_TEST(a_placed_job_gets_its_step_before_it_is_added),
		STORE_TEST(known_uid_is_refused_and_the_transaction_goes_on),
		STORE_TEST(unknown_kind_and_session_are_refused),
		STORE_TEST(jobs_come_oldest_first),
		STORE_TEST(limit_keeps_the_newest),
		STORE_TEST(conditions_combine),
		STORE_TEST(words_are_found_in_command_script_and_name),
		STORE_TEST(search_text_is_never_syntax),
		STORE_TEST(endless_search_text_is_refused),
		STORE_TEST(removed_job_takes_its_rows_and_lonely_artifacts),
		STORE_TEST(removed_attempt_leaves_its_step),
		STORE_TEST(files_can_follow_a_removal_in_one_transaction),
		STORE_TEST(removal_of_an_unknown_job_is_refused),
		STORE_TEST(processes_come_back_in_order),
		STORE_TEST(gaps_come_back_in_order),
		STORE_TEST(rows_of_an_unknown_job_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
