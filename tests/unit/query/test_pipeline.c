/* test_pipeline.c - a session as a graph, and its order. */
#include <string.h>
#include <unistd.h>

#include "query/pipeline.h"
#include "query/query.h"
#include "sample.h"

static void load(struct fixture *f, int64_t session, unsigned flags,
		 struct pipeline *p)
{
	struct query q = { .store = f->store, .pool = &f->pool };
	struct roar_error err = { 0 };

	assert_int_equal(pipeline_load(&q, session, flags, p, &err), 0);
	query_release(&q);
}

static void without_a_session_it_is_empty(void **state)
{
	CLEANUP(pipeline_release) struct pipeline p = PIPELINE_INIT;

	load(*state, 0, 0, &p);
	assert_int_equal(p.n_nodes, 0);
	assert_null(p.graph);
}

static void nodes_lead_to_jobs_and_artifacts_to_rows(void **state)
{
	CLEANUP(pipeline_release) struct pipeline p = PIPELINE_INIT;
	struct fixture *f = *state;
	size_t n_made = 0;

	record_pipeline(f);
	load(f, f->session.id, 0, &p);
	assert_int_equal(p.n_nodes, 3);
	assert_int_equal(p.n_steps, 3);
	assert_int_equal(p.n_stale, 0);
	assert_string_equal(pipeline_job(&p, 0)->uid, "aaaa0001");
	for (size_t i = 0; i < p.n_artifacts; i++) {
		const struct graph_artifact *a = &p.artifacts[i];
		const struct store_file *row = pipeline_written(&p, a);

		assert_non_null(pipeline_digests(&p, a->artifact));
		assert_int_equal(row != NULL, a->producer != GRAPH_NONE);
		n_made += row != NULL;
	}
	assert_int_equal(n_made, 3);
}

static void executions_are_nodes_when_expanded(void **state)
{
	struct pipeline p = PIPELINE_INIT;
	struct fixture *f = *state;

	record_pipeline(f);
	record_prepare(f, "dddd0004", "better features");
	load(f, f->session.id, PIPELINE_NO_JOBS, &p);
	assert_int_equal(p.n_nodes, 3);
	assert_int_equal(p.n_stale, 2);
	assert_int_equal(p.n_jobs, 0);
	pipeline_release(&p);
	load(f, f->session.id, PIPELINE_EXPANDED, &p);
	assert_int_equal(p.n_nodes, 4);
	pipeline_release(&p);
}

static void what_was_renamed_later_has_moved_away(void **state)
{
	CLEANUP(pipeline_release) struct pipeline p = PIPELINE_INIT;
	struct fixture *f = *state;

	record_moves(f);
	load(f, f->session.id, 0, &p);
	for (size_t i = 0; i < p.n_files; i++)
		assert_int_equal(pipeline_moved_away(&p, &p.files[i]),
				 strcmp(strrchr(p.files[i].path, '/'), "/y") ==
					 0);
}

/* Steps 1 and 3 form a pipeline, and 2 and 4. */
static void groups_stand_together(void **state)
{
	static const int64_t steps[] = { 1, 3, 2, 4 };
	CLEANUP(pipeline_release) struct pipeline p = PIPELINE_INIT;
	struct fixture *f = *state;
	uint32_t *nodes;

	record_made(f, "aaaa0001", "one", NULL, "a", "a");
	record_made(f, "bbbb0002", "two", NULL, "b", "b");
	record_made(f, "cccc0003", "three", "a", "c", "c");
	record_made(f, "dddd0004", "four", "b", "d", "d");
	load(f, f->session.id, PIPELINE_NO_JOBS, &p);
	assert_int_equal(p.n_nodes, 4);
	assert_int_equal(pipeline_order(&p, &f->pool, &nodes), 0);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pipeline_outline(&p, nodes[i])->step,
				 steps[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(without_a_session_it_is_empty),
		FIXTURE_TEST(nodes_lead_to_jobs_and_artifacts_to_rows),
		FIXTURE_TEST(executions_are_nodes_when_expanded),
		FIXTURE_TEST(what_was_renamed_later_has_moved_away),
		FIXTURE_TEST(groups_stand_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
