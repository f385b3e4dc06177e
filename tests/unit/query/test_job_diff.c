/* test_job_diff.c - what differs between two executions. */
#include <string.h>

#include "base/path.h"
#include "query/job_diff.h"
#include "query/query.h"
#include "query/target.h"
#include "sample.h"
#include "store/store_situation.h"

static struct store_job find(struct fixture *f, struct query *q,
			     const char *word)
{
	struct roar_error err = { 0 };
	struct target t;

	assert_int_equal(target_resolve(q, f->dir, word, TARGET_ANY, &t, &err),
			 0);
	return t.job;
}

/* "kind name: a -> b; ..." of the differences; incidental ones in parentheses. */
static const char *diff(struct fixture *f, const char *word_a,
			const char *word_b)
{
	struct query q = { .store = f->store, .pool = &f->pool };
	struct store_job a = find(f, &q, word_a), b = find(f, &q, word_b);
	struct job_diff_side side_a = { &q, &a, f->dir };
	struct job_diff_side side_b = { &q, &b, f->dir };
	struct str text = STR_INIT;
	struct job_diff d;
	size_t n = 0;

	assert_int_equal(job_diff_make(&side_a, &side_b, &f->pool, &d, NULL),
			 0);
	for (size_t i = 0; i < d.n; i++) {
		const struct job_diff_item *x = &d.items[i];

		n += !x->is_incidental;
		str_addf(&text,
			 x->is_incidental ? "(%s %s: %s -> %s) " :
					    "%s %s: %s -> %s; ",
			 job_diff_kind_name(x->kind), x->name,
			 x->a ? x->a : "-", x->b ? x->b : "-");
	}
	assert_int_equal(n, d.n_differences);
	const char *copy = pool_strdup(&f->pool, str_cstr(&text));

	str_release(&text);
	query_release(&q);
	return copy;
}

static void run(struct fixture *f, const char *uid, const char *argv,
		const char *out, const char *content)
{
	job(f, uid, "python train.py");
	f->job.argv = argv;
	input(f, "train.py");
	input(f, "data.csv");
	output(f, out, content);
	record(f);
}

static void equal_executions_do_not_differ(void **state)
{
	struct fixture *f = *state;

	put(f, "train.py", "1");
	put(f, "data.csv", "1");
	run(f, "aaaa0001", "[\"python\", \"train.py\"]", "m.pt", "1");
	run(f, "bbbb0002", "[\"python\", \"train.py\"]", "m.pt", "1");
	assert_string_equal(diff(f, "aaaa0001", "bbbb0002"), "");
}

static void options_are_matched_by_name(void **state)
{
	struct fixture *f = *state;

	put(f, "train.py", "1");
	put(f, "data.csv", "1");
	run(f, "aaaa0001",
	    "[\"python\", \"train.py\", \"--lr\", \"-0.1\", \"--fp16\", "
	    "\"--seed=1\", \"opt.beta=2\", \"x\"]",
	    "m.pt", "1");
	run(f, "bbbb0002",
	    "[\"python\", \"train.py\", \"opt.beta=3\", \"y\", \"--seed\", "
	    "\"1\", \"--lr=0.2\"]",
	    "m.pt", "1");
	assert_string_equal(diff(f, "aaaa0001", "bbbb0002"),
			    "parameters --fp16: given -> -; "
			    "parameters --lr: -0.1 -> 0.2; "
			    "parameters argument 2: x -> y; "
			    "parameters opt.beta: 2 -> 3; ");
}

static void files_are_matched_by_path_content_and_type(void **state)
{
	struct fixture *f = *state;

	put(f, "train.py", "1");
	put(f, "data.csv", "1");
	job(f, "aaaa0001", "train");
	input(f, "train.py");
	input(f, "data.csv");
	output(f, "a.pt", "1");
	output(f, "same", "s");
	output(f, "log.txt", "1");
	record(f);
	put(f, "train.py", "2");
	put(f, "data.csv", "2");
	put(f, "more.csv", "3");
	job(f, "bbbb0002", "train");
	input(f, "train.py");
	input(f, "data.csv");
	input(f, "more.csv");
	output(f, "b.pt", "2");
	output(f, "other", "s");
	output(f, "log.txt", "1");
	record(f);
	assert_string_equal(diff(f, "aaaa0001", "bbbb0002"),
			    "code train.py: train.py -> train.py; "
			    "inputs data.csv: data.csv -> data.csv; "
			    "inputs more.csv: - -> more.csv; "
			    "outputs a.pt: a.pt -> b.pt; "
			    "(outputs same: same -> other) ");
}

static void add_document(struct fixture *f, const char *uid,
			 enum situation_kind kind, const char *json)
{
	struct query q = { .store = f->store, .pool = &f->pool };
	struct store_job j = find(f, &q, uid);

	assert_int_equal(store_begin(f->store, NULL), 0);
	assert_int_equal(store_situation_add(f->store, j.id, kind, json, NULL),
			 0);
	assert_int_equal(store_commit(f->store, NULL), 0);
	query_release(&q);
}

static void situations_are_compared_by_value(void **state)
{
	struct fixture *f = *state;

	record_made(f, "aaaa0001", "make y", NULL, "y", "1");
	record_made(f, "bbbb0002", "make y", NULL, "y", "1");
	add_document(f, "aaaa0001", SITUATION_PACKAGES,
		     "{\"packages\": [{\"manager\": \"pip\", \"name\": "
		     "\"numpy\", \"version\": \"1.26\"}]}");
	add_document(f, "bbbb0002", SITUATION_PACKAGES,
		     "{\"packages\": [{\"manager\": \"pip\", \"name\": "
		     "\"numpy\", \"version\": \"2.0\"}]}");
	add_document(f, "aaaa0001", SITUATION_MACHINE,
		     "{\"os\": \"x\", \"gpus\": [{\"name\": \"H100\"}]}");
	add_document(f, "bbbb0002", SITUATION_MACHINE,
		     "{\"os\": \"x\", \"gpus\": [{\"name\": \"H200\"}]}");
	add_document(f, "aaaa0001", SITUATION_VARIABLES,
		     "{\"environments\": [{\"variables\": {\"SEED\": \"1\", "
		     "\"TERM\": \"a\"}}]}");
	add_document(f, "bbbb0002", SITUATION_VARIABLES,
		     "{\"environments\": [{\"variables\": {\"TERM\": \"b\"}}]}");
	add_document(f, "bbbb0002", SITUATION_LIBRARIES,
		     "{\"libraries\": [{\"path\": \"/l/libc.so.6\"}]}");
	assert_string_equal(diff(f, "aaaa0001", "bbbb0002"),
			    "packages pip numpy: 1.26 -> 2.0; "
			    "(libraries libraries: - -> recorded) "
			    "environment SEED: 1 -> -; "
			    "(environment TERM: a -> b) "
			    "machine gpus[0].name: H100 -> H200; ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(equal_executions_do_not_differ),
		FIXTURE_TEST(options_are_matched_by_name),
		FIXTURE_TEST(files_are_matched_by_path_content_and_type),
		FIXTURE_TEST(situations_are_compared_by_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
