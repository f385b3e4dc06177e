/* argv_json.h - a command line as a JSON array, and back for `run @N`. */
#ifndef ROAR_ARGV_JSON_H
#define ROAR_ARGV_JSON_H

#include <stddef.h>

struct pool;
struct str;

void argv_json_encode(char *const argv[], struct str *out);

/* Parses what argv_json_encode() wrote (any array of strings); NULL-terminated
 * in the pool.  -EBADMSG when it is something else. */
int argv_json_decode(struct pool *pool, const char *text, char ***ret_argv,
		     size_t *ret_n);

#endif
