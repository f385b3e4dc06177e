/* fixture.h - commands that read a record, in this process.
 *
 * The record is made by hand (query/record.h).  A command runs on it, and its output
 * is compared as a whole; the directory is shown as DIR and the session's UID as
 * SESSION. */
#ifndef ROAR_TEST_CLI_READ_FIXTURE_H
#define ROAR_TEST_CLI_READ_FIXTURE_H

#include "../query/sample.h"
#include "commands.h"

/* Runs a command in-process: words are separated by blanks.  Fills in f->out
 * and f->err and returns the exit status. */
int roar(struct fixture *f, const struct command *command, const char *words);

/* Runs it and compares everything: status, stdout, stderr. */
void expect(struct fixture *f, const struct command *command, const char *words,
	    int status, const char *out, const char *err);

/* The same, stdout only has to hold `part`. */
void expect_part(struct fixture *f, const struct command *command,
		 const char *words, const char *part);

#endif
