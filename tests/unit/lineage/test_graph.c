/* test_graph.c - the pipeline that jobs form.
 *
 * A session is text: one job per line, "STEP[b] INPUT... > OUTPUT...", where a
 * file is NAME:CONTENT[/TIME] (content 0 is unidentified, 9 is empty) and an input
 * with a '~' before it was moved, not read.  Jobs start at 1, 2, 3...; "@T" sets
 * another start.  The graph is printed back. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "lineage/graph.h"

struct session {
	struct graph_job jobs[32];
	struct graph_file files[128];
	char names[128][16];
	size_t n_jobs, n_files;
};

static void add_file(struct session *s, const char *word, bool is_output)
{
	struct graph_file *f = &s->files[s->n_files];
	char *name = s->names[s->n_files];
	bool is_moved = word[0] == '~';
	long long content;
	long long time = 0;

	word += is_moved;
	assert_true(s->n_files++ < 128);
	assert_in_range(
		sscanf(word, "%15[^:]:%lld/%lld", name, &content, &time), 2, 3);
	*f = (struct graph_file){ .job_id = s->jobs[s->n_jobs - 1].id,
				  .path = name,
				  .artifact = content,
				  .size = content == 9 ? 0 : 100,
				  .time_ns = time,
				  .is_output = is_output,
				  .is_moved = is_moved };
}

static void add_job(struct session *s, char *line)
{
	struct graph_job *job = &s->jobs[s->n_jobs++];
	bool is_output = false;
	char *word = strsep(&line, " ");

	job->id = 100 + (int64_t)s->n_jobs;
	job->step = atoi(word);
	job->is_build = strchr(word, 'b');
	job->started_ns = (int64_t)s->n_jobs;
	while ((word = strsep(&line, " "))) {
		if (word[0] == '>')
			is_output = true;
		else if (word[0] == '@')
			job->started_ns = atoi(word + 1);
		else if (word[0])
			add_file(s, word, is_output);
	}
}

static void read_session(struct session *s, const char *text)
{
	CLEANUP(freep) char *copy = strdup(text);
	char *rest = copy;
	char *line;

	memset(s, 0, sizeof(*s));
	while ((line = strsep(&rest, "\n")))
		if (line[0])
			add_job(s, line);
}

static void add_nodes(struct str *out, const struct session *s,
		      const struct graph *g)
{
	size_t n;
	const struct graph_node *nodes = graph_nodes(g, &n);

	for (size_t i = 0; i < n; i++) {
		const struct graph_job *job = &s->jobs[nodes[i].job];

		str_addf(out, "%lld%s.%u %s %u/%u/%u", (long long)job->step,
			 job->is_build ? "b" : "", nodes[i].attempt,
			 graph_state_name(nodes[i].state), nodes[i].n_inputs,
			 nodes[i].n_outputs, nodes[i].n_consumed);
		for (uint32_t k = 0; k < nodes[i].n_deps; k++)
			str_addf(out, "%s%u", k ? "," : " <- ",
				 nodes[i].deps[k]);
		str_addc(out, '\n');
	}
}

static void add_artifacts(struct str *out, const struct graph *g)
{
	size_t n;
	const struct graph_artifact *a = graph_artifacts(g, &n);

	for (size_t i = 0; i < n; i++) {
		str_addf(out, "%s:%lld %s", a[i].path, (long long)a[i].artifact,
			 graph_state_name(a[i].state));
		if (a[i].producer != GRAPH_NONE)
			str_addf(out, " by %u", a[i].producer);
		for (uint32_t k = 0; k < a[i].n_consumers; k++)
			str_addf(out, "%s%u", k ? "," : " for ",
				 a[i].consumers[k]);
		if (a[i].is_terminal)
			str_adds(out, " end");
		if (a[i].superseded_by)
			str_addf(out, " now %lld",
				 (long long)a[i].superseded_by);
		str_addc(out, '\n');
	}
}

enum what { NODES = 1, ARTIFACTS = 2, EXPANDED = 4 };

static void check(unsigned what, const char *text, const char *expected)
{
	CLEANUP(graph_freep) struct graph *g = NULL;
	CLEANUP(str_release) struct str out = STR_INIT;
	struct session s;

	read_session(&s, text);
	assert_int_equal(graph_new(s.jobs, s.n_jobs, s.files, s.n_files,
				   what & EXPANDED, &g),
			 0);
	if (what & NODES)
		add_nodes(&out, &s, g);
	if (what & ARTIFACTS)
		add_artifacts(&out, g);
	assert_string_equal(str_cstr(&out), expected);
}

static void an_empty_session_is_an_empty_graph(void **state)
{
	(void)state;
	check(NODES | ARTIFACTS, "", "");
}

static void steps_are_joined_by_content(void **state)
{
	(void)state;
	check(NODES | ARTIFACTS,
	      "1 raw:1 > clean:2\n"
	      "2 clean:2 > model:3\n"
	      "3 model:3 clean:2 > score:4\n",
	      "1.1 active 1/1/1\n"
	      "2.1 active 1/1/1 <- 0\n"
	      "3.1 active 2/1/0 <- 0,1\n"
	      "raw:1 active for 0\n"
	      "clean:2 active by 0 for 1,2\n"
	      "model:3 active by 1 for 2\n"
	      "score:4 active by 2 end\n");
}

static void content_found_under_another_name_joins_too(void **state)
{
	(void)state;
	check(NODES | ARTIFACTS,
	      "1 > a:2\n"
	      "2 copy:2 > b:3\n",
	      "1.1 active 0/1/1\n"
	      "2.1 active 1/1/0 <- 0\n"
	      "a:2 active by 0 for 1\n"
	      "b:3 active by 1 end\n");
}

static void a_later_copy_is_no_producer(void **state)
{
	(void)state;
	check(NODES, "1 raw:2 > a:2\n2 a:2 > b:2\n",
	      "1.1 active 1/1/1\n"
	      "2.1 active 1/1/0 <- 0\n");
	/* the first step again, which reads what it had read before */
	check(NODES, "1 raw:2 > a:2\n2 a:2 > b:2\n1 raw:2 > a:2\n",
	      "1.2 cached 1/1/1\n"
	      "2.1 active 1/1/0 <- 0\n");
}

static void what_was_moved_depends_on_its_maker_uncounted(void **state)
{
	(void)state;
	check(NODES | ARTIFACTS,
	      "1 > a:2\n"
	      "2 ~a:2 > b:2\n"
	      "3 b:2 > c:3\n",
	      "1.1 active 0/1/0\n"
	      "2.1 active 0/1/1 <- 0\n"
	      "3.1 active 1/1/0 <- 1\n"
	      "a:2 active by 0 end\n"
	      "b:2 active by 1 for 2\n"
	      "c:3 active by 2 end\n");
}

static void a_move_finds_its_maker_like_a_reader(void **state)
{
	(void)state;
	/* other content there, that content elsewhere, and later */
	check(NODES, "1 > a:3\n2 > b:2\n3 ~a:2 > c:2\n4 > a:2\n",
	      "1.1 active 0/1/0\n"
	      "2.1 active 0/1/0\n"
	      "3.1 active 0/1/0 <- 1\n"
	      "4.1 active 0/1/0\n");
}

static void a_move_is_stale_like_a_reader(void **state)
{
	(void)state;
	check(NODES, "1 > a:2\n2 ~a:2 > b:2\n1 > a:3\n",
	      "1.2 active 0/1/0\n"
	      "2.1 stale 0/1/0 <- 0\n");
}

static void a_change_in_place_is_stale_when_its_input_is_made_again(void **s)
{
	(void)s;
	check(NODES, "1 > a:1\n2 a:1 > a:2\n3 a:2 > m:5\n",
	      "1.1 active 0/1/1\n"
	      "2.1 active 1/1/1 <- 0\n"
	      "3.1 active 1/1/0 <- 1\n");
	check(NODES, "1 > a:1\n2 a:1 > a:2\n3 a:2 > m:5\n1 > a:1\n",
	      "1.2 cached 0/1/1\n"
	      "2.1 stale 1/1/1 <- 0\n"
	      "3.1 stale 1/1/0 <- 1\n");
	check(NODES,
	      "1 > a:1\n2 a:1 > a:2\n3 a:2 > m:5\n1 > a:1\n2 a:1 > a:2\n",
	      "1.2 cached 0/1/1\n"
	      "2.2 cached 1/1/1 <- 0\n"
	      "3.1 active 1/1/0 <- 1\n");
	/* nothing changed in place: nothing is undone */
	check(NODES, "1 > a:1\n2 a:1 > a:1 b:3\n1 > a:1\n",
	      "1.2 cached 0/1/1\n"
	      "2.1 active 1/2/0 <- 0\n");
}

static void empty_files_do_not_join_by_content(void **state)
{
	(void)state;
	check(NODES, "1 > a:9\n2 b:9 > c:3\n3 a:9 > d:4\n",
	      "1.1 active 0/1/1\n"
	      "2.1 active 1/1/0\n"
	      "3.1 active 1/1/0 <- 0\n");
}

static void the_producer_at_the_same_path_is_preferred(void **state)
{
	(void)state;
	check(NODES, "1 > a:2\n2 > b:2\n3 a:2 > c:3\n",
	      "1.1 active 0/1/1\n"
	      "2.1 active 0/1/0\n"
	      "3.1 active 1/1/0 <- 0\n");
}

static void paths_join_where_content_does_not(void **state)
{
	(void)state;
	/* edited by hand between the two, and unidentified content */
	check(NODES, "1 > a:2 x:0\n2 a:3 > b:4\n3 x:0 > c:5\n",
	      "1.1 active 0/2/1\n"
	      "2.1 active 1/1/0 <- 0\n"
	      "3.1 active 1/1/0 <- 0\n");
}

static void a_rerun_keeps_one_node_unless_expanded(void **state)
{
	static const char session[] =
		"1 > a:2\n2 a:2 > b:3\n1 > a:4\n2 a:4 > b:5\n";

	(void)state;
	check(NODES, session,
	      "1.2 active 0/1/1\n"
	      "2.2 active 1/1/0 <- 0\n");
	check(NODES | EXPANDED, session,
	      "1.1 superseded 0/1/1\n"
	      "2.1 superseded 1/1/0 <- 0\n"
	      "1.2 active 0/1/1\n"
	      "2.2 active 1/1/0 <- 2\n");
}

static void build_steps_are_counted_apart(void **state)
{
	(void)state;
	check(NODES, "1b > tool:2\n1 tool:2 > a:3\n",
	      "1b.1 active 0/1/1\n"
	      "1.1 active 1/1/0 <- 0\n");
}

static void changed_content_upstream_makes_everything_below_stale(void **state)
{
	(void)state;
	check(NODES | ARTIFACTS,
	      "1 > a:2\n"
	      "2 a:2 > b:3\n"
	      "3 b:3 > c:4\n"
	      "4 other:8 > d:5\n"
	      "1 > a:6\n",
	      "1.2 active 0/1/0\n"
	      "2.1 stale 1/1/1 <- 0\n"
	      "3.1 stale 1/1/0 <- 1\n"
	      "4.1 active 1/1/0\n"
	      "a:2 superseded by 0 for 1 now 6\n"
	      "b:3 stale by 1 for 2\n"
	      "c:4 stale by 2 end\n"
	      "other:8 active for 3\n"
	      "d:5 active by 3 end\n"
	      "a:6 active by 0 end\n");
}

static void the_same_content_again_makes_nothing_stale_and_is_cached(void **s)
{
	(void)s;
	check(NODES | ARTIFACTS, "1 > a:2\n2 a:2 > b:3\n1 > a:2\n",
	      "1.2 cached 0/1/1\n"
	      "2.1 active 1/1/0 <- 0\n"
	      "a:2 active by 0 for 1\n"
	      "b:3 active by 1 end\n");
}

static void cached_needs_all_outputs_and_known_content(void **state)
{
	(void)state;
	check(NODES,
	      "1 > a:2 b:3\n1 > b:3 a:2\n"
	      "2 > c:4\n2 > c:4 d:5\n"
	      "3 > e:0\n3 > e:0\n"
	      "4 x:1\n4 x:1\n",
	      "1.2 cached 0/2/0\n"
	      "2.2 active 0/2/0\n"
	      "3.2 active 0/1/0\n"
	      "4.2 active 1/0/0\n");
}

static void rerunning_downstream_ends_the_staleness(void **state)
{
	(void)state;
	check(NODES, "1 > a:2\n2 a:2 > b:3\n1 > a:6\n2 a:6 > b:7\n",
	      "1.2 active 0/1/1\n"
	      "2.2 active 1/1/0 <- 0\n");
}

static void content_that_comes_back_is_fresh_again(void **state)
{
	(void)state;
	check(NODES, "1 > a:2\n2 a:2 > b:3\n1 > a:6\n1 > a:2\n",
	      "1.3 active 0/1/1\n"
	      "2.1 active 1/1/0 <- 0\n");
}

static void a_file_edited_by_hand_after_its_producer_is_not_stale(void **state)
{
	(void)state;
	check(NODES, "1 > a:2\n2 a:7 > b:3\n",
	      "1.1 active 0/1/0\n"
	      "2.1 active 1/1/0 <- 0\n");
}

static void an_outside_file_that_a_later_step_makes_is_stale(void **state)
{
	(void)state;
	check(NODES, "1 a:2 > b:3\n2 > a:4\n",
	      "1.1 stale 1/1/0 <- 1\n"
	      "2.1 active 0/1/0\n");
}

static void unknown_content_is_no_evidence_of_staleness(void **state)
{
	(void)state;
	check(NODES, "1 > a:2\n2 a:2 > b:3\n1 > a:0\n",
	      "1.2 active 0/1/0\n"
	      "2.1 active 1/1/0 <- 0\n");
}

static void what_matters_is_when_jobs_started(void **state)
{
	(void)state;
	/* The producer was recorded last but began first. */
	check(NODES, "1 > a:2\n2 @5 a:7 > b:3\n1 @4 > a:6\n",
	      "1.2 active 0/1/0\n"
	      "2.1 active 1/1/0 <- 0\n");
}

static void a_step_that_updates_a_file_in_place_is_no_cycle(void **state)
{
	(void)state;
	check(NODES | ARTIFACTS, "1 > a:2\n2 a:2 > a:3\n3 a:3 > b:4\n",
	      "1.1 active 0/1/1\n"
	      "2.1 active 1/1/1 <- 0\n"
	      "3.1 active 1/1/0 <- 1\n"
	      "a:2 superseded by 0 for 1 now 3\n"
	      "a:3 active by 1 for 2\n"
	      "b:4 active by 2 end\n");
}

static void a_step_that_goes_on_from_its_own_output_depends_on_none(void **s)
{
	(void)s;
	check(NODES | ARTIFACTS, "1 > ck:2\n1 ck:2 > ck:3\n1 ck:3 > ck:4\n",
	      "1.3 active 1/1/0\n"
	      "ck:2 superseded by 0 now 4\n"
	      "ck:3 superseded by 0 now 4\n"
	      "ck:4 active by 0 end\n");
}

static void two_steps_that_feed_each_other_end(void **state)
{
	(void)state;
	check(NODES, "1 a:1 > b:2\n2 b:2 > a:3\n1 a:3 > b:4\n2 b:4 > a:5\n",
	      "1.2 stale 1/1/1 <- 1\n"
	      "2.2 stale 1/1/0 <- 0\n");
}

static void what_a_step_no_longer_makes_is_orphaned(void **state)
{
	(void)state;
	check(ARTIFACTS, "1 > a:2 b:3\n1 > a:2\n",
	      "a:2 active by 0 end\n"
	      "b:3 orphaned by 0\n");
}

static void files_of_unknown_jobs_are_left_out(void **state)
{
	CLEANUP(graph_freep) struct graph *g = NULL;
	struct graph_job job = { .id = 1, .step = 1 };
	struct graph_file file = { .job_id = 7, .path = "x", .artifact = 1 };
	size_t n;

	(void)state;
	assert_int_equal(graph_new(&job, 1, &file, 1, false, &g), 0);
	(void)graph_artifacts(g, &n);
	assert_int_equal(n, 0);
	(void)graph_nodes(g, &n);
	assert_int_equal(n, 1);
}

/* ---- makers ---- */

/* Prints the inputs of the last job, and who made each. */
static void makers(const char *text, const char *expected)
{
	CLEANUP(graph_freep) struct graph *g = NULL;
	CLEANUP(str_release) struct str out = STR_INIT;
	struct session s;

	read_session(&s, text);
	assert_int_equal(
		graph_new(s.jobs, s.n_jobs, s.files, s.n_files, false, &g), 0);
	for (size_t i = 0; i < s.n_files; i++) {
		uint32_t job;

		if (s.files[i].is_output ||
		    s.files[i].job_id != s.jobs[s.n_jobs - 1].id)
			continue;
		job = graph_maker(g, &s.files[i]);
		str_addf(&out, "%s:%lld", s.files[i].path,
			 (long long)s.files[i].artifact);
		if (job != GRAPH_NONE)
			str_addf(&out, " from %u", job);
		str_addc(&out, '\n');
	}
	assert_string_equal(str_cstr(&out), expected);
}

static const char pipeline[] = "1 raw:1 conf:5 > clean:2\n"
			       "2 clean:2 conf:5 > model:3\n"
			       "3 model:3 test:6 > score:4\n";

static void the_maker_is_an_execution(void **state)
{
	(void)state;
	makers(pipeline, "model:3 from 1\ntest:6\n");
	makers("1 d:1 > ck:2\n1 d:1 ck:2 > ck:3\n", "d:1\nck:2 from 0\n");
}

static void edited_content_has_no_maker(void **state)
{
	(void)state;
	makers("1 raw:1 > a:2\n2 a:7 > b:3\n", "a:7\n");
	/* where it is not identified, the path is all there is */
	makers("1 raw:1 > a:2\n2 a:0 > b:3\n", "a:0 from 0\n");
}

static void a_file_of_no_job_has_no_maker(void **state)
{
	CLEANUP(graph_freep) struct graph *g = NULL;
	struct graph_job job = { .id = 1, .step = 1 };
	struct graph_file file = { .job_id = 7, .path = "x", .artifact = 1 };

	(void)state;
	assert_int_equal(graph_new(&job, 1, &file, 1, false, &g), 0);
	assert_int_equal(graph_maker(g, &file), GRAPH_NONE);
}

/* ---- times ---- */

static void what_was_there_before_was_not_made_from_it(void **state)
{
	(void)state;
	/* cfg was last changed at 10, the equal result was written at 20 */
	makers("1 > result:2/20\n2 cfg:2/10 > o:3\n", "cfg:2\n");
	check(NODES, "1 > result:2/20\n2 cfg:2/10 > o:3\n",
	      "1.1 active 0/1/0\n"
	      "2.1 active 1/1/0\n");
	/* a copy by hand comes later, or in the same tick */
	makers("1 > result:2/20\n2 cfg:2/30 > o:3\n", "cfg:2 from 0\n");
	makers("1 > result:2/20\n2 cfg:2/20 > o:3\n", "cfg:2 from 0\n");
	/* an older maker may still be the one */
	makers("1 > r:2/5\n2 > result:2/20\n3 cfg:2/10 > o:3\n",
	       "cfg:2 from 0\n");
}

static void a_copy_in_the_same_tick_is_no_maker(void **state)
{
	(void)state;
	makers("1 raw:2/10 > copy:2/10\n2 raw:2/10 > o:3\n", "raw:2\n");
}

static void what_counts_is_how_it_was_found_first(void **state)
{
	(void)state;
	/* chmod at 30 changes the time and nothing else */
	makers("1 > result:2/20\n2 cfg:2/10\n3 cfg:2/30 > o:3\n", "cfg:2\n");
}

static void a_job_recorded_later_makes_what_changed_after_it_wrote(void **s)
{
	(void)s;
	/* the first was still running when the second read and ended */
	check(NODES, "1 copy:2/30 > a:3\n2 > b:2/20\n",
	      "1.1 active 1/1/0 <- 1\n"
	      "2.1 active 0/1/1\n");
	check(NODES, "1 b:2/20 > a:3\n2 > b:2/20\n",
	      "1.1 active 1/1/0 <- 1\n"
	      "2.1 active 0/1/1\n");
	/* it was there already when the second wrote the same */
	check(NODES | EXPANDED, "1 b:2/10 > a:3\n1 b:2/10 > a:3\n2 > c:2/20\n",
	      "1.1 superseded 1/1/0\n"
	      "1.2 cached 1/1/0\n"
	      "2.1 active 0/1/0\n");
}

static int build_with_memory_for(const struct session *s, int n)
{
	CLEANUP(graph_freep) struct graph *g = NULL;
	int r;

	alloc_fail_after(n);
	r = graph_new(s->jobs, s->n_jobs, s->files, s->n_files, false, &g);
	alloc_fail_never();
	return r;
}

static void without_memory_there_is_no_graph(void **state)
{
	struct session s;
	int n = 0;
	int r;

	(void)state;
	read_session(&s, pipeline);
	while ((r = build_with_memory_for(&s, n)) < 0) {
		assert_int_equal(r, -ENOMEM);
		assert_true(n++ < 1000);
	}
	assert_true(n > 5);
}

/* ---- size ---- */

enum { JOBS = 20000, PER_JOB = 20 };

static void fill_large(struct graph_job *jobs, struct graph_file *files,
		       char (*names)[32], bool one_step)
{
	for (int j = 0; j < JOBS; j++) {
		jobs[j] = (struct graph_job){ .id = j + 1,
					      .step = one_step ? 1 : j / 4,
					      .started_ns = j };
		for (int k = 0; k < PER_JOB; k++) {
			int i = j * PER_JOB + k;
			bool out = k >= PER_JOB / 2;
			int number = one_step ? k % (PER_JOB / 2) :
						(out ? i : i - PER_JOB / 2);

			(void)snprintf(names[i], sizeof(names[i]), "/d/f%d",
				       number);
			files[i] = (struct graph_file){
				.job_id = j + 1,
				.path = names[i],
				.artifact = one_step ? j + out + 1 :
						       number + 1000,
				.size = 1,
				.is_output = out
			};
		}
	}
}

static double build_seconds(bool one_step, bool expanded)
{
	CLEANUP(graph_freep) struct graph *g = NULL;
	CLEANUP(freep) void *jobs = calloc(JOBS, sizeof(struct graph_job));
	CLEANUP(freep)
	void *files = calloc(JOBS * PER_JOB, sizeof(struct graph_file));
	CLEANUP(freep) void *names = calloc(JOBS * PER_JOB, 32);
	struct timespec from;
	struct timespec to;

	assert_true(jobs && files && names);
	fill_large(jobs, files, names, one_step);
	(void)clock_gettime(CLOCK_MONOTONIC, &from);
	assert_int_equal(
		graph_new(jobs, JOBS, files, JOBS * PER_JOB, expanded, &g), 0);
	(void)clock_gettime(CLOCK_MONOTONIC, &to);
	return (double)(to.tv_sec - from.tv_sec) +
	       (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

static void twenty_thousand_jobs_take_less_than_a_second(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		double s = build_seconds(i & 1, i & 2);

		print_message("%s, %s: %.3f s\n",
			      i & 1 ? "one step" : "many steps",
			      i & 2 ? "expanded" : "collapsed", s);
#ifdef __OPTIMIZE__
		assert_true(s < 5); /* 1 on a quiet machine, no sanitizer */
#endif
	}
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_empty_session_is_an_empty_graph),
		T(steps_are_joined_by_content),
		T(content_found_under_another_name_joins_too),
		T(empty_files_do_not_join_by_content),
		T(a_later_copy_is_no_producer),
		T(what_was_moved_depends_on_its_maker_uncounted),
		T(a_move_finds_its_maker_like_a_reader),
		T(a_move_is_stale_like_a_reader),
		T(a_change_in_place_is_stale_when_its_input_is_made_again),
		T(the_producer_at_the_same_path_is_preferred),
		T(paths_join_where_content_does_not),
		T(a_rerun_keeps_one_node_unless_expanded),
		T(build_steps_are_counted_apart),
		T(changed_content_upstream_makes_everything_below_stale),
		T(the_same_content_again_makes_nothing_stale_and_is_cached),
		T(cached_needs_all_outputs_and_known_content),
		T(rerunning_downstream_ends_the_staleness),
		T(content_that_comes_back_is_fresh_again),
		T(a_file_edited_by_hand_after_its_producer_is_not_stale),
		T(an_outside_file_that_a_later_step_makes_is_stale),
		T(unknown_content_is_no_evidence_of_staleness),
		T(what_matters_is_when_jobs_started),
		T(a_step_that_updates_a_file_in_place_is_no_cycle),
		T(a_step_that_goes_on_from_its_own_output_depends_on_none),
		T(two_steps_that_feed_each_other_end),
		T(what_a_step_no_longer_makes_is_orphaned),
		T(files_of_unknown_jobs_are_left_out),
		T(the_maker_is_an_execution),
		T(edited_content_has_no_maker),
		T(a_file_of_no_job_has_no_maker),
		T(what_was_there_before_was_not_made_from_it),
		T(a_copy_in_the_same_tick_is_no_maker),
		T(what_counts_is_how_it_was_found_first),
		T(a_job_recorded_later_makes_what_changed_after_it_wrote),
		T(without_memory_there_is_no_graph),
		T(twenty_thousand_jobs_take_less_than_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
