/* prom.h - numbers in the text format of Prometheus, version 0.0.4.
 *
 * prom_family() names a metric; its values follow.  Labels are pairs of name and value; a
 * value may have any bytes. */
#ifndef BASE_PROM_H
#define BASE_PROM_H

#include <stddef.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/str.h"

struct prom_label {
	const char *name;
	const char *value; /* NULL ends the list */
};

enum { PROM_MAX_LABELS = 4 };

/* `type` is counter, gauge or histogram. */
void prom_family(struct str *out, const char *name, const char *type,
		 const char *help);
void prom_integer(struct str *out, const char *name,
		  const struct prom_label *labels, uint64_t value);
void prom_seconds(struct str *out, const char *name,
		  const struct prom_label *labels, double value);
/* All lines of one histogram, in seconds. */
void prom_histogram(struct str *out, const char *name,
		    const struct prom_label *labels, const struct histogram *h);

#endif
