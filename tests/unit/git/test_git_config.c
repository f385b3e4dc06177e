/* test_config.c - configuration files and remote URLs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "fixture.h"
#include "git/git_config.h"
#include "git/git_repo.h"

static int collect(void *ctx, const char *key, const char *value)
{
	str_addf(ctx, "%s=%s|", key, value ? value : "(none)");
	return 0;
}

static void assert_parsed(const char *text, int result, const char *expected)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	assert_int_equal(git_config_parse(text, strlen(text), collect, &out),
			 result);
	assert_string_equal(str_cstr(&out), expected);
}

static void settings_are_read_with_their_sections(void **state)
{
	(void)state;
	assert_parsed("", 0, "");
	assert_parsed("[core]\n\tbare = false\n", 0, "core.bare=false|");
	assert_parsed("[CORE] BARE\n", 0, "core.bare=(none)|");
	assert_parsed("[remote \"Up.Stream\"]\nURL=x\n", 0,
		      "remote.Up.Stream.url=x|");
	assert_parsed("[branch \"a\\\"b\\\\\"]k=v", 0, "branch.a\"b\\.k=v|");
	assert_parsed("[a.B]\nk=v", 0, "a.b.k=v|");
	assert_parsed("\xef\xbb\xbf[a]\nk=v\r\n", 0, "a.k=v|");
}

static void values_follow_the_quoting_rules(void **state)
{
	(void)state;
	assert_parsed("[a]k= x  y \t\n", 0, "a.k=x  y|");
	assert_parsed("[a]k=x # comment\n; more\nl=2;c", 0, "a.k=x|a.l=2|");
	assert_parsed("[a]k=\" # x \" \n", 0, "a.k= # x |");
	assert_parsed("[a]k=a\\tb\\\\\\\"\n", 0, "a.k=a\tb\\\"|");
	assert_parsed("[a]k=one\\\n two\n", 0, "a.k=one two|");
	assert_parsed("[a]k=\n", 0, "a.k=|");
	assert_parsed("[a]k # comment\nl", 0, "a.k=(none)|a.l=(none)|");
}

static void syntax_errors_end_the_reading(void **state)
{
	static const char *const bad[] = {
		"k=v",	       "[a",	    "[a \"b]\nk=v", "[a b]",
		"[a]k=\"open", "[a]k=\\q",  "[a]1k=v",	    "[a]k v",
		"[]k=v",       "[a \"b\"x", "[a]k=x\\",	    "[a\n]k=v",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_parsed(bad[i], -EBADMSG, "");
	assert_parsed("[a]k=v\n]", -EBADMSG, "a.k=v|");
}

static void nul_bytes_do_no_harm(void **state)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	(void)state;
	(void)git_config_parse("[a]\nk\0=v\n\0", 11, collect, &out);
	(void)git_config_parse("[a\0]", 4, collect, &out);
	(void)git_config_parse("[a]k=\\\0", 7, collect, &out);
}

static void secrets_are_taken_out_of_urls(void **state)
{
	static const struct {
		const char *url;
		const char *redacted;
	} cases[] = {
		{ "https://h/r.git", "https://h/r.git" },
		{ "https://u:p@h:8443/r.git", "https://h:8443/r.git" },
		{ "https://token@h/r.git", "https://h/r.git" },
		{ "https://u:p@ss@h/r", "https://h/r" },
		{ "HTTP://u:p@h/r?private_token=1#x", "HTTP://h/r" },
		{ "https://u:p@h", "https://h" },
		{ "ssh://git@h/r", "ssh://git@h/r" },
		{ "ssh://git:p@h:22/r", "ssh://h:22/r" },
		{ "ftp://u:p@h/r", "ftp://h/r" },
		{ "git@h:team/r.git", "git@h:team/r.git" },
		{ "u:p@h:team/r.git", "h:team/r.git" },
		{ "/srv/git/r@2.git", "/srv/git/r@2.git" },
		{ "../r.git", "../r.git" },
		{ "https://h/path@v1/r", "https://h/path@v1/r" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(freep) char *out = git_url_redact(cases[i].url);

		assert_string_equal(out, cases[i].redacted);
	}
}

/* Writes the configuration of the fixture's repository and reads it. */
static struct git_config read_config(const struct fixture *f, const char *text)
{
	CLEANUP(git_repo_release) struct git_repo repo = { 0 };
	struct git_config config;

	sh(f, "cat > .git/config <<'X'\n%s\nX", text);
	assert_int_equal(git_repo_open(f->work, &repo), 1);
	assert_int_equal(git_config_read(&repo, &config), 0);
	return config;
}

static void defaults_are_those_of_git(void **state)
{
	CLEANUP(git_config_release)
	struct git_config config = read_config(*state, "broken");

	assert_false(config.bare);
	assert_true(config.trust_ctime);
	assert_int_equal(config.hash_len, 20);
	assert_null(config.remote);
	assert_null(config.worktree);
}

static void origin_wins_and_one_remote_is_enough(void **state)
{
	struct git_config config;

	config = read_config(*state, "[remote \"a\"]\nurl=1\nurl=2\n"
				     "[core]trustctime=no");
	assert_string_equal(config.remote, "1");
	assert_false(config.trust_ctime);
	git_config_release(&config);
	config = read_config(*state, "[remote \"a\"]\nurl=1\n"
				     "[remote \"b\"]\nurl=2");
	assert_null(config.remote);
	git_config_release(&config);
	config = read_config(*state, "[remote \"a\"]\nurl=1\n"
				     "[remote \"b\"]\nurl=2\n"
				     "[remote \"origin\"]\nurl=3\n"
				     "pushurl=4\nurl=5");
	assert_string_equal(config.remote, "3");
	git_config_release(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_are_read_with_their_sections),
		cmocka_unit_test(values_follow_the_quoting_rules),
		cmocka_unit_test(syntax_errors_end_the_reading),
		cmocka_unit_test(nul_bytes_do_no_harm),
		cmocka_unit_test(secrets_are_taken_out_of_urls),
		cmocka_unit_test_setup_teardown(defaults_are_those_of_git,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(
			origin_wins_and_one_remote_is_enough, fixture_setup,
			fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
