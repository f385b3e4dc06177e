/* bytecode.c - see bytecode.h */
#include "run/bytecode.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/byte_order.h"
#include "base/path.h"
#include "run/run.h"

enum { HEADER = 16 };

static const char cache_dir[] = "/__pycache__/";

/* Only read, and from before the run. */
static bool is_read(const struct lineage_file *f)
{
	const unsigned written = LINEAGE_OPENED_WRITE | LINEAGE_CREATED |
				 LINEAGE_TRUNCATED | LINEAGE_RENAMED_TO |
				 LINEAGE_LINKED_TO | LINEAGE_MOVED_AWAY;

	return f->ftype == EVENT_FTYPE_REGULAR &&
	       (f->seen & LINEAGE_READ_PRIOR) && !(f->seen & written);
}

/* "P/NAME.py" of "P/__pycache__/NAME.TAG.pyc"; false for other names.  A name of
 * a module has no dot. */
static bool find_source(const struct lineage_file *f, struct str *ret)
{
	const char *name = path_basename(f->path);
	size_t dir_len = (size_t)(name - f->path);
	size_t cache_len = sizeof(cache_dir) - 1;
	size_t name_len = strcspn(name, ".");

	if (dir_len < cache_len || !name_len ||
	    memcmp(name - cache_len, cache_dir, cache_len) != 0)
		return false;
	str_clear(ret);
	str_add(ret, f->path, dir_len - cache_len + 1);
	str_add(ret, name, name_len);
	str_adds(ret, ".py");
	return !ret->failed && ret->len <= EVENT_PATH_MAX;
}

/* The header of what was read, if that is still there. */
static bool read_header(const struct lineage_file *f, uint8_t header[HEADER])
{
	CLEANUP(closep)
	int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stamp now;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	now = stamp_of(&st);
	return stamp_same_file(&now, &f->first) &&
	       now.mtime_ns == f->first.mtime_ns && now.size == f->first.size &&
	       read(fd, header, HEADER) == HEADER;
}

static bool fits(const uint8_t header[HEADER], const struct stat *source)
{
	return memcmp(header + 2, "\r\n", 2) == 0 &&
	       le32_get(header + 4) == 0 &&
	       le32_get(header + 8) == (uint32_t)source->st_mtime &&
	       le32_get(header + 12) == (uint32_t)source->st_size;
}

/* Is the .pyc no more than a cache?  The source becomes an input on the way. */
static bool follow(struct run *run, const struct lineage_file *f,
		   const char *path)
{
	const struct lineage_file *known = fold_find(run->fold, path);
	uint8_t header[HEADER];
	struct stamp stamp;
	struct stat st;

	if (known)
		return known->seen & (LINEAGE_READ_PRIOR | LINEAGE_READ_OWN);
	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
	    !read_header(f, header) || !fits(header, &st))
		return false;
	stamp = stamp_of(&st);
	return fold_add_implied(run->fold, path, &stamp, f) == 0 &&
	       stamp.ctime_ns <= f->first.mtime_ns;
}

void bytecode_follow(struct run *run)
{
	CLEANUP(str_release) struct str source = STR_INIT;
	size_t n;

	(void)fold_files(run->fold, &n);
	for (size_t i = 0; i < n; i++) {
		/* Anew each time: the list grows. */
		struct lineage_file *f = fold_files(run->fold, &n)[i];

		if (f->path_len < 4 ||
		    memcmp(f->path + f->path_len - 4, ".pyc", 4) != 0 ||
		    !is_read(f) || filter_match(&run->filters, f->path, false))
			continue;
		if (find_source(f, &source) && follow(run, f, source.data))
			f->seen |= RUN_CACHE;
	}
}
