/* test_listen.c - addresses that can be listened at, and those that cannot. */
#include "net/listen.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "test.h"

static int option(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

static void a_free_port_is_taken(void **state)
{
	struct listen_socket a = { .fd = -1 };
	struct listen_socket b = { .fd = -1 };
	struct roar_error err = { 0 };
	char address[64];

	(void)state;
	assert_int_equal(listen_open("127.0.0.1:0", 40000, &a, &err), 0);
	assert_true(a.port > 0);
	assert_int_equal(option(a.fd, IPPROTO_TCP, TCP_NODELAY), 1);
	assert_int_equal(option(a.fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 40000);

	(void)snprintf(address, sizeof(address), "127.0.0.1:%u", a.port);
	assert_int_equal(listen_open(address, 40000, &b, &err), -EADDRINUSE);
	assert_non_null(strstr(err.text, address));
	assert_int_equal(b.fd, -1);
	listen_close(&a);
	assert_int_equal(a.fd, -1);
}

static void assert_reached_by_ipv4(const char *address)
{
	struct listen_socket l = { .fd = -1 };
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(listen_open(address, 1000, &l, NULL), 0);
	to.sin_port = htons(l.port);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	close(fd);
	listen_close(&l);
}

static void names_and_any_address_are_reached_by_ipv4(void **state)
{
	(void)state;
	assert_reached_by_ipv4(":0");
	assert_reached_by_ipv4("localhost:0");
	assert_reached_by_ipv4("0.0.0.0:0");
}

static void an_address_of_ipv6_stands_in_brackets(void **state)
{
	struct listen_socket l = { .fd = -1 };
	int r = listen_open("[::1]:0", 1000, &l, NULL);

	(void)state;
	if (r == -EADDRNOTAVAIL || r == -EAFNOSUPPORT)
		skip(); /* this machine has no IPv6 */
	assert_int_equal(r, 0);
	assert_true(l.port > 0);
	listen_close(&l);
}

static void what_is_no_address_is_said_to_be_none(void **state)
{
	static const char *const bad[] = { "",	      "50051",	 "127.0.0.1",
					   "host:",   "host:x",	 "host:70000",
					   "::1:500", "host:-1", "1:2:3" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct listen_socket l = { .fd = -1 };
		struct roar_error err = { 0 };

		assert_int_equal(listen_open(bad[i], 1000, &l, &err), -EINVAL);
		assert_non_null(strstr(err.text, "is not an address"));
	}
}

/* A path in a folder of its own. */
static void make_path(char *ret, size_t len)
{
	char folder[] = "/tmp/roar-listen-XXXXXX";

	assert_non_null(mkdtemp(folder));
	(void)snprintf(ret, len, "unix:%s/s", folder);
}

static void remove_folder(char *address)
{
	*strrchr(address, '/') = '\0';
	assert_int_equal(rmdir(address + 5), 0);
}

static void a_unix_socket_goes_with_its_server(void **state)
{
	struct listen_socket a = { .fd = -1 };
	struct listen_socket b = { .fd = -1 };
	char address[64];

	(void)state;
	make_path(address, sizeof(address));
	assert_int_equal(listen_open(address, 1000, &a, NULL), 0);
	assert_int_equal(a.port, 0);
	assert_int_equal(listen_open(address, 1000, &b, NULL), -EADDRINUSE);
	listen_close(&a);
	assert_int_equal(access(address + 5, F_OK), -1);
	remove_folder(address);
}

static void a_leftover_of_a_killed_server_is_replaced(void **state)
{
	struct listen_socket a = { .fd = -1 };
	struct listen_socket b = { .fd = -1 };
	char address[64];

	(void)state;
	make_path(address, sizeof(address));
	assert_int_equal(listen_open(address, 1000, &a, NULL), 0);
	close(a.fd); /* as kill -9 does */
	a.fd = -1;
	assert_int_equal(listen_open(address, 1000, &b, NULL), 0);
	listen_close(&b);
	free(a.path);
	remove_folder(address);
}

static void a_path_that_is_anothers_by_now_stays(void **state)
{
	struct listen_socket a = { .fd = -1 };
	struct listen_socket b = { .fd = -1 };
	char address[64];
	char aside[128];

	(void)state;
	make_path(address, sizeof(address));
	(void)snprintf(aside, sizeof(aside), "%s-aside", address + 5);
	assert_int_equal(listen_open(address, 1000, &a, NULL), 0);
	assert_int_equal(rename(address + 5, aside), 0);
	assert_int_equal(listen_open(address, 1000, &b, NULL), 0);
	listen_close(&a);
	assert_int_equal(access(address + 5, F_OK), 0);
	listen_close(&b);
	assert_int_equal(unlink(aside), 0);
	remove_folder(address);
}

static void another_file_is_never_replaced(void **state)
{
	struct listen_socket l = { .fd = -1 };
	struct roar_error err = { 0 };
	char address[64];

	(void)state;
	make_path(address, sizeof(address));

	FILE *f = fopen(address + 5, "we");

	assert_non_null(f);
	fclose(f);
	assert_int_equal(listen_open(address, 1000, &l, &err), -EADDRINUSE);
	assert_int_equal(unlink(address + 5), 0);
	remove_folder(address);
}

static void a_path_that_is_too_long_is_refused(void **state)
{
	struct listen_socket l = { .fd = -1 };
	struct roar_error err = { 0 };
	char address[200] = "unix:/";

	(void)state;
	memset(address + 6, 'x', sizeof(address) - 7);
	assert_int_equal(listen_open(address, 1000, &l, &err), -ENAMETOOLONG);
	assert_int_equal(listen_open("unix:", 1000, &l, &err), -ENAMETOOLONG);
	assert_non_null(strstr(err.text, "107 bytes"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_free_port_is_taken),
		cmocka_unit_test(names_and_any_address_are_reached_by_ipv4),
		cmocka_unit_test(an_address_of_ipv6_stands_in_brackets),
		cmocka_unit_test(what_is_no_address_is_said_to_be_none),
		cmocka_unit_test(a_unix_socket_goes_with_its_server),
		cmocka_unit_test(a_leftover_of_a_killed_server_is_replaced),
		cmocka_unit_test(a_path_that_is_anothers_by_now_stays),
		cmocka_unit_test(another_file_is_never_replaced),
		cmocka_unit_test(a_path_that_is_too_long_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
