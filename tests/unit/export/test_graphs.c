/* test_graphs.c - the set as Graphviz, Mermaid, SVG, HTML, Makefile and DVC. */
#include "sample_set.h"

#include <stdio.h>

static const char *sample_as(struct fixture *f,
			     int (*format)(const struct export_set *set,
					   struct str *out,
					   struct roar_error *err))
{
	struct export_set set;
	const char *text;
	struct query q;

	record_sample(f);
	set = sample_set(f, &q);
	(void)export_digests_complete(&set, 1 << DIGEST_MD5);
	text = exported(f, &set, format);
	query_release(&q);
	return text;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

static void dot_has_nodes_and_edges(void **state)
{
	const char *text = sample_as(*state, export_dot);

	assert_has(text, "label=\"@1 python prepare.py\"];");
	assert_has(text, "label=\"features.bin\"];");
	assert_has(text, "n0 -> n4;");
	assert_has(text, "[style=dashed];");
}

static void dot_quotes_what_ends_a_string(void **state)
{
	struct fixture *f = *state;
	struct export_set set;
	struct query q;

	record_made(f, "aaaa0001", "echo \"\\\"; evil [", NULL, "out\"x", "1");
	set = sample_set(f, &q);
	assert_has(exported(f, &set, export_dot),
		   "label=\"@1 echo \\\"\\\\\\\"; evil [\"]");
	assert_has(exported(f, &set, export_dot), "label=\"out\\\"x\"]");
	assert_has(exported(f, &set, export_mermaid), "[\"out#34;x\"]");
	query_release(&q);
}

static void mermaid_is_a_flowchart(void **state)
{
	const char *text = sample_as(*state, export_mermaid);

	assert_has(text, "flowchart LR\n  n0(\"#64;1 python prepare.py\")");
	assert_has(text, "-.->");
}

static void svg_and_html_escape_names(void **state)
{
	struct fixture *f = *state;
	struct export_set set;
	struct query q;
	const char *svg;
	const char *html;

	record_made(f, "aaaa0001", "x '<script>alert(1)</script>'", NULL,
		    "<b>&\"'", "1");
	set = sample_set(f, &q);
	svg = exported(f, &set, export_svg);
	html = exported(f, &set, export_html);
	assert_has(svg, "&lt;b&gt;&amp;&quot;&#39;");
	assert_null(strstr(svg, "<b>"));
	assert_null(strstr(html, "<script"));
	assert_has(html, "default-src 'none'");
	assert_has(html, "<a href=\"#job-1\">");
	assert_has(html, "<section id=\"job-1\">");
	query_release(&q);
}

static void many_files_of_one_job_are_folded(void **state)
{
	struct fixture *f = *state;
	struct export_set set;
	struct query q;
	char name[16];

	job(f, "aaaa0001", "split");
	for (int i = 0; i < 20; i++) {
		(void)snprintf(name, sizeof(name), "part-%02d", i);
		output(f, name, name);
	}
	record(f);
	set = sample_set(f, &q);
	assert_has(exported(f, &set, export_dot), "label=\"12 more files\"");
	assert_has(exported(f, &set, export_html), "part-19");
	query_release(&q);
}

static void makefile_has_a_rule_for_each_job(void **state)
{
	const char *text = sample_as(*state, export_makefile);

	assert_has(text, "\nfeatures.bin : raw.csv\n\tpython prepare.py\n");
	assert_has(text, "\nmodel.pt : features.bin\n"
			 "\tpython train.py --name 'a $$b'\n");
	assert_has(text, "# updated in place: ");
	assert_has(text, "\nlog.txt : best.pt model.pt\n");
	assert_has(text, "all: model.pt log.txt\n");
}

static void makefile_groups_outputs_and_leaves_out_impossible_names(void **state)
{
	struct fixture *f = *state;
	struct export_set set;
	struct query q;
	const char *text;

	job(f, "aaaa0001", "make-two");
	output(f, "a b#c", "1");
	output(f, "d", "2");
	output(f, "e%f\n", "3");
	record(f);
	record_made(f, "bbbb0002", "nothing", "d", "e%g", "4");
	set = sample_set(f, &q);
	text = exported(f, &set, export_makefile);
	assert_has(text, "\na\\ b\\#c d &:\n\tmake-two\n");
	assert_has(text, "# an output that make cannot name: ");
	assert_has(text, "e%f\\n\n");
	assert_has(text, "\njob-2: d\n");
	assert_has(text, ".PHONY: all job-2\n");
	query_release(&q);
}

static void dvc_has_stages_and_a_lock(void **state)
{
	struct fixture *f = *state;
	const char *yaml = sample_as(f, export_dvc_yaml);
	struct export_set set;
	const char *lock;
	struct query q;

	assert_has(yaml, "stages:\n  step-1:\n"
			 "    cmd: \"python prepare.py\"\n    deps:\n"
			 "    - \"raw.csv\"\n    outs:\n"
			 "    - \"features.bin\"\n");
	set = sample_set(f, &q);
	(void)export_digests_complete(&set, 1 << DIGEST_MD5);
	lock = exported(f, &set, export_dvc_lock);
	assert_has(lock, "schema: '2.0'\nstages:\n  step-1:\n");
	/* What `printf raw | md5sum` prints. */
	assert_has(lock, "    - path: \"raw.csv\"\n      hash: md5\n"
			 "      md5: bdd166af3a63f7be696dd17a218a6ffb\n"
			 "      size: 3\n");
	query_release(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(dot_has_nodes_and_edges),
		FIXTURE_TEST(dot_quotes_what_ends_a_string),
		FIXTURE_TEST(mermaid_is_a_flowchart),
		FIXTURE_TEST(svg_and_html_escape_names),
		FIXTURE_TEST(many_files_of_one_job_are_folded),
		FIXTURE_TEST(makefile_has_a_rule_for_each_job),
		FIXTURE_TEST(
			makefile_groups_outputs_and_leaves_out_impossible_names),
		FIXTURE_TEST(dvc_has_stages_and_a_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
