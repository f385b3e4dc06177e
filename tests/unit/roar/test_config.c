/* test_config.c - settings as programs see them. */
#include "scene.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "project/config.h"
#include "project/config_file.h"

/* The file loads, with one mistake, which is that. */
static void check_mistake(const char *text, const char *expected)
{
	CLEANUP(config_release) struct config c = { 0 };

	scene_write("config.toml", text);
	assert_int_equal(config_load(".", &c), 0);
	assert_int_equal(c.n_mistakes, 1);
	assert_string_equal(c.mistakes[0], expected);
}

static void a_missing_file_means_the_defaults(void **state)
{
	CLEANUP(config_release) struct config c = { 0 };

	(void)state;
	assert_int_equal(config_load(".", &c), 0);
	assert_int_equal(c.verbosity, VERBOSITY_NORMAL);
	for (int i = 0; i < FILTER_END; i++)
		assert_false(c.filter_off[i]);
	assert_int_equal(c.n_ignore_paths, 0);
	assert_int_equal(c.hash_run, DIGEST_SET_BLAKE3);
	assert_true(c.hash_cache);
	assert_string_equal(c.tracer, "auto");
	assert_true(c.tracer_fallback);
	assert_true(c.git_snapshot);
	assert_true(c.hints);
	assert_int_equal(c.n_env, 0);
	assert_null(c.env[0]);
}

static void the_default_file_means_the_defaults_too(void **state)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(config_file_release) struct config_file f = { 0 };

	(void)state;
	config_default_text(&text);
	scene_write("config.toml", str_cstr(&text));
	assert_int_equal(config_file_read(".", &f, NULL), 0);
	assert_true(f.exists);
	assert_int_equal(f.doc.n_entries, 0);
	for (const struct config_key *k = config_keys; k->name; k++) {
		CLEANUP(str_release) struct str line = STR_INIT;

		str_addf(&line, "\n# %s = %s\n", strrchr(k->name, '.') + 1,
			 k->fallback);
		assert_non_null(strstr(str_cstr(&text), str_cstr(&line)));
	}
}

static void every_setting_has_an_effect(void **state)
{
	CLEANUP(config_release) struct config c = { 0 };

	(void)state;
	scene_write("config.toml",
		    "[output]\nverbosity = \"debug\"\n"
		    "[filters]\nignore_system_reads = false\n"
		    "ignore_package_reads = false\nignore_torch_cache = false\n"
		    "ignore_library_caches = false\nignore_tmp_files = false\n"
		    "ignore_paths = ['/scratch', '*.log']\n"
		    "[hash]\nprimary = 'blake3'\nrun = [\"sha256\", \"md5\"]\n"
		    "cache = false\n"
		    "[tracer]\ndefault = \"ptrace\"\nfallback_enabled = false\n"
		    "[git]\nsnapshot = false\n[redact]\nnames = [\"PIN\"]\n"
		    "[hints]\nenabled = false\n[env]\nA = \"x y\"\nB = ''\n"
		    "[other]\nkey = 1.5\n");
	assert_int_equal(config_load(".", &c), 0);
	assert_int_equal(c.verbosity, VERBOSITY_DEBUG);
	assert_true(c.filter_off[FILTER_SYSTEM]);
	assert_true(c.filter_off[FILTER_PACKAGES]);
	assert_true(c.filter_off[FILTER_TORCH_CACHE]);
	assert_true(c.filter_off[FILTER_LIBRARY_CACHES]);
	assert_true(c.filter_off[FILTER_TMP]);
	assert_int_equal(c.n_ignore_paths, 2);
	assert_string_equal(c.ignore_paths[1], "*.log");
	assert_int_equal(c.hash_run, 1 << DIGEST_BLAKE3 | 1 << DIGEST_SHA256 |
					     1 << DIGEST_MD5);
	assert_false(c.hash_cache);
	assert_string_equal(c.tracer, "ptrace");
	assert_false(c.tracer_fallback);
	assert_false(c.git_snapshot);
	assert_string_equal(c.redact_names[0], "PIN");
	assert_false(c.hints);
	assert_int_equal(c.n_env, 2);
	assert_string_equal(c.env[0], "A=x y");
	assert_string_equal(c.env[1], "B=");
	assert_null(c.env[2]);
}

static void quiet_has_the_last_word(void **state)
{
	CLEANUP(config_release) struct config c = { 0 };

	(void)state;
	scene_write("config.toml", "output.quiet = true\n"
				   "output.verbosity = 'verbose'\n");
	assert_int_equal(config_load(".", &c), 0);
	assert_int_equal(c.verbosity, VERBOSITY_QUIET);
}

static void wrong_values_are_reported_with_their_line(void **state)
{
	(void)state;
	check_mistake(
		"[output]\nquiet = \"yes\"",
		"'./config.toml' line 2: output.quiet takes true or false, "
		"not a value of type string");
	check_mistake("output.verbosity = 'loud'",
		      "'./config.toml' line 1: output.verbosity takes "
		      "quiet|normal|verbose|debug, not 'loud'");
	check_mistake(
		"hash.primary = 'md5'",
		"'./config.toml' line 1: hash.primary is always blake3 and "
		"cannot be 'md5'");
	check_mistake(
		"hash.run = ['crc32']",
		"'./config.toml' line 1: hash.run takes "
		"blake3|sha256|sha512|md5|crc64nvme|git-blob, not 'crc32'");
	check_mistake(
		"filters.ignore_paths = [1]",
		"'./config.toml' line 1: filters.ignore_paths takes strings "
		"only, not a value of type integer");
	check_mistake(
		"filters.ignore_paths = ['']",
		"'./config.toml' line 1: filters.ignore_paths cannot hold an "
		"empty string");
	check_mistake(
		"[env]\n\"A B\" = ''",
		"'./config.toml' line 2: [env] has a name that is not valid "
		"for a variable: use letters, digits and '_'");
	check_mistake("[env]\nA = 1",
		      "'./config.toml' line 2: A in [env] takes a string, not a "
		      "value of type integer");
	check_mistake("env = { A = 'x' }",
		      "'./config.toml' line 1: env has to be the table [env]");
	check_mistake("x =",
		      "'./config.toml' line 1: a value is missing or unknown "
		      "(text needs quotes)");
}

static void what_has_no_effect_is_a_mistake(void **state)
{
	(void)state;
	check_mistake(
		"[output]\nquite = true",
		"'./config.toml' line 2: 'output.quite' is not a setting of "
		"roar and has no effect, did you mean 'output.quiet'?");
	check_mistake(
		"[ouput]\nwhatever = true",
		"'./config.toml' line 2: 'ouput.whatever' is not a setting "
		"of roar and has no effect, did you mean the table "
		"[output]?");
	check_mistake(
		"[output]\nwhatever = true",
		"'./config.toml' line 2: 'output.whatever' is not a setting "
		"of roar and has no effect");
	check_mistake("output = 3", "'./config.toml' line 1: output has to be "
				    "the table [output]");
	check_mistake("x = 1\n[[env]]\nA = 'b'\n",
		      "'./config.toml' line 2: [[env]] has to be the table "
		      "[env]");
}

static void a_mistake_costs_no_other_setting(void **state)
{
	CLEANUP(config_release) struct config c = { 0 };

	(void)state;
	scene_write("config.toml",
		    "[output]\nquiet = \"yes\"\nverbosity = \"debug\"\n"
		    "[redact]\nnames = [\"mykey\"]\n"
		    "[env]\nFOO = \"bar\"\nBAD = 1\n[someone]\nelse = 1\n");
	assert_int_equal(config_load(".", &c), 0);
	assert_int_equal(c.n_mistakes, 2);
	assert_int_equal(c.verbosity, VERBOSITY_DEBUG);
	assert_int_equal(c.n_redact_names, 1);
	assert_string_equal(c.redact_names[0], "mykey");
	assert_int_equal(c.n_env, 1);
	assert_string_equal(c.env[0], "FOO=bar");
}

static void a_mistake_about_secrets_makes_all_names_secret(void **state)
{
	static const char *const texts[] = {
		"[redact]\nnames = \"mykey\"\n",
		"[redact]\nname = [\"mykey\"]\n",
		"[[redact]]\nnames = [\"mykey\"]\n",
		"redact = 1\n",
		"[redact\nnames = [\"mykey\"]\n",
		"[redcat]\nnames = [\"mykey\"]\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		CLEANUP(config_release) struct config c = { 0 };

		scene_write("config.toml", texts[i]);
		assert_int_equal(config_load(".", &c), 0);
		assert_int_equal(c.n_mistakes, 1);
		assert_int_equal(c.n_redact_names, 1);
		assert_string_equal(c.redact_names[0], "*");
	}
}

static void what_is_no_file_is_not_waited_for(void **state)
{
	CLEANUP(config_release) struct config c = { 0 };

	(void)state;
	assert_int_equal(mkfifo("config.toml", 0600), 0);
	assert_int_equal(config_load(".", &c), 0);
	assert_int_equal(c.n_mistakes, 1);
	assert_string_equal(
		c.mistakes[0],
		"'./config.toml' is not a regular file: move it away");
}

static int spoil(const struct config_file *f, void *ctx, struct str *out,
		 struct roar_error *err)
{
	(void)f;
	(void)ctx;
	(void)err;
	str_adds(out, "[broken");
	return 1;
}

static void a_change_that_cannot_be_read_back_is_not_written(void **state)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct roar_error err = { 0 };

	(void)state;
	scene_write("config.toml", "# mine\n");
	assert_int_equal(config_file_edit(".", spoil, NULL, &err), -EINVAL);
	assert_string_equal(
		err.text, "cannot change './config.toml' here, edit it by hand "
			  "('config.toml' line 1: a table header needs ']')");
	scene_read("config.toml", &text);
	assert_string_equal(str_cstr(&text), "# mine\n");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_missing_file_means_the_defaults),
		TEST(the_default_file_means_the_defaults_too),
		TEST(every_setting_has_an_effect),
		TEST(quiet_has_the_last_word),
		TEST(wrong_values_are_reported_with_their_line),
		TEST(what_has_no_effect_is_a_mistake),
		TEST(a_mistake_costs_no_other_setting),
		TEST(a_mistake_about_secrets_makes_all_names_secret),
		TEST(what_is_no_file_is_not_waited_for),
		TEST(a_change_that_cannot_be_read_back_is_not_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
