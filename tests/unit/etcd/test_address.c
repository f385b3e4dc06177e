/* test_address.c - where etcd is, as people write it. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "etcd/address.h"

static struct etcd_addresses all;
static struct roar_error err;

static int parse(const char *text)
{
	etcd_addresses_release(&all);
	err.text[0] = '\0';
	return etcd_addresses_parse(text, &all, &err);
}

static void a_list_has_hosts_and_ports(void **state)
{
	(void)state;
	assert_int_equal(parse("http://a:1,http://[::1]:2/,c,https://d"), 0);
	assert_int_equal(all.n, 4);
	assert_false(all.list[0].is_tls);
	assert_true(all.list[3].is_tls);
	assert_string_equal(all.list[3].text, "d:2379");
	assert_string_equal(all.list[0].host, "a");
	assert_string_equal(all.list[0].port, "1");
	assert_string_equal(all.list[1].host, "::1");
	assert_string_equal(all.list[1].text, "[::1]:2");
	assert_string_equal(all.list[2].text, "c:2379");
	etcd_addresses_release(&all);
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
		assert_non_null(strstr(err.text, "is no address of etcd"));
	}
}

static void very_many_are_refused(void **state)
{
	(void)state;
	assert_int_equal(parse("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p"), 0);
	assert_int_equal(parse("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q"), -EINVAL);
	etcd_addresses_release(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_has_hosts_and_ports),
		cmocka_unit_test(what_is_no_address_is_named),
		cmocka_unit_test(very_many_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
