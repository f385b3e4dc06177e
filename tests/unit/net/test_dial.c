/* test_dial.c - connections to servers that are there, dead, silent or others. */
#include "net/dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "certificate.h"
#include "net/tls/tls_client.h"
#include "test.h"

enum { MAX_SERVERS = 3, ROUND_MS = 20, MAX_ROUNDS = 500 };

static const struct address_kind KIND = {
	.service = "a server",
	.form = "HOST:PORT",
	.schemes = "http:// ",
	.tls_scheme = "https://",
	.port = "1",
	.max = 8,
	.has_unix = true,
};

struct caller {
	struct dial dial;
	struct loop *loop;
	struct address_list addresses;
	int listeners[MAX_SERVERS];
	unsigned ports[MAX_SERVERS];
	unsigned n_opened, n_failed, n_rounds;
	bool was_up; /* the last one that failed */
	char first_why[256];
};

static void on_opened(struct dial *d)
{
	((struct caller *)d)->n_opened++;
}

static void on_ready(struct dial *d)
{
	char bytes[16];

	if (dial_read(d, bytes, sizeof(bytes)) > 0)
		dial_good(d);
}

static void on_failed(struct dial *d, bool was_up)
{
	struct caller *c = (struct caller *)d;

	assert_int_equal(d->state, DIAL_DOWN);
	if (!c->n_failed++)
		(void)snprintf(c->first_why, sizeof(c->first_why), "%s",
			       dial_why(d));
	c->n_rounds += dial_round_is_over(d);
	c->was_up = was_up;
}

static const struct dial_user USER = { on_opened, on_ready, on_failed };

/* A port of 127.0.0.1; without `alive` nobody listens there. */
static void add_server(struct caller *c, int i, bool alive)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	if (alive)
		assert_int_equal(listen(fd, 8), 0);
	c->listeners[i] = fd; /* a dead one keeps its port from others */
	c->ports[i] = ntohs(a.sin_port);
}

static void open_caller(struct caller *c, const char *addresses,
			struct dial_options options)
{
	struct roar_error err = { 0 };

	assert_int_equal(loop_new(&c->loop), 0);
	assert_int_equal(
		address_list_parse(addresses, &KIND, &c->addresses, &err), 0);
	options.addresses = &c->addresses;
	if (!options.connect_ms)
		options.connect_ms = 5000;
	if (!options.greet_ms)
		options.greet_ms = 5000;
	options.pause_max_ms = 50;
	assert_int_equal(dial_open(&c->dial, c->loop, &options, &USER), 0);
	assert_int_equal(c->dial.state, DIAL_DOWN); /* not before the loop */
}

static void close_caller(struct caller *c)
{
	dial_close(&c->dial);
	loop_free(c->loop);
	address_list_release(&c->addresses);
	for (int i = 0; i < MAX_SERVERS; i++)
		if (c->listeners[i] > 0)
			(void)close(c->listeners[i]);
}

#define TURN_UNTIL(c, condition)                                              \
	do {                                                                  \
		for (int n_ = 0; !(condition); n_++) {                        \
			assert_true(n_ < MAX_ROUNDS);                         \
			assert_int_equal(loop_round((c)->loop, ROUND_MS), 0); \
		}                                                             \
	} while (0)

static int accept_at(const struct caller *c, int i)
{
	int fd = accept(c->listeners[i], NULL, NULL);

	assert_true(fd >= 0);
	return fd;
}

static void a_dead_address_is_passed_over(void **state)
{
	struct caller c = { 0 };
	char list[64];

	(void)state;
	add_server(&c, 0, false);
	add_server(&c, 1, true);
	(void)snprintf(list, sizeof(list), "127.0.0.1:%u,127.0.0.1:%u",
		       c.ports[0], c.ports[1]);
	open_caller(&c, list, (struct dial_options){ 0 });
	TURN_UNTIL(&c, c.n_opened);
	assert_int_equal(c.dial.state, DIAL_GREETING);
	assert_int_equal(c.dial.address, 1);
	assert_int_equal(c.n_failed, 1);
	assert_int_equal(c.n_rounds, 0);
	assert_string_equal(c.first_why, "Connection refused; is the server "
					 "running there?");
	close_caller(&c);
}

/* "localhost" has addresses of both families, of which one may be dead. */
static void all_addresses_of_a_name_are_tried(void **state)
{
	struct caller c = { 0 };
	char list[64];

	(void)state;
	add_server(&c, 0, true);
	(void)snprintf(list, sizeof(list), "localhost:%u", c.ports[0]);
	open_caller(&c, list, (struct dial_options){ 0 });
	TURN_UNTIL(&c, c.n_opened);
	assert_int_equal(c.n_rounds, 0);
	close_caller(&c);
}

static void a_name_that_is_not_there_is_quoted(void **state)
{
	struct caller c = { 0 };

	(void)state;
	open_caller(&c, "no.such.host.invalid:1", (struct dial_options){ 0 });
	TURN_UNTIL(&c, c.n_failed);
	assert_non_null(strstr(c.first_why,
			       "cannot find its host 'no.such.host.invalid'"));
	assert_int_equal(c.n_rounds, 1);
	close_caller(&c);
}

static void after_a_round_in_vain_comes_the_next(void **state)
{
	struct caller c = { 0 };
	char list[64];

	(void)state;
	add_server(&c, 0, false);
	add_server(&c, 1, false);
	(void)snprintf(list, sizeof(list), "127.0.0.1:%u,127.0.0.1:%u",
		       c.ports[0], c.ports[1]);
	open_caller(&c, list, (struct dial_options){ 0 });
	TURN_UNTIL(&c, c.n_failed == 6);
	assert_int_equal(c.n_rounds, 3);
	assert_int_equal(listen(c.listeners[1], 8), 0);
	TURN_UNTIL(&c, c.n_opened);
	close_caller(&c);
}

/* The kernel of a half-open server accepts; nobody ever speaks. */
static void a_server_that_does_not_answer_is_left(void **state)
{
	struct caller c = { 0 };
	char list[64];

	(void)state;
	add_server(&c, 0, true);
	add_server(&c, 1, true);
	(void)snprintf(list, sizeof(list), "127.0.0.1:%u,127.0.0.1:%u",
		       c.ports[0], c.ports[1]);
	open_caller(&c, list, (struct dial_options){ .greet_ms = 50 });
	TURN_UNTIL(&c, c.n_opened == 2);
	assert_int_equal(c.dial.address, 1);
	assert_string_equal(c.first_why, "no answer within 50 ms");
	assert_false(c.was_up);
	close_caller(&c);
}

static void make_good(struct caller *c, int i)
{
	int fd;

	TURN_UNTIL(c, c->n_opened);
	fd = accept_at(c, i);
	assert_int_equal(send(fd, "hello", 5, 0), 5);
	TURN_UNTIL(c, c->dial.state == DIAL_UP);
	assert_int_equal(close(fd), 0);
	TURN_UNTIL(c, c->n_failed);
	assert_true(c->was_up);
	assert_string_equal(c->first_why, "the server ended the connection");
}

static void a_good_connection_is_made_again(void **state)
{
	struct caller c = { 0 };
	char list[64];

	(void)state;
	add_server(&c, 0, true);
	add_server(&c, 1, true);
	(void)snprintf(list, sizeof(list), "127.0.0.1:%u,127.0.0.1:%u",
		       c.ports[0], c.ports[1]);
	open_caller(&c, list, (struct dial_options){ 0 });
	make_good(&c, 0);
	TURN_UNTIL(&c, c.n_opened == 2);
	assert_int_equal(c.dial.address, 0);
	close_caller(&c);
}

static void who_roams_goes_on_to_the_next(void **state)
{
	struct caller c = { 0 };
	char list[64];

	(void)state;
	add_server(&c, 0, true);
	add_server(&c, 1, true);
	(void)snprintf(list, sizeof(list), "127.0.0.1:%u,127.0.0.1:%u",
		       c.ports[0], c.ports[1]);
	open_caller(&c, list, (struct dial_options){ .roams = true });
	make_good(&c, 0);
	assert_int_equal(c.n_rounds, 0);
	TURN_UNTIL(&c, c.n_opened == 2);
	assert_int_equal(c.dial.address, 1);
	close_caller(&c);
}

static void a_move_goes_where_it_is_told(void **state)
{
	struct caller c = { 0 };
	char list[64];

	(void)state;
	add_server(&c, 0, true);
	add_server(&c, 1, true);
	(void)snprintf(list, sizeof(list), "127.0.0.1:%u,127.0.0.1:%u",
		       c.ports[0], c.ports[1]);
	open_caller(&c, list, (struct dial_options){ 0 });
	TURN_UNTIL(&c, c.n_opened);
	dial_move(&c.dial, 1, 0, "the other one leads");
	assert_string_equal(c.first_why, "the other one leads");
	TURN_UNTIL(&c, c.n_opened == 2);
	assert_int_equal(c.dial.address, 1);
	close_caller(&c);
}

static void what_speaks_no_tls_is_told(void **state)
{
	struct certificate certificate;
	struct dial_options options = { 0 };
	struct roar_error err = { 0 };
	struct caller c = { 0 };
	char list[64];
	int fd;

	(void)state;
	certificate_make(&certificate, "localhost");
	assert_int_equal(tls_client_new(certificate.cert, NULL, NULL, "h2",
					&options.tls, &err),
			 0);
	add_server(&c, 0, true);
	(void)snprintf(list, sizeof(list), "https://127.0.0.1:%u", c.ports[0]);
	open_caller(&c, list, options);
	TURN_UNTIL(&c, c.dial.state == DIAL_SECURING);
	fd = accept_at(&c, 0);
	assert_true(send(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28, 0) > 0);
	TURN_UNTIL(&c, c.n_failed == 1);
	assert_non_null(strstr(c.first_why, "TLS with it failed: "));
	assert_int_equal(c.n_opened, 0);
	assert_int_equal(close(fd), 0);
	close_caller(&c);
	tls_client_free(options.tls);
	certificate_remove(&certificate);
}

static void closing_ends_a_lookup(void **state)
{
	struct caller c = { 0 };

	(void)state;
	open_caller(&c, "localhost:1", (struct dial_options){ 0 });
	TURN_UNTIL(&c, c.dial.state == DIAL_RESOLVING);
	close_caller(&c);
	assert_int_equal(c.n_failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dead_address_is_passed_over),
		cmocka_unit_test(all_addresses_of_a_name_are_tried),
		cmocka_unit_test(a_name_that_is_not_there_is_quoted),
		cmocka_unit_test(after_a_round_in_vain_comes_the_next),
		cmocka_unit_test(a_server_that_does_not_answer_is_left),
		cmocka_unit_test(a_good_connection_is_made_again),
		cmocka_unit_test(who_roams_goes_on_to_the_next),
		cmocka_unit_test(a_move_goes_where_it_is_told),
		cmocka_unit_test(what_speaks_no_tls_is_told),
		cmocka_unit_test(closing_ends_a_lookup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
