/* test_resolve.c - names and numbers to addresses, on a loop. */
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "etcd/resolve.h"

struct answer {
	bool came;
	struct sockaddr_storage address;
	socklen_t len;
	bool failed;
};

static void on_found(void *data, const struct sockaddr *address, socklen_t len,
		     const char *sentence)
{
	struct answer *a = data;

	a->came = true;
	a->failed = !address;
	assert_true(address || sentence);
	if (address)
		memcpy(&a->address, address, len);
	a->len = len;
}

static struct answer ask_for(const char *host, const char *port,
			     unsigned number)
{
	struct answer a = { 0 };
	struct resolve *r = NULL;
	struct loop *loop;

	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(
		resolve_begin(loop, host, port, number, on_found, &a, &r), 0);
	assert_false(a.came); /* not before this returns */
	while (!a.came)
		assert_int_equal(loop_round(loop, 1000), 0);
	resolve_end(r);
	loop_free(loop);
	return a;
}

static struct answer ask(const char *host, const char *port)
{
	return ask_for(host, port, 0);
}

static void a_number_is_an_address(void **state)
{
	struct answer a = ask("127.0.0.1", "2379");
	const struct sockaddr_in *in = (const struct sockaddr_in *)&a.address;

	(void)state;
	assert_false(a.failed);
	assert_int_equal(in->sin_family, AF_INET);
	assert_int_equal(ntohs(in->sin_port), 2379);
	assert_int_equal(ntohl(in->sin_addr.s_addr), INADDR_LOOPBACK);
	a = ask("::1", "1");
	assert_int_equal(a.address.ss_family, AF_INET6);
}

static void a_name_is_asked_for(void **state)
{
	(void)state;
	assert_false(ask("localhost", "1").failed);
}

/* However many there are. */
static void all_addresses_of_a_name_have_their_turn(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5; i++)
		assert_false(ask_for("localhost", "1", i).failed);
}

static void what_is_no_port_is_told(void **state)
{
	(void)state;
	assert_true(ask("localhost", "no such port").failed);
}

/* The thread that asks finds nobody to tell. */
static void who_wants_no_answer_does_not_wait(void **state)
{
	struct answer a = { 0 };
	struct resolve *r = NULL;
	struct loop *loop;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(
		resolve_begin(loop, "localhost", "1", 0, on_found, &a, &r), 0);
	resolve_end(r);
	assert_int_equal(loop_round(loop, 0), 0);
	assert_false(a.came);
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_is_an_address),
		cmocka_unit_test(a_name_is_asked_for),
		cmocka_unit_test(all_addresses_of_a_name_have_their_turn),
		cmocka_unit_test(what_is_no_port_is_told),
		cmocka_unit_test(who_wants_no_answer_does_not_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
