/* ckpt_manifest_file.h - manifests as they are stored: with a seal.
 *
 * The seal is the last member of the object and covers everything before it, so that any
 * changed byte of a stored manifest is noticed, also in numbers and names that would be
 * valid.  The file ends with exactly these 76 bytes:
 *
 *	,"seal":"BLAKE3 in 64 lower-case hex digits"}\n
 *
 * The BLAKE3 is that of all bytes before them.  Whoever changes a manifest on purpose
 * computes it again. */
#ifndef ROAR_CKPT_MANIFEST_FILE_H
#define ROAR_CKPT_MANIFEST_FILE_H

#include "ckpt/ckpt_manifest.h"

struct blob_store;

enum { CKPT_SEAL_LEN = 76 };

/* Replaces the end of a text that ckpt_manifest_write() has made, "}\n", by the seal. */
void ckpt_seal_add(struct str *text);

/* -EBADMSG with a sentence: the text has no seal, or not that of its bytes. */
int ckpt_seal_check(const char *text, size_t len, const char *path,
		    struct roar_error *err);

/* Reads the manifest of a step, and checks its seal.  -ENOENT: there is none; otherwise as
 * ckpt_manifest_read() and blob_get(), with a sentence. */
int ckpt_manifest_get(struct blob_store *store, uint64_t step,
		      struct ckpt_manifest *m, struct roar_error *err);

#endif
