/* http_relay.c - what a proxy made of our HTTP server and client costs.
 *
 * usage: http_relay [SECONDS]
 *
 * Three processes on loopback: an origin, the relay in the middle (tests/unit/http/relay.h),
 * and a client with a few connections.  Prints for each kind of request how many a second
 * went through, and how much CPU time of the relay each took. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/listen.h"
#include "relay.h"

enum { MAX_BODY = 64 << 20 };

static char bytes[MAX_BODY];

static void check(int r, const char *what)
{
	if (r >= 0)
		return;
	(void)fprintf(stderr, "http_relay: %s: %s\n", what, strerror(-r));
	exit(1);
}

/* ---- the origin ---- */

static void origin_begin(struct http_exchange *x)
{
	http_exchange_set_max_body(x, MAX_BODY);
}

static void origin_body(struct http_exchange *x, const char *data, size_t len)
{
	(void)x;
	(void)data;
	(void)len;
}

/* "/N" gets N bytes, in pieces that the client takes. */
static void send_more(struct http_exchange *x)
{
	size_t left = (size_t)x->data;
	size_t n = left < 256 << 10 ? left : 256 << 10;

	x->data = (void *)(left - n);
	(void)http_reply_write(x, bytes, n);
	if (left == n)
		http_reply_end(x);
}

static void origin_end(struct http_exchange *x)
{
	bool is_get = strcmp(x->request->method, "GET") == 0;

	x->data = (void *)strtoul(x->request->target + 1, NULL, 10);
	http_reply_begin(x, 200, is_get ? (int64_t)(size_t)x->data : 0);
	if (is_get)
		send_more(x);
	else
		http_reply_end(x);
}

static const struct http_handler ORIGIN = { .begin = origin_begin,
					    .body = origin_body,
					    .end = origin_end,
					    .drained = send_more };

/* ---- processes ---- */

/* Serves for ever; returns in the parent, with the address. */
static pid_t serve(const char *origin, char *ret_origin)
{
	struct listen_socket socket;
	struct http_server *server;
	struct roar_error err;
	struct loop *loop;
	pid_t pid;

	check(listen_open("127.0.0.1:0", 10000, &socket, &err), "listen");
	(void)sprintf(ret_origin, "http://127.0.0.1:%u", socket.port);
	pid = fork();
	if (pid != 0) {
		(void)close(socket.fd);
		return pid;
	}
	struct relay relay = { .origin = origin };

	check(loop_new(&loop), "loop");
	check(http_client_new(loop, NULL, NULL, &HTTP_CLIENT_LIMITS,
			      &relay.client),
	      "client");
	check(http_server_new(loop, origin ? &relay_handler : &ORIGIN, &relay,
			      &HTTP_LIMITS, &server),
	      "server");
	check(http_server_listen(server, socket.fd, NULL), "listen");
	check(loop_run(loop), "loop");
	exit(0);
}

static double cpu_s(pid_t pid)
{
	clockid_t clock;
	struct timespec t;

	if (clock_getcpuclockid(pid, &clock) != 0 ||
	    clock_gettime(clock, &t) < 0)
		return 0;
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- load ---- */

struct load {
	struct http_client *client;
	struct http_call_request request;
	uint64_t n_done;
	unsigned n_under_way;
	bool ends;
};

static void begin_call(struct load *l);

static void on_end(struct http_call *c, int error, const char *sentence)
{
	struct load *l = c->data;

	if (error || c->reply->status != 200) {
		(void)fprintf(stderr, "http_relay: %s\n",
			      error ? sentence : "not 200");
		exit(1);
	}
	l->n_done++;
	l->n_under_way--;
	if (!l->ends)
		begin_call(l);
}

static const struct http_call_events EVENTS = { .end = on_end };

static void begin_call(struct load *l)
{
	struct http_call *call;

	check(http_call_begin(l->client, &l->request, &EVENTS, l, &call),
	      "call");
	l->n_under_way++;
}

static void measure(const char *name, const char *origin, pid_t pid,
		    const char *method, size_t size, unsigned n_connections,
		    double seconds)
{
	struct load l = { .request = { .method = method, .origin = origin } };
	char target[32];
	struct loop *loop;
	int64_t begin;
	double cpu, took;

	(void)snprintf(target, sizeof(target), "/%zu", size);
	l.request.target = target;
	if (strcmp(method, "PUT") == 0) {
		l.request.body = bytes;
		l.request.length = (int64_t)size;
	}
	check(loop_new(&loop), "loop");
	check(http_client_new(loop, NULL, NULL, &HTTP_CLIENT_LIMITS, &l.client),
	      "client");
	begin = clock_mono_ns();
	cpu = cpu_s(pid);
	while (l.n_under_way < n_connections)
		begin_call(&l);
	while (l.n_under_way) {
		check(loop_round(loop, -1), "loop");
		l.ends = (double)(clock_mono_ns() - begin) / 1e9 > seconds;
	}
	took = (double)(clock_mono_ns() - begin) / 1e9;
	cpu = cpu_s(pid) - cpu;
	(void)printf("%-8s %-4s %9zu bytes %2u calls  %8.0f requests/s "
		     "%7.0f MB/s  %7.1f us CPU each\n",
		     name, method, size, n_connections, (double)l.n_done / took,
		     (double)l.n_done * (double)size / took / 1e6,
		     cpu * 1e6 / (double)l.n_done);
	http_client_free(l.client);
	loop_free(loop);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *method;
		size_t size;
		unsigned n_connections;
	} rows[] = {
		{ "GET", 1, 8 },	{ "PUT", 1, 8 },
		{ "GET", 64 << 10, 1 }, { "PUT", 64 << 10, 1 },
		{ "GET", 64 << 10, 8 }, { "PUT", 64 << 10, 8 },
		{ "GET", 64 << 20, 4 }, { "PUT", 64 << 20, 4 },
	};
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	char origin[64], proxy[64];
	pid_t origin_pid = serve(NULL, origin);
	pid_t proxy_pid = serve(origin, proxy);

	memset(bytes, 'a', sizeof(bytes));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		measure("direct", origin, origin_pid, rows[i].method,
			rows[i].size, rows[i].n_connections, seconds);
		measure("relay", proxy, proxy_pid, rows[i].method, rows[i].size,
			rows[i].n_connections, seconds);
	}
	(void)kill(origin_pid, SIGTERM);
	(void)kill(proxy_pid, SIGTERM);
	while (wait(NULL) > 0)
		;
	return 0;
}
