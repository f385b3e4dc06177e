/* ckpt_failure.h - notes of saves that failed in the background.
 *
 * The program learns of the failure at its next call, which may be hours later or never.
 * So the saver also leaves failed-SAVE.json in the directory of the step: one JSON object
 * with "error", a sentence.  `roar checkpoint ls` shows it until a later step is saved and
 * gc removes it. */
#ifndef ROAR_CKPT_FAILURE_H
#define ROAR_CKPT_FAILURE_H

#include <stddef.h>
#include <stdint.h>

struct blob_store;
struct roar_error;
struct str;

enum { CKPT_FAILURE_MAX = 16 << 10 }; /* bytes of a note */

/* Leaves a note, if that is possible: the disk may be full or gone.  `save` may be NULL. */
void ckpt_failure_put(const char *url, uint64_t step, const char *save,
		      const char *sentence);

/* Appends the sentence of a note.  -EBADMSG: it is not one; errors of reading. */
int ckpt_failure_get(struct blob_store *store, const char *path,
		     struct str *out);

/* The same for its text. */
int ckpt_failure_parse(const char *text, size_t len, struct str *out);

#endif
