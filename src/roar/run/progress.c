/* progress.c - see progress.h */
#include "run/progress.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli.h"
#include "hash/hasher.h"

enum { PATIENCE_NS = 500000000, BAR = 24 };

struct progress progress_start(bool wanted, struct hasher *hasher)
{
	struct progress progress = {
		.enabled = wanted && isatty(STDERR_FILENO),
		.start_ns = clock_mono_ns(),
	};

	hasher_get_progress(hasher, &progress.before);
	return progress;
}

void progress_plan(struct progress *progress, uint64_t bytes)
{
	progress->n_planned++;
	progress->bytes_planned += bytes;
}

static void add_bar(struct str *out, uint64_t done, uint64_t total)
{
	size_t filled = total ? (size_t)((double)done * BAR / (double)total) :
				0;

	str_addc(out, '[');
	str_pad(out, '=', filled);
	str_pad(out, ' ', BAR - filled);
	str_addc(out, ']');
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
	CLEANUP(str_release) struct str line = STR_INIT;

	if (!progress->enabled || elapsed < PATIENCE_NS)
		return;
	str_adds(&line, "\rroar: hashing ");
	add_bar(&line, bytes, bytes_all);
	str_addf(&line, " %llu/%llu files, ", (unsigned long long)n,
		 (unsigned long long)n_all);
	format_size(&line, bytes);
	str_adds(&line, " of ");
	format_size(&line, bytes_all);
	str_adds(&line, ", ");
	format_size(&line, (uint64_t)(read * 1e9 / (double)elapsed));
	str_adds(&line, "/s\033[K");
	if (str_error(&line) == 0)
		(void)fd_write_all(STDERR_FILENO, line.data, line.len);
	progress->shown = true;
}

void progress_end(struct progress *progress)
{
	if (progress->shown)
		(void)fd_write_all(STDERR_FILENO, "\r\033[K", 4);
	progress->shown = false;
}
