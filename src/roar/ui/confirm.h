/* confirm.h - the question before something that has no way back. */
#ifndef ROAR_CONFIRM_H
#define ROAR_CONFIRM_H

#include <stdbool.h>

#include "cli/cli.h"

/* Asks on the terminal, unless --yes was given.  Where nobody can be asked,
 * `deed` ("removes job 1234abcd") says what would have been done.  Returns 0 to
 * go on; else the exit status, and the reason was printed.  Only an answer that
 * begins with y or Y is a yes. */
int confirm(const struct args *args, const char *deed, const char *question);

/* The question alone, on stderr, answered on stdin. */
bool confirm_ask(const char *question);

#endif
