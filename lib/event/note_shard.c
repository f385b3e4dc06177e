/* note_shard.c - the payload of notes about shards; see note.h */
#include <string.h>

#include "base/hex.h"
#include "base/number.h"
#include "base/str.h"
#include "event/note.h"

/* ---- writing ---- */

static void add_name(struct str *out, const char *name)
{
	for (const unsigned char *p = (const unsigned char *)name; *p; p++) {
		if (*p >= ' ' && *p < 0x7f && *p != '%')
			str_addc(out, (char)*p);
		else
			str_addf(out, "%%%02X", *p);
	}
}

void note_shard_add(struct str *payload, const struct note_shard *shard)
{
	if (shard->rank < 0)
		str_addc(payload, '-');
	else
		str_addf(payload, "%lld", (long long)shard->rank);
	str_addf(payload, "\t%lld\t%lld\t", (long long)shard->epoch,
		 (long long)shard->n_samples);
	add_name(payload, shard->dataset);
	str_addc(payload, '\t');
	add_name(payload, shard->path);
	str_addc(payload, '\n');
}

/* ---- reading ---- */

/* The text up to `end`, cut off the line; NULL when it does not end so. */
static char *cut(char **line, char end)
{
	char *text = *line;
	char *stop = strchr(text, end);

	if (!stop)
		return NULL;
	*stop = '\0';
	*line = stop + 1;
	return text;
}

/* %XX back into bytes, in place.  No name has a NUL. */
static bool unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		int c;

		if (*p != '%') {
			*to++ = *p;
			continue;
		}
		c = hex_byte(p + 1);
		if (c <= 0)
			return false;
		*to++ = (char)c;
		p += 2;
	}
	*to = '\0';
	return true;
}

static bool read_line(char *line, struct note_shard *ret)
{
	char *rank = cut(&line, '\t');
	char *epoch = rank ? cut(&line, '\t') : NULL;
	char *samples = epoch ? cut(&line, '\t') : NULL;
	char *dataset = samples ? cut(&line, '\t') : NULL;

	if (!dataset || !*line || !unescape(dataset) || !unescape(line))
		return false;
	ret->rank = -1;
	ret->dataset = dataset;
	ret->path = line;
	return (strcmp(rank, "-") == 0 ||
		number_parse(rank, 0, INT64_MAX, &ret->rank) == 0) &&
	       number_parse(epoch, 0, INT64_MAX, &ret->epoch) == 0 &&
	       number_parse(samples, 0, INT64_MAX, &ret->n_samples) == 0;
}

bool note_shard_next(char **rest, struct note_shard *ret)
{
	char *line;

	while ((line = cut(rest, '\n')))
		if (read_line(line, ret))
			return true;
	return false;
}
