/* test_address.c - lists of addresses, as people write them. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "alloc_fail.h"
#include "net/address.h"

static const struct address_kind ETCD = {
	.service = "etcd",
	.form = "http://HOST:PORT or https://HOST:PORT",
	.schemes = "http:// ",
	.tls_scheme = "https://",
	.port = "2379",
	.max = 16,
};

static const struct address_kind PEERS = {
	.service = "a peer",
	.form = "HOST:PORT or unix:PATH",
	.schemes = "grpc:// http:// dns:/// ",
	.port = "50051",
	.max = 64,
	.has_unix = true,
};

static struct address_list all;
static struct roar_error err;

static int parse_as(const char *text, const struct address_kind *kind)
{
	address_list_release(&all);
	err.text[0] = '\0';
	return address_list_parse(text, kind, &all, &err);
}

static int parse(const char *text)
{
	return parse_as(text, &ETCD);
}

static void a_list_has_hosts_and_ports(void **state)
{
	(void)state;
	assert_int_equal(parse("http://a:1,http://[::1]:2/,c,https://d"), 0);
	assert_int_equal(all.n, 4);
	assert_false(all.list[0].is_tls);
	assert_true(all.list[3].is_tls);
	assert_string_equal(all.list[3].name, "d:2379");
	assert_string_equal(all.list[0].host, "a");
	assert_string_equal(all.list[0].port, "1");
	assert_string_equal(all.list[1].host, "::1");
	assert_string_equal(all.list[1].name, "[::1]:2");
	assert_string_equal(all.list[2].name, "c:2379");
	address_list_release(&all);
}

static void what_is_no_address_is_named(void **state)
{
	static const char *const wrong[] = {
		"",
		",",
		"http://",
		"http://:1",
		"a:0",
		"a:65536",
		"a:b",
		"::1:2379",
		"[::1",
		"[::1]2",
		"http://a/path",
		"https://",
		"ftp://a:1",
		"http://a:1,,b",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(parse(wrong[i]), -EINVAL);
		assert_non_null(strstr(err.text, "is not an address of etcd"));
	}
}

static void peers_may_have_unix_sockets_and_other_schemes(void **state)
{
	static const char *const wrong[] = {
		"unix:",
		"unix://",
		"https://a:1",
		"grpc://a:1/path",
		"a:b:c",
		"/run/socket",
		("unix:/01234567890123456789012345678901234567890123456789012345678901234567"
		 "890123456789012345678901234567890123456789"),
	};

	(void)state;
	assert_int_equal(parse_as("unix:/run/a,unix:///b,grpc://c,dns:///d:1/",
				  &PEERS),
			 0);
	assert_int_equal(all.n, 4);
	assert_string_equal(all.list[0].path, "/run/a");
	assert_string_equal(all.list[0].name, "unix:/run/a");
	assert_null(all.list[0].host);
	assert_string_equal(all.list[1].path, "/b");
	assert_string_equal(all.list[2].name, "c:50051");
	assert_string_equal(all.list[2].text, "grpc://c");
	assert_string_equal(all.list[3].name, "d:1");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(parse_as(wrong[i], &PEERS), -EINVAL);
	assert_int_equal(parse_as("a:b:c", &PEERS), -EINVAL);
	assert_string_equal(err.text,
			    "'a:b:c' is not an address of a peer: an IPv6 "
			    "address must be in brackets; write HOST:PORT or "
			    "unix:PATH");
}

static void without_memory_nothing_is_left(void **state)
{
	(void)state;
	for (int n = 0;; n++) {
		alloc_fail_after(n);
		int r = parse_as("unix:/a,b:1,http://[::1]", &PEERS);
		alloc_fail_never();
		if (r == 0)
			break;
		assert_int_equal(r, -ENOMEM);
	}
	address_list_release(&all);
}

static void very_many_are_refused(void **state)
{
	(void)state;
	assert_int_equal(parse("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p"), 0);
	assert_int_equal(parse("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q"), -EINVAL);
	address_list_release(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_has_hosts_and_ports),
		cmocka_unit_test(what_is_no_address_is_named),
		cmocka_unit_test(peers_may_have_unix_sockets_and_other_schemes),
		cmocka_unit_test(without_memory_nothing_is_left),
		cmocka_unit_test(very_many_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
