/* config.c - see config.h
 *
 * The table below is the only place that knows the settings: name, type,
 * default, help, and the function that puts a value into struct config. */
#include "project/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/number.h"
#include "base/quote.h"
#include "base/vec.h"
#include "lineage/redact.h"
#include "project/config_file.h"

/* ---- putting values into the struct ---- */

static int copy_strings(const struct toml_value *array, char ***ret_strings,
			size_t *ret_n)
{
	char **strings = calloc(array->n_items + 1, sizeof(*strings));

	if (!strings)
		return -ENOMEM;
	*ret_strings = strings;
	for (const struct toml_value *v = array->items; v; v = v->next) {
		strings[*ret_n] = strdup(v->string);
		if (!strings[*ret_n])
			return -ENOMEM;
		++*ret_n;
	}
	return 0;
}

static int apply_verbosity(struct config *c, const struct toml_value *v,
			   size_t arg)
{
	static const char *const names[] = {
		[VERBOSITY_QUIET] = "quiet",
		[VERBOSITY_NORMAL] = "normal",
		[VERBOSITY_VERBOSE] = "verbose",
		[VERBOSITY_DEBUG] = "debug",
	};

	(void)arg;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(v->string, names[i]))
			c->verbosity = (enum verbosity)i;
	return 0;
}

/* Comes behind the verbosity in the table, so it has the last word. */
static int apply_quiet(struct config *c, const struct toml_value *v, size_t arg)
{
	(void)arg;
	if (v->boolean)
		c->verbosity = VERBOSITY_QUIET;
	return 0;
}

static int apply_filter(struct config *c, const struct toml_value *v,
			size_t filter)
{
	c->filter_off[filter] = !v->boolean;
	return 0;
}

static int apply_flag(struct config *c, const struct toml_value *v,
		      size_t offset)
{
	memcpy((char *)c + offset, &v->boolean, sizeof(v->boolean));
	return 0;
}

static int apply_keep(struct config *c, const struct toml_value *v, size_t arg)
{
	(void)arg;
	c->objects_keep = (unsigned)config_keep_parse(v->string);
	return 0;
}

static int apply_log_level(struct config *c, const struct toml_value *v,
			   size_t arg)
{
	static const char *const names[] = { "error", "warning", "info",
					     "debug" };

	(void)arg;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(v->string, names[i]))
			c->log_level = (enum log_level)i;
	return 0;
}

static bool parse_size(const char *text, uint64_t *ret)
{
	*ret = UINT64_MAX;
	return !strcmp(text, "none") || number_parse_size(text, ret) == 0;
}

static int apply_size(struct config *c, const struct toml_value *v,
		      size_t offset)
{
	uint64_t size;

	(void)parse_size(v->string, &size);
	memcpy((char *)c + offset, &size, sizeof(size));
	return 0;
}

static int apply_ignore_paths(struct config *c, const struct toml_value *v,
			      size_t arg)
{
	(void)arg;
	return copy_strings(v, &c->ignore_paths, &c->n_ignore_paths);
}

static int apply_redact_names(struct config *c, const struct toml_value *v,
			      size_t arg)
{
	(void)arg;
	return copy_strings(v, &c->redact_names, &c->n_redact_names);
}

/* Comes after registration.omit.enabled and redact.names in the table. */
static int apply_omit_names(struct config *c, const struct toml_value *v,
			    size_t arg)
{
	size_t n = c->n_redact_names;
	char **names;

	(void)arg;
	if (!c->omit)
		return 0;
	names = realloc(c->redact_names, (n + v->n_items + 1) * sizeof(*names));
	if (!names)
		return -ENOMEM;
	c->redact_names = names;
	for (const struct toml_value *i = v->items; i; i = i->next) {
		names[c->n_redact_names] = strdup(i->string);
		if (!names[c->n_redact_names])
			return -ENOMEM;
		c->n_redact_names++;
	}
	return 0;
}

static int apply_redact_allow(struct config *c, const struct toml_value *v,
			      size_t arg)
{
	(void)arg;
	return copy_strings(v, &c->redact_allowed, &c->n_redact_allowed);
}

static int apply_redact_patterns(struct config *c, const struct toml_value *v,
				 size_t arg)
{
	(void)arg;
	return copy_strings(v, &c->redact_patterns, &c->n_redact_patterns);
}

static int apply_omit_values(struct config *c, const struct toml_value *v,
			     size_t arg)
{
	(void)arg;
	return c->omit ?
		       copy_strings(v, &c->redact_values, &c->n_redact_values) :
		       0;
}

static int apply_hash_run(struct config *c, const struct toml_value *v,
			  size_t arg)
{
	(void)arg;
	c->hash_run = DIGEST_SET_BLAKE3;
	for (const struct toml_value *i = v->items; i; i = i->next) {
		int algo = digest_algo_parse(i->string);

		if (algo >= 0)
			c->hash_run |= (digest_set)1 << algo;
	}
	return 0;
}

static int apply_text(struct config *c, const struct toml_value *v,
		      size_t offset)
{
	char *copy = strdup(v->string);

	if (!copy)
		return -ENOMEM;
	memcpy((char *)c + offset, &copy, sizeof(copy));
	return 0;
}

/* For keys that exist so that a file which has them is right: BLAKE3 is the identity of
 * content and cannot be another, and nothing is published by this version. */
static int apply_nothing(struct config *c, const struct toml_value *v,
			 size_t arg)
{
	(void)c;
	(void)v;
	(void)arg;
	return 0;
}

/* ---- the table ---- */

const struct config_key config_keys[] = {
	{ "output.verbosity", CONFIG_WORD, "\"normal\"",
	  "quiet|normal|verbose|debug", "how much a run prints",
	  apply_verbosity, 0 },
	{ "output.quiet", CONFIG_BOOL, "false", NULL,
	  "print nothing, whatever the verbosity", apply_quiet, 0 },
	{ "output.track_repo_files", CONFIG_BOOL, "true", NULL,
	  "list code files of the git repository among the inputs that a run "
	  "prints; false: only count them there (the record has them)",
	  apply_flag, offsetof(struct config, track_repo_files) },
	{ "filters.ignore_system_reads", CONFIG_BOOL, "true", NULL,
	  "hide files of the operating system", apply_filter, FILTER_SYSTEM },
	{ "filters.ignore_package_reads", CONFIG_BOOL, "true", NULL,
	  "hide installed packages", apply_filter, FILTER_PACKAGES },
	{ "filters.ignore_torch_cache", CONFIG_BOOL, "true", NULL,
	  "hide compile caches of torch and triton", apply_filter,
	  FILTER_TORCH_CACHE },
	{ "filters.ignore_library_caches", CONFIG_BOOL, "true", NULL,
	  "hide caches of other libraries", apply_filter,
	  FILTER_LIBRARY_CACHES },
	{ "filters.ignore_tmp_files", CONFIG_BOOL, "true", NULL,
	  "hide files written to temporary directories", apply_filter,
	  FILTER_TMP },
	{ "filters.ignore_paths", CONFIG_STRINGS, "[]", NULL,
	  "hide more files: absolute prefixes, or components with * "
	  "and ?",
	  apply_ignore_paths, 0 },
	{ "hash.primary", CONFIG_WORD, "\"blake3\"", "blake3",
	  "the digest that identifies content; always blake3", apply_nothing,
	  0 },
	{ "hash.run", CONFIG_STRINGS, "[]",
	  "blake3|sha256|sha512|md5|crc64nvme|git-blob",
	  "more digests to compute of every file of a run", apply_hash_run, 0 },
	{ "hash.cache", CONFIG_BOOL, "true", NULL,
	  "let runs use and fill the user's digest cache", apply_flag,
	  offsetof(struct config, hash_cache) },
	{ "tracer.default", CONFIG_WORD, "\"auto\"",
	  "auto|ebpf|hybrid|preload|ptrace", "how processes are observed",
	  apply_text, offsetof(struct config, tracer) },
	{ "tracer.fallback_enabled", CONFIG_BOOL, "true", NULL,
	  "if the tracer is refused, use another one, or none", apply_flag,
	  offsetof(struct config, tracer_fallback) },
	{ "run.require_complete", CONFIG_BOOL, "false", NULL,
	  "exit with status 125 if the record is incomplete and the "
	  "command exits with 0",
	  apply_flag, offsetof(struct config, require_complete) },
	{ "run.require_clean", CONFIG_BOOL, "false", NULL,
	  "run nothing in a git repository with uncommitted changes",
	  apply_flag, offsetof(struct config, require_clean) },
	{ "git.snapshot", CONFIG_BOOL, "true", NULL,
	  "keep uncommitted code of a run as objects under refs/roar/; outside "
	  "of git, in .roar/objects",
	  apply_flag, offsetof(struct config, git_snapshot) },
	{ "objects.keep", CONFIG_WORD, "\"none\"", CONFIG_KEEP_WORDS,
	  "content of every run that is kept in .roar/objects", apply_keep, 0 },
	{ "objects.max_size", CONFIG_SIZE, "\"50GiB\"", NULL,
	  "bytes that .roar/objects may have; more is not kept (none: no limit)",
	  apply_size, offsetof(struct config, objects_max_size) },
	{ "objects.max_file_size", CONFIG_SIZE, "\"none\"", NULL,
	  "a larger file is not kept (none: no limit)", apply_size,
	  offsetof(struct config, objects_max_file_size) },
	{ "proxy.enabled", CONFIG_BOOL, "false", NULL,
	  "record S3 objects of every run, by a proxy that the environment of "
	  "the command names",
	  apply_flag, offsetof(struct config, proxy_enabled) },
	{ "proxy.upstream", CONFIG_WORD, "\"auto\"", NULL,
	  "URL of the S3 server; auto: the endpoint in the environment, else "
	  "AWS",
	  apply_text, offsetof(struct config, proxy_upstream) },
	{ "proxy.region", CONFIG_WORD, "\"auto\"", NULL,
	  "region of requests that name none; auto: as AWS is configured",
	  apply_text, offsetof(struct config, proxy_region) },
	{ "proxy.hash", CONFIG_BOOL, "true", NULL,
	  "identify objects by their BLAKE3 while they pass the proxy",
	  apply_flag, offsetof(struct config, proxy_hash) },
	{ "redact.names", CONFIG_STRINGS, "[]", NULL,
	  "more names of options and variables with secret values (* "
	  "for all)",
	  apply_redact_names, 0 },
	{ "redact.patterns", CONFIG_STRINGS, "[]", NULL,
	  "extended regular expressions of texts that are secret wherever they "
	  "appear",
	  apply_redact_patterns, 0 },
	{ "redact.allow", CONFIG_STRINGS, "[]", NULL,
	  "names of options and variables whose values are not secret, although "
	  "they look so",
	  apply_redact_allow, 0 },
	{ "glaas.url", CONFIG_WORD, "\"none\"", NULL,
	  "URL of a lineage server (no effect yet: there is none)",
	  apply_nothing, 0 },
	{ "glaas.web_url", CONFIG_WORD, "\"none\"", NULL,
	  "URL of its pages (no effect yet)", apply_nothing, 0 },
	{ "registration.public_by_default", CONFIG_BOOL, "false", NULL,
	  "publish lineage for everybody (no effect yet: nothing is published)",
	  apply_nothing, 0 },
	{ "registration.tagging.enabled", CONFIG_BOOL, "true", NULL,
	  "make a git tag of published code (no effect yet: nothing is "
	  "published)",
	  apply_nothing, 0 },
	{ "registration.omit.enabled", CONFIG_BOOL, "true", NULL,
	  "apply registration.omit when a run is recorded, in addition to the "
	  "built-in redaction, which is always on",
	  apply_flag, offsetof(struct config, omit) },
	{ "registration.omit.secrets.values", CONFIG_STRINGS, "[]", NULL,
	  "texts that are secret wherever they appear, of 8 bytes or more",
	  apply_omit_values, 0 },
	{ "registration.omit.env_vars.names", CONFIG_STRINGS, "[]", NULL,
	  "variables with secret values, like redact.names", apply_omit_names,
	  0 },
	{ "registration.omit.allowlist.patterns", CONFIG_STRINGS, "[]", NULL,
	  "texts that publishing would leave as they are (no effect yet: nothing "
	  "is published, and redaction has no exceptions)",
	  apply_nothing, 0 },
	{ "logging.level", CONFIG_WORD, "\"warning\"",
	  "debug|info|warning|error",
	  "what .roar/roar.log gets: error, runs that were not recorded; "
	  "warning, also incomplete records; info, also every run; debug, also "
	  "times",
	  apply_log_level, 0 },
	{ "hints.enabled", CONFIG_BOOL, "true", NULL,
	  "print hints about next steps", apply_flag,
	  offsetof(struct config, hints) },
	{ 0 },
};

int config_keep_parse(const char *word)
{
	static const struct {
		const char *word;
		int set;
	} sets[] = {
		{ "none", 0 },
		{ "inputs", CONFIG_KEEP_INPUTS },
		{ "outputs", CONFIG_KEEP_OUTPUTS },
		{ "all", CONFIG_KEEP_INPUTS | CONFIG_KEEP_OUTPUTS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		if (!strcmp(word, sets[i].word))
			return sets[i].set;
	return -EINVAL;
}

const struct config_key *config_key_find(const char *name)
{
	for (const struct config_key *k = config_keys; k->name; k++)
		if (!strcmp(k->name, name))
			return k;
	return NULL;
}

/* ---- checking ---- */

static bool is_listed(const char *values, const char *word)
{
	size_t n = strlen(word);

	for (const char *v = values; v; v = strchr(v, '|')) {
		v += *v == '|';
		if (strcspn(v, "|") == n && !strncmp(v, word, n))
			return true;
	}
	return false;
}

static int check_word(const struct config_key *key, const char *word,
		      struct roar_error *err)
{
	CLEANUP(str_release) struct str shown = STR_INIT;

	quote_printable_cut(&shown, word, 100);
	if (!*word)
		return error_set(err, -EINVAL, "%s cannot hold an empty string",
				 key->name);
	if (!key->values || is_listed(key->values, word))
		return 0;
	if (!strchr(key->values, '|'))
		return error_set(err, -EINVAL,
				 "%s is always %s and cannot be '%s'",
				 key->name, key->values, str_cstr(&shown));
	return error_set(err, -EINVAL, "%s takes %s, not '%s'", key->name,
			 key->values, str_cstr(&shown));
}

static int check_size(const struct config_key *key, const char *text,
		      struct roar_error *err)
{
	CLEANUP(str_release) struct str shown = STR_INIT;
	uint64_t size;

	if (parse_size(text, &size))
		return 0;
	quote_printable_cut(&shown, text, 100);
	return error_set(err, -EINVAL,
			 "%s takes a size such as 20GiB, or none, not '%s'",
			 key->name, str_cstr(&shown));
}

static int check_pattern(const struct config_key *key, const char *pattern,
			 struct roar_error *err)
{
	CLEANUP(str_release) struct str shown = STR_INIT;
	char why[128];

	if (redact_check_pattern(pattern, why, sizeof(why)))
		return 0;
	quote_printable_cut(&shown, pattern, 100);
	return error_set(err, -EINVAL,
			 "%s has '%s', which is not a regular expression: %s",
			 key->name, str_cstr(&shown), why);
}

static int check_strings(const struct config_key *key,
			 const struct toml_value *array, struct roar_error *err)
{
	for (const struct toml_value *v = array->items; v; v = v->next) {
		int r;

		if (v->type != TOML_STRING)
			return error_set(err, -EINVAL,
					 "%s takes strings only, not a value of "
					 "type %s",
					 key->name, toml_type_name(v->type));
		r = check_word(key, v->string, err);
		if (r == 0 && key->apply == apply_redact_patterns)
			r = check_pattern(key, v->string, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int config_check(const struct config_key *key, const struct toml_value *value,
		 struct roar_error *err)
{
	static const struct {
		enum toml_type type;
		const char *text;
	} wanted[] = {
		[CONFIG_BOOL] = { TOML_BOOLEAN, "true or false" },
		[CONFIG_WORD] = { TOML_STRING, "a string" },
		[CONFIG_SIZE] = { TOML_STRING, "a string" },
		[CONFIG_STRINGS] = { TOML_ARRAY, "an array of strings" },
	};

	if (value->type != wanted[key->type].type)
		return error_set(err, -EINVAL,
				 "%s takes %s, not a value of type %s",
				 key->name, wanted[key->type].text,
				 toml_type_name(value->type));
	if (key->type == CONFIG_WORD)
		return check_word(key, value->string, err);
	if (key->type == CONFIG_SIZE)
		return check_size(key, value->string, err);
	if (key->type == CONFIG_STRINGS)
		return check_strings(key, value, err);
	return 0;
}

bool config_is_env_name(const char *name)
{
	if (!isalpha((unsigned char)name[0]) && name[0] != '_')
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && *name != '_')
			return false;
	return true;
}

/* ---- loading ---- */

static int add_mistake(struct config *c, const char *sentence)
{
	char **slot = VEC_PUSH(c->mistakes, c->n_mistakes, c->cap_mistakes);

	if (!slot)
		return -ENOMEM;
	*slot = strdup(sentence);
	return *slot ? 0 : -ENOMEM;
}

/* Nobody knows which names are secret: all are. */
static int distrust_names(struct config *c)
{
	char **names = realloc(c->redact_names,
			       (c->n_redact_names + 2) * sizeof(*names));

	if (!names)
		return -ENOMEM;
	c->redact_names = names;
	names[c->n_redact_names] = strdup("*");
	if (!names[c->n_redact_names])
		return -ENOMEM;
	names[++c->n_redact_names] = NULL;
	return 0;
}

static int take_mistake(void *ctx, const struct config_mistake *m)
{
	struct config *c = ctx;
	int r;

	if (m->foreign)
		return 0;
	r = add_mistake(c, m->text);
	if (r == 0 && (!strncmp(m->key, "redact", 6) ||
		       !strncmp(m->key, "registration", 12)))
		r = distrust_names(c);
	return r;
}

static int load_env(struct config *c, const struct config_file *f)
{
	c->env = calloc(f->doc.n_entries + 1, sizeof(*c->env));
	if (!c->env)
		return -ENOMEM;
	for (const struct toml_entry *e = f->doc.entries; e; e = e->next) {
		CLEANUP(str_release) struct str text = STR_INIT;
		const char *name = config_env_name(e);

		if (!name || !config_is_env_name(name) ||
		    e->value.type != TOML_STRING)
			continue;
		str_addf(&text, "%s=%s", name, e->value.string);
		c->env[c->n_env] = str_take(&text);
		if (!c->env[c->n_env])
			return -ENOMEM;
		c->n_env++;
	}
	return 0;
}

static int load_keys(struct config *c, struct config_file *f)
{
	int r = 0;

	for (const struct config_key *k = config_keys; k->name && r == 0; k++) {
		struct toml_value value;
		bool is_default;

		r = config_file_value(f, k, &value, &is_default);
		if (r == 0)
			r = k->apply(c, &value, k->arg);
	}
	return r;
}

int config_load(const char *dir, struct config *ret)
{
	CLEANUP(config_file_release) struct config_file f = { 0 };
	CLEANUP(config_release) struct config c = { 0 };
	struct roar_error err = { 0 };
	int broken = config_file_read(dir, &f, &err);
	int r = broken == -ENOMEM ? broken : load_keys(&c, &f);

	if (r == 0)
		r = load_env(&c, &f);
	if (r == 0)
		r = broken < 0 ? add_mistake(&c, err.text) :
				 config_file_check(&f, take_mistake, &c);
	if (r == 0 && broken < 0)
		r = distrust_names(&c);
	if (r < 0)
		return r;
	*ret = c;
	c = (struct config){ 0 };
	return 0;
}

static void free_strings(char **strings, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(strings[i]);
	free(strings);
}

void config_release(struct config *c)
{
	free_strings(c->ignore_paths, c->n_ignore_paths);
	free_strings(c->redact_names, c->n_redact_names);
	free_strings(c->redact_values, c->n_redact_values);
	free_strings(c->redact_allowed, c->n_redact_allowed);
	free_strings(c->redact_patterns, c->n_redact_patterns);
	free_strings(c->env, c->n_env);
	free_strings(c->mistakes, c->n_mistakes);
	free(c->tracer);
	free(c->proxy_upstream);
	free(c->proxy_region);
	*c = (struct config){ 0 };
}

int config_redact_new(const struct config *c, char *const *envp,
		      struct redact **ret)
{
	const struct redact_options options = {
		.envp = envp,
		.names = c->redact_names,
		.n_names = c->n_redact_names,
		.allowed = c->redact_allowed,
		.n_allowed = c->n_redact_allowed,
		.patterns = c->redact_patterns,
		.n_patterns = c->n_redact_patterns,
	};
	CLEANUP(redact_freep) struct redact *redact = NULL;
	int r = redact_new_with(&options, &redact);

	for (size_t i = 0; r == 0 && i < c->n_redact_values; i++)
		r = redact_add_value(redact, c->redact_values[i]);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(redact);
	return 0;
}

int config_redact_load(const char *dir, struct redact **ret)
{
	CLEANUP(config_release) struct config config = { 0 };
	int r = config_load(dir, &config);

	return r < 0 ? r : config_redact_new(&config, environ, ret);
}
