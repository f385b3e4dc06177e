/* roles.c - what a file was to the run, once the run is over. */
#include "lineage/fold_internal.h"

enum {
	PLACED = LINEAGE_CREATED | LINEAGE_TRUNCATED | LINEAGE_RENAMED_TO |
		 LINEAGE_LINKED_TO,
};

/* Opening for writing is no proof of a write, and an equal stamp is no proof
 * against it when the stamp was too young at the time it was taken. */
static bool was_written(const struct lineage_file *file,
			const struct stamp *after)
{
	if (file->seen & PLACED)
		return true;
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
	} else if (file->seen & LINEAGE_OPENED_WRITE && exists && !roles) {
		roles |= LINEAGE_TOUCHED;
	}
	return roles;
}
