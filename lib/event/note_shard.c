/* note_shard.c - the payload of notes about shards; see note.h */
#include <string.h>

#include "base/str.h"
#include "event/line_field.h"
#include "event/note.h"

/* ---- writing ---- */

void note_shard_add(struct str *payload, const struct note_shard *shard)
{
	if (shard->rank < 0)
		str_addc(payload, '-');
	else
		str_addf(payload, "%lld", (long long)shard->rank);
	str_addf(payload, "\t%lld\t%lld\t", (long long)shard->epoch,
		 (long long)shard->n_samples);
	line_field_add_name(payload, shard->dataset);
	str_addc(payload, '\t');
	line_field_add_name(payload, shard->path);
	str_addc(payload, '\n');
}

/* ---- reading ---- */

static bool read_line(char *line, struct note_shard *ret)
{
	char *rank = line_field_cut(&line, '\t');
	char *epoch = rank ? line_field_cut(&line, '\t') : NULL;
	char *samples = epoch ? line_field_cut(&line, '\t') : NULL;
	char *dataset = samples ? line_field_cut(&line, '\t') : NULL;

	if (!dataset || !*line || !line_field_unescape(dataset) ||
	    !line_field_unescape(line))
		return false;
	ret->rank = -1;
	ret->dataset = dataset;
	ret->path = line;
	return (strcmp(rank, "-") == 0 ||
		line_field_number(rank, &ret->rank)) &&
	       line_field_number(epoch, &ret->epoch) &&
	       line_field_number(samples, &ret->n_samples);
}

bool note_shard_next(char **rest, struct note_shard *ret)
{
	char *line;

	while ((line = line_field_cut(rest, '\n')))
		if (read_line(line, ret))
			return true;
	return false;
}
