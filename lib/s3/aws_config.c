/* aws_config.c - the files are kept as they were read, cut into strings in place */
#include "s3/aws_config.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"

/* All strings point into the text of a file. */
struct entry {
	enum aws_section kind;
	const char *name; /* of the section */
	const char *group; /* NULL: none */
	const char *key, *value; /* the key is NULL in the head of a section */
};

struct aws_config {
	char *profile;
	bool is_chosen;
	struct str texts[2]; /* of config and credentials; wiped at the end */
	struct entry *entries; /* those of the credentials file come last */
	size_t n, cap;
};

/* Where the parser is. */
struct reader {
	struct aws_config *config;
	bool is_credentials;
	bool skips; /* the section is not one of ours */
	enum aws_section kind;
	const char *name; /* NULL: no section has begun */
	const char *group; /* the last key without a value, or NULL */
};

const char *aws_config_env(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* ---- lines ---- */

/* Cuts blanks at both ends. */
static char *trim(char *text)
{
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	return text;
}

static void cut_comment(char *value)
{
	for (char *p = value; *p; p++)
		if ((*p == '#' || *p == ';') && p > value &&
		    isspace((unsigned char)p[-1])) {
			*p = '\0';
			return;
		}
}

static char *unquote(char *name)
{
	size_t len = strlen(name);

	if (len < 2 || (name[0] != '"' && name[0] != '\'') ||
	    name[len - 1] != name[0])
		return name;
	name[len - 1] = '\0';
	return name + 1;
}

static int add_entry(struct reader *r, const char *key, const char *value,
		     const char *group)
{
	struct aws_config *c = r->config;
	struct entry *e;

	if (c->n >= AWS_CONFIG_MAX_ENTRIES)
		return -EFBIG;
	e = VEC_PUSH(c->entries, c->n, c->cap);
	if (!e)
		return -ENOMEM;
	*e = (struct entry){ r->kind, r->name, group, key, value };
	return 0;
}

/* "[default]", "[profile NAME]", "[sso-session NAME]"; in the credentials file "[NAME]".  An
 * unknown kind of section is left out, as those of later versions have to be. */
static int read_section(struct reader *r, char *line)
{
	static const struct {
		const char *word;
		enum aws_section kind;
	} kinds[] = { { "profile", AWS_PROFILE },
		      { "sso-session", AWS_SSO_SESSION },
		      { "services", AWS_SERVICES } };
	char *end = strchr(line, ']');
	char *rest;

	if (!end)
		return -EINVAL;
	*end = '\0';
	r->group = NULL;
	r->skips = false;
	r->kind = AWS_PROFILE;
	r->name = trim(line + 1);
	if (r->is_credentials || !strcmp(r->name, "default"))
		return *r->name ? add_entry(r, NULL, NULL, NULL) : -EINVAL;
	rest = (char *)r->name + strcspn(r->name, " \t");
	if (!*rest) {
		r->skips = true;
		return 0;
	}
	*rest++ = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(r->name, kinds[i].word) != 0)
			continue;
		r->kind = kinds[i].kind;
		r->name = unquote(trim(rest));
		return *r->name ? add_entry(r, NULL, NULL, NULL) : -EINVAL;
	}
	r->skips = true;
	return 0;
}

static int read_pair(struct reader *r, char *line, bool is_indented)
{
	char *equals = strchr(line, '=');
	char *key, *value;

	if (!r->name)
		return -EINVAL;
	if (r->skips || (is_indented && !r->group))
		return 0; /* nobody asks for lines that continue a value */
	if (!equals)
		return -EINVAL;
	*equals = '\0';
	key = trim(line);
	cut_comment(equals + 1);
	value = trim(equals + 1);
	if (!*key)
		return -EINVAL;
	if (is_indented)
		return add_entry(r, key, value, r->group);
	r->group = *value ? NULL : key;
	return add_entry(r, key, value, NULL);
}

static int read_line(struct reader *r, char *line)
{
	bool is_indented = *line == ' ' || *line == '\t';
	char *text = trim(line);

	if (!*text || *text == '#' || *text == ';')
		return 0;
	if (*text == '[' && !is_indented)
		return read_section(r, text);
	return read_pair(r, text, is_indented);
}

/* Cuts the text into lines and reads each. */
static int read_text(struct aws_config *c, const char *name, struct str *text,
		     bool is_credentials, struct roar_error *err)
{
	struct reader r = { .config = c, .is_credentials = is_credentials };
	char *next = text->data;
	unsigned n_lines = 0;

	if (text->len && memchr(text->data, '\0', text->len))
		return error_set(err, -EINVAL,
				 "'%s' is not a text file: it has a NUL byte",
				 name);
	while (next) {
		char *line = next;
		int e;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		n_lines++;
		e = read_line(&r, line);
		if (e == -EINVAL)
			return error_set(
				err, e,
				"line %u of '%s' is neither [SECTION] nor KEY = "
				"VALUE: correct it",
				n_lines, name);
		if (e < 0)
			return error_set(err, e, "'%s' has too many lines",
					 name);
	}
	return 0;
}

int aws_config_parse(struct aws_config *c, const char *name, const char *text,
		     size_t len, bool is_credentials, struct roar_error *err)
{
	struct str *kept = &c->texts[is_credentials];

	assert(!kept->data);
	if (len > AWS_CONFIG_MAX_BYTES)
		return error_set(err, -EFBIG, "'%s' is larger than %d bytes",
				 name, AWS_CONFIG_MAX_BYTES);
	str_add(kept, text, len);
	if (kept->failed)
		return error_set(err, -ENOMEM, "out of memory");
	return read_text(c, name, kept, is_credentials, err);
}

/* ---- files ---- */

static int read_file(struct aws_config *c, const char *variable,
		     const char *fallback, bool is_credentials,
		     struct roar_error *err)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	const char *home = aws_config_env("HOME");
	const char *named = aws_config_env(variable);
	struct str *text = &c->texts[is_credentials];
	int r;

	if (named && strncmp(named, "~/", 2) != 0)
		str_adds(&path, named);
	else if (home)
		str_addf(&path, "%s/%s", home, named ? named + 2 : fallback);
	else
		return 0;
	/* Room for all of it at once: a copy that realloc() leaves is not wiped. */
	if (path.failed || str_reserve(text, AWS_CONFIG_MAX_BYTES + 1) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	r = fd_read_file(AT_FDCWD, path.data, AWS_CONFIG_MAX_BYTES, text);
	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r < 0)
		return error_set(err, r, "cannot read '%s': %s", path.data,
				 strerror(-r));
	return read_text(c, path.data, text, is_credentials, err);
}

int aws_config_new(const char *profile, struct aws_config **ret)
{
	CLEANUP(aws_config_freep) struct aws_config *c = NULL;

	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->profile = strdup(profile ? profile : "default");
	if (!c->profile)
		return -ENOMEM;
	c->is_chosen = profile;
	*ret = TAKE_PTR(c);
	return 0;
}

int aws_config_load(const char *profile, struct aws_config **ret,
		    struct roar_error *err)
{
	CLEANUP(aws_config_freep) struct aws_config *c = NULL;
	int r;

	if (!profile)
		profile = aws_config_env("AWS_PROFILE");
	if (!profile)
		profile = aws_config_env("AWS_DEFAULT_PROFILE");
	r = aws_config_new(profile, &c);
	if (r < 0)
		return error_set(err, r, "out of memory");
	r = read_file(c, "AWS_CONFIG_FILE", ".aws/config", false, err);
	if (r == 0)
		r = read_file(c, "AWS_SHARED_CREDENTIALS_FILE",
			      ".aws/credentials", true, err);
	if (r < 0)
		return r;
	if (profile && !aws_config_has_profile(c, profile))
		return error_set(
			err, -ENOENT,
			"profile '%s' is in neither ~/.aws/config nor "
			"~/.aws/credentials: add it or unset AWS_PROFILE",
			profile);
	*ret = TAKE_PTR(c);
	return 0;
}

void aws_config_free(struct aws_config *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(c->texts); i++) {
		if (c->texts[i].data)
			explicit_bzero(c->texts[i].data, c->texts[i].len);
		str_release(&c->texts[i]);
	}
	free(c->entries);
	free(c->profile);
	free(c);
}

/* ---- questions ---- */

const char *aws_config_profile(const struct aws_config *c)
{
	return c->profile;
}

bool aws_config_is_chosen(const struct aws_config *c)
{
	return c->is_chosen;
}

bool aws_config_has_profile(const struct aws_config *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->entries[i].kind == AWS_PROFILE &&
		    !strcmp(c->entries[i].name, name))
			return true;
	return false;
}

static bool has_group(const struct entry *e, const char *group)
{
	if (!group || !e->group)
		return group == e->group;
	return !strcasecmp(e->group, group);
}

const char *aws_config_find(const struct aws_config *c, enum aws_section kind,
			    const char *name, const char *group,
			    const char *key)
{
	for (size_t i = c->n; i-- > 0;) {
		const struct entry *e = &c->entries[i];

		if (e->key && e->kind == kind && !strcmp(e->name, name) &&
		    has_group(e, group) && !strcasecmp(e->key, key))
			return *e->value ? e->value : NULL;
	}
	return NULL;
}

const char *aws_config_get(const struct aws_config *c, const char *key)
{
	return aws_config_find(c, AWS_PROFILE, c->profile, NULL, key);
}

const char *aws_config_region(const struct aws_config *c)
{
	const char *region = aws_config_env("AWS_REGION");

	if (!region)
		region = aws_config_env("AWS_DEFAULT_REGION");
	return region ? region : aws_config_get(c, "region");
}

const char *aws_config_endpoint(const struct aws_config *c, const char *service)
{
	const char *ignored = aws_config_env(
		"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
	const char *services = aws_config_get(c, "services");
	const char *url = NULL;
	char name[32] = "AWS_ENDPOINT_URL_";

	assert(strlen(service) < 8);
	if (!ignored)
		ignored = aws_config_get(c, "ignore_configured_endpoint_urls");
	if (ignored && !strcasecmp(ignored, "true"))
		return NULL;
	for (size_t i = 0, n = strlen(name); service[i]; i++)
		name[n + i] = (char)toupper((unsigned char)service[i]);
	url = aws_config_env(name);
	if (!url)
		url = aws_config_env("AWS_ENDPOINT_URL");
	if (!url && services)
		url = aws_config_find(c, AWS_SERVICES, services, service,
				      "endpoint_url");
	return url ? url : aws_config_get(c, "endpoint_url");
}
