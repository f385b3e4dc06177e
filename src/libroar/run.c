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
