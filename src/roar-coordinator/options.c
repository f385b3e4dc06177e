/* options.c - see options.h */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "base/macros.h"

enum { MAX_CLUSTER = 64 }; /* bytes of a name */

static const struct option_spec table[] = {
	{ .name = "listen",
	  .arg = "ADDRESS",
	  .flags = OPTION_REPEAT,
	  .help = "accept calls at HOST:PORT, :PORT, [V6]:PORT or unix:PATH; "
		  "port 0 picks a free one (default 127.0.0.1:50051)" },
	{ .name = "data-dir",
	  .arg = "DIR",
	  .help = "keep the log in this directory, created with mode 0700; one "
		  "server at a time uses it" },
	{ .name = "etcd",
	  .arg = "URLS",
	  .help = "keep the log in etcd instead, shared by several coordinators "
		  "of which one leads: http://HOST:PORT,... or https://" },
	{ .name = "etcd-ca",
	  .arg = "FILE",
	  .help = "CA certificates for https:// addresses of etcd, PEM "
		  "(default: those of the system)" },
	{ .name = "etcd-cert",
	  .arg = "FILE",
	  .help = "client certificate for etcd, PEM" },
	{ .name = "etcd-key", .arg = "FILE", .help = "its private key, PEM" },
	{ .name = "etcd-user",
	  .arg = "NAME",
	  .help = "user of etcd, with access to keys that start with /roar/; "
		  "the password is in ROAR_ETCD_PASSWORD or in:" },
	{ .name = "etcd-password-file",
	  .arg = "FILE",
	  .help = "the user's password, one line in a file that only its owner "
		  "can read" },
	{ .name = "cluster",
	  .arg = "NAME",
	  .help = "name of the coordinators that share a state in etcd "
		  "(default 'default')" },
	{ .name = "lease",
	  .arg = "S",
	  .min = 2,
	  .max = 300,
	  .help = "another coordinator takes over when etcd has not heard from "
		  "the leader for this many seconds, 2 to 300 (default 5)" },
	{ .name = "advertise",
	  .arg = "ADDRESS",
	  .help = "the address that clients are sent to (default: the first "
		  "TCP address of --listen, with the host's name where that "
		  "means all addresses)" },
	{ .name = "agent",
	  .help = "run as the agent of a host: its workers connect here, and "
		  "one connection leads to the coordinator" },
	{ .name = "upstream",
	  .arg = "ADDRESSES",
	  .help = "of an agent: the coordinators, HOST:PORT or unix:PATH, "
		  "separated by commas; one that serves is used" },
	{ .name = "upstream-ca",
	  .arg = "FILE",
	  .help = "of an agent: connect by TLS, with these CA certificates, "
		  "PEM" },
	{ .name = "upstream-name",
	  .arg = "NAME",
	  .help = "of an agent: the name in the coordinator's certificate "
		  "(default: the host of the address)" },
	{ .name = "http",
	  .arg = "ADDRESS",
	  .help = "serve health, metrics and JSON over HTTP here, or 'off' "
		  "(default: the port of the first --listen plus 1000, on "
		  "loopback only when calls use TLS; an agent serves none)" },
	{ .name = "http-names",
	  .arg = "NAMES",
	  .help = "host names, separated by commas, that browsers may use "
		  "without a token, besides those of the other options and of "
		  "the machine" },
	{ .name = "tls-cert",
	  .arg = "FILE",
	  .help = "certificates for TLS at TCP addresses, PEM" },
	{ .name = "tls-key", .arg = "FILE", .help = "their private key, PEM" },
	{ .name = "tokens",
	  .arg = "FILE",
	  .help = "require a token of this file: lines 'JOB TOKEN', with '*' "
		  "for the administrator" },
	{ .name = "log-level",
	  .arg = "LEVEL",
	  .values = "error|warning|info|debug",
	  .help = "least severity of the lines on stderr, info by default" },
	{ .name = "log-format",
	  .arg = "FORMAT",
	  .values = "text|json",
	  .help = "format of these lines, text by default" },
	{ .name = "grace",
	  .arg = "MS",
	  .max = 600000,
	  .help = "how long calls in progress may take when the server stops "
		  "(default 1000)" },
	{ .name = "max-connections",
	  .arg = "N",
	  .min = 1,
	  .max = 1000000,
	  .help = "limit of connections (default: what the limit of "
		  "descriptors allows)" },
	{ .name = "max-jobs",
	  .arg = "N",
	  .min = 1,
	  .max = 1000000,
	  .help = "limit of jobs (default 1024)" },
	{ .name = "max-workers",
	  .arg = "N",
	  .min = 1,
	  .max = 1000000,
	  .help = "limit of workers of all jobs (default 32768)" },
	{ .name = "max-message",
	  .arg = "BYTES",
	  .min = 1024,
	  .max = 64 << 20,
	  .help = "largest request (default 64 MiB)" },
	{ 0 },
};

static const struct command coordinator = {
	.name = "roar-coordinator",
	.summary = "the server that coordinates the workers of training jobs",
	.synopsis = "{--data-dir DIR | --etcd URLS | --agent} [OPTION]...",
	.about = "Coordinates the workers of training jobs: ranks, heartbeats, "
		 "barriers, votes and small values, over gRPC and a faster "
		 "protocol on the same port.  When it is ready, it prints one "
		 "line with its addresses.\n\n"
		 "SIGTERM and SIGINT stop it after the calls in progress.  On "
		 "SIGHUP it reads tokens and certificates again.",
	.options = table,
	.exit_status = "0 when it was asked to stop, 1 when it cannot serve, "
		       "its log cannot be written, or etcd holds state of "
		       "another kind, 2 on wrong usage.",
};

const struct program coordinator_program = {
	.name = "roar-coordinator",
	.version = ROAR_VERSION,
	.single = &coordinator,
};

/* ---- options that need or exclude each other ---- */

static bool is_name(const char *text)
{
	size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				"abcdefghijklmnopqrstuvwxyz0123456789_.-");

	return n && n <= MAX_CLUSTER && !text[n];
}

/* An agent keeps no state and authenticates nobody: options for that are refused. */
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
				 "the agent connects to, HOST:PORT");
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (others[i].value)
			return error_set(err, -EINVAL,
					 "--%s is for the coordinator, not for "
					 "an agent",
					 others[i].name);
	}
	return 0;
}

static int check_etcd(const struct options *o, struct roar_error *err)
{
	if (!o->etcd && (o->etcd_ca || o->etcd_cert || o->etcd_key ||
			 o->etcd_user || o->etcd_password_file))
		return error_set(err, -EINVAL,
				 "--etcd-ca, --etcd-cert, --etcd-key and "
				 "--etcd-user require --etcd");
	if (!o->etcd_cert != !o->etcd_key)
		return error_set(
			err, -EINVAL,
			"--etcd-cert and --etcd-key require each other");
	if (o->etcd_password_file && !o->etcd_user)
		return error_set(err, -EINVAL,
				 "--etcd-password-file requires --etcd-user");
	return 0;
}

static int check_storage(const struct options *o, struct roar_error *err)
{
	if (o->upstream || o->upstream_ca || o->upstream_name)
		return error_set(err, -EINVAL,
				 "--upstream, --upstream-ca and "
				 "--upstream-name require --agent");
	if (!o->data_dir && !o->etcd)
		return error_set(err, -EINVAL,
				 "--data-dir is missing: the directory of the "
				 "log (or --etcd, to keep the log there)");
	if (o->data_dir && o->etcd)
		return error_set(err, -EINVAL,
				 "the log is in a directory or in etcd: give "
				 "--data-dir or --etcd, not both");
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
				 "--tls-cert and --tls-key require each other");
	return 0;
}

/* ---- from the arguments ---- */

static int read_listen(struct options *o, const struct args *args,
		       struct roar_error *err)
{
	for (size_t i = 0; i < args->n_options; i++) {
		if (strcmp(args->options[i].spec->name, "listen") != 0)
			continue;
		if (o->n_listen == OPTIONS_MAX_LISTEN)
			return error_set(err, -EINVAL,
					 "--listen can be given %d times at "
					 "most",
					 OPTIONS_MAX_LISTEN);
		o->listen[o->n_listen++] = args->options[i].value;
	}
	if (o->n_listen == 0)
		o->listen[o->n_listen++] = "127.0.0.1:50051";
	return 0;
}

static int log_level(const char *name)
{
	static const struct {
		const char *name;
		int level;
	} levels[] = {
		{ "error", LOG_ERR },
		{ "warning", LOG_WARNING },
		{ "debug", LOG_DEBUG },
	};

	for (size_t i = 0; name && i < ARRAY_SIZE(levels); i++)
		if (strcmp(levels[i].name, name) == 0)
			return levels[i].level;
	return LOG_INFO;
}

int options_read(struct options *o, const struct args *args,
		 struct roar_error *err)
{
	const char *cluster = args_get(args, "cluster");
	const char *format = args_get(args, "log-format");
	int r;

	*o = (struct options){
		.data_dir = args_get(args, "data-dir"),
		.etcd = args_get(args, "etcd"),
		.etcd_ca = args_get(args, "etcd-ca"),
		.etcd_cert = args_get(args, "etcd-cert"),
		.etcd_key = args_get(args, "etcd-key"),
		.etcd_user = args_get(args, "etcd-user"),
		.etcd_password_file = args_get(args, "etcd-password-file"),
		.cluster = cluster ? cluster : "default",
		.advertise = args_get(args, "advertise"),
		.lease_s = args_number(args, "lease", 5),
		.agent = args_has(args, "agent"),
		.upstream = args_get(args, "upstream"),
		.upstream_ca = args_get(args, "upstream-ca"),
		.upstream_name = args_get(args, "upstream-name"),
		.http = args_get(args, "http"),
		.http_names = args_get(args, "http-names"),
		.tls_cert = args_get(args, "tls-cert"),
		.tls_key = args_get(args, "tls-key"),
		.tokens = args_get(args, "tokens"),
		.log_level = log_level(args_get(args, "log-level")),
		.log_json = format && strcmp(format, "json") == 0,
		.grace_ms = args_number(args, "grace", 1000),
		.max_connections = args_number(args, "max-connections", 0),
		.max_jobs = args_number(args, "max-jobs", 0),
		.max_workers = args_number(args, "max-workers", 0),
		.max_message = args_number(args, "max-message", 0),
	};
	r = read_listen(o, args, err);
	return r < 0 ? r : check(o, err);
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
				 "port %ld for HTTP does not exist: choose one "
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
