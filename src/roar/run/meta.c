/* meta.c - the description of a run in its journal
 *
 * Text, so that a look at the file tells: "key NUL value NUL" pairs; `arg` comes
 * once per word of the command.  Unknown keys are skipped. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "run/run.h"

static void add(struct str *out, const char *key, const char *value)
{
	str_add(out, key, strlen(key) + 1);
	str_add(out, value, strlen(value) + 1);
}

void run_meta_encode(const struct run_meta *meta, struct str *out)
{
	char number[32];

	(void)snprintf(number, sizeof(number), "%" PRId64, meta->started_ns);
	add(out, "uid", meta->uid);
	add(out, "kind", meta->kind);
	add(out, "name", meta->name);
	add(out, "cwd", meta->cwd);
	add(out, "tracer", meta->tracer);
	add(out, "host", meta->host);
	add(out, "user", meta->user);
	add(out, "started_ns", number);
	for (size_t i = 0; meta->argv[i]; i++)
		add(out, "arg", meta->argv[i]);
}

/* The string that ends at or before `end`; NULL when it does not. */
static const char *next(const char **p, const char *end)
{
	const char *text = *p;
	const char *nul = memchr(text, '\0', (size_t)(end - text));

	if (!nul)
		return NULL;
	*p = nul + 1;
	return text;
}

struct builder {
	char **argv;
	size_t n_args;
};

static int take(struct pool *pool, struct run_meta *m, struct builder *b,
		const char *key, const char *value)
{
	const struct {
		const char *key;
		const char **field;
	} texts[] = {
		{ "kind", &m->kind }, { "name", &m->name },
		{ "cwd", &m->cwd },   { "tracer", &m->tracer },
		{ "host", &m->host }, { "user", &m->user },
	};
	char *copy = pool_strdup(pool, value);

	if (!copy)
		return -ENOMEM;
	if (strcmp(key, "uid") == 0 && strlen(value) == 8)
		memcpy(m->uid, value, 9);
	else if (strcmp(key, "started_ns") == 0)
		m->started_ns = strtoll(value, NULL, 10);
	else if (strcmp(key, "arg") == 0)
		b->argv[b->n_args++] = copy;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strcmp(key, texts[i].key) == 0)
			*texts[i].field = copy;
	return 0;
}

int run_meta_decode(struct pool *pool, const void *data, size_t len,
		    struct run_meta *ret)
{
	struct run_meta m = { .kind = "run",
			      .name = "",
			      .cwd = "/",
			      .tracer = "",
			      .host = "",
			      .user = "" };
	struct builder b = { 0 };
	const char *p = data;
	const char *end = p + len;

	/* A word takes at least "arg", its NUL and one more. */
	b.argv = pool_zalloc(pool, (len / 5 + 1) * sizeof(*b.argv));
	if (!b.argv)
		return -ENOMEM;
	while (p < end) {
		const char *key = next(&p, end);
		const char *value = key ? next(&p, end) : NULL;
		int r;

		if (!value)
			return -EBADMSG;
		r = take(pool, &m, &b, key, value);
		if (r < 0)
			return r;
	}
	if (!m.uid[0] || !b.n_args)
		return -EBADMSG;
	m.argv = b.argv;
	*ret = m;
	return 0;
}
