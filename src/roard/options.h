/* options.h - the command line of roard. */
#ifndef ROARD_OPTIONS_H
#define ROARD_OPTIONS_H

#include "cli/cli.h"

enum mode { ACTIVATED, FOREGROUND, DAEMON, STOP, PIN, UNPIN };

struct options {
	enum mode mode;
	const char *path; /* of the socket */
	unsigned idle_s; /* without a run, until the programs are unloaded */
};

extern const struct program roard_program;

/* -EINVAL and a message when there is more than one action. */
int roard_options_read(struct options *o, const struct args *args,
		       struct roar_error *err);

#endif
