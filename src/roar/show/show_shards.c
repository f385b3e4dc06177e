/* show_shards.c - see show_shards.h */
#include "show/show_shards.h"

#include <string.h>

#include "base/quote.h"
#include "ui/view.h"

void show_shard_line(struct view *v, const struct store_shard *shard)
{
	str_adds(&v->out, "  ");
	if (shard->rank >= 0)
		str_addf(&v->out, "rank %-6lld", (long long)shard->rank);
	str_addf(&v->out, "epoch %-6lld%10lld samples  ",
		 (long long)shard->epoch, (long long)shard->n_samples);
	quote_name(&v->out, shard->path, strlen(shard->path));
	str_addc(&v->out, '\n');
}

static void json_shard(struct json *j, const struct store_shard *shard)
{
	json_put_object(j);
	view_json_text(j, "dataset", shard->dataset);
	view_json_text(j, "path", shard->path);
	view_json_int(j, "epoch", shard->epoch);
	json_put_key(j, "rank");
	if (shard->rank < 0)
		json_put_null(j);
	else
		json_put_int(j, shard->rank);
	view_json_int(j, "samples", shard->n_samples);
	if (shard->pid)
		view_json_int(j, "pid", shard->pid);
	json_end(j);
}

void show_shards_json(struct json *j, const char *key,
		      const struct store_shard *shards, size_t n)
{
	json_put_key(j, key);
	json_put_array(j);
	for (size_t i = 0; i < n; i++)
		json_shard(j, &shards[i]);
	json_end(j);
}
