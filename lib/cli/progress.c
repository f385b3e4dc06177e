/* progress.c - see progress.h */
#include "cli/progress.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/quote.h"
#include "base/str.h"
#include "cli/cli.h"
#include "hash/jobs/hasher.h"

enum { PATIENCE_NS = 500000000, BAR_MAX = 24, BAR_MIN = 4 };

struct progress progress_start(bool wanted, struct hasher *hasher)
{
	struct progress progress = {
		.enabled = wanted && isatty(STDERR_FILENO),
		.verb = "hashing",
		.start_ns = clock_mono_ns(),
	};

	if (hasher)
		hasher_get_progress(hasher, &progress.before);
	return progress;
}

void progress_plan(struct progress *progress, uint64_t bytes)
{
	progress->n_planned++;
	progress->bytes_planned += bytes;
}

static void add_bar(struct str *out, uint64_t done, uint64_t total,
		    size_t width)
{
	size_t filled = total ? (size_t)((double)done * (double)width /
					 (double)total) :
				0;

	str_addc(out, '[');
	str_pad(out, '=', filled);
	str_pad(out, ' ', width - filled);
	str_adds(out, "] ");
}

/* How long the rest takes at the pace so far. */
static void add_left(struct str *out, uint64_t done, uint64_t total,
		     int64_t elapsed_ns)
{
	double seconds;

	if (!done || done >= total)
		return;
	seconds = (double)elapsed_ns / 1e9 * (double)(total - done) /
		  (double)done;
	if (seconds < 60)
		str_addf(out, ", %.0f s left", seconds);
	else if (seconds < 3600)
		str_addf(out, ", %.0f min left", seconds / 60);
	else
		str_addf(out, ", %.1f h left", seconds / 3600);
}

/* "\rroar: hashing [===   ] figures": a line that is longer than the terminal is
 * wide could not be wiped. */
static void put_line(const char *verb, const struct str *figures, uint64_t done,
		     uint64_t total)
{
	CLEANUP(str_release) struct str line = STR_INIT;
	size_t width = (size_t)term_of(STDERR_FILENO).width;
	size_t head = strlen("roar:  ") + strlen(verb);
	size_t used = head + strlen("[] ") + figures->len;
	size_t bar = used < width ? width - used - 1 : 0;

	str_addf(&line, "\rroar: %s ", verb);
	if (bar >= BAR_MIN)
		add_bar(&line, done, total, bar < BAR_MAX ? bar : BAR_MAX);
	quote_printable_cut(&line, str_cstr(figures),
			    width > head ? width - head : 0);
	str_adds(&line, "\033[K");
	if (str_error(&line) == 0)
		(void)fd_write_all(STDERR_FILENO, line.data, line.len);
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void progress_show(void *ctx, const struct hasher_progress *p)
{
	struct progress *progress = ctx;
	const struct hasher_progress *before = &progress->before;
	int64_t elapsed = clock_mono_ns() - progress->start_ns;
	uint64_t n = p->n_done - before->n_done;
	uint64_t n_all = max(p->n_submitted,
			     before->n_submitted + progress->n_planned) -
			 before->n_done;
	uint64_t bytes = p->bytes_done - before->bytes_done;
	uint64_t bytes_all = max(p->bytes_submitted,
				 before->bytes_submitted +
					 progress->bytes_planned) -
			     before->bytes_done;
	double read = (double)(p->bytes_read - before->bytes_read);
	CLEANUP(str_release) struct str text = STR_INIT;

	if (!progress->enabled || elapsed < PATIENCE_NS)
		return;
	if (n_all) /* otherwise only bytes are counted */
		str_addf(&text, "%llu/%llu files, ", (unsigned long long)n,
			 (unsigned long long)n_all);
	format_size(&text, bytes);
	str_adds(&text, " of ");
	format_size(&text, bytes_all);
	str_adds(&text, ", ");
	format_size(&text, (uint64_t)(read * 1e9 / (double)elapsed));
	str_adds(&text, "/s");
	add_left(&text, bytes, bytes_all, elapsed);
	put_line(progress->verb, &text, bytes, bytes_all);
	progress->shown = true;
}

void progress_end(struct progress *progress)
{
	if (progress->shown)
		(void)fd_write_all(STDERR_FILENO, "\r\033[K", 4);
	progress->shown = false;
}
