/* wire_echo.c - a server of the methods in echo.h, for clients of other makes.
 *
 *	wire_echo [--tls CERT KEY [--client-ca FILE]] [--max-message BYTES] [--keepalive MS] ADDRESS
 *
 * Prints its port and serves until SIGTERM, which drains it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "echo.h"
#include "net/tls/tls_server.h"

DEFINE_CLEANUP(struct loop *, loop_free)
DEFINE_CLEANUP(struct tls_server *, tls_server_free)
DEFINE_CLEANUP(struct rpc_server *, rpc_server_free)

struct options {
	const char *address;
	const char *cert, *key, *client_ca;
	struct rpc_limits limits;
};

static int parse(int argc, char **argv, struct options *o)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--tls") && i + 2 < argc) {
			o->cert = argv[++i];
			o->key = argv[++i];
		} else if (!strcmp(argv[i], "--client-ca") && i + 1 < argc) {
			o->client_ca = argv[++i];
		} else if (!strcmp(argv[i], "--max-message") && i + 1 < argc) {
			o->limits.max_message = (uint32_t)atoi(argv[++i]);
		} else if (!strcmp(argv[i], "--keepalive") && i + 1 < argc) {
			o->limits.keepalive_ms = atoi(argv[++i]);
			o->limits.keepalive_timeout_ms = o->limits.keepalive_ms;
		} else {
			o->address = argv[i];
		}
	}
	return o->address ? 0 : -1;
}

static struct echo echo;
static bool stopping;

static void on_signal(struct loop_fd *f, uint32_t events)
{
	struct signalfd_siginfo info;

	(void)events;
	(void)!read(f->fd, &info, sizeof(info));
	stopping = true;
	rpc_server_drain(echo.server);
}

static int watch_signals(struct loop *loop, struct loop_fd *f)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	f->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	f->ready = on_signal;
	return loop_add(loop, f, EPOLLIN);
}

int main(int argc, char **argv)
{
	CLEANUP(loop_freep) struct loop *loop = NULL;
	CLEANUP(tls_server_freep) struct tls_server *tls = NULL;
	CLEANUP(rpc_server_freep) struct rpc_server *server = NULL;
	struct options o = { 0 };
	struct loop_fd signals = { 0 };
	struct roar_error err = { 0 };
	uint16_t port = 0;

	if (parse(argc, argv, &o) < 0 || loop_new(&loop) < 0 ||
	    watch_signals(loop, &signals) < 0 ||
	    rpc_server_new(loop, &echo_handler, &echo, &o.limits, &server) < 0)
		return 2;
	if ((o.cert && tls_server_new(o.cert, o.key, o.client_ca, RPC_ALPN,
				      &tls, &err) < 0) ||
	    rpc_server_listen(server, o.address, tls, &port, &err) < 0) {
		fprintf(stderr, "wire_echo: %s\n", err.text);
		return 2;
	}
	echo.server = server;
	printf("%u\n", port);
	fflush(stdout);
	while (!stopping || !rpc_server_drained(server))
		if (loop_round(loop, stopping ? 100 : -1) < 0)
			return 1;
	return 0;
}
