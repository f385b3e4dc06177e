/* test_tag.c - tags: how they are written, and who inherits them.
 *
 * A session is text: one job per line, "STEP INPUT... > OUTPUT...", where a file
 * is NAME:CONTENT, "+KIND=VALUE" adds a tag and "-KIND" or "-KIND=VALUE" blocks.
 * Job 1 is the first line.  The answer is "KIND=VALUE JOB" for each tag that the
 * outputs of a job carry. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "base/cleanup.h"
#include "base/pool.h"
#include "base/str.h"
#include "lineage/graph.h"
#include "lineage/tag.h"

struct session {
	struct pool pool;
	struct graph_job jobs[32];
	struct graph_file files[64];
	struct job_tag tags[32];
	size_t n_jobs, n_files, n_tags;
};

static void add_file(struct session *s, const char *word, bool is_output)
{
	size_t len = strcspn(word, ":");

	assert_true(s->n_files < 64);
	s->files[s->n_files++] = (struct graph_file){
		.job_id = (int64_t)s->n_jobs,
		.path = pool_dup(&s->pool, word, len),
		.artifact = atoi(word + len + 1),
		.size = 100,
		.is_output = is_output,
	};
}

static void add_tag(struct session *s, const char *word)
{
	struct job_tag *t = &s->tags[s->n_tags++];

	assert_true(s->n_tags <= 32);
	t->job_id = (int64_t)s->n_jobs;
	assert_int_equal(tag_parse(&s->pool,
				   word[0] == '+' ? TAG_ADD : TAG_BLOCK,
				   word + 1, &t->tag, NULL),
			 0);
}

static void add_job(struct session *s, char *line)
{
	struct graph_job *job = &s->jobs[s->n_jobs++];
	bool is_output = false;
	char *word = strsep(&line, " ");

	assert_true(s->n_jobs <= 32);
	*job = (struct graph_job){ .id = (int64_t)s->n_jobs,
				   .step = atoi(word),
				   .started_ns = (int64_t)s->n_jobs };
	while ((word = strsep(&line, " "))) {
		if (word[0] == '>')
			is_output = true;
		else if (word[0] == '@')
			job->started_ns = atoi(word + 1);
		else if (word[0] == '+' || word[0] == '-')
			add_tag(s, word);
		else
			add_file(s, word, is_output);
	}
}

static void read_session(struct session *s, const char *text)
{
	char *rest;
	char *line;

	memset(s, 0, sizeof(*s));
	rest = pool_strdup(&s->pool, text);
	while ((line = strsep(&rest, "\n")))
		if (line[0])
			add_job(s, line);
}

static int ask(struct session *s, int64_t job_id, struct job_tag **ret,
	       size_t *ret_n)
{
	CLEANUP(graph_freep) struct graph *g = NULL;
	int r = graph_new(s->jobs, s->n_jobs, s->files, s->n_files, false, &g);

	if (r < 0)
		return r;
	return tags_of_outputs(g, job_id, s->tags, s->n_tags, &s->pool, ret,
			       ret_n);
}

static void check(const char *text, int64_t job_id, const char *expected)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct session s;
	struct job_tag *list;
	size_t n;

	read_session(&s, text);
	assert_int_equal(ask(&s, job_id, &list, &n), 0);
	for (size_t i = 0; i < n; i++)
		str_addf(&out, "%s%s=%s %d", i ? ", " : "", list[i].tag.kind,
			 list[i].tag.value, (int)list[i].job_id);
	assert_string_equal(str_cstr(&out), expected);
	pool_release(&s.pool);
}

/* ---- who inherits ---- */

static void without_tags_there_are_none(void **state)
{
	(void)state;
	check("1 > a:1\n2 a:1 > b:2\n", 2, "");
	check("1 > a:1\n2 a:1 -license > b:2\n", 2, "");
}

static void a_tag_goes_down_the_pipeline(void **state)
{
	static const char text[] = "1 +license=MIT > a:1\n"
				   "2 a:1 > b:2\n"
				   "3 b:2 +contains_pii=true > c:3\n";

	(void)state;
	check(text, 1, "license=MIT 1");
	check(text, 2, "license=MIT 1");
	check(text, 3, "contains_pii=true 3, license=MIT 1");
}

static void a_tag_does_not_go_up_or_aside(void **state)
{
	static const char text[] = "1 > a:1\n"
				   "2 a:1 +license=MIT > b:2\n"
				   "3 a:1 > c:3\n";

	(void)state;
	check(text, 1, "");
	check(text, 3, "");
}

static void values_of_all_inputs_come_together(void **state)
{
	(void)state;
	check("1 +license=MIT > a:1\n"
	      "2 +license=GPL > b:2\n"
	      "3 a:1 b:2 > c:3\n",
	      3, "license=GPL 2, license=MIT 1");
}

static void a_value_from_several_jobs_names_them_nearest_first(void **state)
{
	(void)state;
	check("1 +license=MIT > a:1\n"
	      "2 a:1 +license=MIT > b:2\n"
	      "3 b:2 +license=MIT > c:3\n",
	      3, "license=MIT 3, license=MIT 2, license=MIT 1");
}

static void a_block_stops_a_kind_or_one_value(void **state)
{
	static const char text[] = "1 +license=MIT +license=GPL +x=1 > a:1\n"
				   "2 a:1 -license > b:2\n"
				   "3 a:1 -license=GPL > c:3\n"
				   "4 b:2 > d:4\n"
				   "5 c:3 > e:5\n";

	(void)state;
	check(text, 2, "x=1 1");
	check(text, 3, "license=MIT 1, x=1 1");
	check(text, 4, "x=1 1");
	check(text, 5, "license=MIT 1, x=1 1");
}

static void a_block_holds_for_its_own_way_alone(void **state)
{
	(void)state;
	check("1 +license=MIT > a:1\n"
	      "2 a:1 -license > b:2\n"
	      "3 a:1 b:2 > c:3\n",
	      3, "license=MIT 1");
}

static void a_block_and_an_addition_replace(void **state)
{
	(void)state;
	check("1 +license=GPL +license=MIT > a:1\n"
	      "2 a:1 -license +license=MIT > b:2\n"
	      "3 b:2 > c:3\n",
	      3, "license=MIT 2");
}

/* The job read what the first execution wrote. */
static void tags_follow_executions_not_steps(void **state)
{
	static const char text[] = "1 +license=MIT > a:1\n"
				   "2 a:1 > b:2\n"
				   "1 +license=GPL > a:9\n"
				   "2 a:9 > b:8\n";

	(void)state;
	check(text, 2, "license=MIT 1");
	check(text, 4, "license=GPL 3");
}

static void what_was_edited_by_hand_comes_from_outside(void **state)
{
	(void)state;
	check("1 +license=MIT > a:1\n2 a:7 > b:2\n", 2, "");
}

/* Two jobs that overlap and read each other's output. */
static void a_cycle_ends(void **state)
{
	static const char text[] = "1 @1 b:2 +x=1 > a:1\n"
				   "2 @1 a:1 +x=2 > b:2\n";

	(void)state;
	check(text, 1, "x=1 1, x=2 2");
	check(text, 2, "x=1 1, x=2 2");
}

static void a_job_outside_the_graph_has_its_own_tags(void **state)
{
	struct session s;
	struct job_tag *list;
	size_t n;

	(void)state;
	read_session(&s, "1 +license=MIT +x=1 -y > a:1\n");
	for (size_t i = 0; i < s.n_tags; i++)
		s.tags[i].job_id = 77;
	assert_int_equal(ask(&s, 77, &list, &n), 0);
	assert_int_equal(n, 2);
	assert_string_equal(list[0].tag.kind, "license");
	assert_string_equal(list[1].tag.kind, "x");
	assert_int_equal(ask(&s, 1, &list, &n), 0);
	assert_int_equal(n, 0);
	pool_release(&s.pool);
}

static void without_memory_it_fails_and_nothing_else(void **state)
{
	struct job_tag *list = NULL;
	struct session s;
	size_t n = 99;
	int after = 0;
	int r;

	(void)state;
	read_session(&s, "1 +license=MIT > a:1\n2 a:1 > b:2\n");
	do {
		alloc_fail_after(after++);
		r = ask(&s, 2, &list, &n);
		alloc_fail_never();
		assert_true(r == 0 || r == -ENOMEM);
		assert_true(r == 0 || n == 99);
	} while (r < 0 && after < 1000);
	assert_true(after > 3);
	assert_int_equal(n, 1);
	pool_release(&s.pool);
}

/* ---- how they are written ---- */

static int parse(enum tag_action action, const char *text,
		 struct roar_error *err)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	struct tag tag;

	return tag_parse(&pool, action, text, &tag, err);
}

static void kind_and_value_are_taken_apart(void **state)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	struct tag tag;

	(void)state;
	assert_int_equal(tag_parse(&pool, TAG_ADD, "a.b-c_1=x = \xc3\xa9 y",
				   &tag, NULL),
			 0);
	assert_string_equal(tag.kind, "a.b-c_1");
	assert_string_equal(tag.value, "x = \xc3\xa9 y");
	assert_int_equal(tag.action, TAG_ADD);
	assert_int_equal(tag.origin, TAG_USER);
	assert_int_equal(tag_parse(&pool, TAG_BLOCK, "license", &tag, NULL), 0);
	assert_string_equal(tag.value, "");
	assert_int_equal(tag.action, TAG_BLOCK);
}

static void what_is_no_tag_is_refused_with_a_sentence(void **state)
{
	static const char *const wrong[] = {
		"",	     "=",	    "=MIT",	     "License=MIT",
		"1a=b",	     "_a=b",	    "a b=c",	     "\xc3\xa9=b",
		"license=",  "license=a\n", "license=\x7f",  "license=\xff",
		"a\x1b[m=b", " license=x",  "license=\tMIT",
	};
	struct roar_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		err.text[0] = '\0';
		assert_int_equal(parse(TAG_ADD, wrong[i], &err), -EINVAL);
		assert_true(strlen(err.text) > 10);
		assert_null(strpbrk(err.text, "\n\x1b\x7f\xff"));
		assert_int_equal(parse(TAG_BLOCK, wrong[i], &err), -EINVAL);
	}
	assert_int_equal(parse(TAG_ADD, "license", &err), -EINVAL);
	assert_non_null(strstr(err.text, "KIND=VALUE"));
}

static void lengths_have_bounds(void **state)
{
	char text[TAG_KIND_MAX + TAG_VALUE_MAX + 3];

	(void)state;
	memset(text, 'k', sizeof(text));
	text[TAG_KIND_MAX] = '=';
	text[TAG_KIND_MAX + 1 + TAG_VALUE_MAX] = '\0';
	assert_int_equal(parse(TAG_ADD, text, NULL), 0);
	text[TAG_KIND_MAX + 1 + TAG_VALUE_MAX] = 'v';
	text[TAG_KIND_MAX + 2 + TAG_VALUE_MAX] = '\0';
	assert_int_equal(parse(TAG_ADD, text, NULL), -EINVAL);
	memset(text, 'k', TAG_KIND_MAX + 1);
	text[TAG_KIND_MAX + 1] = '=';
	text[TAG_KIND_MAX + 2] = 'v';
	text[TAG_KIND_MAX + 3] = '\0';
	assert_int_equal(parse(TAG_ADD, text, NULL), -EINVAL);
}

static void usual_kinds_are_known(void **state)
{
	(void)state;
	assert_true(tag_kind_is_known("license"));
	assert_true(tag_kind_is_known("contains_pii"));
	assert_true(tag_kind_is_known("jurisdiction"));
	assert_true(tag_kind_is_known("classification"));
	assert_true(tag_kind_is_known("special_category"));
	assert_false(tag_kind_is_known("licens"));
	assert_false(tag_kind_is_known("license2"));
	assert_false(tag_kind_is_known(""));
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(without_tags_there_are_none),
		T(a_tag_goes_down_the_pipeline),
		T(a_tag_does_not_go_up_or_aside),
		T(values_of_all_inputs_come_together),
		T(a_value_from_several_jobs_names_them_nearest_first),
		T(a_block_stops_a_kind_or_one_value),
		T(a_block_holds_for_its_own_way_alone),
		T(a_block_and_an_addition_replace),
		T(tags_follow_executions_not_steps),
		T(what_was_edited_by_hand_comes_from_outside),
		T(a_cycle_ends),
		T(a_job_outside_the_graph_has_its_own_tags),
		T(without_memory_it_fails_and_nothing_else),
		T(kind_and_value_are_taken_apart),
		T(what_is_no_tag_is_refused_with_a_sentence),
		T(lengths_have_bounds),
		T(usual_kinds_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
