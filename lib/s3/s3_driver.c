/* s3_driver.c - see s3_driver.h */
#include "s3/s3_driver.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "base/pool.h"
#include "http/http_client.h"
#include "http/proxy.h"
#include "http/url.h"
#include "net/loop.h"
#include "net/tls/tls_client.h"
#include "s3/aws_config.h"
#include "s3/credentials.h"

enum { TICK_MS = 100, MAX_REDIRECTS = 10 };

struct s3_driver {
	struct loop *loop;
	struct aws_config *config;
	struct tls_client *tls; /* NULL: there is none, and `tls_error` says why */
	struct roar_error tls_error;
	struct http_proxies proxies;
	struct http_client *http;
	struct credentials *credentials[2]; /* of s3:// and gs:// */
	struct s3_client *clients[2];
	struct s3_client *plain;
};

/* ---- life ---- */

static int make_http(struct s3_driver *d, unsigned max_connections)
{
	struct http_client_limits limits = HTTP_CLIENT_LIMITS;
	int r = http_proxies_init(&d->proxies);

	limits.max_per_origin = max_connections;
	limits.max_connections = 2 * max_connections;
	limits.max_waiting = 4096;
	if (r < 0)
		return r;
	/* Without TLS there is still http. */
	if (tls_client_new(aws_config_env("AWS_CA_BUNDLE"), NULL, NULL,
			   "http/1.1", &d->tls, &d->tls_error) < 0)
		d->tls = NULL;
	return http_client_new(d->loop, d->tls, &d->proxies, &limits, &d->http);
}

int s3_driver_new(unsigned max_connections, struct s3_driver **ret,
		  struct roar_error *err)
{
	CLEANUP(s3_driver_freep) struct s3_driver *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return error_set(err, -ENOMEM, "out of memory");
	r = loop_new(&d->loop);
	if (r == 0)
		r = make_http(d, max_connections);
	if (r < 0)
		return error_set(err, r, "cannot use the network: %s",
				 strerror(-r));
	r = aws_config_load(NULL, &d->config, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(d);
	return 0;
}

void s3_driver_free(struct s3_driver *d)
{
	if (!d)
		return;
	s3_client_free(d->clients[0]);
	s3_client_free(d->clients[1]);
	s3_client_free(d->plain);
	credentials_free(d->credentials[0]);
	credentials_free(d->credentials[1]);
	http_client_free(d->http);
	http_proxies_release(&d->proxies);
	tls_client_free(d->tls);
	aws_config_free(d->config);
	loop_free(d->loop);
	free(d);
}

struct loop *s3_driver_loop(struct s3_driver *d)
{
	return d->loop;
}

/* ---- clients ---- */

static int make_credentials(struct s3_driver *d, bool is_gcs,
			    struct roar_error *err)
{
	const struct sigv4_credentials keys = {
		.key_id = aws_config_env("GS_ACCESS_KEY_ID"),
		.secret = aws_config_env("GS_SECRET_ACCESS_KEY"),
	};
	int r;

	if (!is_gcs || !keys.key_id || !keys.secret)
		return credentials_new(d->loop, d->http, d->config,
				       &d->credentials[is_gcs], err);
	r = credentials_new_static(&keys, &d->credentials[is_gcs]);
	if (r < 0)
		return error_set(err, r,
				 "GS_ACCESS_KEY_ID or GS_SECRET_ACCESS_KEY "
				 "cannot be a key: %s",
				 strerror(-r));
	return 0;
}

int s3_driver_client(struct s3_driver *d, bool is_gcs, struct s3_client **ret,
		     struct roar_error *err)
{
	struct s3_client_options options = { .loop = d->loop,
					     .http = d->http,
					     .config = d->config,
					     .is_gcs = is_gcs };
	int r = 0;

	if (d->clients[is_gcs]) {
		*ret = d->clients[is_gcs];
		return 0;
	}
	if (!d->credentials[is_gcs])
		r = make_credentials(d, is_gcs, err);
	if (r < 0)
		return r;
	options.credentials = d->credentials[is_gcs];
	r = s3_client_new(&options, &d->clients[is_gcs], err);
	if (r == 0)
		*ret = d->clients[is_gcs];
	return r;
}

int s3_driver_plain_client(struct s3_driver *d, struct s3_client **ret,
			   struct roar_error *err)
{
	const struct s3_client_options options = { .loop = d->loop,
						   .http = d->http,
						   .config = d->config };
	int r = d->plain ? 0 : s3_client_new(&options, &d->plain, err);

	if (r == 0)
		*ret = d->plain;
	return r;
}

/* ---- waiting ---- */

int s3_driver_run(struct s3_driver *d, const bool *done,
		  const volatile int *stop, void (*tick)(void *data),
		  void *data)
{
	int64_t next_ms = loop_now_ms(d->loop) + TICK_MS;

	while (!*done) {
		int r = loop_round(d->loop, TICK_MS);

		if (stop && *stop)
			return -EINTR;
		if (r < 0 && r != -EINTR)
			return r;
		if (!tick || loop_now_ms(d->loop) < next_ms)
			continue;
		tick(data);
		next_ms = loop_now_ms(d->loop) + TICK_MS;
	}
	return 0;
}

/* ---- lists ---- */

struct listing {
	struct pool pool; /* of this page */
	struct s3_list page;
	bool done;
	int result;
	struct roar_error *err;
};

static void end_page(void *data, const struct s3_reply *reply)
{
	struct listing *l = data;

	l->done = true;
	if (reply->error) {
		l->result = error_set(l->err, reply->error, "%s",
				      reply->sentence);
		return;
	}
	l->result = s3_xml_list(reply->body, reply->len, &l->pool, &l->page);
	if (l->result < 0)
		(void)error_set(l->err, l->result,
				"the server's list of objects is malformed");
}

static int give_page(struct listing *l, size_t *n, size_t max,
		     int (*fn)(void *data, const struct s3_object *object),
		     void *data)
{
	for (size_t i = 0; i < l->page.n_objects; i++) {
		int r;

		if (++*n > max)
			return error_set(l->err, -EFBIG,
					 "there are more than %zu objects",
					 max);
		r = fn(data, &l->page.objects[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

int s3_driver_list(struct s3_driver *d, struct s3_client *client,
		   const char *bucket, const char *prefix, size_t max,
		   int (*fn)(void *data, const struct s3_object *object),
		   void *data, struct roar_error *err)
{
	static const struct s3_call_events events = { .end = end_page };
	CLEANUP(str_release) struct str next = STR_INIT;
	size_t n = 0;
	bool more = true;
	int r = 0;

	while (more && r == 0) {
		struct listing l = { .page = { .next = "" }, .err = err };
		struct s3_call *call = NULL;
		const struct s3_operation op = { .client = client,
						 .bucket = bucket,
						 .key = "",
						 .events = &events,
						 .data = &l,
						 .ret = &call };

		r = s3_list_page(&op, prefix, next.len ? next.data : NULL);
		if (r == 0)
			r = s3_driver_run(d, &l.done, NULL, NULL, NULL);
		if (r == 0)
			r = l.result;
		if (r == 0)
			r = give_page(&l, &n, max, fn, data);
		more = l.page.is_truncated && *l.page.next;
		str_clear(&next);
		str_adds(&next, l.page.next);
		s3_list_release(&l.page);
		pool_release(&l.pool);
	}
	return r;
}

/* ---- facts ---- */

struct question {
	struct s3_facts *facts;
	struct s3_call *call;
	bool done;
	int result;
	unsigned status;
	char *location; /* of a redirect */
	struct roar_error *err;
};

static void copy_field(const struct http_head *head, const char *name,
		       char *ret, size_t size)
{
	const char *value = http_head_get(head, name);

	if (value && strlen(value) < size)
		(void)snprintf(ret, size, "%s", value);
}

static void read_facts(const struct http_head *head, struct s3_facts *f)
{
	const char *range = http_head_get(head, "Content-Range");
	const char *total = range ? strrchr(range, '/') : NULL;
	const char *accepts = http_head_get(head, "Accept-Ranges");
	const char *length = http_head_get(head, "Content-Length");

	s3_head_etag(head, f->etag, sizeof(f->etag));
	copy_field(head, S3_BLAKE3_FIELD, f->blake3, sizeof(f->blake3));
	copy_field(head, "x-amz-version-id", f->version, sizeof(f->version));
	/* The reply to HEAD has the length of a body that does not come. */
	f->size_bytes = -1;
	if (head->status == 206)
		length = total ? total + 1 : NULL;
	if (length)
		(void)number_parse(length, 0, INT64_MAX, &f->size_bytes);
	f->has_ranges = head->status == 206 ||
			(accepts && !strcasecmp(accepts, "bytes"));
}

static void end_question(void *data, const struct s3_reply *reply)
{
	struct question *q = data;
	const char *location;

	q->done = true;
	q->call = NULL;
	q->status = reply->status;
	q->result = reply->error;
	location = reply->head ? http_head_get(reply->head, "Location") : NULL;
	if (location)
		q->location = strdup(location);
	if (reply->error)
		(void)error_set(q->err, reply->error, "%s", reply->sentence);
	else if (reply->head)
		read_facts(reply->head, q->facts);
}

int s3_driver_stat(struct s3_driver *d, struct s3_client *client,
		   const char *bucket, const char *key, struct s3_facts *ret,
		   struct roar_error *err)
{
	static const struct s3_call_events events = { .end = end_question };
	struct question q = { .facts = ret, .err = err };
	const struct s3_operation op = { .client = client,
					 .bucket = bucket,
					 .key = key,
					 .events = &events,
					 .data = &q,
					 .ret = &q.call };
	int r;

	*ret = (struct s3_facts){ .size_bytes = -1 };
	r = s3_head(&op);
	if (r == 0)
		r = s3_driver_run(d, &q.done, NULL, NULL, NULL);
	free(q.location);
	ret->has_ranges = true;
	if (r < 0)
		s3_call_cancel(q.call);
	return r < 0 ? r : q.result;
}

/* ---- URLs ---- */

/* The first piece is enough of a server without ranges, which sends all of it. */
static void stop_body(void *data, const char *bytes, size_t len)
{
	struct question *q = data;

	(void)bytes;
	(void)len;
	q->done = q->status != 206;
}

static void take_head(void *data, const struct http_head *head)
{
	struct question *q = data;

	q->status = head->status;
	read_facts(head, q->facts);
}

static int ask_url(struct s3_driver *d, struct s3_client *client,
		   const char *url, struct question *q)
{
	static const struct s3_call_events events = { .head = take_head,
						      .body = stop_body,
						      .end = end_question };
	/* Not by `to`: a server that ignores it would be taken for one that lies. */
	static const struct http_field range = { "Range", "bytes=0-0" };
	int r;

	r = s3_call_begin(client,
			  &(struct s3_call_request){ .method = "GET",
						     .url = url,
						     .fields = &range,
						     .n_fields = 1,
						     .to = -1 },
			  &events, q, &q->call);
	if (r == 0)
		r = s3_driver_run(d, &q->done, NULL, NULL, NULL);
	s3_call_cancel(q->call);
	q->call = NULL;
	return r < 0 ? r : q->result;
}

/* A redirect may have a whole URL or a path.  One from https to http is refused: the content
 * would not be protected any more. */
static int follow(const char *url, const char *location, char **ret,
		  struct roar_error *err)
{
	struct http_url from;
	int r;

	if (http_url_parse(url, &from) < 0)
		return -EINVAL;
	if (location[0] == '/' && location[1] != '/')
		r = asprintf(ret, "%.*s%s",
			     (int)(strlen(url) - strlen(from.target)), url,
			     location);
	else if (!strncasecmp(location, "https://", 8) ||
		 (!from.is_tls && !strncasecmp(location, "http://", 7)))
		r = asprintf(ret, "%s", location);
	else
		return error_set(err, -EPROTO,
				 "'%.200s' redirects to something other than "
				 "https",
				 url);
	return r < 0 ? -ENOMEM : 0;
}

int s3_driver_stat_url(struct s3_driver *d, const char *url,
		       struct s3_facts *ret, struct roar_error *err)
{
	CLEANUP(freep) char *current = strdup(url);
	struct s3_client *client = NULL;
	int r = s3_driver_plain_client(d, &client, err);

	if (r < 0 || !current)
		return r < 0 ? r : -ENOMEM;
	for (unsigned i = 0; i < MAX_REDIRECTS; i++) {
		struct question q = { .facts = ret, .err = err };
		char *next = NULL;

		*ret = (struct s3_facts){ .size_bytes = -1 };
		r = ask_url(d, client, current, &q);
		if (q.status == 416) { /* an empty one has no first byte */
			ret->size_bytes = 0;
			r = 0;
		}
		if (r == 0) {
			free(q.location);
			ret->url = TAKE_PTR(current);
			return 0;
		}
		if (q.status < 300 || q.status > 399 || !q.location) {
			free(q.location);
			return r;
		}
		r = follow(current, q.location, &next, err);
		free(q.location);
		if (r < 0)
			return r;
		free(current);
		current = next;
	}
	return error_set(err, -ELOOP, "'%.200s' redirects too often", url);
}
