/* http_client_request.c - the head of a request, see http_client_internal.h */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "http/http_client_internal.h"

static bool is_token(const char *text)
{
	for (const char *c = text; *c; c++)
		if (!isalnum((unsigned char)*c) &&
		    !strchr("!#$%&'*+-.^_`|~", *c))
			return false;
	return *text;
}

/* No line break gets into a head by way of a value, nor another request. */
static bool is_value(const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		if ((*c < ' ' && *c != '\t') || *c == 0x7f)
			return false;
	return true;
}

static bool is_target(const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		if (*c <= ' ' || *c >= 0x7f)
			return false;
	return *text == '/' || strcmp(text, "*") == 0;
}

static bool is_framing(const char *name)
{
	static const char *const names[] = { "Content-Length",
					     "Transfer-Encoding", "Expect",
					     "Connection" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcasecmp(name, names[i]) == 0)
			return true;
	return false;
}

bool client_request_is_good(const struct http_call_request *q)
{
	if (!is_token(q->method) || strcmp(q->method, "CONNECT") == 0 ||
	    !is_target(q->target) || q->length < HTTP_LENGTH_CHUNKED ||
	    (q->body && q->length < 0))
		return false;
	for (size_t i = 0; i < q->n_fields; i++)
		if (!is_token(q->fields[i].name) ||
		    !is_value(q->fields[i].value) ||
		    is_framing(q->fields[i].name))
			return false;
	return true;
}

static void add_host(struct str *head, const struct http_url *u)
{
	bool is_v6 = strchr(u->host, ':');

	str_addf(head, is_v6 ? "[%s]" : "%s", u->host);
	if (!http_url_is_default_port(u))
		str_addf(head, ":%s", u->port);
}

/* A proxy is asked for all of the URL, unless it is a tunnel. */
static void add_start_line(struct client_call *c,
			   const struct http_call_request *q)
{
	const struct client_origin *o = c->origin;

	str_addf(&c->head, "%s ", q->method);
	if (o->has_proxy && !o->url.is_tls && *q->target == '/') {
		str_adds(&c->head, "http://");
		add_host(&c->head, &o->url);
	}
	str_addf(&c->head, "%s HTTP/1.1\r\n", q->target);
}

static bool has_field(const struct http_call_request *q, const char *name)
{
	for (size_t i = 0; i < q->n_fields; i++)
		if (strcasecmp(q->fields[i].name, name) == 0)
			return true;
	return false;
}

/* A request that could have a body says that it has none. */
static void add_framing(struct client_call *c,
			const struct http_call_request *q)
{
	if (q->length == HTTP_LENGTH_CHUNKED)
		str_adds(&c->head, "Transfer-Encoding: chunked\r\n");
	else if (q->length > 0 || strcmp(q->method, "PUT") == 0 ||
		 strcmp(q->method, "POST") == 0 ||
		 strcmp(q->method, "PATCH") == 0)
		str_addf(&c->head, "Content-Length: %" PRId64 "\r\n",
			 q->length);
	if (c->expects_continue)
		str_adds(&c->head, "Expect: 100-continue\r\n");
}

int client_write_head(struct client_call *c, const struct http_call_request *q)
{
	add_start_line(c, q);
	if (!has_field(q, "Host")) {
		str_adds(&c->head, "Host: ");
		add_host(&c->head, &c->origin->url);
		str_adds(&c->head, "\r\n");
	}
	for (size_t i = 0; i < q->n_fields; i++)
		str_addf(&c->head, "%s: %s\r\n", q->fields[i].name,
			 q->fields[i].value);
	if (c->origin->proxy_credentials && !c->origin->url.is_tls)
		str_adds(&c->head, c->origin->proxy_credentials);
	add_framing(c, q);
	str_adds(&c->head, "\r\n");
	return str_error(&c->head);
}
