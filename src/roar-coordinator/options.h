/* options.h - the command line of roar-coordinator. */
#ifndef COORDINATOR_OPTIONS_H
#define COORDINATOR_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "cli/cli.h"

enum { OPTIONS_MAX_LISTEN = 16 };

struct options {
	const char *listen[OPTIONS_MAX_LISTEN]; /* addresses for calls */
	size_t n_listen;
	const char *data_dir; /* of the log; NULL: it is in etcd */
	const char *etcd; /* its addresses, or NULL */
	/* For https:// addresses, PEM files or NULL: CA; our certificate and key. */
	const char *etcd_ca, *etcd_cert, *etcd_key;
	const char *etcd_user; /* or NULL; its password is never an option */
	const char *etcd_password_file; /* NULL: it is in the environment */
	const char *cluster; /* name of the coordinators that share a state */
	const char *advertise; /* address for clients; NULL: the first TCP one */
	int64_t lease_s; /* of the leader's key in etcd */
	bool agent; /* relay the calls of this host's workers, keep no state */
	const char *upstream; /* of an agent: the coordinators' addresses */
	const char *upstream_ca; /* a file: TLS to them; or NULL */
	const char *upstream_name; /* in their certificates; NULL: the host's */
	const char *http; /* NULL: by the first address; "off": none */
	const char *http_names; /* accepted Host names, comma-separated; or NULL */
	const char *tls_cert, *tls_key; /* PEM files, or NULL */
	const char *tokens; /* a file, or NULL: every client has full access */
	int log_level; /* of syslog: less severe lines are not written */
	bool log_json;
	int64_t grace_ms; /* for calls in progress, when the server stops */
	int64_t max_connections; /* 0 in these: the default */
	int64_t max_jobs;
	int64_t max_workers;
	int64_t max_message; /* bytes */
};

extern const struct program coordinator_program;

/* The options of a parsed command line; strings stay in argv.  -EINVAL and a sentence
 * when they contradict each other. */
int options_read(struct options *o, const struct args *args,
		 struct roar_error *err);

/* The address of HTTP: the first TCP address with its port + 1000 (a free port if that is
 * 0); only on loopback if calls use TLS, because HTTP does not.  Empty: HTTP is off.
 * -EINVAL: there is no such port. */
int options_http(const struct options *o, struct str *ret,
		 struct roar_error *err);

/* The first address that is not a Unix socket, or NULL. */
const char *options_first_tcp(const struct options *o);

/* Does it mean all addresses of this machine? */
bool options_is_any(const char *address);

/* Appends "HOST:PORT" with the port that was bound; 0: a Unix socket, unchanged. */
void options_add_address(struct str *out, const char *address, uint16_t port);

/* Can processes of other machines reach `address`? */
bool options_is_public(const char *address);

#endif
