/* credentials.c - the cache, the waiting, the order of a fetch */
#include "s3/credentials.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/macros.h"
#include "s3/credentials_internal.h"

enum {
	EARLY_MS = 15 * 60 * 1000, /* before the end they are fetched again */
	LATE_MS = 60 * 1000, /* then requests wait for new ones */
	PAUSE_MS = 60 * 1000, /* between two fetches that nobody waits for */
	FAILURE_MS = 5 * 1000, /* a failure answers for that long */
};

/* ---- the cache ---- */

static void drop_keys(struct credentials *c)
{
	if (c->keys)
		explicit_bzero(c->keys, sizeof(*c->keys));
	free(c->keys);
	c->keys = NULL;
	c->view = (struct sigv4_credentials){ 0 };
}

static int cache_keys(struct credentials *c, const struct s3_keys *keys)
{
	int64_t expires_ms = INT64_MAX;
	struct s3_keys *copy;

	if (keys->expiration[0]) {
		expires_ms = credentials_parse_time(keys->expiration);
		if (expires_ms < 0)
			return -EINVAL;
	}
	copy = malloc(sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	*copy = *keys;
	drop_keys(c);
	c->keys = copy;
	c->expires_ms = expires_ms;
	c->view = (struct sigv4_credentials){
		.key_id = copy->key_id,
		.secret = copy->secret,
		.token = copy->token[0] ? copy->token : NULL,
	};
	return 0;
}

static bool copy_text(char *to, size_t size, const char *text)
{
	return snprintf(to, size, "%s", text ? text : "") < (int)size;
}

int credentials_copy_keys(struct s3_keys *ret,
			  const struct sigv4_credentials *keys)
{
	memset(ret, 0, sizeof(*ret));
	return copy_text(ret->key_id, sizeof(ret->key_id), keys->key_id) &&
			       copy_text(ret->secret, sizeof(ret->secret),
					 keys->secret) &&
			       copy_text(ret->token, sizeof(ret->token),
					 keys->token) &&
			       ret->key_id[0] && ret->secret[0] ?
		       0 :
		       -EINVAL;
}

int64_t credentials_parse_time(const char *text)
{
	struct tm t = { 0 };
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &t);
	int hours = 0, minutes = 0;
	char sign = 'Z';

	if (!rest)
		return -EINVAL;
	rest += *rest == '.' ? 1 + strspn(rest + 1, "0123456789") : 0;
	if (*rest && strcmp(rest, "Z") != 0 &&
	    (sscanf(rest, "%c%2d:%2d", &sign, &hours, &minutes) != 3 ||
	     (sign != '+' && sign != '-')))
		return -EINVAL;
	minutes += hours * 60;
	return (timegm(&t) + (sign == '+' ? -minutes : minutes) * 60) * 1000;
}

/* ---- the end of a fetch ---- */

static void call_waiting(struct loop_later *later)
{
	struct credentials *c = container_of(later, struct credentials, later);
	const char *sentence = c->failure.text[0] ? c->failure.text : NULL;

	/* Those who begin to wait in a callback are not in this list. */
	while (!list_empty(&c->ending)) {
		struct credentials_wait *w = container_of(
			c->ending.next, struct credentials_wait, link);

		list_remove(&w->link);
		w->done(w, sentence ? NULL : &c->view, sentence);
	}
}

static void end_fetch(struct credentials *c)
{
	explicit_bzero(&c->fresh, sizeof(c->fresh));
	c->is_fetching = false;
	if (list_empty(&c->waiting))
		return;
	while (!list_empty(&c->waiting)) {
		struct list *link = c->waiting.next;

		list_remove(link);
		list_add(&c->ending, link);
	}
	c->later.call = call_waiting;
	loop_later(c->loop, &c->later);
}

void credentials_fail(struct credentials *c, const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(c->failure.text, sizeof(c->failure.text),
			 "no credentials from %s: ", credentials_source(c));

	va_start(ap, fmt);
	if (n >= 0 && n < (int)sizeof(c->failure.text))
		(void)vsnprintf(c->failure.text + n,
				sizeof(c->failure.text) - (size_t)n, fmt, ap);
	va_end(ap);
	end_fetch(c);
}

void credentials_provide(struct credentials *c)
{
	int r;

	if (c->n_assumed < c->plan.n_roles) {
		credentials_sts_assume(c, &c->plan.roles[c->n_assumed++]);
		return;
	}
	r = cache_keys(c, &c->fresh);
	if (r < 0) {
		credentials_fail(c,
				 r == -EINVAL ?
					 "its time of expiration is malformed" :
					 "out of memory");
		return;
	}
	c->failure.text[0] = '\0';
	end_fetch(c);
}

/* ---- requests ---- */

static void start_fetch(struct credentials *c)
{
	c->is_fetching = true;
	c->n_fetches++;
	c->asked_ms = loop_wall_ms(c->loop);
	c->n_assumed = 0;
	memset(&c->fresh, 0, sizeof(c->fresh));
	c->plan.base->start(c);
}

/* A failure a moment ago is the answer: a source that is down is not asked for each of a
 * thousand requests. */
static bool has_just_failed(const struct credentials *c, int64_t now_ms)
{
	return c->failure.text[0] && now_ms - c->asked_ms < FAILURE_MS;
}

const struct sigv4_credentials *credentials_get(struct credentials *c,
						struct credentials_wait *w)
{
	int64_t now_ms = c->loop ? loop_wall_ms(c->loop) : 0;

	if (c->keys && c->expires_ms == INT64_MAX)
		return &c->view;
	if (c->keys && c->expires_ms - now_ms > LATE_MS) {
		if (c->expires_ms - now_ms < EARLY_MS && !c->is_fetching &&
		    now_ms - c->asked_ms >= PAUSE_MS)
			start_fetch(c);
		return &c->view;
	}
	list_add(&c->waiting, &w->link);
	if (c->is_fetching)
		return NULL;
	if (has_just_failed(c, now_ms))
		end_fetch(c);
	else
		start_fetch(c);
	if (c->is_fetching || c->failure.text[0])
		return NULL;
	list_remove(&w->link); /* they were at hand */
	return &c->view;
}

void credentials_cancel(struct credentials_wait *w)
{
	if (w->link.next)
		list_remove(&w->link);
}

void credentials_expire(struct credentials *c)
{
	if (c->expires_ms != INT64_MAX)
		c->expires_ms = 0;
}

const char *credentials_source(const struct credentials *c)
{
	return str_cstr(&c->source);
}

uint64_t credentials_n_fetches(const struct credentials *c)
{
	return c->n_fetches;
}

/* ---- life ---- */

static struct credentials *make(void)
{
	struct credentials *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	list_init(&c->waiting);
	list_init(&c->ending);
	c->process.pidfd = c->process.out_fd.fd = -1;
	return c;
}

int credentials_new(struct loop *loop, struct http_client *web,
		    const struct aws_config *config, struct credentials **ret,
		    struct roar_error *err)
{
	CLEANUP(credentials_freep) struct credentials *c = make();
	int r;

	if (!c)
		return error_set(err, -ENOMEM, "out of memory");
	c->loop = loop;
	c->web = web;
	c->config = config;
	r = sigv4_new(&c->sigv4);
	if (r < 0)
		return error_set(err, r, "cannot sign requests: %s",
				 strerror(-r));
	r = credentials_plan_make(c, err);
	if (r < 0)
		return r;
	if (str_error(&c->source) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	*ret = TAKE_PTR(c);
	return 0;
}

int credentials_new_static(const struct sigv4_credentials *keys,
			   struct credentials **ret)
{
	CLEANUP(credentials_freep) struct credentials *c = make();
	struct s3_keys copy = { 0 };
	int r;

	if (!c)
		return -ENOMEM;
	r = credentials_copy_keys(&copy, keys);
	if (r == 0)
		r = cache_keys(c, &copy);
	explicit_bzero(&copy, sizeof(copy));
	str_adds(&c->source, "given keys");
	if (r == 0)
		r = str_error(&c->source);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

void credentials_free(struct credentials *c)
{
	if (!c)
		return;
	assert(list_empty(&c->waiting) && list_empty(&c->ending));
	credentials_fetch_release(c);
	credentials_process_release(c);
	if (c->loop)
		loop_later_clear(c->loop, &c->later);
	http_client_free(c->local);
	sigv4_free(c->sigv4);
	drop_keys(c);
	str_release(&c->source);
	explicit_bzero(c, sizeof(*c));
	free(c);
}
