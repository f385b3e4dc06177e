/* control.c - see control.h */
#include "control.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/macros.h"
#include "http/request_target.h"
#include "proxy.h"

struct control {
	struct proxy *proxy;
	struct http_server *server;
	struct listen_socket socket;
};

/* Takes `value`, which is NULL without memory. */
static void reply_json(struct http_exchange *x, unsigned status, json_t *value)
{
	char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;

	json_decref(value);
	if (!text)
		http_reply(x, 500, NULL, "", 0);
	else
		http_reply(x, status, "application/json", text, strlen(text));
	free(text);
}

/* {"NAME": "VALUE"} */
static void reply_member(struct http_exchange *x, unsigned status,
			 const char *name, const char *value)
{
	reply_json(x, status, json_pack("{s:s%}", name, value, strlen(value)));
}

static void reply_error(struct http_exchange *x, unsigned status,
			const char *sentence)
{
	reply_member(x, status, "error", sentence);
}

static struct run *find_run(struct proxy *p, const char *log_path)
{
	LIST_EACH(it, after, &p->runs) {
		struct run *run = container_of(it, struct run, link);

		if (run->log_path && strcmp(run->log_path, log_path) == 0)
			return run;
	}
	return NULL;
}

static size_t count_runs(struct proxy *p)
{
	size_t n = 0;

	LIST_EACH(it, after, &p->runs)
		n++;
	return n;
}

/* ---- requests ---- */

static void open_run(struct proxy *p, struct http_exchange *x, const char *log)
{
	CLEANUP(str_release) struct str url = STR_INIT;
	struct roar_error err = { "out of memory" };
	struct run *run = NULL;
	int r;

	if (log[0] != '/')
		reply_error(x, 400, "the log must be an absolute path");
	else if (p->ends || count_runs(p) >= PROXY_MAX_RUNS)
		reply_error(x, 503, "the proxy takes no more runs");
	else if (find_run(p, log))
		reply_error(x, 409, "the log is in use");
	if (http_reply_has_begun(x))
		return;
	r = run_new(p, log, &run, &err);
	if (r == 0)
		r = run_listen(run, "127.0.0.1:0", -1, &err);
	if (r < 0) {
		if (run)
			run_free(run);
		reply_error(x, 500, err.text);
		return;
	}
	run_add_url(run, &url);
	reply_member(x, 200, "endpoint", str_cstr(&url));
}

/* A client that waits for the end of a run; its exchange is NULL once it has left. */
struct waiting {
	struct http_exchange *exchange;
};

static void on_run_ended(void *ctx, int error)
{
	struct waiting *w = ctx;

	if (w->exchange && error == 0)
		reply_member(w->exchange, 200, "log", "complete");
	else if (w->exchange)
		reply_error(w->exchange, 500, "the log is not complete");
	if (w->exchange)
		w->exchange->data = NULL;
	free(w);
}

static void close_run(struct proxy *p, struct http_exchange *x, const char *log)
{
	struct run *run = find_run(p, log);
	struct waiting *w = run && !run->ends ? calloc(1, sizeof(*w)) : NULL;

	if (!run || run->ends) {
		reply_error(x, 404, "there is no such run");
		return;
	}
	if (!w) {
		reply_error(x, 500, "out of memory");
		return;
	}
	w->exchange = x;
	x->data = w;
	run_end(run, on_run_ended, w);
}

static json_t *pack_run(const struct run *run)
{
	CLEANUP(str_release) struct str url = STR_INIT;

	run_add_url(run, &url);
	return json_pack("{s:s, s:s, s:i}", "endpoint", str_cstr(&url), "log",
			 run->log_path ? run->log_path : "", "open",
			 (int)run->n_open);
}

static void reply_status(struct proxy *p, struct http_exchange *x)
{
	json_t *runs = json_pack("[]");

	LIST_EACH(it, after, &p->runs)
		(void)json_array_append_new(
			runs, pack_run(container_of(it, struct run, link)));
	reply_json(x, 200,
		   json_pack("{s:s, s:s, s:I, s:I, s:i, s:o}", "upstream",
			     p->endpoint.url ? p->endpoint.url : "AWS",
			     "credentials",
			     p->credentials ?
				     credentials_source(p->credentials) :
				     "none",
			     "requests", (json_int_t)p->n_requests, "failed",
			     (json_int_t)p->n_failed, "upstream_connections",
			     (int)http_client_counts(p->client).n_connections,
			     "runs", runs));
}

static void on_request(struct http_exchange *x)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	struct proxy *p = ((struct control *)x->ctx)->proxy;
	const char *method = x->request->method;
	const char *path = http_target_path(&pool, x->request->target);
	const char *log = http_target_query(&pool, x->request->target, "log");

	if (path && !strcmp(path, "/status") && !strcmp(method, "GET"))
		reply_status(p, x);
	else if (!path || strcmp(path, "/runs") != 0)
		reply_error(x, 404, "there is no such path");
	else if (!log || !*log)
		reply_error(x, 400, "the parameter 'log' is missing");
	else if (!strcmp(method, "POST"))
		open_run(p, x, log);
	else if (!strcmp(method, "DELETE"))
		close_run(p, x, log);
	else
		reply_error(x, 405, "use POST or DELETE");
}

static void on_begin(struct http_exchange *x)
{
	(void)x;
}

static void on_closed(struct http_exchange *x)
{
	if (x->data)
		((struct waiting *)x->data)->exchange = NULL;
}

static const struct http_handler HANDLER = { .begin = on_begin,
					     .end = on_request,
					     .closed = on_closed };

/* ---- life ---- */

int control_new(struct proxy *p, const char *path, struct control **ret,
		struct roar_error *err)
{
	CLEANUP(str_release) struct str address = STR_INIT;
	struct control *c = calloc(1, sizeof(*c));
	mode_t mask;
	int r;

	str_addf(&address, "unix:%s", path);
	if (!c || str_error(&address) < 0) {
		free(c);
		return error_set(err, -ENOMEM, "out of memory");
	}
	c->proxy = p;
	mask = umask(0177);
	r = listen_open(address.data, 0, &c->socket, err);
	(void)umask(mask);
	if (r < 0) {
		free(c);
		return r;
	}
	r = http_server_new(p->loop, &HANDLER, c, &HTTP_LIMITS, &c->server);
	if (r == 0)
		r = http_server_listen(c->server, c->socket.fd, NULL);
	*ret = c;
	if (r < 0) {
		(void)error_set(err, r, "cannot listen at '%s': %s", path,
				strerror(-r));
		return r;
	}
	return 0;
}

void control_free(struct control *c)
{
	if (!c)
		return;
	http_server_free(c->server);
	c->socket.fd = -1; /* it was the server's */
	listen_close(&c->socket);
	free(c);
}
