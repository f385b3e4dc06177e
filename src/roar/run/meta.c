/* meta.c - the description of a run, and its form in the journal
 *
 * Text, so that the file is readable: "key NUL value NUL" pairs; `arg` comes once per
 * argument of the command, `add_tag` and `block_tag` once per tag.  Unknown keys are
 * skipped. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macros.h"
#include "lineage/redact.h"
#include "project/project.h"
#include "run/run.h"

/* ---- filled in ---- */

void run_meta_new_uid(struct run_meta *meta)
{
	uint8_t bytes[4];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) {
		int64_t now = clock_now_ns() ^ (int64_t)getpid() << 20;

		memcpy(bytes, &now, sizeof(bytes));
	}
	digest_hex(meta->uid, bytes, sizeof(bytes));
}

static const char *user_name(struct pool *pool)
{
	/* getpwuid() would load the name service: too slow for every run. */
	const char *name = getenv("USER");

	if (!name || !*name)
		name = getenv("LOGNAME");
	if (name && *name)
		return name;
	return pool_printf(pool, "uid %u", (unsigned)getuid());
}

/* What a user wrote about the run, without secrets; NULL without memory. */
static const char *clean_text(struct run *run, const char *text)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	redact_text(run->redact, text, strlen(text), &out);
	if (str_error(&out) < 0)
		return NULL;
	return strcmp(str_cstr(&out), text) == 0 ?
		       text :
		       pool_dup(&run->pool, out.data, out.len);
}

static int clean_tags(struct run *run, const struct run_tags *tags,
		      struct run_tags *ret)
{
	struct tag *list = pool_alloc(&run->pool,
				      (tags->n + 1) * sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < tags->n; i++) {
		list[i] = tags->list[i];
		list[i].value = clean_text(run, tags->list[i].value);
		if (!list[i].value)
			return -ENOMEM;
	}
	*ret = (struct run_tags){ .list = list, .n = tags->n };
	return 0;
}

int run_meta_fill(struct run *run, char *const argv[])
{
	struct run_meta *m = &run->meta;
	char host[256] = "";
	char **clean;
	int r = redact_words(run->redact, argv, &run->pool, &clean);

	if (r == 0)
		r = clean_tags(run, &run->options.tags, &m->tags);
	if (r < 0)
		return r;
	(void)gethostname(host, sizeof(host) - 1);
	run_meta_new_uid(m);
	m->kind = run->options.kind;
	m->name = clean_text(run, run->options.name);
	m->rerun_of = run->options.rerun_of;
	m->group = run->options.group;
	m->group.id = clean_text(run, m->group.id ? m->group.id : "");
	m->argv = clean;
	m->cwd = run->project->cwd;
	m->tracer = run->options.tracer->name;
	m->host = pool_strdup(&run->pool, host);
	m->user = user_name(&run->pool);
	m->environment = "";
	m->started_ns = clock_now_ns();
	return m->name && m->host && m->user && m->group.id ? 0 : -ENOMEM;
}

void run_meta_note_git(struct run *run, struct git_state *look)
{
	struct run_meta *m = &run->meta;
	struct git_facts known;

	git_state_basics(look, &known);
	m->git_root = pool_strdup(&run->pool, known.root);
	if (known.commit)
		m->git_commit = pool_strdup(&run->pool, known.commit);
	if (known.branch)
		m->git_branch = pool_strdup(&run->pool, known.branch);
	if (known.remote)
		m->git_remote = pool_strdup(&run->pool, known.remote);
}

/* ---- in the journal ---- */

static void add(struct str *out, const char *key, const char *value)
{
	str_add(out, key, strlen(key) + 1);
	str_add(out, value, strlen(value) + 1);
}

static void add_known(struct str *out, const char *key, const char *value)
{
	if (value)
		add(out, key, value);
}

/* As it is typed: KIND=VALUE, or KIND for a block of all values. */
static void add_tag(struct str *out, const struct tag *tag)
{
	const char *key = tag->action == TAG_BLOCK ? "block_tag" : "add_tag";

	str_add(out, key, strlen(key) + 1);
	str_adds(out, tag->kind);
	if (tag->value[0])
		str_addf(out, "=%s", tag->value);
	str_addc(out, '\0');
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
	add(out, "environment", meta->environment);
	add(out, "started_ns", number);
	(void)snprintf(number, sizeof(number), "%" PRId64, meta->rerun_of);
	add(out, "rerun_of", number);
	add(out, "group", meta->group.id);
	(void)snprintf(number, sizeof(number), "%" PRId64 "/%" PRId64,
		       meta->group.node, meta->group.n_nodes);
	add(out, "group_node", number);
	add_known(out, "git_root", meta->git_root);
	add_known(out, "git_commit", meta->git_commit);
	add_known(out, "git_branch", meta->git_branch);
	add_known(out, "git_remote", meta->git_remote);
	for (size_t i = 0; i < meta->tags.n; i++)
		add_tag(out, &meta->tags.list[i]);
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
	struct run_tags tags;
};

/* An invalid one is not a reason to lose the rest. */
static int take_tag(struct pool *pool, struct run_tags *tags,
		    enum tag_action action, const char *text)
{
	int r = tag_parse(pool, action, text, &tags->list[tags->n], NULL);

	tags->n += r == 0;
	return r == -ENOMEM ? r : 0;
}

static int take(struct pool *pool, struct run_meta *m, struct builder *b,
		const char *key, const char *value)
{
	const struct {
		const char *key;
		const char **field;
	} texts[] = {
		{ "kind", &m->kind },
		{ "name", &m->name },
		{ "cwd", &m->cwd },
		{ "tracer", &m->tracer },
		{ "host", &m->host },
		{ "user", &m->user },
		{ "environment", &m->environment },
		{ "group", &m->group.id },
		{ "git_root", &m->git_root },
		{ "git_commit", &m->git_commit },
		{ "git_branch", &m->git_branch },
		{ "git_remote", &m->git_remote },
	};
	char *copy = pool_strdup(pool, value);

	if (!copy)
		return -ENOMEM;
	if (strcmp(key, "uid") == 0 && strlen(value) == 8)
		memcpy(m->uid, value, 9);
	else if (strcmp(key, "started_ns") == 0)
		m->started_ns = strtoll(value, NULL, 10);
	else if (strcmp(key, "rerun_of") == 0)
		m->rerun_of = strtoll(value, NULL, 10);
	else if (strcmp(key, "group_node") == 0) /* "-1/-1": not known */
		(void)run_group_parse_node(value, &m->group);
	else if (strcmp(key, "arg") == 0)
		b->argv[b->n_args++] = copy;
	else if (strcmp(key, "add_tag") == 0)
		return take_tag(pool, &b->tags, TAG_ADD, value);
	else if (strcmp(key, "block_tag") == 0)
		return take_tag(pool, &b->tags, TAG_BLOCK, value);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
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
			      .user = "",
			      .environment = "",
			      .group = { "", -1, -1 } };
	struct builder b = { 0 };
	const char *p = data;
	const char *end = p + len;

	/* A word takes at least "arg", its NUL and one more. */
	b.argv = pool_zalloc(pool, (len / 5 + 1) * sizeof(*b.argv));
	/* A tag takes at least "add_tag", its NUL, three letters and a NUL. */
	b.tags.list = pool_zalloc(pool, (len / 12 + 1) * sizeof(*b.tags.list));
	if (!b.argv || !b.tags.list)
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
	m.tags = b.tags;
	*ret = m;
	return 0;
}
