/* progress.c - see progress.h */
#include "run/progress.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli.h"
#include "hash/hasher.h"

enum { PATIENCE_NS = 500000000, BAR = 24 };

struct progress progress_start(bool wanted)
{
	return (struct progress){
		.enabled = wanted && isatty(STDERR_FILENO),
		.start_ns = clock_mono_ns(),
	};
}

static void add_bar(struct str *out, uint64_t done, uint64_t total)
{
	size_t filled = total ? (size_t)(done * BAR / total) : 0;

	str_addc(out, '[');
	str_pad(out, '=', filled);
	str_pad(out, ' ', BAR - filled);
	str_addc(out, ']');
}

void progress_show(void *ctx, const struct hasher_progress *p)
{
	struct progress *progress = ctx;
	int64_t elapsed = clock_mono_ns() - progress->start_ns;
	CLEANUP(str_release) struct str line = STR_INIT;

	if (!progress->enabled || elapsed < PATIENCE_NS)
		return;
	str_adds(&line, "\rroar: hashing ");
	add_bar(&line, p->n_done, p->n_submitted);
	str_addf(&line, " %llu/%llu files, ", (unsigned long long)p->n_done,
		 (unsigned long long)p->n_submitted);
	format_size(&line, p->bytes_done);
	str_adds(&line, ", ");
	format_size(&line,
		    (uint64_t)((double)p->bytes_done * 1e9 / (double)elapsed));
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
