/* run.c - listeners and the object log that they belong to; see proxy.h
 *
 *	run_new() ──▶ run_listen() … requests … run_end() ──▶ run_free()
 *	                                           └─ n_open == 0, or the grace is over
 *
 * After run_end() new requests are refused.  The log gets its end line when no request is
 * open: those that are open after the grace were recorded as unfinished before it. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>

#include "base/macros.h"
#include "proxy.h"

enum { DEAD_MS = 60000 }; /* a client that acknowledges nothing */

static const struct http_limits LIMITS = {
	.max_connections = 8192,
	.max_head = 64 << 10,
	.max_body = 0, /* each passage sets its own */
	.max_unsent_each = 4 << 20,
	.max_unsent = 512 << 20,
	.first_ms = 60000,
	.idle_ms = 120000,
	.stall_ms = 60000,
};

void run_free(struct run *run)
{
	struct proxy *p = run->proxy;
	void (*ended)(void *ctx, int error) = run->ended;
	void *ctx = run->ctx;
	int r = 0;

	/* Requests that are still open write their lines now. */
	http_server_free(run->server);
	passage_end_detached(run);
	loop_timer_clear(p->loop, &run->grace);
	loop_later_clear(p->loop, &run->later);
	for (size_t i = 0; i < run->n_sockets; i++) {
		run->sockets[i].fd = -1; /* it was the server's */
		listen_close(&run->sockets[i]);
	}
	if (run->log)
		r = object_log_end(run->log);
	if (r < 0)
		log_lines_add(&p->lines, LOG_ERR, NULL,
			      "object log '%s' is not complete: %s",
			      run->log_path, strerror(-r));
	object_log_close(run->log);
	list_remove(&run->link);
	free(run->log_path);
	free(run);
	if (ended)
		ended(ctx, r);
}

static void on_grace(struct loop_timer *t)
{
	run_free(container_of(t, struct run, grace));
}

static void on_later(struct loop_later *l)
{
	struct run *run = container_of(l, struct run, later);

	if (run->ends && run->n_open == 0)
		run_free(run);
}

void run_release_one(struct run *run)
{
	run->n_open--;
	if (run->ends && run->n_open == 0)
		loop_later(run->proxy->loop, &run->later);
}

void run_end(struct run *run, void (*ended)(void *ctx, int error), void *ctx)
{
	struct loop *loop = run->proxy->loop;

	run->ends = true;
	run->ended = ended;
	run->ctx = ctx;
	if (run->n_open == 0 ||
	    loop_timer_set(loop, &run->grace,
			   loop_now_ms(loop) + PROXY_GRACE_MS) < 0)
		loop_later(loop, &run->later);
}

static int open_log(struct run *run, const char *path, struct roar_error *err)
{
	int r;

	run->log_path = strdup(path);
	if (!run->log_path)
		return error_set(err, -ENOMEM, "out of memory");
	r = object_log_open(AT_FDCWD, path, &run->log);
	if (r < 0)
		return error_set(err, r, "cannot write object log '%s': %s",
				 path, strerror(-r));
	return 0;
}

int run_new(struct proxy *p, const char *log_path, struct run **ret,
	    struct roar_error *err)
{
	struct run *run = calloc(1, sizeof(*run));
	int r = -ENOMEM;

	if (!run)
		return error_set(err, r, "out of memory");
	run->proxy = p;
	run->grace.due = on_grace;
	run->later.call = on_later;
	list_init(&run->link);
	r = http_server_new(p->loop, &passage_handler, run, &LIMITS,
			    &run->server);
	if (r < 0)
		(void)error_set(err, r, "out of memory");
	else if (log_path)
		r = open_log(run, log_path, err);
	if (r < 0) {
		http_server_free(run->server);
		free(run->log_path);
		free(run);
		return r;
	}
	list_add(&p->runs, &run->link);
	*ret = run;
	return 0;
}

/* A socket that was passed on: its port, for the URL. */
static int adopt_socket(int fd, struct listen_socket *ret,
			struct roar_error *err)
{
	struct sockaddr_storage a = { 0 };
	socklen_t len = sizeof(a);

	if (getsockname(fd, (struct sockaddr *)&a, &len) < 0 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return error_set(err, -errno,
				 "descriptor %d of --listen-fd is not a "
				 "socket: %s",
				 fd, strerror(errno));
	*ret = (struct listen_socket){ .fd = fd };
	if (a.ss_family == AF_INET)
		ret->port = ntohs(((struct sockaddr_in *)&a)->sin_port);
	else if (a.ss_family == AF_INET6)
		ret->port = ntohs(((struct sockaddr_in6 *)&a)->sin6_port);
	return 0;
}

int run_listen(struct run *run, const char *address, int fd,
	       struct roar_error *err)
{
	struct listen_socket *socket = &run->sockets[run->n_sockets];
	int r = address ? listen_open(address, DEAD_MS, socket, err) :
			  adopt_socket(fd, socket, err);

	if (r < 0)
		return r;
	r = http_server_listen(run->server, socket->fd, NULL);
	if (r < 0) {
		listen_close(socket);
		return error_set(err, r, "cannot listen: %s", strerror(-r));
	}
	run->n_sockets++;
	return 0;
}

/* The address that clients connect to: of the socket itself, for "localhost" may be either. */
static void add_socket_url(const struct listen_socket *socket, struct str *out)
{
	struct sockaddr_storage a = { 0 };
	socklen_t len = sizeof(a);
	char text[INET6_ADDRSTRLEN] = "127.0.0.1";

	(void)getsockname(socket->fd, (struct sockaddr *)&a, &len);
	if (a.ss_family == AF_INET6) {
		const struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&a;

		(void)inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
		str_addf(out, "http://[%s]:%u", text, socket->port);
	} else {
		const struct sockaddr_in *v4 = (struct sockaddr_in *)&a;

		(void)inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
		str_addf(out, "http://%s:%u", text, socket->port);
	}
}

void run_add_url(const struct run *run, struct str *out)
{
	for (size_t i = 0; i < run->n_sockets; i++) {
		if (i)
			str_addc(out, ' ');
		if (run->sockets[i].path)
			str_addf(out, "unix:%s", run->sockets[i].path);
		else
			add_socket_url(&run->sockets[i], out);
	}
}
