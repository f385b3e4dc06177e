/* serve.c - from the options to the end of the program; see proxy.h */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <syslog.h>
#include <unistd.h>

#include "base/macros.h"
#include "control.h"
#include "http/url.h"
#include "net/signals.h"
#include "net/tls/tls_client.h"
#include "proxy.h"
#include "s3/aws_config.h"

enum { KEEP_MS = 10000 }; /* an unused connection, which S3 would close soon */

/* ---- the end ---- */

static void on_run_ended(void *ctx, int error)
{
	struct proxy *p = ctx;

	(void)error;
	if (list_empty(&p->runs))
		loop_stop(p->loop);
}

void proxy_stop(struct proxy *p)
{
	p->ends = true;
	LIST_EACH(it, after, &p->runs) {
		struct run *run = container_of(it, struct run, link);

		if (!run->ends)
			run_end(run, on_run_ended, p);
	}
	if (list_empty(&p->runs))
		loop_stop(p->loop);
}

static void on_signal(struct loop_fd *f, uint32_t events)
{
	struct proxy *p = container_of(f, struct proxy, signals);
	int signal = signals_read(f);

	(void)events;
	if ((signal == SIGTERM || signal == SIGINT) && !p->ends)
		proxy_stop(p);
}

/* The parent is gone, or asks for the end. */
static void on_end_fd(struct loop_fd *f, uint32_t events)
{
	struct proxy *p = container_of(f, struct proxy, end);
	char byte;
	ssize_t n = read(f->fd, &byte, 1);

	(void)events;
	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	loop_remove(p->loop, f);
	closep(&f->fd);
	f->fd = -1;
	if (!p->ends)
		proxy_stop(p);
}

/* ---- the beginning ---- */

/* A request may need three descriptors. */
static void raise_fds(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int make_client(struct proxy *p, struct roar_error *err)
{
	struct http_client_limits limits = HTTP_CLIENT_LIMITS;
	int r = tls_client_new(aws_config_env("AWS_CA_BUNDLE"), NULL, NULL,
			       "http/1.1", &p->tls, err);

	limits.max_connections = 1024;
	limits.max_per_origin = 256;
	limits.max_waiting = 16384;
	limits.max_head = 64 << 10;
	limits.keep_ms = KEEP_MS;
	limits.stall_ms = limits.first_byte_ms = p->options->timeout_ms;
	if (r < 0)
		return r;
	r = http_proxies_init(&p->web_proxies);
	if (r == 0)
		r = http_client_new(p->loop, p->tls, &p->web_proxies, &limits,
				    &p->client);
	return r < 0 ? error_set(err, r, "cannot start: %s", strerror(-r)) : 0;
}

/* The upstream of the command line is before that of the configuration. */
static int find_upstream(struct proxy *p, struct roar_error *err)
{
	const struct options *o = p->options;
	struct http_url url;
	int r = s3_endpoint_init(&p->endpoint, p->config, false, err);

	if (r < 0)
		return r;
	if (o->region && !s3_region_is_valid(o->region))
		return error_set(err, -EINVAL,
				 "'%.64s' is not the name of a region such as "
				 "us-east-1",
				 o->region);
	if (o->region)
		(void)snprintf(p->endpoint.region, sizeof(p->endpoint.region),
			       "%s", o->region);
	if (o->upstream) {
		free(p->endpoint.url);
		p->endpoint.url = strdup(o->upstream);
	}
	if (o->upstream && !p->endpoint.url)
		return error_set(err, -ENOMEM, "out of memory");
	if (!p->endpoint.url)
		return 0;
	for (size_t n = strlen(p->endpoint.url);
	     n && p->endpoint.url[n - 1] == '/';)
		p->endpoint.url[--n] = '\0';
	if (!strstr(p->endpoint.url, "://") ||
	    http_url_parse(p->endpoint.url, &url) < 0)
		return error_set(err, -EINVAL,
				 "'%.128s' is not the URL of a server: "
				 "http://HOST:PORT or https://HOST",
				 p->endpoint.url);
	if (url.userinfo)
		return error_set(err, -EINVAL, S3_ENDPOINT_HAS_USER);
	(void)snprintf(p->base_host, sizeof(p->base_host), "%s", url.host);
	return 0;
}

/* Without any, requests that are not anonymous are refused. */
static int find_credentials(struct proxy *p, struct roar_error *err)
{
	int r = credentials_new(p->loop, p->client, p->config, &p->credentials,
				&p->no_credentials);

	if (r == -ENOENT)
		log_lines_add(&p->lines, LOG_WARNING, NULL, "%s",
			      p->no_credentials.text);
	else if (r < 0)
		return error_set(err, r, "%s", p->no_credentials.text);
	return 0;
}

static int make_parts(struct proxy *p, struct roar_error *err)
{
	int r = loop_new(&p->loop);

	if (r == 0)
		r = hash_lane_init(&p->lane, p->loop);
	if (r == 0)
		r = sigv4_new(&p->signer);
	if (r < 0)
		return error_set(err, r, "cannot start: %s", strerror(-r));
	r = aws_config_load(p->options->profile, &p->config, err);
	if (r == 0)
		r = make_client(p, err);
	if (r == 0)
		r = find_upstream(p, err);
	if (r == 0)
		r = find_credentials(p, err);
	if (r == 0)
		r = signals_watch(p->loop, &p->signals, on_signal, err);
	return r;
}

static int watch_end(struct proxy *p, struct roar_error *err)
{
	int fd = p->options->end_fd, r;

	if (fd < 0)
		return 0;
	p->end = (struct loop_fd){ .fd = fd, .ready = on_end_fd };
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	r = loop_add(p->loop, &p->end, EPOLLIN);
	if (r < 0) {
		p->end.fd = -1;
		return error_set(err, r, "cannot wait for descriptor %d: %s",
				 fd, strerror(-r));
	}
	return 0;
}

static int listen_all(struct proxy *p, struct run *run, struct roar_error *err)
{
	const struct options *o = p->options;
	int r = 0;

	for (size_t i = 0; i < o->n_listen && r == 0; i++)
		r = run_listen(run, o->listen[i], -1, err);
	if (r == 0 && o->listen_fd >= 0)
		r = run_listen(run, NULL, o->listen_fd, err);
	if (r == 0 && o->control)
		r = control_new(p, o->control, &p->control, err);
	return r;
}

static int tell_ready(const struct proxy *p, const struct run *run,
		      struct roar_error *err)
{
	CLEANUP(str_release) struct str line = STR_INIT;
	int fd = p->options->ready_fd;

	str_adds(&line, "ready ");
	run_add_url(run, &line);
	str_addc(&line, '\n');
	if (str_error(&line) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	if (fd < 0) {
		(void)fputs(line.data, stdout);
		(void)fflush(stdout);
		return 0;
	}
	if (write(fd, line.data, line.len) != (ssize_t)line.len)
		return error_set(err, -EIO,
				 "cannot write to descriptor %d of --ready-fd",
				 fd);
	(void)close(fd);
	return 0;
}

static int begin(struct proxy *p, struct roar_error *err)
{
	struct run *run = NULL;
	int r = make_parts(p, err);

	if (r == 0)
		r = watch_end(p, err);
	if (r == 0)
		r = run_new(p, p->options->log, &run, err);
	if (r == 0)
		r = listen_all(p, run, err);
	return r < 0 ? r : tell_ready(p, run, err);
}

static void end(struct proxy *p)
{
	control_free(p->control);
	credentials_free(p->credentials);
	http_client_free(p->client);
	hash_lane_release(&p->lane);
	http_proxies_release(&p->web_proxies);
	tls_client_free(p->tls);
	s3_endpoint_release(&p->endpoint);
	aws_config_free(p->config);
	sigv4_free(p->signer);
	map_release(&p->regions);
	pool_release(&p->region_pool);
	object_trees_release(&p->trees);
	peer_processes_release(&p->peers);
	if (p->end.fd >= 0) {
		loop_remove(p->loop, &p->end);
		closep(&p->end.fd);
	}
	if (p->loop)
		signals_unwatch(p->loop, &p->signals);
	loop_free(p->loop);
	log_lines_release(&p->lines);
}

int proxy_serve(const struct options *options, struct roar_error *err)
{
	struct proxy p = {
		.options = options,
		.lines = { .fd = STDERR_FILENO, .level = LOG_INFO },
		.signals.fd = -1,
		.end.fd = -1,
	};
	int r;

	raise_fds();
	list_init(&p.runs);
	list_init(&p.detached);
	object_trees_init(&p.trees);
	peer_processes_init(&p.peers);
	r = begin(&p, err);
	if (r == 0)
		r = loop_run(p.loop);
	/* After a failure to begin, runs end without waiting. */
	LIST_EACH(it, after, &p.runs)
		run_free(container_of(it, struct run, link));
	end(&p);
	return r;
}
