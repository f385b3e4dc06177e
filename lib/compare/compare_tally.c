/* compare_tally.c - counts of equal and different values; see compare_internal.h */
#include "compare/compare_internal.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/macros.h"

/* `tolerance` is a bound of the difference; an infinite difference exceeds all. */
static unsigned count(struct comparison *c, double difference, double magnitude,
		      double tolerance)
{
	struct compare_result *r = c->result;
	double relative = isfinite(magnitude) && magnitude > 0 ?
				  difference / magnitude :
				  INFINITY;
	unsigned news = 0;

	if (difference > r->max_abs) {
		r->max_abs = difference;
		news |= TALLY_WORST;
	}
	if (relative > r->max_rel)
		r->max_rel = relative;
	if (isfinite(difference) && difference <= tolerance)
		return news;
	if (r->n_different++ == 0)
		news |= TALLY_FIRST;
	return news;
}

unsigned tally_floats(struct comparison *c, double a, double b)
{
	double magnitude = fmax(fabs(a), fabs(b));
	double difference = fabs(a - b);

	c->result->n_values++;
	if (a == b || (isnan(a) && isnan(b)))
		return 0;
	if (isnan(difference))
		difference = INFINITY;
	return count(c, difference, magnitude,
		     c->options->atol + c->options->rtol * magnitude);
}

unsigned tally_integers(struct comparison *c, double a, double b,
			double difference)
{
	c->result->n_values++;
	if (difference == 0)
		return 0;
	return count(c, difference, fmax(fabs(a), fabs(b)), c->options->atol);
}

void tally_place(struct comparison *c, unsigned news, const char *place,
		 double a, double b)
{
	struct compare_result *r = c->result;

	if (news & TALLY_WORST)
		(void)snprintf(r->worst, sizeof(r->worst), "%s", place);
	if (!(news & TALLY_FIRST))
		return;
	(void)snprintf(r->first, sizeof(r->first), "%s", place);
	(void)snprintf(r->first_a, sizeof(r->first_a), "%.9g", a);
	(void)snprintf(r->first_b, sizeof(r->first_b), "%.9g", b);
}

void tally_texts(struct comparison *c, const char *place, const char *a,
		 const char *b)
{
	struct compare_result *r = c->result;

	if (r->n_different++ > 0)
		return;
	(void)snprintf(r->first, sizeof(r->first), "%s", place);
	(void)snprintf(r->first_a, sizeof(r->first_a), "%s", a);
	(void)snprintf(r->first_b, sizeof(r->first_b), "%s", b);
}

void tally_unlike(struct comparison *c, const char *fmt, ...)
{
	struct compare_result *r = c->result;
	va_list ap;

	if (r->verdict == COMPARE_UNLIKE)
		return;
	r->verdict = COMPARE_UNLIKE;
	va_start(ap, fmt);
	(void)vsnprintf(r->first, sizeof(r->first), fmt, ap);
	va_end(ap);
	r->first_a[0] = r->first_b[0] = '\0';
}

static bool is_word_of(const char *word, size_t len, const char *const *words,
		       size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(words[i]) == len &&
		    strncasecmp(word, words[i], len) == 0)
			return true;
	return false;
}

/* The last word of a name decides: "train_runtime", "startTime", "output-dir". */
bool tally_is_volatile(const char *name, bool is_text)
{
	static const char *const times[] = { "time",	"times",   "timestamp",
					     "date",	"runtime", "datetime",
					     "seconds", "second",  "duration",
					     "elapsed", "ms" };
	static const char *const paths[] = { "path",	 "paths",    "dir",
					     "file",	 "cwd",	     "folder",
					     "filename", "directory" };
	size_t end = strlen(name), start = end;

	while (start > 0 && isalpha((unsigned char)name[start - 1]) &&
	       (start == end || !isupper((unsigned char)name[start]) ||
		isupper((unsigned char)name[start - 1])))
		start--;
	return is_word_of(name + start, end - start, times,
			  ARRAY_SIZE(times)) ||
	       (is_text && is_word_of(name + start, end - start, paths,
				      ARRAY_SIZE(paths)));
}

void tally_volatile(struct comparison *c, const char *name)
{
	struct compare_result *r = c->result;
	size_t used = strlen(r->note);
	const char *before = ", ";

	if (r->n_volatile++ == 0)
		before = "times or paths differ: ";
	else if (strstr(r->note, name))
		return;
	/* The names that do not fit are left out. */
	if (used + strlen(before) + strlen(name) < sizeof(r->note))
		(void)snprintf(r->note + used, sizeof(r->note) - used, "%s%s",
			       before, name);
}
