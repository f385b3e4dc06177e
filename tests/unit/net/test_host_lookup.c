/* test_host_lookup.c - names and numbers to addresses, on a loop. */
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "net/host_lookup.h"

struct answer {
	bool came;
	struct sockaddr_storage address;
	size_t n; /* addresses */
	bool failed;
};

static void on_found(void *data, const struct addrinfo *all, const char *why)
{
	struct answer *a = data;

	a->came = true;
	a->failed = !all;
	assert_true(all || why);
	if (all)
		memcpy(&a->address, all->ai_addr, all->ai_addrlen);
	for (; all; all = all->ai_next)
		a->n++;
}

static struct answer ask(const char *host, const char *port)
{
	struct answer a = { 0 };
	struct host_lookup *r = NULL;
	struct loop *loop;

	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(host_lookup_begin(loop, host, port, on_found, &a, &r),
			 0);
	assert_false(a.came); /* not before this returns */
	while (!a.came)
		assert_int_equal(loop_round(loop, 1000), 0);
	host_lookup_end(r);
	loop_free(loop);
	return a;
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

/* As many as the system's own search has. */
static void all_addresses_of_a_name_are_there(void **state)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *all = NULL;
	size_t n = 0;

	(void)state;
	assert_int_equal(getaddrinfo("localhost", "1", &hints, &all), 0);
	for (const struct addrinfo *a = all; a; a = a->ai_next)
		n++;
	freeaddrinfo(all);
	assert_int_equal(ask("localhost", "1").n, n);
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
	struct host_lookup *r = NULL;
	struct loop *loop;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(
		host_lookup_begin(loop, "localhost", "1", on_found, &a, &r), 0);
	host_lookup_end(r);
	assert_int_equal(loop_round(loop, 0), 0);
	assert_false(a.came);
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_is_an_address),
		cmocka_unit_test(a_name_is_asked_for),
		cmocka_unit_test(all_addresses_of_a_name_are_there),
		cmocka_unit_test(what_is_no_port_is_told),
		cmocka_unit_test(who_wants_no_answer_does_not_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
