/* run.c - include/roar/run.h: notes to the run above this process */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "event/note.h"
#include "roar/run.h"

#define API __attribute__((visibility("default")))

API int roar_run_uid(char ret_uid[9])
{
	CLEANUP(str_release) struct str run = STR_INIT;
	int r = note_find_run(&run);

	if (r == 0)
		memcpy(ret_uid, run.data + run.len - NOTE_UID_LEN,
		       NOTE_UID_LEN + 1);
	return r;
}

API int roar_run_note(const char *kind, uint32_t *number, const void *payload,
		      size_t len)
{
	CLEANUP(str_release) struct str run = STR_INIT;
	uint32_t fresh = 0;
	int r = note_find_run(&run);

	return r < 0 ? r :
		       note_write(run.data, kind, number ? number : &fresh,
				  payload, len);
}

API int roar_run_wrote(int fd, const uint8_t blake3[32])
{
	return note_digest_report(fd, blake3);
}

API int roar_run_checkpoint(const char *dir, uint64_t step, uint32_t world_size,
			    const char *parent,
			    const uint8_t manifest_blake3[32])
{
	struct note_checkpoint c = {
		.dir = dir,
		.parent = parent ? parent : "",
		.step = (int64_t)step,
		.world_size = world_size,
	};

	if (step > INT64_MAX)
		return -EINVAL;
	memcpy(c.manifest, manifest_blake3, sizeof(c.manifest));
	return note_checkpoint_report(&c);
}
