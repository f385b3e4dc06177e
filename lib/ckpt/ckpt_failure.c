/* ckpt_failure.c - see ckpt_failure.h */
#include "ckpt/ckpt_failure.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "blob/blob.h"
#include "ckpt/ckpt_name.h"

void ckpt_failure_put(const char *url, uint64_t step, const char *save,
		      const char *sentence)
{
	CLEANUP(blob_closep) struct blob_store *store = NULL;
	CLEANUP(str_release) struct str text = STR_INIT;
	struct ckpt_name name = { .kind = CKPT_NAME_FAILED };
	struct json j = json_writer(&text, false);
	char path[CKPT_NAME_SIZE];

	if (step > CKPT_MAX_STEP)
		return;
	if (save && ckpt_name_is_save_id(save))
		memcpy(name.save, save, sizeof(name.save));
	else if (ckpt_name_new_save_id(name.save) < 0)
		return;
	json_put_object(&j);
	json_put_key(&j, "error");
	json_put_string(&j, sentence);
	json_end(&j);
	str_addc(&text, '\n');
	ckpt_name_path(path, step, &name);
	if (str_error(&text) == 0 && blob_open(url, false, 1, &store, NULL) == 0)
		(void)blob_put(store, path, NULL, text.data, text.len, 0, NULL);
}

static void json_freep(json_t **value)
{
	json_decref(*value);
}

int ckpt_failure_parse(const char *text, size_t len, struct str *out)
{
	CLEANUP(json_freep)
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	const char *sentence = json_string_value(json_object_get(root, "error"));

	if (!sentence)
		return -EBADMSG;
	str_adds(out, sentence);
	return str_error(out);
}

int ckpt_failure_get(struct blob_store *store, const char *path,
		     struct str *out)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	int r = blob_get(store, path, CKPT_FAILURE_MAX, &text, NULL);

	return r < 0 ? r : ckpt_failure_parse(str_cstr(&text), text.len, out);
}
