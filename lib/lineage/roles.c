/* roles.c - the role of a file, once the run is over. */
#include "lineage/fold_internal.h"

enum {
	PLACED = LINEAGE_CREATED | LINEAGE_TRUNCATED | LINEAGE_RENAMED_TO |
		 LINEAGE_LINKED_TO,
};

/* Did the run place content from before it here, and nothing since? */
static bool has_prior(const struct lineage_file *file)
{
	return file->own && ((const struct name *)file)->prior;
}

bool lineage_is_prior(const struct lineage_file *file,
		      const struct stamp *after)
{
	return has_prior(file) && file->origin && stamp_exists(after) &&
	       !content_differs(&file->origin->first, after);
}

/* Was the name made by the run, with nothing there before? */
static bool is_new_name(const struct lineage_file *file)
{
	return !stamp_exists(&file->first) &&
	       !(file->seen & LINEAGE_READ_PRIOR);
}

bool lineage_is_fresh(const struct lineage_file *file,
		      const struct stamp *after)
{
	const struct lineage_file *origin = file->origin;

	if (!stamp_exists(after) || !file->own || has_prior(file) ||
	    !is_new_name(file))
		return false;
	return !origin ||
	       (is_new_name(origin) &&
		origin->seen & (LINEAGE_CREATED | LINEAGE_LINKED_TO));
}

/* Was the content from before the run ever opened for writing?  The flag
 * LINEAGE_OPENED_WRITE may be from another file that had the name meanwhile. */
static bool prior_was_opened(const struct lineage_file *file)
{
	return ((const struct name *)file)->written;
}

/* Moved away and back, and what it was. */
static bool came_home(const struct lineage_file *file,
		      const struct stamp *after)
{
	if (!has_prior(file) || file->origin)
		return false;
	if (!prior_was_opened(file))
		return !content_differs(&file->first, after);
	/* Without a first stamp: the second side of an exchange, there and back.  A
	 * stamp that was taken after the first rename has a young ctime. */
	return stamp_exists(&file->first) &&
	       !content_differs(&file->first, after) &&
	       !content_is_racy(&file->first, file->first_ns);
}

/* Opened for writing, which changed nothing: was that what is there now? */
static bool was_touched(const struct lineage_file *file)
{
	return file->seen & LINEAGE_OPENED_WRITE &&
	       (!(file->seen & PLACED) || prior_was_opened(file));
}

/* Opening for writing does not prove a write, and an equal stamp does not disprove it
 * when the stamp was too young at the time it was taken. */
static bool was_written(const struct lineage_file *file,
			const struct stamp *after)
{
	if (file->seen & PLACED)
		return !came_home(file, after);
	if (!(file->seen & LINEAGE_OPENED_WRITE))
		return false;
	switch (file->ftype) {
	case EVENT_FTYPE_DEVICE:
	case EVENT_FTYPE_FIFO:
	case EVENT_FTYPE_SOCKET:
		return false; /* no content that could have changed */
	default:
		return !stamp_equal(&file->first, after) ||
		       stamp_is_racy(&file->first, file->first_ns);
	}
}

unsigned lineage_roles(const struct lineage_file *file,
		       const struct stamp *after)
{
	bool exists = stamp_exists(after);
	unsigned roles = 0;

	if (file->seen & LINEAGE_READ_PRIOR)
		roles |= LINEAGE_INPUT;
	if (was_written(file, after)) {
		if (exists)
			roles |= LINEAGE_OUTPUT;
		else if (!(file->seen & LINEAGE_MOVED_AWAY))
			roles |= LINEAGE_TEMPORARY;
		if (file->seen & LINEAGE_READ_OWN)
			roles |= LINEAGE_INTERMEDIATE;
	} else if (was_touched(file) && exists && !roles) {
		roles |= LINEAGE_TOUCHED;
	}
	return roles;
}

bool lineage_wrote_alone(const struct lineage_file *file, int32_t pid)
{
	enum {
		MADE = LINEAGE_CREATED | LINEAGE_TRUNCATED,
		OTHERS = LINEAGE_READ_PRIOR | LINEAGE_RENAMED_TO |
			 LINEAGE_LINKED_TO | LINEAGE_LINKED_FROM |
			 LINEAGE_INHERITED,
	};

	return file->own && (file->seen & MADE) && !(file->seen & OTHERS) &&
	       !file->joint && !file->restless && file->writer == pid;
}
