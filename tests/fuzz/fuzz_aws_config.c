/* fuzz_aws_config.c - any bytes as the files of AWS's configuration.
 *
 * The first byte says which file it is.  What is malformed has a sentence; of what parses, every
 * answer is a string, and it is the same when it is asked for again. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "s3/aws_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool promise)
{
	if (!promise)
		abort();
}

static void ask(const struct aws_config *c, const char *key)
{
	const char *a = aws_config_get(c, key);
	const char *b = aws_config_find(c, AWS_PROFILE, "default", NULL, key);

	require(a == b);
	require(!a || *a);
	require(!a || aws_config_has_profile(c, "default"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	CLEANUP(aws_config_freep) struct aws_config *c = NULL;
	struct roar_error err = { 0 };
	int r;

	if (!len || aws_config_new(NULL, &c) < 0)
		return 0;
	r = aws_config_parse(c, "input", (const char *)data + 1, len - 1,
			     data[0] & 1, &err);
	require(r == 0 || err.text[0]);
	require(r == 0 || r == -EINVAL || r == -EFBIG);
	ask(c, "region");
	ask(c, "aws_access_key_id");
	ask(c, "s3");
	(void)aws_config_endpoint(c, "s3");
	(void)aws_config_find(c, AWS_PROFILE, "default", "s3",
			      "addressing_style");
	return 0;
}
