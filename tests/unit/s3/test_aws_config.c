/* The shared configuration: sections, groups, comments, precedence, bounds, secrets. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_fail.h"
#include "s3/aws_config.h"
#include "test.h"

static struct aws_config *config_of(const char *profile, const char *config,
				    const char *credentials)
{
	struct roar_error err = { 0 };
	struct aws_config *c;

	assert_int_equal(aws_config_new(profile, &c), 0);
	if (config)
		assert_int_equal(aws_config_parse(c, "config", config,
						  strlen(config), false, &err),
				 0);
	if (credentials)
		assert_int_equal(aws_config_parse(c, "credentials", credentials,
						  strlen(credentials), true,
						  &err),
				 0);
	return c;
}

static void sections_are_named_as_each_file_names_them(void **state)
{
	CLEANUP(aws_config_freep)
	struct aws_config *c = config_of(
		"dev",
		"[default]\nregion = eu-north-1\n"
		"[profile dev]\nregion=eu-west-1\n"
		"[dev]\nregion = wrong\n"
		"[plugins]\nregion = wrong\n"
		"[profile \"with blank\"]\nregion = r2\n",
		"[dev]\naws_access_key_id = AKID\n"
		"[other one]\nregion = r3\n");

	(void)state;
	assert_string_equal(aws_config_get(c, "region"), "eu-west-1");
	assert_string_equal(aws_config_get(c, "aws_access_key_id"), "AKID");
	assert_string_equal(aws_config_find(c, AWS_PROFILE, "default", NULL,
					    "region"),
			    "eu-north-1");
	assert_string_equal(aws_config_find(c, AWS_PROFILE, "with blank", NULL,
					    "region"),
			    "r2");
	assert_string_equal(aws_config_find(c, AWS_PROFILE, "other one", NULL,
					    "region"),
			    "r3");
	assert_null(aws_config_get(c, "role_arn"));
	assert_true(aws_config_has_profile(c, "dev"));
	assert_false(aws_config_has_profile(c, "plugins"));
}

static void groups_comments_and_blanks_are_understood(void **state)
{
	CLEANUP(aws_config_freep)
	struct aws_config *c = config_of(
		NULL,
		"# all\r\n; of it\n[default] # here\r\n"
		"  \n"
		"s3 =\n"
		"  addressing_style = path ; said so\n"
		"\tmax_concurrent_requests=20\n"
		"output = json # text\n"
		"  continued = is not a key\n"
		"url = https://a/#b;c\n"
		"Empty =\n"
		"[services local]\ns3 =\n  endpoint_url = http://a:1\n"
		"sts = \n  endpoint_url = http://b:2\n",
		NULL);

	(void)state;
	assert_string_equal(aws_config_find(c, AWS_PROFILE, "default", "s3",
					    "addressing_style"),
			    "path");
	assert_string_equal(aws_config_find(c, AWS_PROFILE, "default", "s3",
					    "max_concurrent_requests"),
			    "20");
	assert_null(aws_config_get(c, "addressing_style"));
	assert_null(aws_config_get(c, "continued"));
	assert_string_equal(aws_config_get(c, "OUTPUT"), "json");
	assert_string_equal(aws_config_get(c, "url"), "https://a/#b;c");
	assert_null(aws_config_get(c, "empty"));
	assert_string_equal(aws_config_find(c, AWS_SERVICES, "local", "sts",
					    "endpoint_url"),
			    "http://b:2");
}

static void the_credentials_file_and_the_last_line_win(void **state)
{
	CLEANUP(aws_config_freep)
	struct aws_config *c = config_of(NULL,
					 "[default]\nregion=a\nx=config\n",
					 "[default]\nx=one\nx=two\n");

	(void)state;
	assert_string_equal(aws_config_get(c, "x"), "two");
	assert_string_equal(aws_config_get(c, "region"), "a");
}

static void a_malformed_line_is_named_but_not_quoted(void **state)
{
	static const char *const bad[] = {
		"[default]\nsecret without equals\n",
		"key = before = section\n",
		"[unclosed\n",
		"[]\n",
		"[default]\n= value\n",
		"[profile ]\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CLEANUP(aws_config_freep) struct aws_config *c = NULL;
		struct roar_error err = { 0 };

		assert_int_equal(aws_config_new(NULL, &c), 0);
		assert_int_equal(aws_config_parse(c, "f", bad[i],
						  strlen(bad[i]), i == 3, &err),
				 i == 5 ? 0 : -EINVAL);
		assert_null(strstr(err.text, "secret"));
		assert_true(i == 5 || strstr(err.text, "line ") != NULL);
	}
}

static void sizes_are_bounded(void **state)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(aws_config_freep) struct aws_config *c = NULL;
	CLEANUP(aws_config_freep) struct aws_config *d = NULL;
	CLEANUP(aws_config_freep) struct aws_config *e = NULL;

	(void)state;
	assert_int_equal(aws_config_new(NULL, &c), 0);
	assert_int_equal(aws_config_new(NULL, &d), 0);
	assert_int_equal(aws_config_new(NULL, &e), 0);
	str_adds(&text, "[default]\n");
	for (int i = 0; i < AWS_CONFIG_MAX_ENTRIES; i++)
		str_adds(&text, "a=b\n");
	assert_int_equal(aws_config_parse(c, "f", text.data, text.len, false,
					  NULL),
			 -EFBIG);
	str_pad(&text, '\n', AWS_CONFIG_MAX_BYTES);
	assert_int_equal(aws_config_parse(d, "f", text.data, text.len, false,
					  NULL),
			 -EFBIG);
	assert_int_equal(aws_config_parse(e, "f", "[a]\0b", 5, true, NULL),
			 -EINVAL);
}

/* ---- files and the environment ---- */

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int clear_environment(void **state)
{
	(void)state;
	(void)unsetenv("AWS_PROFILE");
	(void)unsetenv("AWS_DEFAULT_PROFILE");
	(void)unsetenv("AWS_REGION");
	(void)unsetenv("AWS_DEFAULT_REGION");
	(void)unsetenv("AWS_ENDPOINT_URL");
	(void)unsetenv("AWS_ENDPOINT_URL_S3");
	(void)unsetenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
	(void)setenv("AWS_CONFIG_FILE", "/nonexistent/config", 1);
	(void)setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent/x", 1);
	return 0;
}

static void files_are_found_by_home_and_variables(void **state)
{
	char dir[] = "/tmp/roar-aws-XXXXXX";
	struct roar_error err = { 0 };
	struct aws_config *c = NULL;
	char name[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(name, sizeof(name), "%s/.aws", dir);
	assert_int_equal(mkdir(name, 0700), 0);
	(void)setenv("HOME", dir, 1);
	(void)unsetenv("AWS_CONFIG_FILE");
	(void)unsetenv("AWS_SHARED_CREDENTIALS_FILE");
	assert_int_equal(aws_config_load(NULL, &c, &err), 0);
	assert_null(aws_config_get(c, "region"));
	aws_config_free(c);

	(void)snprintf(name, sizeof(name), "%s/.aws/config", dir);
	write_file(name, "[profile p]\nregion = r1\n");
	(void)setenv("AWS_PROFILE", "p", 1);
	assert_int_equal(aws_config_load(NULL, &c, &err), 0);
	assert_string_equal(aws_config_region(c), "r1");
	assert_true(aws_config_is_chosen(c));
	aws_config_free(c);

	(void)setenv("AWS_PROFILE", "absent", 1);
	assert_int_equal(aws_config_load(NULL, &c, &err), -ENOENT);
	assert_non_null(strstr(err.text, "'absent'"));
	(void)unlink(name);
	(void)snprintf(name, sizeof(name), "%s/.aws", dir);
	(void)rmdir(name);
	(void)rmdir(dir);
}

static void endpoints_have_their_order(void **state)
{
	CLEANUP(aws_config_freep)
	struct aws_config *c = config_of(
		NULL,
		"[default]\nendpoint_url = http://profile\nservices = s\n"
		"[services s]\ns3 =\n  endpoint_url = http://service\n",
		NULL);

	(void)state;
	assert_string_equal(aws_config_endpoint(c, "s3"), "http://service");
	assert_string_equal(aws_config_endpoint(c, "sts"), "http://profile");
	(void)setenv("AWS_ENDPOINT_URL", "http://all", 1);
	assert_string_equal(aws_config_endpoint(c, "s3"), "http://all");
	(void)setenv("AWS_ENDPOINT_URL_S3", "http://s3", 1);
	assert_string_equal(aws_config_endpoint(c, "s3"), "http://s3");
	assert_string_equal(aws_config_endpoint(c, "sts"), "http://all");
	(void)setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true", 1);
	assert_null(aws_config_endpoint(c, "s3"));
}

static void memory_may_run_out_at_any_point(void **state)
{
	static const char text[] = "[profile a]\nx = 1\n[profile b]\ny=\n z=3\n";
	int r = -ENOMEM;

	(void)state;
	for (int n = 0; r == -ENOMEM; n++) {
		struct aws_config *c = NULL;

		alloc_fail_after(n);
		r = aws_config_new("a", &c);
		if (r == 0)
			r = aws_config_parse(c, "f", text, strlen(text), false,
					     NULL);
		alloc_fail_never();
		aws_config_free(c);
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections_are_named_as_each_file_names_them),
		cmocka_unit_test(groups_comments_and_blanks_are_understood),
		cmocka_unit_test(the_credentials_file_and_the_last_line_win),
		cmocka_unit_test(a_malformed_line_is_named_but_not_quoted),
		cmocka_unit_test(sizes_are_bounded),
		cmocka_unit_test_setup(files_are_found_by_home_and_variables,
				       clear_environment),
		cmocka_unit_test_setup(endpoints_have_their_order,
				       clear_environment),
		cmocka_unit_test(memory_may_run_out_at_any_point),
	};

	return cmocka_run_group_tests_name("aws_config", tests, NULL, NULL);
}
