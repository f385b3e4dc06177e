/* pop_files.c - see pop_files.h */
#include "project/pop_files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "event/event.h"
#include "hash/file/file_hash.h"
#include "lineage/fold.h"
#include "ui/view.h"

/* ---- what the record says ---- */

static bool is_link(const struct store_file *row)
{
	return row->ftype == EVENT_FTYPE_SYMLINK;
}

static const char *refuse_place(const struct view *v,
				const struct store_file *row)
{
	if (row->filter)
		return "it is filtered";
	if (row->ftype == EVENT_FTYPE_OBJECT)
		return "it is an object of a store";
	if (row->ftype != EVENT_FTYPE_REGULAR && !is_link(row))
		return "it is not a regular file";
	if (!path_is_under(row->path, v->project.root) ||
	    path_is_under(row->path, v->project.dir))
		return "it is outside the project";
	return NULL;
}

static const char *refuse_history(const struct store_file *row)
{
	if (row->seen & LINEAGE_READ_PRIOR)
		return "the job also read it as an input";
	if (row->seen & LINEAGE_PRIOR)
		return "its content existed before the run";
	if (!(row->seen & LINEAGE_FRESH))
		return "it existed before the run";
	if (!(row->digests.have & DIGEST_SET_BLAKE3))
		return "its content was not identified";
	return NULL;
}

/* Does the use of the same path by another job speak against deleting it? */
static const char *refuse_use(const struct store_file *row,
			      const struct store_file *use)
{
	if (use->job_id == row->job_id)
		return NULL;
	if (use->artifact_id == row->artifact_id)
		return "another recorded job wrote or used the same content there";
	/* Nothing tells what a rename replaced, but somebody had a file there. */
	if (row->seen & LINEAGE_RENAMED_TO && use->job_id < row->job_id &&
	    use->role & (LINEAGE_INPUT | LINEAGE_OUTPUT))
		return "it replaced a file that an earlier job used or wrote";
	return NULL;
}

static int refuse_shared(struct view *v, const struct store_file *row,
			 const char **ret_why, struct roar_error *err)
{
	struct pool scratch = POOL_INIT;
	struct store_file *uses;
	size_t n;
	int r;

	r = store_path_uses(v->store, &scratch, row->path, &uses, &n, err);
	for (size_t i = 0; r >= 0 && i < n && !*ret_why; i++)
		*ret_why = refuse_use(row, &uses[i]);
	pool_release(&scratch);
	return r;
}

/* ---- what the disk says ---- */

/* Opens the directory of `path` one name at a time, so that no symbolic link
 * put there since the run can lead elsewhere. */
static int open_parent(const char *path)
{
	CLEANUP(closep) int dir = -1;
	CLEANUP(freep) char *copy = strdup(path);
	char *name, *slash;

	if (!copy)
		return -ENOMEM;
	dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	for (name = copy + 1; (slash = strchr(name, '/')); name = slash + 1) {
		int next;

		*slash = '\0';
		next = openat(dir, name,
			      O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -errno;
		(void)close(dir);
		dir = next;
	}
	return TAKE_FD(dir);
}

static int look(int dir, const struct store_file *row, struct stamp *ret)
{
	struct stat st;

	if (fstatat(dir, path_basename(row->path), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (is_link(row) ? !S_ISLNK(st.st_mode) : !S_ISREG(st.st_mode))
		return -ELOOP;
	*ret = stamp_of(&st);
	return 0;
}

static int hash_link(int dir, const char *name, struct file_hash *ret)
{
	char text[4096];
	ssize_t n = readlinkat(dir, name, text, sizeof(text));

	if (n < 0)
		return -errno;
	return digest_buffer(text, (size_t)n, DIGEST_SET_BLAKE3, &ret->digests);
}

static int hash_file(int dir, const char *name, struct file_hash *ret)
{
	CLEANUP(closep)
	int fd = openat(dir, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return file_hash_fd(fd, DIGEST_SET_BLAKE3, NULL, NULL, ret);
}

static bool same_content(int dir, const struct store_file *row,
			 const struct store_job *job, struct stamp *now)
{
	struct file_hash hash = { .stamp = *now };
	const char *name = path_basename(row->path);
	int64_t end_ns = job->started_ns + job->duration_ns;
	int r;

	if (now->size != row->stamp.size)
		return false;
	if (stamp_equal(now, &row->stamp) && !stamp_is_racy(now, end_ns))
		return true;
	r = is_link(row) ? hash_link(dir, name, &hash) :
			   hash_file(dir, name, &hash);
	if (r < 0)
		return false;
	*now = hash.stamp;
	return memcmp(hash.digests.blake3, row->digests.blake3, BLAKE3_LEN) ==
	       0;
}

static void check_disk(struct pop_file *f, const struct store_job *job)
{
	CLEANUP(closep) int dir = open_parent(f->row->path);
	int r = dir < 0 ? dir : look(dir, f->row, &f->stamp);

	if (r == -ENOENT) {
		f->gone = true;
		f->keep = "it does not exist any more";
	} else if (r == -ELOOP || r == -ENOTDIR) {
		f->keep = "its name is now used by something else";
	} else if (r < 0) {
		f->keep = "it cannot be inspected";
	} else if (!same_content(dir, f->row, job, &f->stamp)) {
		f->keep = "its content has changed since the run";
	}
}

/* ---- both ---- */

static int check(struct view *v, const struct store_job *job,
		 struct pop_file *f, struct roar_error *err)
{
	int r = 0;

	f->keep = refuse_place(v, f->row);
	if (!f->keep)
		f->keep = refuse_history(f->row);
	if (!f->keep)
		r = refuse_shared(v, f->row, &f->keep, err);
	if (r >= 0 && !f->keep)
		check_disk(f, job);
	return r;
}

int pop_plan(struct view *v, const struct store_job *job, struct pop_file **ret,
	     size_t *ret_n, struct roar_error *err)
{
	struct store_file *files;
	struct pop_file *plan;
	size_t n_files;
	size_t n = 0;
	int r;

	r = store_files(v->store, &v->pool, job->id, false, &files, &n_files,
			err);
	if (r < 0)
		return r;
	plan = pool_zalloc(&v->pool, (n_files + 1) * sizeof(*plan));
	if (!plan)
		return -ENOMEM;
	for (size_t i = 0; i < n_files; i++) {
		if (files[i].role != LINEAGE_OUTPUT)
			continue;
		plan[n].row = &files[i];
		r = check(v, job, &plan[n++], err);
		if (r < 0)
			return r;
	}
	*ret = plan;
	*ret_n = n;
	return 0;
}

int pop_delete(const struct pop_file *file)
{
	CLEANUP(closep) int dir = open_parent(file->row->path);
	struct stamp now;
	int r;

	if (dir < 0)
		return dir;
	r = look(dir, file->row, &now);
	if (r < 0)
		return r;
	if (!stamp_equal(&now, &file->stamp))
		return -ESTALE;
	if (unlinkat(dir, path_basename(file->row->path), 0) < 0)
		return -errno;
	return 0;
}
