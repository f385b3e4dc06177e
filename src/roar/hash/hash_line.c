/* hash_line.c - see hash_line.h */
#include "hash/hash_line.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/quote.h"
#include "base/str.h"
#include "cli/cli.h"

const char *hash_line_tag(enum digest_algo algo)
{
	static const char *const tags[DIGEST_ALGO_END] = {
		[DIGEST_BLAKE3] = "BLAKE3",
		[DIGEST_SHA256] = "SHA256",
		[DIGEST_SHA512] = "SHA512",
		[DIGEST_MD5] = "MD5",
		[DIGEST_GIT_BLOB] = "GIT-BLOB",
		[DIGEST_CRC64NVME] = "CRC64NVME",
	};

	assert(algo < DIGEST_ALGO_END);
	return tags[algo];
}

static void add_mark(struct str *out, const char *name)
{
	if (strpbrk(name, "\n\r\\"))
		str_addc(out, '\\');
}

static void add_name(struct str *out, const char *name)
{
	for (;;) {
		size_t n = strcspn(name, "\n\r\\");

		str_add(out, name, n);
		name += n;
		if (!*name)
			return;
		str_addc(out, '\\');
		str_addc(out, *name == '\n' ? 'n' : *name == '\r' ? 'r' : '\\');
		name++;
	}
}

static void add_hex(struct str *out, enum digest_algo algo,
		    const uint8_t *digest)
{
	char hex[2 * DIGEST_MAX + 1];

	digest_hex(hex, digest, digest_algo_len(algo));
	str_adds(out, hex);
}

void hash_line_plain(struct str *out, const char *name, enum digest_algo algo,
		     const uint8_t *digest)
{
	add_mark(out, name);
	add_hex(out, algo, digest);
	str_adds(out, "  ");
	add_name(out, name);
	str_addc(out, '\n');
}

void hash_line_tagged(struct str *out, const char *name, enum digest_algo algo,
		      const uint8_t *digest)
{
	add_mark(out, name);
	str_addf(out, "%s (", hash_line_tag(algo));
	add_name(out, name);
	str_adds(out, ") = ");
	add_hex(out, algo, digest);
	str_addc(out, '\n');
}

void hash_line_verdict(struct str *out, const char *name, const char *verdict)
{
	add_mark(out, name);
	add_name(out, name);
	str_addf(out, ": %s\n", verdict);
}

static void add_printable(struct str *out, const struct str *lines)
{
	const char *line = str_cstr(lines);

	while (*line) {
		size_t n = strcspn(line, "\n");

		quote_printable(out, line, n);
		str_addc(out, '\n');
		line += n + (line[n] == '\n');
	}
}

int hash_line_print(struct str *lines)
{
	CLEANUP(str_release) struct str shown = STR_INIT;
	int status;

	/* Memory that ran out is cli_print()'s to tell. */
	if (isatty(STDOUT_FILENO) && str_error(lines) == 0) {
		add_printable(&shown, lines);
		status = cli_print(&shown);
	} else {
		status = cli_print(lines);
	}
	str_clear(lines);
	return status;
}
