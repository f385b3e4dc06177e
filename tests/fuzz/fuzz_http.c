/* fuzz_http.c - heads and bodies of HTTP/1.1.
 *
 * The first byte says in which parts the rest arrives.  However it arrives, the messages
 * are the same. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "http/body.h"
#include "http/request_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void collect(void *ctx, const char *bytes, size_t len)
{
	str_add(ctx, bytes, len);
}

static void describe(struct str *out, const struct http_head *h)
{
	struct pool pool = POOL_INIT;

	str_addf(out, "%s %s %lld\n", h->method, h->target,
		 (long long)h->length);
	for (size_t i = 0; i < h->n_fields; i++)
		str_addf(out, "%s=%s\n", h->fields[i].name, h->fields[i].value);
	assert(!strpbrk(h->target, "\r\n "));
	(void)http_target_path(&pool, h->target);
	(void)http_target_query(&pool, h->target, "x");
	pool_release(&pool);
}

/* Reads one body from the front; returns how many bytes it took, -1 when it is not
 * whole or malformed. */
static ssize_t read_body(const struct http_head *h, const char *text,
			 size_t len, size_t step, struct str *out)
{
	struct http_body_reader b;
	size_t used = 0;
	bool good = true;

	http_body_reader_init(&b, h, collect, out);
	while (good && !b.ended && used < len) {
		size_t part = len - used < step ? len - used : step;
		ssize_t n = http_body_reader_feed(&b, text + used, part);

		good = n >= 0;
		assert(!good || (size_t)n <= part);
		if (good)
			used += (size_t)n;
	}
	good = good && b.ended;
	http_body_reader_release(&b);
	return good ? (ssize_t)used : -1;
}

/* What a server would understand. */
static void read_all(const char *text, size_t len, size_t step, struct str *out)
{
	for (;;) {
		struct http_head h;
		struct str body = STR_INIT;
		size_t scanned = 0;
		ssize_t n = 0;

		for (size_t have = 0; n == 0 && have < len;) {
			have = len - have < step ? len : have + step;
			n = http_head_find(text, have, &scanned);
		}
		if (n <= 0 || http_head_parse(&h, HTTP_HEAD_REQUEST, text,
					      (size_t)n, NULL, NULL) < 0)
			return;
		describe(out, &h);
		text += n;
		len -= (size_t)n;
		n = read_body(&h, text, len, step, &body);
		if (n >= 0)
			str_add(out, body.data, body.len);
		str_release(&body);
		http_head_release(&h);
		if (n < 0)
			return;
		text += n;
		len -= (size_t)n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct str whole = STR_INIT, parts = STR_INIT;

	if (len == 0)
		return 0;
	read_all((const char *)data + 1, len - 1, SIZE_MAX, &whole);
	read_all((const char *)data + 1, len - 1, 1 + data[0] % 17, &parts);
	assert(whole.len == parts.len &&
	       (whole.len == 0 ||
		memcmp(whole.data, parts.data, whole.len) == 0));
	str_release(&whole);
	str_release(&parts);
	return 0;
}
