/* presence.c - see presence.h */
#include "query/presence.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/pool.h"
#include "event/event.h"
#include "hash/digest/digest_cache.h"
#include "hash/file/file_hash.h"
#include "store/store.h"

static bool same_look(const struct stamp *a, const struct stamp *b)
{
	return a->ino == b->ino && a->size == b->size &&
	       a->mtime_ns == b->mtime_ns;
}

static enum presence compare(const struct store_file *row,
			     const struct digests *now)
{
	if (memcmp(row->digests.blake3, now->blake3, BLAKE3_LEN) == 0)
		return PRESENCE_PRESENT;
	return PRESENCE_CHANGED;
}

void presence_look_release(struct presence_look *look)
{
	digest_cache_close(look->cache);
	map_release(&look->sights);
}

static bool ask_cache(struct presence_look *look, const char *path,
		      const struct stamp *now, int64_t taken_ns,
		      struct digests *ret)
{
	if (!look->cache_tried && look->open_cache)
		(void)look->open_cache(&look->cache);
	look->cache_tried = true;
	return look->cache && !stamp_is_racy(now, taken_ns) &&
	       stability_trusts_stamps(&look->stability, path, now->dev) &&
	       digest_cache_get(look->cache, now, DIGEST_SET_BLAKE3, ret);
}

/* The stamp did not decide: the digest cache may, else the content does. */
static enum presence compare_content(struct presence_look *look,
				     const struct store_file *row,
				     const struct stamp *now, int64_t taken_ns)
{
	struct digests known = { 0 };
	struct file_hash hash;
	int r;

	if (!(row->digests.have & DIGEST_SET_BLAKE3))
		return PRESENCE_UNVERIFIED;
	if (ask_cache(look, row->path, now, taken_ns, &known))
		return compare(row, &known);
	if (now->size > look->budget)
		return PRESENCE_UNVERIFIED;
	look->budget -= now->size;
	r = file_hash(AT_FDCWD, row->path, DIGEST_SET_BLAKE3, NULL, NULL,
		      &hash);
	if (r == -ENOENT)
		return PRESENCE_MISSING;
	if (r < 0)
		return PRESENCE_UNVERIFIED;
	return compare(row, &hash.digests);
}

/* A symbolic link is its text. */
static enum presence compare_link(const struct store_file *row)
{
	char target[4096];
	ssize_t n = readlink(row->path, target, sizeof(target));
	struct digests now = { 0 };

	if (n < 0)
		return errno == ENOENT ? PRESENCE_MISSING : PRESENCE_CHANGED;
	if (digest_buffer(target, (size_t)n, DIGEST_SET_BLAKE3, &now) < 0)
		return PRESENCE_UNVERIFIED;
	return compare(row, &now);
}

static enum presence check(struct presence_look *look,
			   const struct store_file *row)
{
	int64_t taken_ns = clock_now_ns();
	bool link = row->ftype == EVENT_FTYPE_SYMLINK;
	struct stamp now;
	struct stat st;

	if (row->ftype == EVENT_FTYPE_OBJECT)
		return PRESENCE_REMOTE;
	if (fstatat(AT_FDCWD, row->path, &st, link ? AT_SYMLINK_NOFOLLOW : 0) <
	    0)
		return errno == ENOENT || errno == ENOTDIR ?
			       PRESENCE_MISSING :
			       PRESENCE_UNVERIFIED;
	now = stamp_of(&st);
	if (same_look(&row->stamp, &now))
		return PRESENCE_PRESENT;
	/* Its files have rows of their own; all of them are not read again. */
	if (row->ftype == EVENT_FTYPE_DIRECTORY && S_ISDIR(st.st_mode))
		return PRESENCE_UNVERIFIED;
	if (link && S_ISLNK(st.st_mode))
		return compare_link(row);
	if (link || !S_ISREG(st.st_mode) || now.size != row->stamp.size)
		return PRESENCE_CHANGED;
	return compare_content(look, row, &now, taken_ns);
}

/* What a path was compared with, and the result. */
struct sight {
	int64_t artifact;
	enum presence presence;
};

enum presence presence_check(struct presence_look *look,
			     const struct store_file *row)
{
	size_t len = strlen(row->path);
	struct sight *s;

	if (!look->pool || !row->artifact_id)
		return check(look, row);
	s = map_get(&look->sights, row->path, len);
	if (s && (s->artifact == row->artifact_id ||
		  s->presence == PRESENCE_MISSING))
		return s->presence;
	if (s && s->presence == PRESENCE_PRESENT)
		return PRESENCE_CHANGED;
	if (!s) {
		s = pool_alloc(look->pool, sizeof(*s));
		if (s && map_set(&look->sights, row->path, len, s) < 0)
			s = NULL;
	}
	if (!s)
		return check(look, row);
	s->artifact = row->artifact_id;
	s->presence = check(look, row);
	return s->presence;
}

const char *presence_word(enum presence p)
{
	static const char *const words[PRESENCE_END] = {
		[PRESENCE_PRESENT] = "present",
		[PRESENCE_CHANGED] = "changed",
		[PRESENCE_MISSING] = "missing",
		[PRESENCE_UNVERIFIED] = "unverified",
		[PRESENCE_REMOTE] = "remote",
	};

	return words[p];
}
