/* fuzz_digest_hex.c - hex and algorithm names from anywhere. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hash/digest/digest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

/* Printing what was parsed gives the same digits, in lower case. */
static void check_hex(const char *text)
{
	uint8_t bytes[DIGEST_MAX];
	char hex[2 * DIGEST_MAX + 1];
	int n = digest_parse_hex(text, bytes);

	if (n < 0)
		return;
	check((size_t)n == strlen(text));
	digest_hex(hex, bytes, ((size_t)n + 1) / 2);
	check(!strncasecmp(hex, text, (size_t)n));
	check(n % 2 == 0 || hex[n] == '0');
}

static void check_name(const char *text)
{
	int algo = digest_algo_parse(text);

	if (algo < 0)
		return;
	check(algo < DIGEST_ALGO_END);
	check(!strcmp(digest_algo_name((enum digest_algo)algo), text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check_hex(text);
	check_name(text);
	free(text);
	return 0;
}
