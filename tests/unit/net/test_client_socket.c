/* test_client_socket.c - sockets that connect. */
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>

#include "base/cleanup.h"
#include "net/client_socket.h"

/* A socket at a port of its own on 127.0.0.1. */
static int bind_socket(struct sockaddr_in *ret)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*ret);

	*ret = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	assert_int_equal(bind(fd, (struct sockaddr *)ret, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)ret, &len), 0);
	return fd;
}

static int wait_for_result(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	assert_int_equal(poll(&p, 1, 10000), 1);
	return client_socket_result(fd);
}

static void a_listening_port_is_connected_to(void **state)
{
	struct sockaddr_in address;
	CLEANUP(closep) int server = bind_socket(&address);
	CLEANUP(closep) int fd = -1;

	(void)state;
	assert_int_equal(listen(server, 1), 0);
	fd = client_socket_open((struct sockaddr *)&address, sizeof(address));
	assert_true(fd >= 0);
	assert_int_equal(wait_for_result(fd), 0);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static void a_port_without_a_server_refuses(void **state)
{
	struct sockaddr_in address;
	CLEANUP(closep) int bound = bind_socket(&address);
	CLEANUP(closep) int fd = -1;

	(void)state;
	assert_true(bound >= 0); /* it does not listen */
	fd = client_socket_open((struct sockaddr *)&address, sizeof(address));
	assert_int_equal(fd < 0 ? fd : wait_for_result(fd), -ECONNREFUSED);
}

static void a_socket_connected_to_itself_is_refused(void **state)
{
	struct sockaddr_in address;
	CLEANUP(closep) int fd = bind_socket(&address);

	(void)state;
	assert_int_equal(
		connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(wait_for_result(fd), -ECONNREFUSED);
}

static void a_socket_that_is_not_connected_yet_is_early(void **state)
{
	struct sockaddr_in address;
	CLEANUP(closep) int fd = bind_socket(&address);

	(void)state;
	assert_int_equal(client_socket_result(fd), -EAGAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_listening_port_is_connected_to),
		cmocka_unit_test(a_port_without_a_server_refuses),
		cmocka_unit_test(a_socket_connected_to_itself_is_refused),
		cmocka_unit_test(a_socket_that_is_not_connected_yet_is_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
