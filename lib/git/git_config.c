/* git_config.c - see git_config.h
 *
 * The grammar, as far as git itself writes and accepts it:
 *
 *	[section]  [section "sub\"section"]  [section.subsection]
 *	name = value   ; comment
 *	name                          # the same as name = true
 *	name = "quoted # text" and \n \t \b \" \\ escapes, \ at the end of a
 *	       line joins the next one */
#include "git/git_config.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "git/git_repo.h"

enum { CONFIG_MAX_BYTES = 4 << 20 };

struct parser {
	const char *pos;
	const char *end;
	struct str section; /* "remote.origin", without the last dot */
	struct str key;
	struct str value;
};

static int peek(const struct parser *p)
{
	return p->pos < p->end ? (unsigned char)*p->pos : EOF;
}

static int next(struct parser *p)
{
	return p->pos < p->end ? (unsigned char)*p->pos++ : EOF;
}

static void skip_blanks(struct parser *p)
{
	while (peek(p) == ' ' || peek(p) == '\t' || peek(p) == '\r')
		p->pos++;
}

static void skip_line(struct parser *p)
{
	const char *nl = memchr(p->pos, '\n', (size_t)(p->end - p->pos));

	p->pos = nl ? nl + 1 : p->end;
}

/* "sub\"section" after the opening quote. */
static int parse_subsection(struct parser *p)
{
	str_addc(&p->section, '.');
	for (;;) {
		int c = next(p);

		if (c == '"')
			break;
		if (c == '\\')
			c = next(p);
		if (c == EOF || c == '\n')
			return -EBADMSG;
		str_addc(&p->section, (char)c);
	}
	skip_blanks(p);
	return next(p) == ']' ? 0 : -EBADMSG;
}

/* After the opening bracket. */
static int parse_section(struct parser *p)
{
	str_clear(&p->section);
	for (;;) {
		int c = next(p);

		if (c == ']')
			return p->section.len ? 0 : -EBADMSG;
		if (c == ' ' || c == '\t') {
			skip_blanks(p);
			return next(p) == '"' ? parse_subsection(p) : -EBADMSG;
		}
		if (c == EOF || !(isalnum(c) || c == '-' || c == '.'))
			return -EBADMSG;
		str_addc(&p->section, (char)tolower(c));
	}
}

/* One escape after its backslash; a joined line adds nothing. */
static int parse_escape(struct parser *p)
{
	static const char from[] = "nbt\"\\";
	static const char to[] = "\n\b\t\"\\";
	int c = next(p);
	const char *hit;

	if (c == '\r' && peek(p) == '\n')
		c = next(p);
	if (c == '\n')
		return 0;
	hit = c == EOF || c == 0 ? NULL : strchr(from, c);
	if (!hit)
		return -EBADMSG;
	str_addc(&p->value, to[hit - from]);
	return 0;
}

static void drop_trailing_blanks(struct str *s, size_t keep)
{
	while (s->len > keep && strchr(" \t\r", s->data[s->len - 1]))
		s->len--;
	if (s->data)
		s->data[s->len] = '\0';
}

/* The value after "=", up to the end of its line. */
static int parse_value(struct parser *p)
{
	bool quoted = false;
	size_t keep = 0; /* bytes that came quoted: their blanks stay */

	str_clear(&p->value);
	str_adds(&p->value, "");
	skip_blanks(p);
	for (;;) {
		int c = next(p);

		if (c == EOF || c == '\n')
			break;
		if (!quoted && (c == '#' || c == ';')) {
			skip_line(p);
			break;
		}
		if (c == '"') {
			quoted = !quoted;
			keep = p->value.len;
		} else if (c == '\\') {
			if (parse_escape(p) < 0)
				return -EBADMSG;
			keep = p->value.len;
		} else {
			str_addc(&p->value, (char)c);
		}
	}
	if (quoted)
		return -EBADMSG;
	drop_trailing_blanks(&p->value, keep);
	return 0;
}

/* A name and perhaps its value; sets *ret_value to NULL when it has none. */
static int parse_setting(struct parser *p, const char **ret_value)
{
	if (!p->section.len || !isalpha(peek(p)))
		return -EBADMSG;
	str_clear(&p->key);
	str_add(&p->key, p->section.data, p->section.len);
	str_addc(&p->key, '.');
	while (isalnum(peek(p)) || peek(p) == '-')
		str_addc(&p->key, (char)tolower(next(p)));
	skip_blanks(p);
	*ret_value = NULL;
	if (peek(p) == '=') {
		p->pos++;
		if (parse_value(p) < 0)
			return -EBADMSG;
		*ret_value = str_cstr(&p->value);
		return 0;
	}
	if (peek(p) != EOF && !strchr("\n#;", peek(p)))
		return -EBADMSG;
	skip_line(p);
	return 0;
}

static int parser_error(const struct parser *p)
{
	bool failed = p->section.failed || p->key.failed || p->value.failed;

	return failed ? -ENOMEM : 0;
}

static int parse_all(struct parser *p,
		     int (*fn)(void *ctx, const char *key, const char *value),
		     void *ctx)
{
	for (;;) {
		const char *value;
		int c, r;

		while (peek(p) != EOF && isspace(peek(p)))
			p->pos++;
		c = peek(p);
		if (c == EOF)
			return 0;
		if (c == '#' || c == ';') {
			skip_line(p);
			continue;
		}
		if (c == '[') {
			p->pos++;
			r = parse_section(p);
			if (r < 0)
				return r;
			continue;
		}
		r = parse_setting(p, &value);
		if (r == 0)
			r = parser_error(p);
		if (r == 0)
			r = fn(ctx, p->key.data, value);
		if (r != 0)
			return r;
	}
}

int git_config_parse(const char *text, size_t len,
		     int (*fn)(void *ctx, const char *key, const char *value),
		     void *ctx)
{
	struct parser p = { .pos = text, .end = text + len };
	int r;

	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		p.pos += 3;
	r = parse_all(&p, fn, ctx);
	str_release(&p.section);
	str_release(&p.key);
	str_release(&p.value);
	return r;
}

/* The end of the user part of an authority: after its last '@'. */
static const char *skip_user(const char *from, size_t len)
{
	const char *at = memrchr(from, '@', len);

	return at ? at + 1 : from;
}

/* Writes `url` without its secrets: the password always, and for the web the
 * user name (a token, often) and the query too.  "git@host:path" and
 * "ssh://git@host/path" carry no secret and stay. */
static void add_redacted(struct str *out, const char *url)
{
	const char *host = strstr(url, "://");
	bool web = strncasecmp(url, "http", 4) == 0;
	size_t len;
	const char *rest;

	if (host && strcspn(url, ":/") != (size_t)(host - url))
		host = NULL; /* "://" later than the scheme */
	host = host ? host + 3 : url;
	len = strcspn(host, "/?#");
	rest = skip_user(host, len);
	if (!web && !memchr(host, ':', (size_t)(rest - host)))
		rest = host;
	str_add(out, url, (size_t)(host - url));
	if (web)
		str_add(out, rest, strcspn(rest, "?#"));
	else
		str_adds(out, rest);
}

char *git_url_redact(const char *url)
{
	struct str out = STR_INIT;

	add_redacted(&out, url);
	return str_take(&out);
}

void git_config_release(struct git_config *config)
{
	free(config->worktree);
	free(config->remote);
	*config = (struct git_config){ 0 };
}

/* Remotes in the order of the file: origin's first URL, else the first of a remote
 * unless there is a second remote. */
struct reading {
	struct git_config *config;
	char *first; /* name of the first remote that has a URL */
	bool have_origin;
	bool several; /* remotes, none of them origin */
};

static int take_remote(struct reading *reading, const char *name, size_t len,
		       const char *url)
{
	bool origin = len == 6 && memcmp(name, "origin", 6) == 0;
	bool again = reading->first && strlen(reading->first) == len &&
		     memcmp(reading->first, name, len) == 0;

	if (reading->have_origin || again)
		return 0; /* further URLs of a remote are for pushing */
	if (reading->first && !origin) {
		reading->several = true;
		return 0;
	}
	free(reading->config->remote);
	reading->config->remote = git_url_redact(url);
	if (!reading->first)
		reading->first = strndup(name, len);
	reading->have_origin = origin;
	return reading->config->remote && reading->first ? 0 : -ENOMEM;
}

static bool is_true(const char *value)
{
	return !value || strcasecmp(value, "true") == 0 ||
	       strcasecmp(value, "yes") == 0 || strcasecmp(value, "on") == 0 ||
	       strcmp(value, "1") == 0;
}

static int take_setting(void *ctx, const char *key, const char *value)
{
	struct reading *reading = ctx;
	struct git_config *config = reading->config;
	size_t len = strlen(key);

	if (strcmp(key, "core.bare") == 0) {
		config->bare = is_true(value);
	} else if (strcmp(key, "core.trustctime") == 0) {
		config->trust_ctime = is_true(value);
	} else if (strcmp(key, "extensions.objectformat") == 0) {
		if (value && strcmp(value, "sha256") == 0)
			config->hash_len = 32;
	} else if (strcmp(key, "core.worktree") == 0 && value) {
		free(config->worktree);
		config->worktree = strdup(value);
		return config->worktree ? 0 : -ENOMEM;
	} else if (strncmp(key, "remote.", 7) == 0 && len > 11 &&
		   strcmp(key + len - 4, ".url") == 0 && value) {
		return take_remote(reading, key + 7, len - 11, value);
	}
	return 0;
}

int git_config_read(const struct git_repo *repo, struct git_config *ret_config)
{
	CLEANUP(git_config_release)
	struct git_config config = { .trust_ctime = true, .hash_len = 20 };
	CLEANUP(str_release) struct str text = STR_INIT;
	struct reading reading = { .config = &config };
	int r;

	r = git_read_file(repo->common_dir, "config", CONFIG_MAX_BYTES, &text);
	if (r == 0)
		r = git_config_parse(text.data, text.len, take_setting,
				     &reading);
	free(reading.first);
	if (r == -ENOMEM)
		return r;
	if (reading.several && !reading.have_origin) {
		free(config.remote);
		config.remote = NULL;
	}
	*ret_config = config;
	config = (struct git_config){ 0 };
	return 0;
}
