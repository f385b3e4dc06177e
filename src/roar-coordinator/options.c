/* options.c - see options.h
 *
 * One table has every option with its words for --help; the fields that options fill are
 * named in it by their place in the struct. */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "base/macros.h"

enum { MAX_CLUSTER = 64 }; /* bytes of a name */

enum kind { LISTEN, TEXT, NUMBER, FLAG, LEVEL, FORMAT, HELP, VERSION };

struct row {
	const char *name; /* without its dashes */
	const char *argument; /* what it takes, NULL for nothing */
	enum kind kind;
	size_t place; /* in struct options */
	int64_t min, max; /* of NUMBER */
	const char *help;
};

static const struct row rows[] = {
	{ "listen", "ADDRESS", LISTEN, 0, 0, 0,
	  "where calls come in: HOST:PORT, :PORT or unix:PATH; may be\n"
	  "given several times (default 127.0.0.1:50051)" },
	{ "data-dir", "DIR", TEXT, offsetof(struct options, data_dir), 0, 0,
	  "where the log is kept; made if need be" },
	{ "etcd", "URLS", TEXT, offsetof(struct options, etcd), 0, 0,
	  "keep the log in etcd instead, and be one of several coordinators\n"
	  "of which one leads: http://HOST:PORT,... or https://" },
	{ "etcd-ca", "FILE", TEXT, offsetof(struct options, etcd_ca), 0, 0,
	  "who vouches for etcd with https://, PEM (default: the system's)" },
	{ "etcd-cert", "FILE", TEXT, offsetof(struct options, etcd_cert), 0, 0,
	  "a certificate for etcd to know us by, PEM" },
	{ "etcd-key", "FILE", TEXT, offsetof(struct options, etcd_key), 0, 0,
	  "its private key, PEM" },
	{ "etcd-user", "NAME", TEXT, offsetof(struct options, etcd_user), 0, 0,
	  "a user of etcd; the password is in ROAR_ETCD_PASSWORD, or:" },
	{ "etcd-password-file", "FILE", TEXT,
	  offsetof(struct options, etcd_password_file), 0, 0,
	  "the user's password, a line that only we may read" },
	{ "cluster", "NAME", TEXT, offsetof(struct options, cluster), 0, 0,
	  "of those that share a state in etcd (default 'default')" },
	{ "lease", "S", NUMBER, offsetof(struct options, lease_s), 2, 300,
	  "how long a leader may be silent to etcd (default 5)" },
	{ "advertise", "ADDRESS", TEXT, offsetof(struct options, advertise), 0,
	  0, "where clients find this one (default: the first --listen)" },
	{ "agent", NULL, FLAG, offsetof(struct options, agent), 0, 0,
	  "be the agent of a host: its workers connect here, and one\n"
	  "connection leads to the coordinator" },
	{ "upstream", "ADDRESSES", TEXT, offsetof(struct options, upstream), 0,
	  0, "of an agent: where coordinators are, HOST:PORT,..." },
	{ "upstream-ca", "FILE", TEXT, offsetof(struct options, upstream_ca), 0,
	  0, "of an agent: TLS to them; who vouches for them, PEM" },
	{ "upstream-name", "NAME", TEXT, offsetof(struct options, upstream_name),
	  0, 0, "in their certificates (default: the host of the address)" },
	{ "http", "ADDRESS", TEXT, offsetof(struct options, http), 0, 0,
	  "health, metrics and JSON over HTTP (default: the port of the\n"
	  "first --listen plus 1000, of an agent none; 'off' for none)" },
	{ "http-names", "NAMES", TEXT, offsetof(struct options, http_names), 0,
	  0,
	  "names by which browsers may ask for it without a token, by\n"
	  "commas, besides those of the other options and of the machine" },
	{ "tls-cert", "FILE", TEXT, offsetof(struct options, tls_cert), 0, 0,
	  "certificates, PEM, for TLS at TCP addresses" },
	{ "tls-key", "FILE", TEXT, offsetof(struct options, tls_key), 0, 0,
	  "their private key, PEM" },
	{ "tokens", "FILE", TEXT, offsetof(struct options, tokens), 0, 0,
	  "lines 'JOB TOKEN', with '*' for the administrator; only who\n"
	  "brings one may call" },
	{ "log-level", "LEVEL", LEVEL, 0, 0, 0,
	  "error, warning, info (default) or debug" },
	{ "log-format", "FORMAT", FORMAT, 0, 0, 0, "text (default) or json" },
	{ "grace", "MS", NUMBER, offsetof(struct options, grace_ms), 0, 600000,
	  "how long calls under way may take at the end (default 1000)" },
	{ "max-connections", "N", NUMBER,
	  offsetof(struct options, max_connections), 1, 1000000,
	  "connections at a time (default: as many as descriptors allow)" },
	{ "max-jobs", "N", NUMBER, offsetof(struct options, max_jobs), 1,
	  1000000, "jobs at a time" },
	{ "max-workers", "N", NUMBER, offsetof(struct options, max_workers), 1,
	  1000000, "workers of all jobs together" },
	{ "max-message", "BYTES", NUMBER, offsetof(struct options, max_message),
	  1024, 64 << 20, "of one request (default 64 MiB)" },
	{ "version", NULL, VERSION, 0, 0, 0, "print the version" },
	{ "help", NULL, HELP, 0, 0, 0, "show this help" },
};

static const struct {
	const char *name;
	int level;
} levels[] = {
	{ "error", LOG_ERR },
	{ "warning", LOG_WARNING },
	{ "info", LOG_INFO },
	{ "debug", LOG_DEBUG },
};

/* ---- one option ---- */

static int take_listen(struct options *o, const char *value,
		       struct roar_error *err)
{
	if (o->n_listen == OPTIONS_MAX_LISTEN)
		return error_set(err, -EINVAL,
				 "--listen can be given %d times at most",
				 OPTIONS_MAX_LISTEN);
	if (!*value)
		return error_set(err, -EINVAL,
				 "--listen takes HOST:PORT, :PORT or unix:PATH");
	o->listen[o->n_listen++] = value;
	return 0;
}

static int take_number(struct options *o, const struct row *row,
		       const char *value, struct roar_error *err)
{
	char *end = NULL;
	long long n;

	errno = 0;
	n = strtoll(value, &end, 10);
	if (errno || !*value || *end || *value == ' ' || n < row->min ||
	    n > row->max)
		return error_set(err, -EINVAL,
				 "--%s takes a number from %lld to %lld, "
				 "not '%.64s'",
				 row->name, (long long)row->min,
				 (long long)row->max, value);
	*(int64_t *)((char *)o + row->place) = n;
	return 0;
}

static int take_level(struct options *o, const char *value,
		      struct roar_error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		if (strcmp(levels[i].name, value) == 0) {
			o->log_level = levels[i].level;
			return 0;
		}
	}
	return error_set(err, -EINVAL,
			 "--log-level takes error, warning, info or debug, "
			 "not '%.64s'",
			 value);
}

static int take_format(struct options *o, const char *value,
		       struct roar_error *err)
{
	o->log_json = strcmp(value, "json") == 0;
	if (o->log_json || strcmp(value, "text") == 0)
		return 0;
	return error_set(err, -EINVAL,
			 "--log-format takes text or json, not '%.64s'", value);
}

static int take_text(struct options *o, const struct row *row,
		     const char *value, struct roar_error *err)
{
	if (!*value)
		return error_set(err, -EINVAL, "--%s takes a %s", row->name,
				 row->argument);
	*(const char **)((char *)o + row->place) = value;
	return 0;
}

static int take(struct options *o, const struct row *row, const char *value,
		enum options_action *ret, struct roar_error *err)
{
	switch (row->kind) {
	case LISTEN:
		return take_listen(o, value, err);
	case TEXT:
		return take_text(o, row, value, err);
	case NUMBER:
		return take_number(o, row, value, err);
	case FLAG:
		*(bool *)((char *)o + row->place) = true;
		return 0;
	case LEVEL:
		return take_level(o, value, err);
	case FORMAT:
		return take_format(o, value, err);
	case HELP:
		*ret = OPTIONS_HELP;
		return 0;
	case VERSION:
		*ret = OPTIONS_VERSION;
		return 0;
	}
	return 0;
}

/* ---- the command line ---- */

static const struct row *find_row(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strlen(rows[i].name) == len &&
		    memcmp(rows[i].name, name, len) == 0)
			return &rows[i];
	}
	return NULL;
}

/* One word of the command line, and the next where that is its value. */
static int parse_word(struct options *o, char **argv, int *at,
		      enum options_action *ret, struct roar_error *err)
{
	const char *word = argv[*at];
	const char *value = strchr(word, '=');
	const struct row *row;
	size_t len;

	if (strcmp(word, "-h") == 0)
		word = "--help";
	if (strncmp(word, "--", 2) != 0)
		return error_set(err, -EINVAL, "it takes no operand '%.64s'",
				 word);
	len = value ? (size_t)(value - word - 2) : strlen(word + 2);
	row = find_row(word + 2, len);
	if (!row)
		return error_set(err, -EINVAL, "unknown option '%.64s'", word);
	if (!row->argument && value)
		return error_set(err, -EINVAL, "--%s takes no value",
				 row->name);
	if (row->argument && !value && !argv[*at + 1])
		return error_set(err, -EINVAL, "--%s takes a %s", row->name,
				 row->argument);
	if (value)
		value++;
	else if (row->argument)
		value = argv[++*at];
	return take(o, row, value, ret, err);
}

static bool is_name(const char *text)
{
	size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				"abcdefghijklmnopqrstuvwxyz0123456789_.-");

	return n && n <= MAX_CLUSTER && !text[n];
}

/* An agent keeps nothing and knows nobody: what it would do so with is a mistake. */
static int check_agent(const struct options *o, struct roar_error *err)
{
	const struct {
		const char *name;
		const void *value;
	} others[] = { { "data-dir", o->data_dir },
		       { "etcd", o->etcd },
		       { "tokens", o->tokens },
		       { "http-names", o->http_names },
		       { "advertise", o->advertise } };

	if (!o->upstream)
		return error_set(err, -EINVAL,
				 "--upstream is missing: the coordinator that "
				 "the agent speaks to, HOST:PORT");
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (others[i].value)
			return error_set(err, -EINVAL,
					 "--%s is the coordinator's: an agent "
					 "has none",
					 others[i].name);
	}
	return 0;
}

static int check_etcd(const struct options *o, struct roar_error *err)
{
	if (!o->etcd && (o->etcd_ca || o->etcd_cert || o->etcd_key ||
			 o->etcd_user || o->etcd_password_file))
		return error_set(
			err, -EINVAL,
			"--etcd-ca, --etcd-cert, --etcd-key and "
			"--etcd-user are for a log in etcd: give --etcd, "
			"too");
	if (!o->etcd_cert != !o->etcd_key)
		return error_set(err, -EINVAL,
				 "--etcd-cert and --etcd-key need each other");
	if (o->etcd_password_file && !o->etcd_user)
		return error_set(err, -EINVAL,
				 "--etcd-password-file is of a user: give "
				 "--etcd-user, too");
	return 0;
}

static int check_storage(const struct options *o, struct roar_error *err)
{
	if (o->upstream || o->upstream_ca || o->upstream_name)
		return error_set(err, -EINVAL,
				 "--upstream and what belongs to it is for an "
				 "agent: give --agent, too");
	if (!o->data_dir && !o->etcd)
		return error_set(err, -EINVAL,
				 "--data-dir is missing: the folder where the "
				 "log is kept (or --etcd, to keep it there)");
	if (o->data_dir && o->etcd)
		return error_set(err, -EINVAL,
				 "the log is in a folder or in etcd: give "
				 "--data-dir or --etcd");
	return check_etcd(o, err);
}

static int check(const struct options *o, struct roar_error *err)
{
	int r = o->agent ? check_agent(o, err) : check_storage(o, err);

	if (r < 0)
		return r;
	if (!is_name(o->cluster))
		return error_set(err, -EINVAL,
				 "--cluster takes 1 to %d characters of A-Z, "
				 "a-z, 0-9, '_', '.' and '-', not '%.64s'",
				 MAX_CLUSTER, o->cluster);
	if (!o->tls_cert != !o->tls_key)
		return error_set(err, -EINVAL,
				 "--tls-cert and --tls-key need each other");
	return 0;
}

int options_parse(struct options *o, int argc, char **argv,
		  enum options_action *ret, struct roar_error *err)
{
	enum options_action action = OPTIONS_SERVE;
	int r;

	*o = (struct options){ .log_level = LOG_INFO,
			       .grace_ms = 1000,
			       .cluster = "default",
			       .lease_s = 5 };
	for (int i = 1; i < argc; i++) {
		r = parse_word(o, argv, &i, &action, err);
		if (r < 0)
			return r;
		if (action != OPTIONS_SERVE) {
			*ret = action;
			return 0;
		}
	}
	if (o->n_listen == 0)
		o->listen[o->n_listen++] = "127.0.0.1:50051";
	r = check(o, err);
	if (r < 0)
		return r;
	*ret = action;
	return 0;
}

/* ---- help ---- */

enum { HELP_COLUMN = 28 };

static void help_row(struct str *out, const struct row *row)
{
	size_t begin = out->len;
	const char *line = row->help;

	str_addf(out, "%s--%s%s%s",
		 strcmp(row->name, "help") ? "      " : "  -h, ", row->name,
		 row->argument ? " " : "", row->argument ? row->argument : "");
	if (out->len - begin >= HELP_COLUMN) { /* a long name has its line */
		str_addc(out, '\n');
		begin = out->len;
	}
	str_pad(out, ' ', begin + HELP_COLUMN - out->len);
	for (const char *end; (end = strchr(line, '\n')); line = end + 1) {
		str_add(out, line, (size_t)(end - line) + 1);
		str_pad(out, ' ', HELP_COLUMN);
	}
	str_addf(out, "%s\n", line);
}

void options_help(struct str *out)
{
	str_adds(
		out,
		"Usage: roar-coordinator {--data-dir DIR | --etcd URLS |\n"
		"                         --agent --upstream ADDRESSES}\n"
		"                        [--listen ADDRESS]...\n"
		"                        [OPTION]...\n"
		"\n"
		"Keeps the members of training jobs together: ranks, heartbeats,\n"
		"barriers, votes and small values, over gRPC and a faster protocol of\n"
		"its own on the same port.  Prints one line with its addresses when it\n"
		"serves.\n"
		"\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		help_row(out, &rows[i]);
	str_adds(out,
		 "\n"
		 "SIGTERM and SIGINT end it after the calls under way, SIGHUP has it\n"
		 "read tokens and certificates again.\n");
}

/* ---- addresses ---- */

static bool is_unix(const char *address)
{
	return strncmp(address, "unix:", 5) == 0;
}

const char *options_first_tcp(const struct options *o)
{
	for (size_t i = 0; i < o->n_listen; i++) {
		if (!is_unix(o->listen[i]))
			return o->listen[i];
	}
	return NULL;
}

int options_http(const struct options *o, struct str *ret,
		 struct roar_error *err)
{
	const char *address = o->http ? o->http : options_first_tcp(o);
	const char *colon = address ? strrchr(address, ':') : NULL;
	long port;

	if (!address || strcmp(address, "off") == 0)
		return 0;
	if (o->http) {
		str_adds(ret, o->http);
		return str_error(ret);
	}
	port = colon ? strtol(colon + 1, NULL, 10) : 0;
	if (port > USHRT_MAX - 1000)
		return error_set(err, -EINVAL,
				 "there is no port %ld for HTTP: name one "
				 "with --http",
				 port + 1000);
	if (o->tls_cert || !colon)
		str_adds(ret, "127.0.0.1");
	else
		str_add(ret, address, (size_t)(colon - address));
	str_addf(ret, ":%ld", port ? port + 1000 : 0);
	return str_error(ret);
}

void options_add_address(struct str *out, const char *address, uint16_t port)
{
	const char *colon = strrchr(address, ':');

	if (port == 0)
		str_adds(out, address);
	else
		str_addf(out, "%.*s:%u", (int)(colon - address), address, port);
}

bool options_is_any(const char *address)
{
	return address[0] == ':' || strncmp(address, "0.0.0.0:", 8) == 0 ||
	       strncmp(address, "[::]:", 5) == 0;
}

bool options_is_public(const char *address)
{
	static const char *const local[] = { "unix:", "127.",
					     "localhost:", "[::1]:" };

	for (size_t i = 0; i < ARRAY_SIZE(local); i++) {
		if (strncmp(address, local[i], strlen(local[i])) == 0)
			return false;
	}
	return true;
}
