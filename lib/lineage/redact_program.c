/* redact_program.c - options that are secret in some programs only.
 *
 * "-p" is a password for sshpass, a port for docker and "make parents" for mkdir; so
 * the program matters.  A command line is read word by word:
 *
 *	COMMAND    the next word is a program.  NAME=value before it changes
 *	           nothing.  A program of the table makes its options count; one
 *	           that runs another (env, sudo, xargs, ...) leads to
 *	WRAPPED    any word may be the program
 *	CONTAINER  docker and similar: after "exec" any word may be the program,
 *	           "login" has options of its own, all others are theirs
 *	ARGUMENTS  the words of a program, up to the next ; | & ( or line
 *
 * A text is cut into words as a shell does, except that a quoted part is read as a
 * command line of its own (sh -c '...') unless a value is expected there.  Each word is
 * read once, so time is linear in the text. */
#include "lineage/redact_internal.h"

#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"

/* Options, and which part of their value is secret. */
struct redact_option {
	const char *names; /* separated by blanks; of two characters: -pVALUE */
	char behind; /* the part after this character; 0: all */
	bool attached; /* only as -pVALUE; -p alone asks for it */
	const char *start; /* only for values with this prefix */
};

struct redact_program {
	const char *names;
	const char *switches; /* switches that may precede an option: -sSu */
	bool wraps; /* its first argument is a program again */
	struct redact_option options[3];
};

static const struct redact_program programs[] = {
	{ .names = "curl",
	  .switches = "#0123456aBfgGiIjJklLnNOpqRsSvZ",
	  .options = { { "-u -U --user --proxy-user", ':', false, NULL },
		       { "--oauth2-bearer --pass --proxy-pass", 0, false,
			 NULL } } },
	{ .names = "http https xh xhs httpie",
	  .options = { { "-a --auth", ':', false, NULL } } },
	{ .names = "sshpass",
	  .wraps = true,
	  .options = { { "-p", 0, false, NULL } } },
	/* A program may be a script of theirs. */
	{ .names = "sh bash dash ksh zsh python pypy perl ruby node",
	  .wraps = true },
	{ .names = "mysql mysqladmin mysqlcheck mysqldump mysqlimport mysqlpump "
		   "mysqlshow mysqlslap mysqlsh mariadb mariadb-admin "
		   "mariadb-check mariadb-dump mariadb-import mariadb-show "
		   "7z 7za 7zr 7zz rar unrar",
	  .options = { { "-p", 0, true, NULL } } },
	{ .names = "mongo mongosh mongodump mongoexport mongoimport "
		   "mongorestore login",
	  .options = { { "-p", 0, false, NULL } } },
	{ .names = "redis-cli valkey-cli",
	  .options = { { "-a --pass", 0, false, NULL } } },
	{ .names = "ldapadd ldapdelete ldapmodify ldappasswd ldapsearch "
		   "ldapwhoami",
	  .options = { { "-w", 0, false, NULL } } },
	{ .names = "smbclient rpcclient",
	  .options = { { "-U --user", '%', false, NULL } } },
	{ .names = "lftp", .options = { { "-u --user", ',', false, NULL } } },
	{ .names = "sqlcmd bcp zip unzip",
	  .options = { { "-P", 0, false, NULL } } },
	{ .names = "openssl",
	  .options = { { "-pass -passin -passout", ':', false, "pass:" } } },
};

/* Secret options of every program. */
static const struct redact_option everyones = { "--auth", ':', false, NULL };

static const char wrappers[] =
	"chroot command doas env exec ionice mpiexec mpirun nice nohup numactl "
	"parallel setpriv setsid srun ssh stdbuf strace sudo taskset time "
	"timeout torchrun unbuffer watch xargs";
static const char containers[] =
	"apptainer az buildah crane docker helm kubectl nerdctl oc oras podman "
	"singularity skopeo";

/* ---- tables ---- */

static bool is_in_list(const char *list, const char *word, size_t len)
{
	while (*list) {
		size_t n = strcspn(list, " ");

		if (n == len && memcmp(list, word, n) == 0)
			return true;
		list += n + (list[n] == ' ');
	}
	return false;
}

/* python3.11 is python. */
static const struct redact_program *find_program(const char *name, size_t len)
{
	while (len && strchr("0123456789.", name[len - 1]))
		len--;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		if (is_in_list(programs[i].names, name, len))
			return &programs[i];
	return NULL;
}

/* ---- values ---- */

static const size_t NOWHERE = SIZE_MAX;

/* "8080:80", "127.0.0.1:80:80/tcp": what docker and others publish. */
static bool is_ports(const char *text, size_t len)
{
	bool colon = false;

	for (size_t i = 0; i < len; i++) {
		if (!isdigit((unsigned char)text[i]) && text[i] != '.' &&
		    text[i] != ':')
			return false;
		colon |= text[i] == ':';
	}
	return colon;
}

/* Where the secret in the value [from, len) of a word starts, or NOWHERE. */
static size_t secret_in(const struct redact_option *o, const char *word,
			size_t from, size_t len)
{
	const char *at;
	size_t start = o->start ? strlen(o->start) : 0;

	if (from >= len || (start && (len - from < start ||
				      memcmp(word + from, o->start, start))))
		return NOWHERE;
	if (!o->behind)
		return is_ports(word + from, len - from) ? NOWHERE : from;
	at = memchr(word + from, o->behind, len - from);
	if (!at || at + 1 == word + len)
		return NOWHERE;
	/* "http://..." is not a name and password. */
	if (word + len - at > 2 && memcmp(at, "://", 3) == 0)
		return NOWHERE;
	return (size_t)(at - word) + 1;
}

/* The value of this option in `word`: its position, `len` when it is the next word, 0
 * when the word is not such an option. */
static size_t value_of(const char *option, size_t n, const char *switches,
		       const char *word, size_t len)
{
	size_t i = 1;

	if (n > 2) {
		if (len < n || memcmp(word, option, n) != 0)
			return 0;
		return len == n ? len : word[n] == '=' ? n + 1 : 0;
	}
	while (switches && i < len && word[i] != option[1] &&
	       strchr(switches, word[i]))
		i++;
	return i < len && word[i] == option[1] ? i + 1 : 0;
}

static size_t option_at(const struct redact_option *o, const char *switches,
			const char *word, size_t len)
{
	for (const char *name = o->names; *name;) {
		size_t n = strcspn(name, " ");
		size_t value = value_of(name, n, switches, word, len);

		if (value)
			return value;
		name += n + (name[n] == ' ');
	}
	return 0;
}

/* ---- words ---- */

/* A secret in the option, or one announced for the next word. */
static bool take_option(struct redact_scan *s, const struct redact_option *o,
			const char *word, size_t len, size_t *ret_secret)
{
	const char *switches = s->program ? s->program->switches : NULL;
	size_t value = option_at(o, switches, word, len);

	if (!value)
		return false;
	if (value == len && !o->attached)
		s->expected = o;
	*ret_secret = secret_in(o, word, value, len);
	return true;
}

static size_t take_options(struct redact_scan *s, const char *word, size_t len)
{
	size_t secret = NOWHERE;

	for (size_t i = 0; s->program && i < 3; i++)
		if (s->program->options[i].names &&
		    take_option(s, &s->program->options[i], word, len, &secret))
			return secret;
	(void)take_option(s, &everyones, word, len, &secret);
	return secret;
}

static bool is_assignment(const char *word, size_t len)
{
	const char *equal = memchr(word, '=', len);

	for (const char *p = word; equal && p < equal; p++)
		if (!isalnum((unsigned char)*p) && *p != '_')
			return false;
	return equal && equal > word;
}

static void take_program(struct redact_scan *s, const char *word, size_t len)
{
	const char *slash = memrchr(word, '/', len);
	const char *name = slash ? slash + 1 : word;
	size_t n = len - (size_t)(name - word);
	const struct redact_program *program = find_program(name, n);

	if (s->state == REDACT_COMMAND && is_assignment(word, len))
		return;
	if (s->state == REDACT_CONTAINER && is_in_list("exec", name, n))
		s->state = REDACT_WRAPPED;
	if (s->state == REDACT_CONTAINER && !is_in_list("login", name, n))
		return;
	if (program) {
		s->program = program;
		s->state = REDACT_ARGUMENTS;
	} else if (is_in_list(containers, name, n)) {
		s->state = REDACT_CONTAINER;
	} else if (is_in_list(wrappers, name, n)) {
		s->state = REDACT_WRAPPED;
	} else if (s->state == REDACT_COMMAND) {
		s->state = REDACT_ARGUMENTS;
	}
}

bool redact_scan_word(struct redact_scan *s, const char *word, size_t len,
		      size_t *ret_keep)
{
	const struct redact_option *expected = s->expected;

	s->expected = NULL;
	if (expected) {
		*ret_keep = secret_in(expected, word, 0, len);
		return *ret_keep != NOWHERE;
	}
	if (len && word[0] == '-') {
		*ret_keep = take_options(s, word, len);
		return *ret_keep != NOWHERE;
	}
	if (s->program && s->program->wraps) {
		s->program = NULL;
		s->state = REDACT_COMMAND;
	}
	if (len && s->state != REDACT_ARGUMENTS)
		take_program(s, word, len);
	return false;
}

/* ---- texts ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_separator(char c)
{
	return c && strchr(";|&()`\n\r", c);
}

/* A quote inside of '...' as shells need it: '\'' */
static bool is_embedded(const struct redact_scan *s, size_t pos)
{
	return s->len - pos >= 4 && memcmp(s->text + pos, "'\\''", 4) == 0;
}

static bool is_end_of_quote(const struct redact_scan *s, size_t pos)
{
	return s->text[pos] == s->quote &&
	       (s->quote != '\'' || s->dollar || !is_embedded(s, pos));
}

/* The end of the quoted part that starts at `pos`; the position after the quote when
 * nothing closes it, because then it is an apostrophe.  That happens only to the last
 * quote of a kind, so the text is not searched repeatedly. */
static size_t skip_quoted(const struct redact_scan *s, size_t pos)
{
	char quote = s->text[pos];
	bool embedded = s->quote == '\'' && is_embedded(s, pos);
	size_t width = embedded ? 4 : 1;

	for (size_t i = pos + width; i < s->len; i++) {
		if (embedded ? is_embedded(s, i) : s->text[i] == quote)
			return i + width;
		if (s->quote && is_end_of_quote(s, i))
			break;
		i += s->text[i] == '\\' && quote == '"';
	}
	return pos + width;
}

/* The end of the word at `pos`.  A value that has a pair of quotes to itself goes to
 * the second one. */
static size_t word_end(const struct redact_scan *s, size_t pos)
{
	bool whole = s->quote && pos && s->text[pos - 1] == s->quote &&
		     (s->expected || s->text[pos] == '-');

	while (pos < s->len) {
		char c = s->text[pos];

		if (s->quote && is_end_of_quote(s, pos))
			break;
		if (!whole && (is_blank(c) || is_separator(c)))
			break;
		if (s->dollar && s->len - pos > 1 &&
		    memcmp(s->text + pos, "\\n", 2) == 0)
			break;
		if (!whole && (c == '"' || c == '\''))
			pos = skip_quoted(s, pos);
		else
			pos += c == '\\' && s->quote != '\'' ? 2 : 1;
	}
	return pos < s->len ? pos : s->len;
}

static void start_command(struct redact_scan *s)
{
	s->state = REDACT_COMMAND;
	s->program = NULL;
	s->expected = NULL;
}

static bool is_word_start(const struct redact_scan *s)
{
	return !s->pos || is_blank(s->text[s->pos - 1]) ||
	       is_separator(s->text[s->pos - 1]);
}

/* Skips blanks, separators, and quotes around words. */
static bool skip_one(struct redact_scan *s)
{
	const char *p = s->text + s->pos;
	size_t left = s->len - s->pos;

	if (is_blank(*p)) {
		s->pos++;
	} else if (is_separator(*p)) {
		start_command(s);
		s->pos++;
	} else if (s->dollar && left > 1 && memcmp(p, "\\n", 2) == 0) {
		start_command(s);
		s->pos += 2;
	} else if (s->quote && is_end_of_quote(s, s->pos)) {
		s->state = s->outer_state;
		s->program = s->outer_program;
		if (s->apart)
			s->expected = NULL;
		s->quote = 0;
		s->dollar = false;
		s->pos++;
	} else if (!s->quote && is_word_start(s) &&
		   (*p == '"' || *p == '\'' ||
		    (left > 1 && memcmp(p, "$'", 2) == 0))) {
		s->dollar = *p == '$';
		s->quote = s->dollar ? '\'' : *p;
		s->pos += s->dollar ? 2 : 1;
		s->outer_state = s->state;
		s->outer_program = s->program;
		s->apart = !s->expected && s->pos < s->len &&
			   s->text[s->pos] != '-';
		if (s->apart)
			start_command(s);
	} else {
		return false;
	}
	return true;
}

/* The quotes around all of a word are not part of it. */
static void strip(const struct redact_scan *s, size_t *start, size_t *end)
{
	size_t width = is_embedded(s, *start) ? 4 : 1;

	if (*end - *start < 2 * width ||
	    (s->text[*start] != '"' && s->text[*start] != '\'') ||
	    memcmp(s->text + *start, s->text + *end - width, width) != 0)
		return;
	*start += width;
	*end -= width;
}

bool redact_scan_next(struct redact_scan *s, size_t *ret_start, size_t *ret_end)
{
	assert(s->text || !s->len);
	while (s->pos < s->len) {
		size_t start = s->pos;
		size_t end;
		size_t keep;

		if (skip_one(s))
			continue;
		end = word_end(s, start);
		/* A quote may close nothing. */
		s->pos = end == start ? end + 1 : end;
		strip(s, &start, &end);
		if (redact_scan_word(s, s->text + start, end - start, &keep)) {
			*ret_start = start + keep;
			*ret_end = end;
			return true;
		}
	}
	return false;
}
