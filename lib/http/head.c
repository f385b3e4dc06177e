/* head.c - see head.h */
#include "http/head.h"

#include <errno.h>
#include <llhttp.h>
#include <string.h>
#include <strings.h>

/* ---- where a head ends ---- */

/* Lines end with CR LF and hold no other control character but the tab. */
static bool is_line_byte(unsigned char c)
{
	return c >= ' ' ? c != 0x7f : c == '\t';
}

/* A line that starts with a blank continues the one before (obs-fold): proxies disagree
 * about it. */
static bool is_folded(const char *line)
{
	return *line == ' ' || *line == '\t';
}

ssize_t http_head_find(const char *data, size_t len, size_t *scanned)
{
	size_t start = *scanned; /* of a line */
	bool has_line = start > 0;

	for (size_t i = start; i < len; i++) {
		if (i == start && has_line && is_folded(data + i))
			return -EPROTO;
		if (is_line_byte((unsigned char)data[i]))
			continue;
		if (data[i] != '\r')
			return -EPROTO;
		if (i + 1 == len)
			break;
		if (data[i + 1] != '\n')
			return -EPROTO;
		if (i == start && has_line)
			return (ssize_t)i + 2;
		has_line = has_line || i > start;
		start = i + 2;
		if (has_line)
			*scanned = start;
		i++;
	}
	return 0;
}

/* ---- llhttp ---- */

/* A stretch of the head that llhttp reports, maybe in several adjacent parts. */
struct span {
	char *at;
	size_t len;
};

struct parse {
	llhttp_t llhttp;
	struct http_head *head;
	struct http_field *fields;
	enum http_head_kind kind;
	const char *method_at; /* where the start line begins */
	struct span target, reason, name, value;
	bool too_many;
};

static struct parse *parse_of(llhttp_t *l)
{
	return l->data;
}

static int extend(struct span *s, const char *at, size_t len)
{
	if (s->len && s->at + s->len != at)
		return HPE_USER;
	if (!s->len)
		s->at = (char *)at;
	s->len += len;
	return 0;
}

static int on_url(llhttp_t *l, const char *at, size_t len)
{
	return extend(&parse_of(l)->target, at, len);
}

static int on_status(llhttp_t *l, const char *at, size_t len)
{
	return extend(&parse_of(l)->reason, at, len);
}

static int on_name(llhttp_t *l, const char *at, size_t len)
{
	return extend(&parse_of(l)->name, at, len);
}

static int on_value(llhttp_t *l, const char *at, size_t len)
{
	return extend(&parse_of(l)->value, at, len);
}

static int on_field(llhttp_t *l)
{
	struct parse *p = parse_of(l);
	struct http_head *h = p->head;
	struct span *v = &p->value;

	if (h->n_fields == HTTP_MAX_FIELDS) {
		p->too_many = true;
		return HPE_USER;
	}
	while (v->len && (v->at[v->len - 1] == ' ' || v->at[v->len - 1] == '\t'))
		v->len--;
	p->fields[h->n_fields++] = (struct http_field){
		.name = pool_dup(&h->pool, p->name.at, p->name.len),
		.value = pool_dup(&h->pool, v->len ? v->at : "", v->len),
	};
	if (!p->fields[h->n_fields - 1].name ||
	    !p->fields[h->n_fields - 1].value)
		return HPE_USER;
	p->name = *v = (struct span){ 0 };
	return 0;
}

/* Only the head is given to this parser. */
static int on_head(llhttp_t *l)
{
	(void)l;
	return HPE_PAUSED;
}

static const llhttp_settings_t SETTINGS = {
	.on_url = on_url,
	.on_status = on_status,
	.on_header_field = on_name,
	.on_header_value = on_value,
	.on_header_value_complete = on_field,
	.on_headers_complete = on_head,
};

/* ---- what must hold beyond the grammar ---- */

static size_t count(const struct http_head *h, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_fields; i++)
		n += strcasecmp(h->fields[i].name, name) == 0;
	return n;
}

/* One request, refused: the status, and why. */
struct verdict {
	unsigned status;
	const char *why; /* NULL: nothing is wrong */
};

static struct verdict check_fields(const struct http_head *h)
{
	for (size_t i = 0; i < h->n_fields; i++)
		if (!*h->fields[i].name)
			return (struct verdict){ 400, "a field has no name" };
	return (struct verdict){ 0 };
}

static struct verdict check_framing(const struct http_head *h)
{
	const char *coding = http_head_get(h, "Transfer-Encoding");
	size_t n_lengths = count(h, "Content-Length");

	if (n_lengths > 1)
		return (struct verdict){ 400,
					 "it has two Content-Length fields" };
	if (count(h, "Transfer-Encoding") > 1)
		return (struct verdict){
			400, "it has two Transfer-Encoding fields"
		};
	if (coding && n_lengths)
		return (struct verdict){ 400, "it has both Content-Length and "
					      "Transfer-Encoding" };
	if (coding && strcasecmp(coding, "chunked") != 0)
		return (struct verdict){ 501, "its transfer coding is not "
					      "'chunked'" };
	if (coding && h->minor == 0)
		return (struct verdict){ 400, "HTTP/1.0 has no "
					      "Transfer-Encoding" };
	if (h->length < HTTP_LENGTH_CLOSE)
		return (struct verdict){ 400, "its Content-Length is too "
					      "large" };
	return check_fields(h);
}

static bool is_target(const char *target)
{
	for (const char *c = target; *c; c++)
		if (*c <= ' ' || *c >= 0x7f)
			return false;
	return *target;
}

static struct verdict check_request(const struct parse *p)
{
	const struct http_head *h = p->head;
	const char *expect = http_head_get(h, "Expect");
	size_t n_hosts = count(h, "Host");

	/* llhttp skips blanks before the target; others may not. */
	if (!is_target(h->target) || p->target.at[-1] != ' ' ||
	    (p->target.at - p->method_at) != (ptrdiff_t)strlen(h->method) + 1)
		return (struct verdict){ 400, "its target is not a URL" };
	if (n_hosts > 1)
		return (struct verdict){ 400, "it has two Host fields" };
	if (n_hosts == 0 && h->minor == 1)
		return (struct verdict){ 400, "it has no Host field" };
	if (expect && !h->expects_continue)
		return (struct verdict){ 417, "only '100-continue' can be "
					      "expected" };
	return check_framing(h);
}

static struct verdict check_reply(const struct http_head *h)
{
	if (h->status < 100 || h->status > 999)
		return (struct verdict){ 400, "its status does not have three "
					      "digits" };
	return check_framing(h);
}

/* ---- all of it ---- */

static const enum llhttp_type TYPES[] = {
	[HTTP_HEAD_REQUEST] = HTTP_REQUEST,
	[HTTP_HEAD_REPLY] = HTTP_RESPONSE,
	[HTTP_HEAD_REPLY_TO_HEAD] = HTTP_RESPONSE,
	[HTTP_HEAD_REPLY_TO_CONNECT] = HTTP_RESPONSE,
};

static int64_t body_length(const struct http_head *h, const llhttp_t *l,
			   enum http_head_kind kind)
{
	if (kind == HTTP_HEAD_REPLY_TO_HEAD || h->status / 100 == 1 ||
	    h->status == 204 || h->status == 304 ||
	    (kind == HTTP_HEAD_REPLY_TO_CONNECT && h->status / 100 == 2))
		return 0;
	if (l->flags & F_CHUNKED)
		return HTTP_LENGTH_CHUNKED;
	if (l->flags & F_CONTENT_LENGTH)
		return (int64_t)l->content_length;
	return kind == HTTP_HEAD_REQUEST ? 0 : HTTP_LENGTH_CLOSE;
}

static bool keeps_alive(const struct http_head *h)
{
	if (h->length == HTTP_LENGTH_CLOSE ||
	    http_head_lists(h, "Connection", "close"))
		return false;
	return h->minor == 1 || http_head_lists(h, "Connection", "keep-alive");
}

static int fill(struct http_head *h, struct parse *p)
{
	const llhttp_t *l = &p->llhttp;
	const char *expect;

	h->minor = l->http_minor;
	if (p->kind == HTTP_HEAD_REQUEST) {
		h->method = llhttp_method_name(l->method);
		h->target = pool_dup(&h->pool, p->target.at, p->target.len);
		if (!h->target)
			return -ENOMEM;
	} else {
		h->status = l->status_code;
		h->reason = pool_dup(&h->pool,
				     p->reason.len ? p->reason.at : "",
				     p->reason.len);
		if (!h->reason)
			return -ENOMEM;
	}
	h->length = body_length(h, l, p->kind);
	h->keeps_alive = keeps_alive(h);
	expect = http_head_get(h, "Expect");
	h->expects_continue = expect && h->minor == 1 &&
			      strcasecmp(expect, "100-continue") == 0;
	return 0;
}

static int refuse(struct roar_error *err, unsigned *ret_status, unsigned status,
		  const char *why)
{
	if (ret_status)
		*ret_status = status;
	return error_set(err, -EPROTO, "cannot read the HTTP message: %s", why);
}

/* What llhttp found, as a status and a sentence. */
static int refuse_syntax(const struct parse *p, llhttp_errno_t code,
			 unsigned *ret_status, struct roar_error *err)
{
	if (p->too_many)
		return refuse(err, ret_status, 431, "it has too many fields");
	switch (code) {
	case HPE_INVALID_METHOD:
		return refuse(err, ret_status, 501, "its method is not known");
	case HPE_INVALID_VERSION:
		return refuse(err, ret_status, 505,
			      "it is neither HTTP/1.1 nor HTTP/1.0");
	default:
		return refuse(err, ret_status, 400,
			      llhttp_get_error_reason(&p->llhttp) ?
				      llhttp_get_error_reason(&p->llhttp) :
				      "it is malformed");
	}
}

static int parse(struct parse *p, const char *data, size_t len,
		 unsigned *ret_status, struct roar_error *err)
{
	struct http_head *h = p->head;
	struct verdict verdict;
	llhttp_errno_t code;
	int r;

	p->method_at = data + strspn(data, "\r\n");
	llhttp_init(&p->llhttp, TYPES[p->kind], &SETTINGS);
	p->llhttp.data = p;
	code = llhttp_execute(&p->llhttp, data, len);
	if (code != HPE_PAUSED)
		return refuse_syntax(p, code, ret_status, err);
	if (p->llhttp.http_major != 1 || p->llhttp.http_minor > 1)
		return refuse_syntax(p, HPE_INVALID_VERSION, ret_status, err);
	r = fill(h, p);
	if (r < 0)
		return r;
	verdict = p->kind == HTTP_HEAD_REQUEST ? check_request(p) :
						 check_reply(h);
	return verdict.why ?
		       refuse(err, ret_status, verdict.status, verdict.why) :
		       0;
}

int http_head_parse(struct http_head *h, enum http_head_kind kind,
		    const char *data, size_t len, unsigned *ret_status,
		    struct roar_error *err)
{
	struct parse p = { .head = h, .kind = kind };
	int r;

	*h = (struct http_head){ .pool = POOL_INIT };
	p.fields = pool_alloc(&h->pool, HTTP_MAX_FIELDS * sizeof(*p.fields));
	if (!p.fields)
		return -ENOMEM;
	h->fields = p.fields;
	r = parse(&p, data, len, ret_status, err);
	if (r < 0)
		http_head_release(h);
	return r;
}

void http_head_release(struct http_head *h)
{
	pool_release(&h->pool);
	*h = (struct http_head){ 0 };
}

const char *http_head_get(const struct http_head *h, const char *name)
{
	for (size_t i = 0; i < h->n_fields; i++)
		if (strcasecmp(h->fields[i].name, name) == 0)
			return h->fields[i].value;
	return NULL;
}

bool http_head_lists(const struct http_head *h, const char *name,
		     const char *item)
{
	size_t len = strlen(item);

	for (size_t i = 0; i < h->n_fields; i++) {
		const char *at = h->fields[i].value;

		if (strcasecmp(h->fields[i].name, name) != 0)
			continue;
		while (*at) {
			size_t n = strcspn(at, ",");
			size_t end = n;

			while (end &&
			       (at[end - 1] == ' ' || at[end - 1] == '\t'))
				end--;
			if (end == len && strncasecmp(at, item, len) == 0)
				return true;
			at += n;
			at += strspn(at, ", \t");
		}
	}
	return false;
}
