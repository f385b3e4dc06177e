/* hash_list.c - see hash_list.h */
#include "hash/hash_list.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "hash/hash_line.h"

static bool ends_with(const char *text, const char *tail)
{
	size_t len = strlen(text);
	size_t n = strlen(tail);

	return len >= n && !strcmp(text + len - n, tail);
}

enum digest_algo hash_list_of_64(const char *list_name)
{
	return ends_with(list_name, ".sha256") ||
			       ends_with(list_name, "SHA256SUMS") ?
		       DIGEST_SHA256 :
		       DIGEST_BLAKE3;
}

/* Undoes the escapes of a name where it lies; false when there are others. */
static bool unescape(char *name)
{
	char *to = name;

	for (const char *from = name; *from; from++) {
		if (*from != '\\') {
			*to++ = *from;
			continue;
		}
		from++;
		if (*from != 'n' && *from != 'r' && *from != '\\')
			return false;
		*to++ = *from == 'n' ? '\n' : *from == 'r' ? '\r' : '\\';
	}
	*to = '\0';
	return true;
}

/* Exactly the digits of one digest. */
static bool parse_digest(const char *hex, struct hash_entry *e)
{
	int n = digest_parse_hex(hex, e->digest);

	return n >= 0 && (size_t)n == 2 * digest_algo_len(e->algo);
}

/* The algorithm whose tag the line begins with; -EINVAL when there is none.  No
 * tag is the beginning of another. */
static int find_tag(const char *line, size_t *ret_len)
{
	for (int algo = 0; algo < DIGEST_ALGO_END; algo++) {
		const char *tag = hash_line_tag((enum digest_algo)algo);
		size_t n = strlen(tag);

		if (strncmp(line, tag, n) != 0)
			continue;
		*ret_len = n;
		return algo;
	}
	return -EINVAL;
}

/* "(NAME) = DIGEST" behind the tag.  A name may hold ") = " itself, a digest does
 * not: the last parenthesis counts. */
static bool parse_tagged(char *rest, struct hash_entry *e)
{
	char *end;

	rest += *rest == ' ';
	end = strrchr(rest, ')');
	if (*rest != '(' || !end)
		return false;
	*end++ = '\0';
	end += *end == ' ';
	if (*end++ != '=')
		return false;
	end += *end == ' ';
	e->name = rest + 1;
	return parse_digest(end, e);
}

static int algo_of_digits(size_t n, enum digest_algo of_64)
{
	switch (n) {
	case 32:
		return DIGEST_MD5;
	case 64:
		return of_64;
	case 128:
		return DIGEST_SHA512;
	default:
		return -EINVAL;
	}
}

static bool parse_plain(char *line, enum digest_algo of_64,
			struct hash_entry *e)
{
	size_t n = strcspn(line, " ");
	int algo = algo_of_digits(n, of_64);

	if (algo < 0 || line[n] != ' ' ||
	    (line[n + 1] != ' ' && line[n + 1] != '*'))
		return false;
	line[n] = '\0';
	e->algo = (enum digest_algo)algo;
	e->name = line + n + 2;
	return parse_digest(line, e);
}

int hash_list_parse(char *line, size_t len, enum digest_algo of_64,
		    struct hash_entry *ret)
{
	struct hash_entry e = { 0 };
	bool escaped;
	size_t n_tag;
	int algo;

	if (strlen(line) != len)
		return -EINVAL;
	if (len && line[len - 1] == '\r')
		line[len - 1] = '\0';
	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return 0;
	escaped = *line == '\\';
	line += escaped;
	algo = find_tag(line, &n_tag);
	if (algo >= 0) {
		e.algo = (enum digest_algo)algo;
		if (!parse_tagged(line + n_tag, &e))
			return -EINVAL;
	} else if (!parse_plain(line, of_64, &e)) {
		return -EINVAL;
	}
	/* The name is ours to change: it lies in the caller's line. */
	if (!*e.name || (escaped && !unescape(line + (e.name - line))))
		return -EINVAL;
	*ret = e;
	return 1;
}
