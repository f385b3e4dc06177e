/* URLs of objects and the addresses of their servers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "s3/aws_config.h"
#include "s3/s3_url.h"
#include "test.h"

static void a_key_is_what_follows_the_bucket(void **state)
{
	static const struct {
		const char *text, *bucket, *key;
		bool is_gcs;
	} good[] = {
		{ "s3://bucket/a/b.txt", "bucket", "a/b.txt", false },
		{ "gs://b.c_d-e/", "b.c_d-e", "", true },
		{ "s3://bucket", "bucket", "", false },
		{ "s3://b//a/../%2F+ b", "b", "/a/../%2F+ b", false },
		{ "s3://b/\xf0\x9f\x98\x80\n", "b", "\xf0\x9f\x98\x80\n",
		  false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct s3_url url;

		assert_int_equal(s3_url_parse(good[i].text, &url, NULL), 0);
		assert_string_equal(url.bucket, good[i].bucket);
		assert_string_equal(url.key, good[i].key);
		assert_int_equal(url.is_gcs, good[i].is_gcs);
	}
}

static void what_names_no_object_is_refused(void **state)
{
	static const char *const bad[] = { "s3://",	 "s3:///key",
					   "s3://a b/c", "s3://a\xff/b",
					   "http://a/b", "s3://a/\xff" };
	char *key = calloc(1, S3_MAX_KEY + 16);
	struct s3_url url;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct roar_error err = { 0 };

		assert_int_equal(s3_url_parse(bad[i], &url, &err), -EINVAL);
		assert_true(err.text[0] != '\0');
	}
	strcpy(key, "s3://a/");
	memset(key + 7, 'k', S3_MAX_KEY);
	assert_int_equal(s3_url_parse(key, &url, NULL), 0);
	key[7 + S3_MAX_KEY] = 'k';
	assert_int_equal(s3_url_parse(key, &url, NULL), -EINVAL);
	free(key);
}

/* The address of an object where the configuration has this in [default]. */
static void check(const char *config, bool is_gcs, const char *region,
		  const char *bucket, const char *key, const char *expected)
{
	CLEANUP(aws_config_freep) struct aws_config *c = NULL;
	CLEANUP(s3_endpoint_release) struct s3_endpoint e;
	CLEANUP(str_release) struct str origin = STR_INIT;
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(str_release) struct str text = STR_INIT;

	str_addf(&text, "[default]\n%s\n", config);
	assert_int_equal(aws_config_new(NULL, &c), 0);
	assert_int_equal(
		aws_config_parse(c, "f", text.data, text.len, false, NULL), 0);
	assert_int_equal(s3_endpoint_init(&e, c, is_gcs, NULL), 0);
	s3_endpoint_address(&e, region, bucket, key, &origin, &path);
	str_adds(&origin, str_cstr(&path));
	assert_string_equal(str_cstr(&origin), expected);
}

static void addresses_follow_style_and_region(void **state)
{
	(void)state;
	check("", false, NULL, "bucket", "a b/+%",
	      "https://bucket.s3.us-east-1.amazonaws.com/a%20b/%2B%25");
	check("region=eu-west-1", false, NULL, "my.bucket", "k",
	      "https://s3.eu-west-1.amazonaws.com/my.bucket/k");
	check("region=eu-west-1", false, "cn-north-1", "bucket", "k",
	      "https://bucket.s3.cn-north-1.amazonaws.com.cn/k");
	check("s3 =\n  addressing_style = path", false, NULL, "bucket", "k",
	      "https://s3.us-east-1.amazonaws.com/bucket/k");
	check("endpoint_url = http://[::1]:9000/base/", false, NULL, "Buck_et",
	      "k", "http://[::1]:9000/base/Buck_et/k");
	check("endpoint_url = http://h:1\ns3=\n addressing_style=virtual",
	      false, NULL, "bucket", "k", "http://bucket.h:1/k");
	check("endpoint_url = http://h:1", true, NULL, "bucket", "k",
	      "https://storage.googleapis.com/bucket/k");
	check("", false, NULL, "bucket", "",
	      "https://bucket.s3.us-east-1.amazonaws.com/");
	check("endpoint_url = http://h:1", false, NULL, "bucket", "",
	      "http://h:1/bucket/");
}

static void a_bad_endpoint_or_region_is_named(void **state)
{
	static const char *const bad[] = { "endpoint_url = ftp://a",
					   "endpoint_url = http://u:p@a",
					   "endpoint_url = http://a/?b",
					   "region = a.b/c",
					   "s3=\n  addressing_style = both" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CLEANUP(aws_config_freep) struct aws_config *c = NULL;
		CLEANUP(str_release) struct str text = STR_INIT;
		struct roar_error err = { 0 };
		struct s3_endpoint e;

		str_addf(&text, "[default]\n%s\n", bad[i]);
		assert_int_equal(aws_config_new(NULL, &c), 0);
		assert_int_equal(aws_config_parse(c, "f", text.data, text.len,
						  false, NULL),
				 0);
		assert_int_equal(s3_endpoint_init(&e, c, false, &err), -EINVAL);
		assert_true(err.text[0] != '\0');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_is_what_follows_the_bucket),
		cmocka_unit_test(what_names_no_object_is_refused),
		cmocka_unit_test(addresses_follow_style_and_region),
		cmocka_unit_test(a_bad_endpoint_or_region_is_named),
	};

	(void)unsetenv("AWS_REGION");
	(void)unsetenv("AWS_DEFAULT_REGION");
	(void)unsetenv("AWS_ENDPOINT_URL");
	(void)unsetenv("AWS_ENDPOINT_URL_S3");
	(void)unsetenv("GS_ENDPOINT_URL");
	return cmocka_run_group_tests_name("s3_url", tests, NULL, NULL);
}
