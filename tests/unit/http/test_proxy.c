/* URLs and the environment variables of proxies. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http/proxy.h"
#include "http/url.h"
#include "test.h"

static void urls_have_parts(void **state)
{
	struct http_url u;

	(void)state;
	assert_int_equal(http_url_parse("https://s3.example", &u), 0);
	assert_true(u.is_tls);
	assert_string_equal(u.host, "s3.example");
	assert_string_equal(u.port, "443");
	assert_string_equal(u.target, "");
	assert_null(u.userinfo);
	assert_true(http_url_is_default_port(&u));
	assert_int_equal(http_url_parse("HTTP://a:b@c@[::1]:8080/d?e:/@f", &u),
			 0);
	assert_false(u.is_tls);
	assert_string_equal(u.host, "::1");
	assert_string_equal(u.port, "8080");
	assert_string_equal(u.target, "/d?e:/@f");
	assert_memory_equal(u.userinfo, "a:b@c", u.userinfo_len);
	assert_int_equal(u.userinfo_len, 5);
	assert_false(http_url_is_default_port(&u));
	assert_int_equal(http_url_parse("proxy:3128", &u), 0);
	assert_string_equal(u.host, "proxy");
	assert_string_equal(u.port, "3128");
}

static void other_texts_are_no_urls(void **state)
{
	static const char *const bad[] = {
		"",
		"http://",
		"ftp://a",
		"http://a:b",
		"http://a:0",
		"http://:80",
		"http://a:65536",
		"http://a:99999999",
		"http://a:",
		"http://[::1",
		"http://[::1]x",
		"http://a b",
		"http://a\n",
		"http://a:1:2",
		"socks5://a",
		"http://a\\b",
		"http://[]",
		"http://\xc3\xa4",
	};
	struct http_url u;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (http_url_parse(bad[i], &u) != -EINVAL)
			fail_msg("'%s'", bad[i]);
}

static void clear_environment(void)
{
	static const char *const names[] = { "http_proxy",  "HTTP_PROXY",
					     "https_proxy", "HTTPS_PROXY",
					     "all_proxy",   "ALL_PROXY",
					     "no_proxy",    "NO_PROXY" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unsetenv(names[i]);
}

static void check(bool is_tls, const char *host, const char *expected)
{
	struct http_proxies p;
	const char *found;

	assert_int_equal(http_proxies_init(&p), 0);
	found = http_proxies_find(&p, is_tls, host);
	if (expected)
		assert_string_equal(found, expected);
	else
		assert_null(found);
	http_proxies_release(&p);
}

static void variables_are_those_of_curl(void **state)
{
	(void)state;
	clear_environment();
	check(false, "a", NULL);
	(void)setenv("HTTP_PROXY", "http://upper", 1);
	check(false, "a", NULL); /* it may be a field of somebody's request */
	(void)setenv("HTTPS_PROXY", "http://upper", 1);
	check(true, "a", "http://upper");
	(void)setenv("https_proxy", "http://lower", 1);
	check(true, "a", "http://lower");
	check(false, "a", NULL);
	(void)setenv("ALL_PROXY", "http://all", 1);
	check(false, "a", "http://all");
	check(true, "a", "http://lower");
	(void)setenv("http_proxy", "http://plain", 1);
	check(false, "a", "http://plain");
	(void)setenv("https_proxy", "", 1);
	(void)setenv("HTTPS_PROXY", "", 1);
	check(true, "a", "http://all");
	clear_environment();
}

static void no_proxy_names_hosts(void **state)
{
	static const struct {
		const char *list, *host;
		bool is_direct;
	} cases[] = {
		{ "example.com", "example.com", true },
		{ "example.com", "EXAMPLE.com", true },
		{ "example.com", "www.example.com", true },
		{ ".example.com", "www.example.com", true },
		{ ".example.com", "example.com", true },
		{ "example.com.", "example.com", true },
		{ "example.com", "example.com.", true },
		{ "example.com", "badexample.com", false },
		{ "example.com", "example.org", false },
		{ "www.example.com", "example.com", false },
		{ "a, b,c", "c", true },
		{ "a, b,c", "b", true },
		{ ",, ,", "b", false },
		{ "*", "b", true },
		{ "127.0.0.1", "127.0.0.1", true },
		{ "0.1", "10.0.0.1", false },
		{ "10.0.0.0/8", "10.1.2.3", true },
		{ "10.0.0.0/8", "11.1.2.3", false },
		{ "192.168.0.0/15", "192.169.1.1", true },
		{ "192.168.0.0/15", "192.170.1.1", false },
		{ "0.0.0.0/0", "192.170.1.1", true },
		{ "10.0.0.0/33", "10.0.0.0", false },
		{ "10.0.0.0/", "10.0.0.0", false },
		{ "10.0.0.0/8x", "10.0.0.0", false },
		{ "[::1]", "::1", true },
		{ "::1", "0:0:0:0:0:0:0:1", true },
		{ "fd00::/8", "fd12::1", true },
		{ "fd00::/8", "fe12::1", false },
		{ "fd00::/8", "10.0.0.1", false },
	};

	(void)state;
	clear_environment();
	(void)setenv("http_proxy", "http://p", 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)setenv("NO_PROXY", cases[i].list, 1);
		check(false, cases[i].host,
		      cases[i].is_direct ? NULL : "http://p");
	}
	(void)setenv("no_proxy", "x", 1);
	(void)setenv("NO_PROXY", "y", 1);
	check(false, "y", "http://p");
	clear_environment();
}

static void credentials_are_decoded_and_encoded(void **state)
{
	static const struct {
		const char *url, *expected;
	} cases[] = {
		{ "http://Aladdin:open%20sesame@p",
		  "QWxhZGRpbjpvcGVuIHNlc2FtZQ==" },
		{ "http://a:b@p", "YTpi" },
		{ "http://a@p", "YTo=" },
		{ "http://a:%ff%@p", "YTr/JQ==" },
		{ "http://%41:b%4@p", "QTpiJTQ=" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(str_release) struct str out = STR_INIT;
		struct http_url u;

		assert_int_equal(http_url_parse(cases[i].url, &u), 0);
		http_proxy_add_credentials(&u, &out);
		assert_string_equal(str_cstr(&out), cases[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urls_have_parts),
		cmocka_unit_test(other_texts_are_no_urls),
		cmocka_unit_test(variables_are_those_of_curl),
		cmocka_unit_test(no_proxy_names_hosts),
		cmocka_unit_test(credentials_are_decoded_and_encoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
