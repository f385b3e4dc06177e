/* test_store_edge.c - which process read and wrote which file, and ranks. */
#include "base/clock.h"
#include "base/str.h"
#include "fixture.h"
#include "store/store_edge.h"

static void add_process(struct fixture *f, int64_t job, int32_t pid)
{
	const struct store_process p = { .pid = pid,
					 .command = "x",
					 .n_execs = pid % 2 };

	ok(f, store_process_add(f->s, job, &p, &f->err));
}

static void add_use(struct fixture *f, int64_t job, const char *path,
		    uint8_t role, unsigned seen, int32_t reader, int32_t writer)
{
	struct store_file file = a_file(job, path, role, 1);

	file.seen = seen;
	file.reader = reader;
	file.read_order = reader ? 20 : 0;
	file.writer = writer;
	file.write_order = writer ? 10 : 0;
	ok(f, store_file_add(f->s, &file, &f->err));
}

/* "PROCESS KIND FILE@EVENT" */
static void check_edges(struct fixture *f, int64_t job, const char *expected)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct store_edge *edges;
	size_t n;

	ok(f, store_edges(f->s, &f->pool, job, &edges, &n, &f->err));
	for (size_t i = 0; i < n; i++)
		str_addf(&out, "%lld %d %lld@%lld\n",
			 (long long)edges[i].process, edges[i].kind,
			 (long long)edges[i].file, (long long)edges[i].event);
	assert_string_equal(str_cstr(&out), expected);
}

static void the_first_reader_and_writer_need_no_rows(void **state)
{
	struct fixture *f = *state;
	int64_t job = add_job(f, "a1", "x", 1, 0);

	ok(f, store_begin(f->s, &f->err));
	add_process(f, job, 100);
	add_process(f, job, 101);
	add_use(f, job, "/in", LINEAGE_INPUT, LINEAGE_READ_PRIOR, 101, 0);
	add_use(f, job, "/both", LINEAGE_INPUT, LINEAGE_READ_PRIOR, 100, 101);
	add_use(f, job, "/both", LINEAGE_OUTPUT,
		LINEAGE_READ_PRIOR | LINEAGE_READ_OWN, 100, 101);
	add_use(f, job, "/made", LINEAGE_OUTPUT, LINEAGE_READ_OWN, 100, 101);
	add_use(f, job, "/unknown", LINEAGE_OUTPUT, 0, 0, 7);
	ok(f, store_commit(f->s, &f->err));
	assert_int_equal(count(f, "SELECT count(*) FROM job_edges"), 0);
	check_edges(f, job,
		    "1 1 2@20\n"
		    "1 2 4@20\n"
		    "2 3 3@10\n"
		    "2 3 4@10\n"
		    "2 1 1@20\n");
}

static void filtered_inputs_have_no_edges(void **state)
{
	struct fixture *f = *state;
	int64_t job = add_job(f, "a1", "x", 1, 0);
	struct store_file file = a_file(job, "/lib", LINEAGE_INPUT, 0);

	file.filter = 5;
	file.seen = LINEAGE_READ_PRIOR;
	file.reader = 100;
	file.read_order = 1;
	ok(f, store_begin(f->s, &f->err));
	add_process(f, job, 100);
	ok(f, store_file_add(f->s, &file, &f->err));
	file.role = LINEAGE_TEMPORARY;
	file.writer = 100;
	file.write_order = 2;
	ok(f, store_file_add(f->s, &file, &f->err));
	ok(f, store_commit(f->s, &f->err));
	check_edges(f, job, "1 3 2@2\n");
}

/* Then the pid in the row of a file does not tell which one. */
static void a_pid_of_two_processes_names_none(void **state)
{
	struct fixture *f = *state;
	int64_t job = add_job(f, "a1", "x", 1, 0);
	const struct store_edge edge = { 2, 1, 20, LINEAGE_EDGE_READ };

	ok(f, store_begin(f->s, &f->err));
	add_process(f, job, 100);
	add_process(f, job, 100);
	add_use(f, job, "/in", LINEAGE_INPUT, LINEAGE_READ_PRIOR, 100, 0);
	ok(f, store_edges_add(f->s, job, 1, &edge, 1, &f->err));
	ok(f, store_commit(f->s, &f->err));
	check_edges(f, job, "2 1 1@20\n");
}

static void edges_go_with_their_job(void **state)
{
	struct fixture *f = *state;
	int64_t job = add_job(f, "a1", "x", 1, 0);
	const struct store_edge edge = { 1, 1, 20, LINEAGE_EDGE_READ };
	const struct store_rank rank = { 1, 0, -1, 4, "torchrun", "g" };

	ok(f, store_begin(f->s, &f->err));
	add_process(f, job, 100);
	add_use(f, job, "/in", LINEAGE_INPUT, LINEAGE_READ_PRIOR, 0, 0);
	ok(f, store_edges_add(f->s, job, 1, &edge, 1, &f->err));
	ok(f, store_rank_add(f->s, job, &rank, &f->err));
	ok(f, store_commit(f->s, &f->err));
	ok(f, store_check(f->s, &f->err));
	ok(f, store_begin(f->s, &f->err));
	ok(f, store_job_remove(f->s, job, &f->err));
	ok(f, store_commit(f->s, &f->err));
	assert_int_equal(count(f, "SELECT count(*) FROM job_edges"), 0);
	assert_int_equal(count(f, "SELECT count(*) FROM process_ranks"), 0);
}

static void an_edge_without_its_file_is_found_by_the_check(void **state)
{
	struct fixture *f = *state;
	int64_t job = add_job(f, "a1", "x", 1, 0);
	const struct store_edge edge = { 1, 9, 20, LINEAGE_EDGE_READ };

	ok(f, store_begin(f->s, &f->err));
	add_process(f, job, 100);
	ok(f, store_edges_add(f->s, job, 1, &edge, 1, &f->err));
	ok(f, store_commit(f->s, &f->err));
	fails(f, store_check(f->s, &f->err), EUCLEAN, "job_edges");
}

static void ranks_are_read_back_with_what_is_unknown(void **state)
{
	struct fixture *f = *state;
	int64_t job = add_job(f, "a1", "x", 1, 0);
	const struct store_rank rank = { 1, 3, -1, 4, "torchrun", "run-7" };
	struct store_process *processes;
	struct store_rank *ranks;
	size_t n;

	ok(f, store_begin(f->s, &f->err));
	add_process(f, job, 101);
	ok(f, store_rank_add(f->s, job, &rank, &f->err));
	ok(f, store_commit(f->s, &f->err));
	ok(f, store_ranks(f->s, &f->pool, job, &ranks, &n, &f->err));
	assert_int_equal(n, 1);
	assert_int_equal(ranks[0].rank, 3);
	assert_int_equal(ranks[0].local_rank, -1);
	assert_int_equal(ranks[0].world_size, 4);
	assert_string_equal(ranks[0].launcher, "torchrun");
	assert_string_equal(ranks[0].group, "run-7");
	ok(f, store_processes(f->s, &f->pool, job, &processes, &n, &f->err));
	assert_int_equal(n, 1);
	assert_int_equal(processes[0].n_execs, 1);
}

/* Rows go in by groups of any number. */
static void many_edges_are_added_fast(void **state)
{
	enum { MANY = 100003, FIRST = 5 };
	struct fixture *f = *state;
	int64_t job = add_job(f, "a1", "x", 1, 0);
	struct store_edge *edges = calloc(MANY, sizeof(*edges));
	int64_t start;
	size_t n;

	assert_non_null(edges);
	for (int i = 0; i < MANY; i++)
		edges[i] = (struct store_edge){ 1 + i % 8, 1 + i / 8, i,
						LINEAGE_EDGE_READ };
	ok(f, store_begin(f->s, &f->err));
	start = clock_mono_ns();
	ok(f, store_edges_add(f->s, job, 1, edges, FIRST, &f->err));
	ok(f, store_edges_add(f->s, job, 1 + FIRST, edges + FIRST, MANY - FIRST,
			      &f->err));
	ok(f, store_commit(f->s, &f->err));
	print_message("%d ns per edge\n",
		      (int)((clock_mono_ns() - start) / MANY));
	free(edges);
	ok(f, store_edges(f->s, &f->pool, job, &edges, &n, &f->err));
	assert_int_equal(n, MANY);
	assert_int_equal(edges[0].process, 1);
	assert_int_equal(edges[MANY - 1].process, 8);
	assert_int_equal(count(f, "SELECT max(n) FROM job_edges"), MANY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(the_first_reader_and_writer_need_no_rows),
		STORE_TEST(filtered_inputs_have_no_edges),
		STORE_TEST(a_pid_of_two_processes_names_none),
		STORE_TEST(edges_go_with_their_job),
		STORE_TEST(an_edge_without_its_file_is_found_by_the_check),
		STORE_TEST(ranks_are_read_back_with_what_is_unknown),
		STORE_TEST(many_edges_are_added_fast),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
