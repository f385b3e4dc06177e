/* upstream.c - where a request goes, its fields and its signature; see proxy.h */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/macros.h"
#include "proxy.h"
#include "s3/s3_xml.h"

enum { MAX_REGIONS = 4096, MAX_OWN_FIELDS = 8 };

/* ---- regions ---- */

const char *upstream_region(const struct passage *p)
{
	const struct proxy *proxy = p->run->proxy;
	const char *known = map_get(&proxy->regions, p->q.bucket,
				    strlen(p->q.bucket));

	if (p->region)
		return p->region;
	if (known)
		return known;
	if (p->q.claim.region[0] && !proxy->options->region)
		return p->q.claim.region;
	return proxy->endpoint.region;
}

int upstream_learn(struct proxy *p, const char *bucket, const char *region)
{
	char *name, *value;

	if (strlen(region) >= SIGV4_MAX_REGION || !region[0])
		return -EINVAL;
	if (p->regions.count >= MAX_REGIONS) {
		map_release(&p->regions);
		pool_release(&p->region_pool);
		p->regions = MAP_INIT;
		p->region_pool = POOL_INIT;
	}
	name = pool_strdup(&p->region_pool, bucket);
	value = pool_strdup(&p->region_pool, region);
	if (!name || !value)
		return -ENOMEM;
	return map_set(&p->regions, name, strlen(name), value);
}

void upstream_check_expired(struct passage *p)
{
	struct s3_error error;

	if (p->kept.len &&
	    s3_xml_error(str_cstr(&p->kept), p->kept.len, &p->pool, &error) ==
		    0 &&
	    strcmp(error.code, "ExpiredToken") == 0)
		credentials_expire(p->run->proxy->credentials);
}

/* ---- fields ---- */

/* Fields of one connection, of the client's signature, and those that are written anew. */
static bool is_replaced(const struct http_head *head, const char *name,
			bool is_signed, bool has_options)
{
	static const char *const always[] = {
		"Host",	   "Connection",       "Keep-Alive",
		"TE",	   "Trailer",	       "Transfer-Encoding",
		"Upgrade", "Proxy-Connection", "Proxy-Authorization",
		"Expect",  "Content-Length",   "x-amz-decoded-content-length",
	};
	static const char *const of_signature[] = {
		"Authorization",	"Date",
		"x-amz-date",		"x-amz-security-token",
		"x-amz-content-sha256", "x-amz-region-set",
	};

	for (size_t i = 0; i < ARRAY_SIZE(always); i++)
		if (strcasecmp(always[i], name) == 0)
			return true;
	for (size_t i = 0; is_signed && i < ARRAY_SIZE(of_signature); i++)
		if (strcasecmp(of_signature[i], name) == 0)
			return true;
	return has_options && http_head_lists(head, "Connection", name);
}

static bool is_to_be_signed(const char *name)
{
	return strncasecmp(name, "x-amz-", 6) == 0 ||
	       strcasecmp(name, "host") == 0 ||
	       strcasecmp(name, "content-type") == 0 ||
	       strcasecmp(name, "content-md5") == 0;
}

struct fields {
	struct http_field *list;
	size_t n;
};

static void add_field(struct fields *f, const char *name, const char *value)
{
	f->list[f->n++] = (struct http_field){ name, value };
}

static const char *time_text(struct proxy *p)
{
	int64_t now_s = loop_wall_ms(p->loop) / 1000;

	if (now_s != p->time_s) {
		p->time_s = now_s;
		sigv4_time_format(now_s, p->time);
	}
	return p->time;
}

static const char *payload_text(const struct passage *p,
				const struct http_head *head)
{
	if (p->q.payload == S3_PAYLOAD_NONE)
		return SIGV4_UNSIGNED;
	if (p->q.payload == S3_PAYLOAD_SHA256)
		return http_head_get(head, "x-amz-content-sha256");
	return s3_payload_name(p->q.payload);
}

/* Those of the client that stay, and ours but Authorization. */
static int collect_fields(struct passage *p,
			  const struct sigv4_credentials *keys,
			  const char *host, struct fields *f)
{
	const struct http_head *head = p->exchange->request;
	const char *length = "";
	bool has_options = http_head_get(head, "Connection");

	f->list = pool_alloc(&p->pool, (head->n_fields + MAX_OWN_FIELDS) *
					       sizeof(*f->list));
	if (s3_payload_has_chunks(p->q.payload))
		length = pool_printf(&p->pool, "%lld",
				     (long long)p->q.decoded_length);
	if (!f->list || !length)
		return -ENOMEM;
	add_field(f, "Host", host);
	for (size_t i = 0; i < head->n_fields; i++)
		if (!is_replaced(head, head->fields[i].name, keys, has_options))
			f->list[f->n++] = head->fields[i];
	if (*length)
		add_field(f, "x-amz-decoded-content-length", length);
	if (!keys)
		return 0;
	add_field(f, "x-amz-date", time_text(p->run->proxy));
	add_field(f, "x-amz-content-sha256", payload_text(p, head));
	if (keys->token)
		add_field(f, "x-amz-security-token", keys->token);
	return 0;
}

static int sign(struct passage *p, const struct sigv4_credentials *keys,
		const char *path, struct fields *f)
{
	CLEANUP(str_release) struct str authorization = STR_INIT;
	const struct http_head *head = p->exchange->request;
	struct proxy *proxy = p->run->proxy;
	struct http_field list[HTTP_MAX_FIELDS + MAX_OWN_FIELDS];
	struct sigv4_request q = {
		.method = head->method,
		.path = path,
		.query = p->q.query,
		.fields = list,
		.payload = payload_text(p, head),
		.time = time_text(proxy),
		.region = upstream_region(p),
		.service = "s3",
	};
	char *text;
	int r;

	for (size_t i = 0; i < f->n; i++)
		if (is_to_be_signed(f->list[i].name))
			list[q.n_fields++] = f->list[i];
	r = sigv4_sign(proxy->signer, keys, &q, &authorization,
		       &p->encoder.chain);
	if (r < 0)
		return r;
	text = pool_dup(&p->pool, authorization.data, authorization.len);
	if (!text)
		return -ENOMEM;
	add_field(f, "Authorization", text);
	return 0;
}

/* The host of an origin as it is sent and signed: without the port of its scheme. */
static char *host_of(struct pool *pool, const char *origin)
{
	const char *host = strstr(origin, "://") + 3;
	bool is_tls = strncmp(origin, "https:", 6) == 0;
	const char *port = is_tls ? ":443" : ":80";
	size_t len = strlen(host), port_len = strlen(port);

	if (len > port_len && strcmp(host + len - port_len, port) == 0)
		len -= port_len;
	return pool_dup(pool, host, len);
}

int upstream_request(struct passage *p, const struct sigv4_credentials *keys,
		     struct http_call_request *ret)
{
	CLEANUP(str_release) struct str origin = STR_INIT, path = STR_INIT;
	const struct http_head *head = p->exchange->request;
	struct fields f = { 0 };
	char *host, *target;
	size_t path_len;
	int r;

	*ret = (struct http_call_request){ .method = head->method };
	r = upload_begin(p, keys, &ret->length);
	if (r < 0)
		return r;
	s3_endpoint_address(&p->run->proxy->endpoint, upstream_region(p),
			    p->q.bucket, p->q.key, &origin, &path);
	path_len = path.len;
	if (p->q.query[0])
		str_addf(&path, "?%s", p->q.query);
	if (str_error(&origin) < 0 || str_error(&path) < 0)
		return -ENOMEM;
	ret->origin = pool_dup(&p->pool, origin.data, origin.len);
	ret->target = target = pool_dup(&p->pool, path.data, path.len);
	host = host_of(&p->pool, origin.data);
	if (!ret->origin || !target || !host)
		return -ENOMEM;
	r = collect_fields(p, keys, host, &f);
	if (r == 0 && keys) {
		path.data[path_len] = '\0';
		r = sign(p, keys, path.data, &f);
	}
	ret->fields = f.list;
	ret->n_fields = f.n;
	ret->expects_continue = head->expects_continue && ret->length != 0;
	return r;
}
