/* confirm.h - asks for confirmation before an irreversible operation. */
#ifndef ROAR_CONFIRM_H
#define ROAR_CONFIRM_H

#include <stdbool.h>

#include "cli/cli.h"

/* Asks on the terminal, unless --yes was given.  Without a terminal the message contains
 * `deed` ("removes job 1234abcd"), the operation that was not done.  Returns 0 to continue;
 * otherwise the exit status, after printing the reason.  Only an answer that starts with y
 * or Y is a yes. */
int confirm(const struct args *args, const char *deed, const char *question);

/* Asks on stderr and reads the answer from stdin. */
bool confirm_ask(const char *question);

#endif
