/* run_log.c - see run_log.h */
#include "run/run_log.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/quote.h"
#include "project/owner.h"
#include "project/project.h"
#include "run/run.h"

enum { LOG_BYTES = 1 << 20 };

static const char *const level_names[] = { "error", "warning", "info",
					   "debug" };

static enum log_level level_of(const struct run *run, const char *error)
{
	size_t n;

	(void)fold_gaps(run->fold, &n);
	if (error)
		return LOG_LEVEL_ERROR;
	return n || run->kept.n_failed ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO;
}

static void add_verdict(struct str *line, const struct run *run)
{
	size_t n;
	const struct lineage_gap *gaps = fold_gaps(run->fold, &n);

	str_adds(line, n ? "incomplete (" : "complete");
	for (size_t i = 0; i < n; i++)
		str_addf(line, "%s%s", i ? "; " : "",
			 event_gap_text((unsigned)gaps[i].code));
	str_addf(line, "%s, exit %d", n ? ")" : "", run->job.exit_code);
	if (run->kept.n_failed)
		str_addf(line, ", %llu files were not kept",
			 (unsigned long long)run->kept.n_failed);
}

static void add_line(struct str *line, const struct run *run, const char *error,
		     enum log_level level)
{
	clock_format_iso(line, clock_now_ns());
	str_addf(line, " %s ", level_names[level]);
	if (error) {
		str_addf(line, "%s: not recorded: ", run->meta.uid);
		quote_printable(line, error, strlen(error));
	} else {
		str_addf(line, "@%s%lld %s: ",
			 strcmp(run->job.kind, "build") ? "" : "B",
			 (long long)run->job.step, run->job.uid);
		add_verdict(line, run);
	}
	if (run->project->config.log_level == LOG_LEVEL_DEBUG)
		str_addf(line, ", command %.3f s, hash %.3f s, record %.3f s",
			 (double)run->duration_ns / 1e9,
			 (double)(run->classify_ns + run->hash_ns) / 1e9,
			 (double)run->record_ns / 1e9);
	str_addc(line, '\n');
}

static int open_log(int dirfd)
{
	int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW |
		    O_NONBLOCK;
	CLEANUP(closep) int fd = openat(dirfd, "roar.log", flags, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	if (st.st_size < LOG_BYTES)
		return TAKE_FD(fd);
	(void)renameat(dirfd, "roar.log", dirfd, "roar.log.1");
	return openat(dirfd, "roar.log", flags, 0600);
}

void run_log_end(const struct run *run, const char *error)
{
	CLEANUP(str_release) struct str line = STR_INIT;
	CLEANUP(closep) int fd = -1;
	enum log_level level = level_of(run, error);
	bool acted;

	if (level > run->project->config.log_level)
		return;
	add_line(&line, run, error, level);
	acted = owner_act(run->project->dirfd);
	fd = open_log(run->project->dirfd);
	/* Whatever the umask took. */
	if (fd >= 0)
		(void)fchmod(fd, 0600);
	owner_act_as_self(acted);
	if (fd >= 0 && str_error(&line) == 0)
		(void)fd_write_all(fd, line.data, line.len);
}
