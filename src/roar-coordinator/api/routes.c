/* routes.c - what is where over HTTP, and who may see it. */
#include "server.h"

#include <string.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/quote.h"
#include "http/allowed_hosts.h"
#include "http/static_files.h"

/* web/embed.py writes the table, which is empty where the dashboard was not built. */
extern const struct static_file dashboard_files[];
extern const size_t dashboard_n_files;

void api_error(struct http_reply *reply, unsigned status, const char *sentence)
{
	struct json j;

	str_clear(&reply->body);
	j = json_writer(&reply->body, false);
	reply->status = status;
	json_put_object(&j);
	json_put_key(&j, "error");
	json_put_string(&j, sentence);
	json_end(&j);
	str_addc(&reply->body, '\n');
}

/* ---- for probes: without a token ---- */

static void say_status(struct http_reply *reply, bool good, const char *why)
{
	if (good)
		str_adds(&reply->body, "{\"status\":\"ok\"}\n");
	else
		api_error(reply, 503, why);
}

static void answer_healthz(struct server *s, const struct scope *scope,
			   const struct http_request *request,
			   struct http_reply *reply)
{
	(void)scope;
	(void)request;
	say_status(reply, !s->failure, "the log cannot be written");
}

/* What only who leads knows. */
static void answer_standby(struct server *s, struct http_reply *reply)
{
	CLEANUP(str_release) struct str sentence = STR_INIT;

	leadership_sentence(s, &sentence);
	api_error(reply, 503, str_cstr(&sentence));
}

static void answer_readyz(struct server *s, const struct scope *scope,
			  const struct http_request *request,
			  struct http_reply *reply)
{
	(void)scope;
	(void)request;
	if (!s->failure && !s->stopping && !leadership_serves(s)) {
		answer_standby(s, reply);
		return;
	}
	/* With etcd only a change shows that there is room again, so nobody is sent away. */
	say_status(reply,
		   !s->failure && !s->stopping &&
			   (!s->disk_full || s->leadership),
		   s->failure  ? "the log cannot be written" :
		   s->stopping ? "the coordinator is stopping" :
				 "the disk is full and changes are refused: "
				 "make room in the data directory");
}

/* ---- with one ---- */

static void answer_metrics(struct server *s, const struct scope *scope,
			   const struct http_request *request,
			   struct http_reply *reply)
{
	(void)request;
	if (!scope->admin) {
		api_error(reply, 403,
			  "this requires the administrator's token");
		return;
	}
	reply->type = "text/plain; version=0.0.4; charset=utf-8";
	metrics_write(s, &reply->body);
}

/* The stream needs the scope for longer than this call. */
static void answer_events(struct server *s, const struct scope *scope,
			  const struct http_request *request,
			  struct http_reply *reply)
{
	struct scope *own = NULL;

	(void)scope;
	if (access_check(&s->access, request->authorization,
			 http_request_query(request, "job"),
			 &own) == ACCESS_GRANTED)
		live_open(s, own, reply);
	else
		api_error(reply, 503, "out of memory");
}

/* Each route has a function for the whole reply, or one that writes a JSON value. */
static const struct {
	const char *path;
	bool is_free;
	bool is_for_probes; /* which know us by any name */
	route_fn *answer;
	api_part *write;
	route_fn *post; /* NULL: it is only looked at */
} routes[] = {
	{ "/healthz", true, .answer = answer_healthz },
	{ "/readyz", true, .answer = answer_readyz },
	{ "/metrics", .is_for_probes = true, .answer = answer_metrics },
	{ "/api/health", true, .answer = api_health },
	{ "/api/status", .answer = api_status },
	{ "/api/workers", .answer = api_workers },
	{ "/api/checkpoints", .answer = api_checkpoints },
	{ "/api/logs", .answer = api_logs },
	{ "/api/dashboard", .answer = api_dashboard },
	{ "/api/events", .answer = answer_events },
	{ "/api/barriers", .write = api_write_barriers },
	{ "/api/datasets", .write = api_write_datasets },
	{ "/api/metrics", .write = api_write_metrics },
	{ "/api/tasks", .write = api_write_tasks, .post = api_task_new },
	/* Any path below it, see find(). */
	{ "/api/tasks/", .answer = api_task, .post = api_task },
};

static void write_value(struct server *s, const struct scope *scope,
			api_part *write, struct http_reply *reply)
{
	struct json j = json_writer(&reply->body, false);

	write(s, scope, &j);
	str_addc(&reply->body, '\n');
}

static unsigned status_of(enum access_verdict verdict)
{
	return verdict == ACCESS_UNKNOWN ? 401 :
	       verdict == ACCESS_DENIED	 ? 403 :
	       verdict == ACCESS_INVALID ? 400 :
					   503;
}

/* The client may see this route. */
static void fill_reply(struct server *s, size_t i, const struct scope *scope,
		       const struct http_request *request,
		       struct http_reply *reply)
{
	/* Figures of the process are those of a standby, too. */
	if (routes[i].answer != answer_metrics && !leadership_serves(s))
		answer_standby(s, reply);
	else if (request->is_post)
		routes[i].post(s, scope, request, reply);
	else if (routes[i].write)
		write_value(s, scope, routes[i].write, reply);
	else
		routes[i].answer(s, scope, request, reply);
}

/* See allowed_hosts.h. */
static bool is_allowed_host(const struct options *o, const char *host)
{
	if (allowed_host_is_own(host) || allowed_host_is_among(host, o->http) ||
	    allowed_host_is_among(host, o->advertise) ||
	    allowed_host_is_among(host, o->http_names))
		return true;
	for (size_t i = 0; i < o->n_listen; i++)
		if (allowed_host_is_among(host, o->listen[i]))
			return true;
	return false;
}

static void refuse_host(const struct http_request *request,
			struct http_reply *reply)
{
	CLEANUP(str_release) struct str sentence = STR_INIT;

	str_adds(&sentence, "this server does not answer to the host name '");
	quote_printable_cut(&sentence, request->host, 100);
	str_adds(&sentence, "': use its address, or start it with "
			    "--http-names");
	api_error(reply, 403, str_cstr(&sentence));
}

/* A token for one job may name that job, and no other. */
static void answer_route(struct server *s, size_t i,
			 const struct http_request *request,
			 struct http_reply *reply)
{
	enum access_verdict verdict;
	struct scope *scope = NULL;

	if (request->is_post && !routes[i].post) {
		api_error(reply, 405, "this path is read-only: use GET");
		return;
	}
	if (routes[i].is_free) {
		routes[i].answer(s, NULL, request, reply);
		return;
	}
	if (!s->access.path && !routes[i].is_for_probes &&
	    !is_allowed_host(s->options, request->host)) {
		refuse_host(request, reply);
		return;
	}
	verdict = access_check(&s->access, request->authorization,
			       http_request_query(request, "job"), &scope);
	if (verdict != ACCESS_GRANTED) {
		api_error(reply, status_of(verdict), access_sentence(verdict));
		return;
	}
	fill_reply(s, i, scope, request, reply);
	access_done(&s->access, scope);
}

/* -1: there is none. */
static int find(const char *path)
{
	if (api_task_is(path))
		path = "/api/tasks/";
	else if (strcmp(path, "/api/tasks/") == 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(routes); i++)
		if (strcmp(routes[i].path, path) == 0)
			return (int)i;
	return -1;
}

void routes_answer(void *ctx, const struct http_request *request,
		   struct http_reply *reply)
{
	int i = find(request->path);

	if (i >= 0)
		answer_route(ctx, (size_t)i, request, reply);
	else if (request->is_post)
		api_error(reply, 405, "this path is read-only: use GET");
	else if (static_files_answer(dashboard_files, dashboard_n_files,
				     request, reply))
		return;
	else if (strcmp(request->path, "/") == 0)
		api_error(reply, 404,
			  "this program was built without the dashboard's page, "
			  "which needs npm; /api/dashboard has its figures");
	else
		api_error(reply, 404, "there is no such page");
}
