/* checkpoint.c - the save side of include/roar/checkpoint.h on lib/ckpt */
#include <roar/checkpoint.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"
#include "ckpt/ckpt_save.h"

#define API __attribute__((visibility("default")))

static _Thread_local char last_error[sizeof(struct roar_error)];

int checkpoint_fail(int r, const struct roar_error *err)
{
	(void)snprintf(last_error, sizeof(last_error), "%s",
		       err->text[0] ? err->text : strerror(-r));
	return r;
}

API const char *roar_checkpoint_error(void)
{
	return last_error;
}

void checkpoint_with_job(const struct roar_checkpoint_save *save, char uid[9],
			 struct roar_checkpoint_save *ret)
{
	*ret = *save;
	if (!save->job && roar_run_uid(uid) == 0)
		ret->job = uid;
}

API int roar_checkpoint_save(const struct roar_checkpoint_save *save,
			     struct roar_checkpoint_result *ret)
{
	struct ckpt_progress progress = { 0 };
	struct roar_checkpoint_save s;
	struct roar_error err = { "" };
	char uid[9];
	int r;

	checkpoint_with_job(save, uid, &s);
	r = ckpt_save_run(&s, &progress, ret, &err);
	return r < 0 ? checkpoint_fail(r, &err) : 0;
}

/* ---- sharded ---- */

static struct ckpt_pending *pending_of(struct roar_checkpoint_part *part)
{
	return (struct ckpt_pending *)part;
}

API int roar_checkpoint_write_part(const struct roar_checkpoint_save *save,
				   struct roar_checkpoint_part **ret_part,
				   struct roar_checkpoint_result *ret)
{
	struct ckpt_progress progress = { 0 };
	struct ckpt_pending *pending = NULL;
	struct roar_checkpoint_save s;
	struct roar_error err = { "" };
	char uid[9];
	int r;

	checkpoint_with_job(save, uid, &s);
	r = ckpt_save_write(&s, &progress, &pending, &err);
	if (r < 0)
		return checkpoint_fail(r, &err);
	if (ret)
		ckpt_save_result(pending, ret);
	*ret_part = (struct roar_checkpoint_part *)pending;
	return 0;
}

API int roar_checkpoint_commit(struct roar_checkpoint_part *part,
			       roar_checkpoint_confirm_fn *confirm, void *ctx)
{
	struct roar_error err = { "" };
	int r = ckpt_save_commit(pending_of(part), confirm, ctx, &err);

	return r < 0 ? checkpoint_fail(r, &err) : 0;
}

API void roar_checkpoint_part_abort(struct roar_checkpoint_part *part)
{
	if (part)
		ckpt_save_abort(pending_of(part));
	ckpt_save_free(pending_of(part));
}

API void roar_checkpoint_part_free(struct roar_checkpoint_part *part)
{
	ckpt_save_free(pending_of(part));
}

API int roar_checkpoint_save_id(char ret_id[9])
{
	struct roar_error err = { "" };
	int r = ckpt_name_new_save_id(ret_id);

	return r < 0 ? checkpoint_fail(r, &err) : 0;
}
