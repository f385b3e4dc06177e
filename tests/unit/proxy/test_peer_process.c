/* Connections of a child are found to be its own. */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "peer_process.h"

static pid_t find(struct peer_processes *p, int fd)
{
	struct peer_identity peer;

	assert_int_equal(peer_identity_get(p, fd, &peer), 0);
	assert_int_equal(peer.uid, geteuid());
	return peer_process_find(p, &peer);
}

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un local;
};

static void fill(int family, union address *a, socklen_t *len)
{
	memset(a, 0, sizeof(*a));
	a->any.sa_family = (sa_family_t)family;
	if (family == AF_INET) {
		a->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		*len = sizeof(a->v4);
	} else if (family == AF_INET6) {
		a->v6.sin6_addr = in6addr_loopback;
		*len = sizeof(a->v6);
	} else {
		*len = sizeof(sa_family_t); /* the kernel picks a name */
	}
}

/* Connects, then waits for the end of `hold`. */
static pid_t start_client(const union address *a, socklen_t len, int hold[2])
{
	pid_t pid = fork();
	char byte;
	int fd;

	if (pid != 0)
		return pid;
	(void)close(hold[1]);
	fd = socket(a->any.sa_family, SOCK_STREAM, 0);
	if (connect(fd, &a->any, len) < 0)
		_exit(1);
	(void)!read(hold[0], &byte, 1);
	_exit(0);
}

static void check_family(int family)
{
	struct peer_processes p;
	union address a;
	socklen_t len;
	int hold[2], listener = socket(family, SOCK_STREAM, 0), fd;
	pid_t pid;

	fill(family, &a, &len);
	if (bind(listener, &a.any, len) < 0)
		skip(); /* a kernel without IPv6 */
	assert_int_equal(listen(listener, 4), 0);
	len = sizeof(a);
	assert_int_equal(getsockname(listener, &a.any, &len), 0);
	assert_int_equal(pipe(hold), 0);
	peer_processes_init(&p);
	/* Twice: the second search begins with the process that was found. */
	for (int i = 0; i < 2; i++) {
		pid = start_client(&a, len, hold);
		assert_true(pid > 0);
		fd = accept(listener, NULL, NULL);
		assert_int_equal(find(&p, fd), pid);
		assert_int_equal(find(&p, fd), pid);
		(void)close(fd);
	}
	(void)close(hold[1]);
	(void)close(hold[0]);
	while (wait(NULL) > 0)
		;
	(void)close(listener);
	peer_processes_release(&p);
}

/* The oldest of many sockets is the last that a search meets; then the others are known. */
static void many_connections_of_one_client_are_found(void **state)
{
	enum { N = 100 };
	struct peer_processes p;
	union address a;
	socklen_t len;
	int listener = socket(AF_INET, SOCK_STREAM, 0), hold[2], fds[N];
	pid_t pid;

	(void)state;
	fill(AF_INET, &a, &len);
	assert_int_equal(bind(listener, &a.any, len), 0);
	assert_int_equal(listen(listener, N), 0);
	assert_int_equal(getsockname(listener, &a.any, &len), 0);
	assert_int_equal(pipe(hold), 0);
	pid = fork();
	if (pid == 0) {
		char byte;

		(void)close(hold[1]);
		for (int i = 0; i < N; i++)
			if (connect(socket(AF_INET, SOCK_STREAM, 0), &a.any,
				    len) < 0)
				_exit(1);
		(void)!read(hold[0], &byte, 1);
		_exit(0);
	}
	peer_processes_init(&p);
	for (int i = 0; i < N; i++)
		fds[i] = accept(listener, NULL, NULL);
	for (int i = 0; i < N; i++) {
		assert_int_equal(find(&p, fds[i]), pid);
		(void)close(fds[i]);
	}
	assert_non_null(p.sockets);
	(void)close(hold[1]);
	(void)close(hold[0]);
	(void)waitpid(pid, NULL, 0);
	(void)close(listener);
	peer_processes_release(&p);
}

static void a_client_by_ipv4_is_found(void **state)
{
	(void)state;
	check_family(AF_INET);
}

static void a_client_by_ipv6_is_found(void **state)
{
	(void)state;
	check_family(AF_INET6);
}

static void a_client_by_a_unix_socket_is_found(void **state)
{
	(void)state;
	check_family(AF_UNIX);
}

static void what_is_not_a_connection_has_no_process(void **state)
{
	struct peer_processes p;
	struct peer_identity peer;
	int fds[2];

	(void)state;
	peer_processes_init(&p);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(peer_identity_get(&p, fds[0], &peer), -ENOENT);
	(void)close(fds[0]);
	(void)close(fds[1]);
	peer_processes_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_connections_of_one_client_are_found),
		cmocka_unit_test(a_client_by_ipv4_is_found),
		cmocka_unit_test(a_client_by_ipv6_is_found),
		cmocka_unit_test(a_client_by_a_unix_socket_is_found),
		cmocka_unit_test(what_is_not_a_connection_has_no_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
