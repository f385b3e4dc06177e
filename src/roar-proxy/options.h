/* options.h - the command line of roar-proxy. */
#ifndef PROXY_OPTIONS_H
#define PROXY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/cli.h"
#include "hash/digest/digest.h"

enum { OPTIONS_MAX_LISTEN = 8 };

struct options {
	const char *listen[OPTIONS_MAX_LISTEN];
	size_t n_listen;
	int listen_fd, ready_fd, end_fd; /* -1: none */
	const char *upstream, *region, *profile; /* NULL: as configured */
	const char *log, *control; /* NULL: none */
	digest_set digests; /* empty: content is not hashed */
	int64_t timeout_ms; /* for an upstream that is silent */
	bool allow_remote;
};

extern const struct program proxy_program;

/* -EINVAL with a sentence: options that contradict each other. */
int proxy_options_read(struct options *o, const struct args *args,
		       struct roar_error *err);

#endif
