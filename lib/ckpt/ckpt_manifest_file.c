/* ckpt_manifest_file.c - see ckpt_manifest_file.h */
#include "ckpt/ckpt_manifest_file.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"
#include "blob/blob.h"

static const char before[] = ",\"seal\":\"";
static const char after[] = "\"}\n";

enum {
	HEX_LEN = 2 * BLAKE3_LEN,
	BEFORE_LEN = sizeof(before) - 1,
	AFTER_LEN = sizeof(after) - 1,
};

_Static_assert((int)CKPT_SEAL_LEN == BEFORE_LEN + HEX_LEN + AFTER_LEN,
	       "as the header says");

/* The seal of `len` bytes of text. */
static void make_seal(const char *text, size_t len, char ret[CKPT_SEAL_LEN])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t digest[BLAKE3_LEN];
	char *hex = ret + BEFORE_LEN;

	b3_hash(text, len, digest);
	memcpy(ret, before, BEFORE_LEN);
	for (size_t i = 0; i < BLAKE3_LEN; i++) {
		hex[2 * i] = digits[digest[i] >> 4];
		hex[2 * i + 1] = digits[digest[i] & 15];
	}
	memcpy(hex + HEX_LEN, after, AFTER_LEN);
}

void ckpt_seal_add(struct str *text)
{
	char seal[CKPT_SEAL_LEN];

	if (str_error(text) < 0)
		return;
	assert(text->len > 2 && !memcmp(text->data + text->len - 2, "}\n", 2));
	text->len -= 2;
	make_seal(text->data, text->len, seal);
	str_add(text, seal, sizeof(seal));
}

int ckpt_seal_check(const char *text, size_t len, const char *path,
		    struct roar_error *err)
{
	char seal[CKPT_SEAL_LEN];

	if (len >= CKPT_SEAL_LEN) {
		make_seal(text, len - CKPT_SEAL_LEN, seal);
		if (!memcmp(text + len - CKPT_SEAL_LEN, seal, CKPT_SEAL_LEN))
			return 0;
	}
	return error_set(err, -EBADMSG,
			 "'%s' is damaged: it does not end with the seal of its "
			 "content",
			 path);
}

/* The text is parsed first: a newer format is to be named as such, whatever its seal. */
int ckpt_manifest_get(struct blob_store *store, uint64_t step,
		      struct ckpt_manifest *m, struct roar_error *err)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct roar_error why = { 0 };
	char path[CKPT_NAME_SIZE];
	int r, sealed;

	ckpt_name_path(path, step,
		       &(struct ckpt_name){ .kind = CKPT_NAME_MANIFEST });
	r = blob_get(store, path, CKPT_MANIFEST_MAX, &text, err);
	if (r < 0)
		return r;
	r = ckpt_manifest_read(m, str_cstr(&text), text.len, false, path, &why);
	sealed = ckpt_seal_check(str_cstr(&text), text.len, path, err);
	if (r == -EBADMSG && sealed < 0)
		return sealed;
	if (r < 0)
		return error_set(err, r, "%s",
				 why.text[0] ? why.text : strerror(-r));
	if (sealed == 0 && m->step != step)
		sealed = error_set(err, -EBADMSG,
				   "'%s' is the manifest of step %llu", path,
				   (unsigned long long)m->step);
	if (sealed < 0)
		ckpt_manifest_release(m);
	return sealed;
}
