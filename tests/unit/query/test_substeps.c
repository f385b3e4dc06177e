/* test_substeps.c - the programs that a job executed, as steps. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "query/query.h"
#include "query/substeps.h"
#include "sample.h"
#include "store/store_edge.h"

/* A process that executed its command, or only forked. */
static void program(struct fixture *f, int pid, int parent, const char *command)
{
	process(f, pid, parent, command);
	f->processes[f->n_processes - 1].n_execs = 1;
}

static void fork_of(struct fixture *f, int pid, int parent, const char *command)
{
	process(f, pid, parent, command);
	f->processes[f->n_processes - 1].n_execs = 0;
}

struct edge_row {
	int process, kind, file, event;
};

enum {
	READ = LINEAGE_EDGE_READ,
	OWN = LINEAGE_EDGE_READ_OWN,
	WROTE = LINEAGE_EDGE_WRITTEN,
	MADE = LINEAGE_EDGE_MADE,
	PASSED_OWN = LINEAGE_EDGE_PASSED_READ_OWN,
	PASSED_WROTE = LINEAGE_EDGE_PASSED_WRITTEN,
};

static void add_edges(struct fixture *f, const struct edge_row *rows, size_t n)
{
	struct roar_error err = { 0 };
	struct store_edge edges[64];

	assert_true(n <= 64);
	for (size_t i = 0; i < n; i++)
		edges[i] = (struct store_edge){ rows[i].process, rows[i].file,
						rows[i].event,
						(uint8_t)rows[i].kind };
	assert_int_equal(store_begin(f->store, &err), 0);
	assert_int_equal(
		store_edges_add(f->store, f->job.id, 1, edges, n, &err), 0);
	assert_int_equal(store_commit(f->store, &err), 0);
}

#define EDGES(f, ...)                                            \
	do {                                                     \
		const struct edge_row rows_[] = { __VA_ARGS__ }; \
		add_edges(f, rows_, ARRAY_SIZE(rows_));          \
	} while (0)

static void add_names(struct str *out, const struct substeps *s,
		      const struct substep_list *files)
{
	for (uint32_t i = 0; i < files->n; i++) {
		const char *path = s->files[files->at[i]].path;

		str_addf(out, " %s", strrchr(path, '/') + 1);
	}
}

/* "COMMAND [xN]: inputs > outputs [after commands]", of those that are shown */
static void check(struct fixture *f, const char *expected)
{
	struct query q = { .store = f->store, .pool = &f->pool };
	CLEANUP(str_release) struct str out = STR_INIT;
	struct roar_error err = { 0 };
	struct substeps s;
	size_t n = 0;

	assert_int_equal(substeps_load(&q, f->job.id, &s, &err), 0);
	for (size_t i = 0; i < s.n; i++) {
		const struct substep *step = &s.list[i];

		if (step->hidden)
			continue;
		n++;
		str_adds(&out, step->command);
		if (step->n_copies > 1)
			str_addf(&out, " x%u", step->n_copies);
		str_addc(&out, ':');
		add_names(&out, &s, &step->inputs);
		str_adds(&out, " >");
		add_names(&out, &s, &step->outputs);
		if (step->after.n)
			str_adds(&out, " after");
		for (uint32_t k = 0; k < step->after.n; k++)
			str_addf(&out, " %s",
				 s.list[step->after.at[k]].command);
		str_addc(&out, '\n');
	}
	assert_int_equal(n, s.n_shown);
	assert_string_equal(str_cstr(&out), expected);
	query_release(&q);
}

static void a_script_is_as_many_steps_as_it_has_commands(void **state)
{
	struct fixture *f = *state;

	job(f, "aaaa0001", "sh s.sh");
	program(f, 10, 0, "/bin/sh s.sh");
	program(f, 11, 10, "prepare");
	program(f, 12, 10, "train");
	program(f, 13, 10, "evaluate");
	program(f, 14, 10, "true");
	input(f, "s.sh"); /* 1 */
	input(f, "raw"); /* 2 */
	output(f, "data", "d"); /* 3 */
	output(f, "model", "m"); /* 4 */
	output(f, "report", "r"); /* 5 */
	record(f);
	EDGES(f, { 1, READ, 1, 1 }, { 2, READ, 2, 2 }, { 2, WROTE, 3, 3 },
	      { 3, OWN, 3, 4 }, { 3, WROTE, 4, 5 }, { 4, OWN, 4, 6 },
	      { 4, READ, 2, 7 }, { 4, WROTE, 5, 8 });
	check(f, "prepare: raw > data\n"
		 "train: data > model after prepare\n"
		 "evaluate: raw model > report after train\n");
}

static void what_a_shell_opened_for_a_command_is_the_commands(void **state)
{
	struct fixture *f = *state;

	job(f, "aaaa0001", "sh s.sh");
	program(f, 10, 0, "sh s.sh");
	program(f, 11, 10, "one");
	program(f, 12, 10, "two");
	output(f, "a", "a");
	output(f, "b", "b");
	record(f);
	EDGES(f, { 1, WROTE, 1, 1 }, { 2, PASSED_WROTE, 1, 2 },
	      { 1, OWN, 1, 3 }, { 1, WROTE, 2, 4 }, { 3, PASSED_OWN, 1, 5 },
	      { 3, PASSED_WROTE, 2, 5 });
	check(f, "one: > a\n"
		 "two: a > b after one\n");
}

static void a_shell_that_writes_itself_is_a_step(void **state)
{
	struct fixture *f = *state;

	job(f, "aaaa0001", "bash s.sh");
	program(f, 10, 0, "bash s.sh");
	program(f, 11, 10, "use");
	output(f, "conf", "c");
	record(f);
	EDGES(f, { 1, WROTE, 1, 1 }, { 2, OWN, 1, 2 });
	check(f, "bash s.sh: > conf\n"
		 "use: conf > after bash s.sh\n");
}

static void forks_count_for_their_program_and_workers_are_grouped(void **state)
{
	struct fixture *f = *state;

	job(f, "aaaa0001", "python train.py");
	program(f, 10, 0, "python train.py");
	fork_of(f, 11, 10, "python train.py");
	fork_of(f, 12, 11, "python train.py");
	program(f, 21, 10, "worker");
	program(f, 22, 10, "worker");
	fork_of(f, 31, 22, "worker");
	program(f, 23, 12, "worker");
	program(f, 24, 10, "worker");
	program(f, 25, 10, "py spawn(pipe=5) --multiprocessing-fork");
	program(f, 26, 10, "py spawn(pipe=7) --multiprocessing-fork");
	input(f, "x");
	input(f, "y");
	output(f, "m", "m");
	output(f, "n", "n");
	record(f);
	EDGES(f, { 2, READ, 1, 1 }, { 3, WROTE, 3, 2 }, { 4, READ, 1, 3 },
	      { 4, READ, 2, 3 }, { 5, READ, 2, 4 }, { 6, READ, 1, 5 },
	      { 7, READ, 1, 6 }, { 7, READ, 2, 7 }, { 7, WROTE, 4, 8 },
	      { 8, READ, 2, 9 }, { 9, READ, 1, 10 }, { 10, READ, 1, 11 });
	check(f, "python train.py: x > m\n"
		 "worker x3: x y > n\n"
		 "worker: y >\n"
		 "py spawn(pipe=5) --multiprocessing-fork x2: x >\n");
}

static void a_reader_comes_after_earlier_writers_only(void **state)
{
	struct fixture *f = *state;

	job(f, "aaaa0001", "make");
	program(f, 10, 0, "make");
	program(f, 11, 10, "first");
	program(f, 12, 10, "reader");
	program(f, 13, 10, "later");
	output(f, "f", "f");
	output(f, "g", "g");
	record(f);
	EDGES(f, { 2, WROTE, 1, 1 }, { 3, OWN, 1, 2 }, { 3, WROTE, 2, 3 },
	      { 3, OWN, 2, 4 }, { 4, WROTE, 1, 5 });
	check(f, "first: > f\n"
		 "reader: f > g after first\n"
		 "later: > f\n");
}

static void what_was_replaced_before_the_read_does_not_count(void **state)
{
	struct fixture *f = *state;

	job(f, "aaaa0001", "sh loop.sh");
	program(f, 10, 0, "sh loop.sh");
	program(f, 11, 10, "make 1");
	program(f, 12, 10, "append 1");
	program(f, 13, 10, "use 1");
	program(f, 14, 10, "make 2");
	program(f, 15, 10, "use 2");
	output(f, "tmp", "t");
	record(f);
	EDGES(f, { 2, WROTE, 1, 1 }, { 3, WROTE, 1, 2 }, { 4, OWN, 1, 3 },
	      { 5, WROTE, 1, 4 }, { 5, LINEAGE_EDGE_REPLACED, 1, 4 },
	      { 6, OWN, 1, 5 });
	check(f, "make 1: > tmp\n"
		 "append 1: > tmp\n"
		 "use 1: tmp > after make 1 append 1\n"
		 "make 2: > tmp\n"
		 "use 2: tmp > after make 2\n");
}

static void a_rename_comes_after_the_maker_of_the_content(void **state)
{
	struct fixture *f = *state;

	job(f, "aaaa0001", "make");
	program(f, 10, 0, "make");
	program(f, 11, 10, "python make.py");
	program(f, 12, 10, "mv t out");
	program(f, 13, 10, "use");
	output(f, "out", "o");
	record(f);
	EDGES(f, { 2, MADE, 1, 5 }, { 3, WROTE, 1, 5 }, { 4, OWN, 1, 6 });
	check(f, "python make.py: > out\n"
		 "mv t out: > out after python make.py\n"
		 "use: out > after python make.py mv t out\n");
}

/* As a record of an earlier roar: no edges but those in the rows of files. */
static void old_records_have_the_first_reader_and_writer(void **state)
{
	struct fixture *f = *state;
	struct store_file *row;

	job(f, "aaaa0001", "sh s.sh");
	for (int pid = 10; pid <= 12; pid++) {
		process(f, pid, pid == 10 ? 0 : 10,
			pid == 12 ? "two" :
			pid == 11 ? "one" :
				    "sh s.sh");
		f->processes[f->n_processes - 1].n_execs = -1;
	}
	process(f, 13, 12, "two");
	f->processes[f->n_processes - 1].n_execs = -1;
	output(f, "a", "a");
	row = &f->files[f->n_files - 1];
	row->writer = 11;
	row->write_order = 1;
	row->reader = 13;
	row->read_order = 2;
	row->seen = LINEAGE_READ_OWN;
	record(f);
	check(f, "one: > a\n"
		 "two: a > after one\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(a_script_is_as_many_steps_as_it_has_commands),
		FIXTURE_TEST(what_a_shell_opened_for_a_command_is_the_commands),
		FIXTURE_TEST(a_shell_that_writes_itself_is_a_step),
		FIXTURE_TEST(
			forks_count_for_their_program_and_workers_are_grouped),
		FIXTURE_TEST(a_reader_comes_after_earlier_writers_only),
		FIXTURE_TEST(what_was_replaced_before_the_read_does_not_count),
		FIXTURE_TEST(a_rename_comes_after_the_maker_of_the_content),
		FIXTURE_TEST(old_records_have_the_first_reader_and_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
