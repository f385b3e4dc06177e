/* fuzz_redact.c - taking secrets out of any bytes.
 *
 * The text has no NUL behind it and ends where its memory ends, so reading too far
 * is found.  A secret of the environment is never in what comes out. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "base/str.h"
#include "lineage/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static char secret[] = "MY_TOKEN=Xq8#Xq8#Xq8#";

static void require(bool promise)
{
	if (!promise)
		abort();
}

static void check_text(const struct redact *r, const char *text, size_t len)
{
	struct str out = STR_INIT;

	redact_text(r, text, len, &out);
	require(!memmem(str_cstr(&out), out.len, secret + 9,
			strlen(secret + 9)));
	str_release(&out);
}

/* The same bytes as words, cut at blanks. */
static void check_words(const struct redact *r, const char *text, size_t len)
{
	struct pool pool = POOL_INIT;
	char *copy = pool_dup(&pool, text, len);
	char *argv[64] = { 0 };
	char **redacted;
	size_t n = 0;

	for (char *rest = copy; rest && n < 63;)
		argv[n++] = strsep(&rest, " ");
	if (redact_words(r, argv, &pool, &redacted) == 0)
		for (size_t i = 0; i < n; i++)
			require(redacted[i] && !strstr(redacted[i], secret + 9));
	pool_release(&pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *envp[] = { secret, NULL };
	struct redact *r = NULL;
	char *text = malloc(len ? len : 1);

	if (text && redact_new(envp, NULL, 0, &r) == 0) {
		if (len)
			memcpy(text, data, len);
		check_text(r, text, len);
		check_words(r, text, len);
	}
	redact_free(r);
	free(text);
	return 0;
}
