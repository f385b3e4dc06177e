/* prom.c - see prom.h */
#include "base/prom.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

void prom_family(struct str *out, const char *name, const char *type,
		 const char *help)
{
	str_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Backslash, quote and newline are escaped; what is no UTF-8 becomes U+FFFD. */
static void add_value(struct str *out, const char *value)
{
	for (size_t len = strlen(value); len > 0;) {
		size_t n = utf8_length(value, len);

		if (*value == '\n')
			str_adds(out, "\\n");
		else if (*value == '\\' || *value == '"')
			str_addf(out, "\\%c", *value);
		else if (n == 0)
			str_adds(out, "\xef\xbf\xbd");
		else
			str_add(out, value, n);
		n = n ? n : 1;
		value += n;
		len -= n;
	}
}

static void add_labels(struct str *out, const struct prom_label *labels)
{
	char before = '{';

	for (; labels && labels->value; labels++) {
		str_addf(out, "%c%s=\"", before, labels->name);
		add_value(out, labels->value);
		str_addc(out, '"');
		before = ',';
	}
	if (before == ',')
		str_addc(out, '}');
}

void prom_integer(struct str *out, const char *name,
		  const struct prom_label *labels, uint64_t value)
{
	str_adds(out, name);
	add_labels(out, labels);
	str_addf(out, " %llu\n", (unsigned long long)value);
}

void prom_seconds(struct str *out, const char *name,
		  const struct prom_label *labels, double value)
{
	str_adds(out, name);
	add_labels(out, labels);
	str_addf(out, " %.6f\n", value);
}

/* ---- histograms ---- */

/* The same labels and one more. */
static void add_bucket(struct str *out, const char *name,
		       const struct prom_label *labels, const char *bound,
		       uint64_t value)
{
	struct prom_label all[PROM_MAX_LABELS + 2] = { 0 };
	size_t n = 0;

	for (; labels && labels->value && n < PROM_MAX_LABELS; labels++)
		all[n++] = *labels;
	all[n] = (struct prom_label){ "le", bound };
	str_addf(out, "%s_bucket", name);
	add_labels(out, all);
	str_addf(out, " %llu\n", (unsigned long long)value);
}

void prom_histogram(struct str *out, const char *name,
		    const struct prom_label *labels, const struct histogram *h)
{
	uint64_t below = 0;

	for (size_t i = 0; i < HISTOGRAM_N; i++) {
		char bound[32];

		below += h->counts[i];
		(void)snprintf(bound, sizeof(bound), "%g",
			       (double)histogram_bounds_us[i] / 1e6);
		add_bucket(out, name, labels, bound, below);
	}
	add_bucket(out, name, labels, "+Inf", h->n);
	str_addf(out, "%s_sum", name);
	add_labels(out, labels);
	str_addf(out, " %.6f\n", (double)h->sum_us / 1e6);
	str_addf(out, "%s_count", name);
	add_labels(out, labels);
	str_addf(out, " %llu\n", (unsigned long long)h->n);
}
