/* redact.c - see redact.h
 *
 * One pass from left to right.  At each position four checks are made.  The first that
 * finds a secret copies what may stay, writes the replacement and continues after it:
 *	1. is this the value of an option that a known program keeps secret?
 *	2. does a known secret value (of the environment) start here?
 *	3. does a secret with a known format start here?
 *	4. does a name start here that makes what follows it secret?
 * A name is read once, at its first character, so no text is read twice. */
#include "lineage/redact.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/macros.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/str.h"
#include "lineage/redact_internal.h"

enum { ADDED_MAX = 1024 };

/* A secret value, in a chain of those with the same first 8 bytes. */
struct secret {
	struct secret *next;
	size_t len;
	const char *text;
};

struct redact {
	struct pool pool;
	struct map secrets; /* first 8 bytes -> chain of struct secret */
	uint64_t maybe[64]; /* bit set: some secret's first bytes hash there */
	const char **names; /* more secret names */
	size_t n_names;
	const char **allowed; /* names that are never secret */
	size_t n_allowed;
	regex_t *patterns;
	size_t n_patterns;
	size_t n_added; /* values of variables of processes */
	bool all; /* one of the names was "*" */
};

/* A small hash of 8 bytes for `maybe`: most places are decided by it. */
static unsigned look(const char *text)
{
	uint64_t word;

	memcpy(&word, text, sizeof(word));
	return (unsigned)(word * 0x9e3779b97f4a7c15ull >> 52);
}

/* ---- names ---- */

static bool same_name(const char *a, size_t len, const char *b)
{
	if (strlen(b) != len)
		return false;
	for (size_t i = 0; i < len; i++) {
		char x = a[i] == '-' ? '_' : a[i];
		char y = b[i] == '-' ? '_' : b[i];

		if (tolower((unsigned char)x) != tolower((unsigned char)y))
			return false;
	}
	return true;
}

static bool is_secret(const struct redact *r, const char *name, size_t len)
{
	while (len && *name == '-') {
		name++;
		len--;
	}
	for (size_t i = 0; i < r->n_allowed; i++)
		if (same_name(name, len, r->allowed[i]))
			return false;
	if (r->all && len)
		return true;
	for (size_t i = 0; i < r->n_names; i++)
		if (same_name(name, len, r->names[i]))
			return true;
	return redact_is_secret_name(name, len);
}

/* The name of an environment variable counts as if it were written in capitals. */
static bool is_secret_variable(const struct redact *r, const char *name,
			       size_t len)
{
	char upper[128];

	if (len > sizeof(upper))
		return is_secret(r, name, len);
	for (size_t i = 0; i < len; i++)
		upper[i] = (char)toupper((unsigned char)name[i]);
	return is_secret(r, name, len) || is_secret(r, upper, len);
}

/* ---- making one ---- */

static int add_secret(struct redact *r, const char *text)
{
	struct secret *s = pool_zalloc(&r->pool, sizeof(*s));
	size_t len = strlen(text);
	unsigned h;

	if (!s)
		return -ENOMEM;
	s->text = pool_dup(&r->pool, text, len);
	if (!s->text)
		return -ENOMEM;
	s->len = len;
	s->next = map_get(&r->secrets, s->text, REDACT_VALUE_MIN);
	h = look(s->text);
	r->maybe[h / 64] |= (uint64_t)1 << h % 64;
	return map_set(&r->secrets, s->text, REDACT_VALUE_MIN, s);
}

/* The value of NAME=value when it is worth searching for.  A credentials variable that
 * holds a path names a file, which is not a secret. */
static const char *secret_value(const struct redact *r, const char *variable)
{
	const char *eq = strchr(variable, '=');

	if (!eq || strlen(eq + 1) < REDACT_VALUE_MIN ||
	    !is_secret_variable(r, variable, (size_t)(eq - variable)))
		return NULL;
	if (eq[1] == '/' && strcasestr(variable, "credential"))
		return NULL;
	return eq + 1;
}

static int take_names(struct redact *r, char *const *names, size_t n,
		      const char ***ret, size_t *ret_n)
{
	const char **list = pool_alloc(&r->pool, (n + 1) * sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		list[i] = pool_strdup(&r->pool, names[i]);
		if (!list[i])
			return -ENOMEM;
	}
	*ret = list;
	*ret_n = n;
	return 0;
}

static int take_patterns(struct redact *r, char *const *patterns, size_t n)
{
	if (!n)
		return 0;
	r->patterns = calloc(n, sizeof(*r->patterns));
	if (!r->patterns)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		r->n_patterns += regcomp(&r->patterns[r->n_patterns],
					 patterns[i], REG_EXTENDED) == 0;
	return 0;
}

bool redact_check_pattern(const char *pattern, char *text, size_t size)
{
	regex_t regex;
	int r = regcomp(&regex, pattern, REG_EXTENDED);

	if (r == 0)
		regfree(&regex);
	else
		(void)regerror(r, &regex, text, size);
	return r == 0;
}

int redact_new_with(const struct redact_options *o, struct redact **ret)
{
	CLEANUP(redact_freep) struct redact *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return -ENOMEM;
	e = take_names(r, o->names, o->n_names, &r->names, &r->n_names);
	if (e == 0)
		e = take_names(r, o->allowed, o->n_allowed, &r->allowed,
			       &r->n_allowed);
	if (e == 0)
		e = take_patterns(r, o->patterns, o->n_patterns);
	for (size_t i = 0; e == 0 && o->envp && o->envp[i]; i++) {
		const char *value = secret_value(r, o->envp[i]);

		if (value)
			e = add_secret(r, value);
	}
	if (e < 0)
		return e;
	/* After the environment: the value of PATH does not become a secret by this. */
	for (size_t i = 0; i < r->n_names; i++)
		r->all |= !strcmp(r->names[i], "*");
	*ret = TAKE_PTR(r);
	return 0;
}

int redact_new(char *const envp[], char *const *extra_names, size_t n,
	       struct redact **ret)
{
	const struct redact_options options = { .envp = envp,
						.names = extra_names,
						.n_names = n };

	return redact_new_with(&options, ret);
}

int redact_add_value(struct redact *r, const char *value)
{
	return strlen(value) < REDACT_VALUE_MIN ? 0 : add_secret(r, value);
}

/* Length of the longest secret of the environment that starts here. */
static size_t known_at(const struct redact *r, const char *text, size_t len)
{
	size_t longest = 0;
	unsigned h;

	if (len < REDACT_VALUE_MIN)
		return 0;
	h = look(text);
	if (!(r->maybe[h / 64] >> h % 64 & 1))
		return 0;
	for (const struct secret *s =
		     map_get(&r->secrets, text, REDACT_VALUE_MIN);
	     s; s = s->next)
		if (s->len <= len && s->len > longest &&
		    !memcmp(text, s->text, s->len))
			longest = s->len;
	return longest;
}

int redact_add_variable(struct redact *r, const char *entry, size_t len)
{
	CLEANUP(freep) char *copy = strndup(entry, len);
	const bool all = r->all;
	const char *value;

	if (!copy)
		return -ENOMEM;
	r->all = false;
	value = secret_value(r, copy);
	r->all = all;
	if (!value || r->n_added == ADDED_MAX ||
	    known_at(r, value, strlen(value)) == strlen(value))
		return 0;
	r->n_added++;
	return add_secret(r, value);
}

void redact_free(struct redact *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_patterns; i++)
		regfree(&r->patterns[i]);
	free(r->patterns);
	map_release(&r->secrets);
	pool_release(&r->pool);
	free(r);
}

/* ---- values ---- */

/* A value that is not a secret: empty, or a switch. */
static bool is_plain_value(const char *text, size_t len)
{
	static const char *const plain[] = {
		"", "true", "false", "none", "null", "yes", "no", REDACTED
	};

	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		if (strlen(plain[i]) == len && !strncasecmp(text, plain[i], len))
			return true;
	return false;
}

/* Is this the next option rather than the value of the one before? */
static bool is_option(const char *text, size_t len)
{
	return len > 2 && !memcmp(text, "--", 2) &&
	       isalpha((unsigned char)text[2]);
}

/* In a script "$TOKEN" names a secret without being one. */
static bool is_variable(const char *text, size_t len)
{
	size_t i = 1;

	if (len < 2 || text[0] != '$')
		return false;
	i += text[1] == '{';
	while (i < len && (isalnum((unsigned char)text[i]) || text[i] == '_'))
		i++;
	i += i < len && text[i] == '}';
	return i == len;
}

/* ---- names and what follows them ---- */

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The end of a value that starts at `pos`: the closing quote when it is quoted,
 * else what ends a word of a shell or a part of a query. */
static size_t value_end(const char *text, size_t len, size_t pos)
{
	while (pos < len && !isspace((unsigned char)text[pos]) &&
	       !memchr("\"'&;|()<>,", text[pos], 10))
		pos++;
	return pos;
}

static size_t quote_end(const char *text, size_t len, size_t pos, char quote)
{
	while (pos < len && text[pos] != quote)
		pos += text[pos] == '\\' && quote == '"' ? 2 : 1;
	return pos < len ? pos : len;
}

/* The end of a header's value: quote or end of line. */
static size_t header_end(const char *text, size_t len, size_t pos)
{
	while (pos < len && text[pos] != '\n' && !is_quote(text[pos]))
		pos++;
	return pos;
}

/* After a secret name at `pos`: finds the value, if there is one.  Forms:
 *	name=value  name = "value"  "name": "value"  ["name"]="value"
 *	Name: value to the end of the line  --name value */
static bool find_value(const char *text, size_t len, size_t pos, bool option,
		       size_t *ret_start, size_t *ret_end)
{
	size_t i = pos;
	char sep = 0;

	while (i < len && i < pos + 2 && (is_quote(text[i]) || text[i] == ']'))
		i++;
	while (i < len && is_blank(text[i]))
		i++;
	if (i < len && (text[i] == '=' || text[i] == ':'))
		sep = text[i++];
	else if (!option || i == pos)
		return false;
	/* "token:" is a header or a member only with a blank or quote. */
	if (sep == ':' && i < len && !is_blank(text[i]) && !is_quote(text[i]))
		return false;
	while (i < len && is_blank(text[i]))
		i++;
	if (!sep && is_option(text + i, len - i))
		return false;
	if (i < len && is_quote(text[i])) {
		*ret_start = i + 1;
		*ret_end = quote_end(text, len, i + 1, text[i]);
	} else {
		*ret_start = i;
		*ret_end = sep == ':' ? header_end(text, len, i) :
					value_end(text, len, i);
	}
	return true;
}

/* Reads the name at `pos`.  Returns where it ends; a secret after it is in `ret`,
 * counted from `pos`. */
static size_t name_at(const struct redact *r, const char *text, size_t len,
		      size_t pos, struct redact_span *ret)
{
	size_t end = pos;
	size_t start;
	size_t stop;

	while (end < len && is_name_char(text[end]))
		end++;
	if (!is_secret(r, text + pos, end - pos) ||
	    !find_value(text, len, end, text[pos] == '-', &start, &stop) ||
	    is_plain_value(text + start, stop - start) ||
	    is_variable(text + start, stop - start))
		return end;
	*ret = (struct redact_span){ .keep = start - pos, .len = stop - pos };
	return end;
}

/* ---- options of known programs ---- */

static bool is_variable_in_quotes(const char *text, size_t len)
{
	if (len >= 2 && is_quote(text[0]) && text[len - 1] == text[0])
		return is_variable(text + 1, len - 2);
	return is_variable(text, len);
}

/* The next such secret that ends after `pos`, in *start and *end; both are the end of
 * the text when there is none. */
static void next_option(struct redact_scan *scan, size_t pos, size_t *start,
			size_t *end)
{
	while (*end <= pos && *end < scan->len)
		if (!redact_scan_next(scan, start, end) || *start == *end)
			*start = *end = scan->len;
		else if (is_variable_in_quotes(scan->text + *start,
					       *end - *start))
			*end = 0;
}

/* ---- texts and words ---- */

static void redact_known(const struct redact *r, const char *text, size_t len,
			 struct str *out)
{
	struct redact_scan scan = { .text = text, .len = len };
	size_t name_end = 0; /* the name that was read last ends here */
	size_t copied = 0;
	size_t start = 0; /* the next secret of an option */
	size_t end = 0;

	for (size_t i = 0; i < len;) {
		struct redact_span span = { 0 };

		next_option(&scan, i, &start, &end);
		if (i >= start && i < end)
			span.len = end - i;
		if (!span.len)
			span.len = known_at(r, text + i, len - i);
		if (!span.len)
			span = redact_token_at(text, len, i);
		if (!span.len && i >= name_end && is_name_char(text[i]))
			name_end = name_at(r, text, len, i, &span);
		if (!span.len) {
			i++;
			continue;
		}
		str_add(out, text + copied, i + span.keep - copied);
		str_adds(out, REDACTED);
		i += span.len;
		copied = i;
		if (name_end < i)
			name_end = i;
	}
	str_add(out, text + copied, len - copied);
}

/* Appends the text without what matches the pattern. */
static void redact_pattern(const regex_t *pattern, const char *text, size_t len,
			   struct str *out)
{
	size_t at = 0;

	while (at < len) {
		regmatch_t m = { .rm_so = (regoff_t)at,
				 .rm_eo = (regoff_t)len };

		if (regexec(pattern, text, 1, &m,
			    REG_STARTEND | (at ? REG_NOTBOL : 0)) != 0)
			break;
		/* An empty match is not a secret. */
		if (m.rm_eo == m.rm_so) {
			str_add(out, text + at, (size_t)m.rm_so + 1 - at);
			at = (size_t)m.rm_so + 1;
			continue;
		}
		str_add(out, text + at, (size_t)m.rm_so - at);
		str_adds(out, REDACTED);
		at = (size_t)m.rm_eo;
	}
	if (at < len)
		str_add(out, text + at, len - at);
}

void redact_text(const struct redact *r, const char *text, size_t len,
		 struct str *out)
{
	CLEANUP(str_release) struct str clean = STR_INIT;

	if (!r->n_patterns) {
		redact_known(r, text, len, out);
		return;
	}
	redact_known(r, text, len, &clean);
	for (size_t i = 0; i < r->n_patterns; i++) {
		struct str next = STR_INIT;

		redact_pattern(&r->patterns[i], str_cstr(&clean), clean.len,
			       &next);
		next.failed |= clean.failed;
		str_release(&clean);
		clean = next;
	}
	str_add(out, clean.data, clean.len);
	out->failed |= clean.failed;
}

/* Is the word an option like "-c" or "-lc", which a script follows? */
static bool announces_script(const char *word)
{
	size_t len = strlen(word);

	return len >= 2 && len <= 4 && word[0] == '-' && word[1] != '-' &&
	       word[len - 1] == 'c';
}

/* Does the word end with a secret option whose value is the next word? */
static bool announces_secret(const struct redact *r, const char *word)
{
	size_t len = strlen(word);

	if (word[0] != '-' || memchr(word, '=', len))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_name_char(word[i]))
			return false;
	return is_secret(r, word, len);
}

/* NAME=value or --name=value as one word: everything after '=' is the value, blanks
 * included.  Returns its position, 0 when there is none. */
static size_t whole_value(const struct redact *r, const char *word)
{
	size_t n = 0;

	while (is_name_char(word[n]))
		n++;
	if (!n || word[n] != '=' || !is_secret(r, word, n) ||
	    is_plain_value(word + n + 1, strlen(word + n + 1)))
		return 0;
	return n + 1;
}

static void redact_word(const struct redact *r, struct redact_scan *scan,
			const char *before, const char *word, struct str *out)
{
	size_t value;
	size_t keep;

	if (redact_scan_word(scan, word, strlen(word), &keep)) {
		str_add(out, word, keep);
		str_adds(out, REDACTED);
		return;
	}
	if (before && announces_secret(r, before) &&
	    !is_plain_value(word, strlen(word)) &&
	    !is_option(word, strlen(word))) {
		str_adds(out, REDACTED);
		return;
	}
	value = before && announces_script(before) ? 0 : whole_value(r, word);
	if (value) {
		str_add(out, word, value);
		str_adds(out, REDACTED);
		return;
	}
	redact_text(r, word, strlen(word), out);
}

/* A variable that names a file of credentials is not a secret. */
static bool names_file(const char *name, size_t len, const char *value)
{
	char text[128];

	if (*value != '/' || len >= sizeof(text))
		return false;
	memcpy(text, name, len);
	text[len] = '\0';
	return strcasestr(text, "credential") != NULL;
}

void redact_variable(const struct redact *r, const char *entry, size_t len,
		     struct str *out)
{
	const char *eq = memchr(entry, '=', len);
	size_t name_len = eq ? (size_t)(eq - entry) : 0;
	size_t value_len;

	if (!eq) {
		redact_text(r, entry, len, out);
		return;
	}
	value_len = len - name_len - 1;
	str_add(out, entry, name_len + 1);
	if (value_len && (r->all || is_secret_variable(r, entry, name_len)) &&
	    !is_plain_value(eq + 1, value_len) &&
	    !names_file(entry, name_len, eq + 1))
		str_adds(out, REDACTED);
	else
		redact_text(r, eq + 1, value_len, out);
}

int redact_words(const struct redact *r, char *const argv[], struct pool *pool,
		 char ***ret)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct redact_scan scan = { 0 };
	char **words;
	size_t n = 0;

	while (argv[n])
		n++;
	words = pool_alloc(pool, (n + 1) * sizeof(*words));
	if (!words)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		str_clear(&out);
		redact_word(r, &scan, i ? argv[i - 1] : NULL, argv[i], &out);
		if (out.failed)
			return -ENOMEM;
		words[i] = argv[i];
		if (strcmp(str_cstr(&out), argv[i]) != 0)
			words[i] = pool_dup(pool, out.data, out.len);
		if (!words[i])
			return -ENOMEM;
	}
	words[n] = NULL;
	*ret = words;
	return 0;
}
