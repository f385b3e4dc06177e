/* report_objects.c - see report_objects.h */
#include "run/report_objects.h"

#include <string.h>

#include "base/quote.h"
#include "cli/cli.h"
#include "lineage/object_fold.h"
#include "run/run.h"

enum { HASH_BYTES = 6, SIZE_COLUMNS = 10 };

static void add_object(struct str *out, const struct object_fact *fact,
		       const char *label, const struct term *term)
{
	char hex[2 * HASH_BYTES + 1] = "------------";
	size_t start;

	if (fact->has_blake3)
		digest_hex(hex, fact->blake3, HASH_BYTES);
	str_adds(out, "  ");
	term_add(out, term, COLOR_BOLD, label);
	str_adds(out, "  ");
	term_add(out, term, COLOR_DIM, hex);
	str_adds(out, "  ");
	start = out->len;
	if (fact->size >= 0)
		format_size(out, (uint64_t)fact->size);
	if (out->len - start < SIZE_COLUMNS)
		str_pad(out, ' ', SIZE_COLUMNS - (out->len - start));
	str_adds(out, "  ");
	quote_name(out, fact->path, strlen(fact->path));
	if (fact->intermediate)
		term_add(out, term, COLOR_DIM, "  (read again)");
	str_addc(out, '\n');
}

size_t report_objects_add(struct str *out, const struct run *run, unsigned role,
			  const char *label, size_t max,
			  const struct term *term)
{
	struct object_fact *const *facts;
	size_t n_facts;
	size_t n = 0;

	if (!run->objects)
		return 0;
	facts = object_fold_facts(run->objects, &n_facts);
	for (size_t i = 0; i < n_facts; i++) {
		if (facts[i]->role != role)
			continue;
		if (n++ < max)
			add_object(out, facts[i], label, term);
	}
	return n;
}

void report_objects_add_words(struct str *out, const struct run *run)
{
	if (run->n_requests < 0)
		return;
	str_adds(out, ", ");
	format_count(out, (uint64_t)run->n_requests, "request");
	str_adds(out, " through the S3 proxy");
}

void report_objects_add_proxy(struct str *out, const struct run *run,
			      const struct term *term)
{
	if (!run->meta.environment[0])
		return;
	str_adds(out, "  ");
	term_add(out, term, COLOR_BOLD, "env");
	str_addf(out, "  set for the S3 proxy: %s", run->meta.environment);
	if (run->n_requests >= 0) {
		str_adds(out, " (");
		format_count(out, (uint64_t)run->n_requests, "request");
		str_addc(out, ')');
	}
	str_addc(out, '\n');
}

void report_objects_add_advice(struct str *out, const struct run *run)
{
	if (run->n_requests)
		return;
	str_adds(
		out,
		"roar: no request reached the S3 proxy: clients with an explicit "
		"endpoint, s3cmd, gsutil, rclone without an S3 remote from the "
		"environment, and AWS SDKs from before 2023 do not read "
		"AWS_ENDPOINT_URL\n");
}
