/* hash_threads.c - see hash_threads.h */
#include "hash/hash_threads.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/cli.h"

enum { THREADS_MAX = 64 };

int hash_threads_parse(const struct args *args, unsigned *ret)
{
	const char *text = args_get(args, "threads");
	char *end;
	long n;

	if (!text)
		return 0;
	errno = 0;
	n = strtol(text, &end, 10);
	if (errno || *end || n < 1 || n > THREADS_MAX)
		return cli_usage(args->command,
				 "option '--threads' takes a number from 1 to "
				 "%d, not '%.40s'",
				 THREADS_MAX, text);
	*ret = (unsigned)n;
	return 0;
}
