/* shards.c - see shards.h */
#include "run/shards.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "lineage/redact.h"
#include "project/project.h"
#include "run/run.h"
#include "store/store.h"

DEFINE_CLEANUP(DIR *, closedir)

static const char heading[] = "roar-shards 1\n";
static const char mark[] = ".shards-";

enum {
	UID_LEN = 8,
	NOTE_MAX = 64 * 1024 * 1024, /* bytes; a longer note is left out */
};

/* ---- one note ---- */

/* The text up to `end`, cut off the line; NULL when it does not end so. */
static char *cut(char **line, char end)
{
	char *text = *line;
	char *stop = strchr(text, end);

	if (!stop)
		return NULL;
	*stop = '\0';
	*line = stop + 1;
	return text;
}

static bool read_number(const char *text, int64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(text, &end, 10);
	return isdigit((unsigned char)text[0]) && !*end && !errno;
}

static int hex_value(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'A' && c <= 'F' ? c - 'A' + 10 :
				      -1;
}

/* %XX back into bytes, in place.  No name has a NUL. */
static bool unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		int high;
		int low;

		if (*p != '%') {
			*to++ = *p;
			continue;
		}
		high = hex_value(p[1]);
		low = high < 0 ? -1 : hex_value(p[2]);
		if (low < 0 || high + low == 0)
			return false;
		*to++ = (char)(high << 4 | low);
		p += 2;
	}
	*to = '\0';
	return true;
}

static bool read_line(char *line, struct store_shard *ret)
{
	char *rank = cut(&line, '\t');
	char *epoch = rank ? cut(&line, '\t') : NULL;
	char *samples = epoch ? cut(&line, '\t') : NULL;
	char *dataset = samples ? cut(&line, '\t') : NULL;

	if (!dataset || !*line || !unescape(dataset) || !unescape(line))
		return false;
	ret->rank = -1;
	ret->dataset = dataset;
	ret->path = line;
	return (strcmp(rank, "-") == 0 || read_number(rank, &ret->rank)) &&
	       read_number(epoch, &ret->epoch) &&
	       read_number(samples, &ret->n_samples);
}

static int add_row(const struct run *run, struct store *store,
		   struct store_shard *row, struct roar_error *err)
{
	CLEANUP(str_release) struct str dataset = STR_INIT;

	redact_text(run->redact, row->dataset, strlen(row->dataset), &dataset);
	if (str_error(&dataset) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	row->dataset = str_cstr(&dataset);
	return store_shard_add(store, run->job.id, row, err);
}

static int add_note(const struct run *run, struct store *store,
		    struct str *note, int32_t pid, struct roar_error *err)
{
	struct store_shard row = { .pid = pid };
	char *rest = note->data;
	char *line;
	int r = 0;

	if (!rest || strncmp(rest, heading, strlen(heading)) != 0)
		return 0;
	rest += strlen(heading);
	while (r == 0 && (line = cut(&rest, '\n')))
		if (read_line(line, &row))
			r = add_row(run, store, &row, err);
	return r;
}

/* ---- all of them ---- */

/* The uid that its journal was named by. */
static const char *uid_of(const struct run *run)
{
	const char *slash = strchr(run->journal_name, '/');

	return slash ? slash + 1 : run->meta.uid;
}

/* Is it a note of this run, or a half of one? */
static bool is_note(const char *name, const char *uid)
{
	return strncmp(name, uid, UID_LEN) == 0 &&
	       strncmp(name + UID_LEN, mark, strlen(mark)) == 0;
}

/* The pid in the name of a note of this run, PID or PID.N; 0: it is none. */
static int32_t pid_of(const char *name, const char *uid)
{
	const char *text = name + UID_LEN + strlen(mark);
	char *end;
	int64_t pid, n;

	if (!is_note(name, uid) || !isdigit((unsigned char)*text))
		return 0;
	errno = 0;
	pid = strtoll(text, &end, 10);
	if (errno || pid > INT32_MAX ||
	    (*end && (*end != '.' || !read_number(end + 1, &n))))
		return 0;
	return (int32_t)pid;
}

static int record_note(const struct run *run, struct store *store, int runs,
		       const char *name, struct roar_error *err)
{
	CLEANUP(str_release) struct str note = STR_INIT;
	int32_t pid = pid_of(name, uid_of(run));

	/* What cannot be read says nothing. */
	if (!pid || fd_read_file(runs, name, NOTE_MAX, &note) < 0)
		return 0;
	return add_note(run, store, &note, pid, err);
}

static DIR *open_runs(int project)
{
	int fd = openat(project, "runs",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		(void)close(fd);
	return dir;
}

int shards_record(const struct run *run, struct store *store,
		  struct roar_error *err)
{
	CLEANUP(closedirp) DIR *dir = open_runs(run->project->dirfd);
	struct dirent *entry;
	int r = 0;

	while (r == 0 && dir && (entry = readdir(dir)))
		r = record_note(run, store, dirfd(dir), entry->d_name, err);
	return r;
}

void shards_forget(int project, const char *uid)
{
	CLEANUP(closedirp) DIR *dir = open_runs(project);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (is_note(entry->d_name, uid))
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
}
