/* options.h - what the program was asked for on its command line. */
#ifndef COORDINATOR_OPTIONS_H
#define COORDINATOR_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

enum { OPTIONS_MAX_LISTEN = 16 };

struct options {
	const char *listen[OPTIONS_MAX_LISTEN]; /* addresses for calls */
	size_t n_listen;
	const char *data_dir; /* of the log; NULL: it is in etcd */
	const char *etcd; /* its addresses, or NULL */
	/* Of https:// addresses, files of PEM, or NULL: who vouches for it; who we are. */
	const char *etcd_ca, *etcd_cert, *etcd_key;
	const char *etcd_user; /* or NULL; its password is never an option */
	const char *etcd_password_file; /* NULL: it is in the environment */
	const char *cluster; /* a name for those that share a state in etcd */
	const char *
		advertise; /* our address for others; NULL: of the first TCP one */
	int64_t lease_s; /* how long a lead outlives who had it */
	bool agent; /* speak for the workers of this host, and keep nothing */
	const char *upstream; /* of an agent: the coordinators' addresses */
	const char *upstream_ca; /* a file: TLS to them; or NULL */
	const char *upstream_name; /* in their certificates; NULL: the host's */
	const char *http; /* NULL: by the first address; "off": none */
	const char *
		http_names; /* that browsers may know us by, by commas; or NULL */
	const char *tls_cert, *tls_key; /* files of PEM, or NULL */
	const char *tokens; /* a file, or NULL: everybody may do everything */
	int log_level; /* of syslog: lines up to that are written */
	bool log_json;
	int64_t grace_ms; /* for calls under way, when the program is to end */
	int64_t max_connections; /* 0 in these: the default */
	int64_t max_jobs;
	int64_t max_workers;
	int64_t max_message; /* bytes */
};

enum options_action { OPTIONS_SERVE, OPTIONS_HELP, OPTIONS_VERSION };

/* Reads the command line; the strings stay where they are in `argv`.  -EINVAL for a
 * wrong one, with a sentence. */
int options_parse(struct options *o, int argc, char **argv,
		  enum options_action *ret, struct roar_error *err);

/* The text of --help. */
void options_help(struct str *out);

/* Where HTTP is served: the first TCP address with its port + 1000 (a free port where
 * that is 0), on loopback alone where calls come by TLS, which this side does not
 * speak.  Empty for nowhere.  -EINVAL when there is no such port. */
int options_http(const struct options *o, struct str *ret,
		 struct roar_error *err);

/* The first address that is none of a Unix socket, or NULL. */
const char *options_first_tcp(const struct options *o);

/* Does it stand for all addresses of this machine? */
bool options_is_any(const char *address);

/* Appends "HOST:PORT" with the port that was taken; 0: a Unix socket, as it is. */
void options_add_address(struct str *out, const char *address, uint16_t port);

/* Can others than this machine's processes reach `address`? */
bool options_is_public(const char *address);

#endif
