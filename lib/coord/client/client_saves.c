/* client_saves.c - checkpoints that all ranks commit in two phases. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "coord/client/client.h"
#include "roar_coordinator.pb-c.h"

static char *text_of(const char *s)
{
	return (char *)(s ? s : "");
}

static void describe(struct roar_coord *c, const struct roar_coord_save *s,
		     Coordinator__CheckpointInfo *ret)
{
	coordinator__checkpoint_info__init(ret);
	ret->job_id = text_of(c->job);
	ret->worker_id = text_of(c->worker_id);
	ret->checkpoint_id = text_of(s->save_id);
	ret->step = s->step;
	ret->epoch = s->epoch;
	ret->storage_path = text_of(s->path);
	ret->size_bytes = s->size_bytes;
	ret->timestamp_ms = s->timestamp_ms;
}

/* Another coordinator may lead before the call ends: then it refuses the token of the one
 * before, and the call is made again with its own. */
static int run(struct roar_coord *c, const struct roar_coord_save *s,
	       Roar__CommitRequest *m, Roar__CommitReply **ret)
{
	int64_t deadline_ms = client_deadline_ms(s->timeout_ms);
	Coordinator__CheckpointInfo info;
	int64_t left_ms;
	int r;

	describe(c, s, &info);
	m->info = &info;
	m->world_epoch = s->world_epoch;
	do {
		left_ms = deadline_ms == INT64_MAX ?
				  -1 :
				  deadline_ms - client_now_ms();
		m->session = client_session(c);
		m->fencing_token = roar_coord_fencing_token(c);
		r = client_call_run(c, METHOD_COMMIT_CHECKPOINT, &m->base,
				    left_ms < -1 ? 0 : left_ms,
				    &roar__commit_reply__descriptor, ret);
	} while (r == -ESTALE &&
		 roar_coord_fencing_token(c) != m->fencing_token &&
		 client_now_ms() < deadline_ms);
	return r;
}

static int take_digest(const ProtobufCBinaryData *from,
		       uint8_t ret[ROAR_COORD_DIGEST])
{
	if (from->len != ROAR_COORD_DIGEST)
		return sentence_fail(
			-EPROTO, "the coordinator sent a digest of %zu bytes",
			from->len);
	memcpy(ret, from->data, ROAR_COORD_DIGEST);
	return 0;
}

static int take_part(const Roar__CheckpointPart *from,
		     struct roar_coord_part *ret)
{
	ret->rank = from->rank;
	ret->size_bytes = from->size_bytes;
	ret->worker_id = strdup(from->worker_id);
	if (!ret->worker_id)
		return sentence_fail(-ENOMEM, "out of memory");
	return take_digest(&from->digest, ret->digest);
}

static int take_parts(const Roar__CommitReply *m, struct roar_coord_commit *ret)
{
	int r = 0;

	ret->parts = calloc(m->n_parts + 1, sizeof(*ret->parts));
	if (!ret->parts)
		return sentence_fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < m->n_parts && r == 0; i++)
		r = take_part(m->parts[i], &ret->parts[ret->n_parts++]);
	return r;
}

API void roar_coord_commit_release(struct roar_coord_commit *commit)
{
	for (size_t i = 0; i < commit->n_parts; i++)
		free(commit->parts[i].worker_id);
	free(commit->parts);
	*commit = (struct roar_coord_commit){ 0 };
}

API int roar_coord_commit_part(struct roar_coord *c,
			       const struct roar_coord_save *save,
			       const uint8_t digest[ROAR_COORD_DIGEST],
			       struct roar_coord_commit *ret)
{
	CLEANUP(roar_coord_commit_release)
	struct roar_coord_commit commit = { 0 };
	Roar__CommitRequest m = ROAR__COMMIT_REQUEST__INIT;
	Roar__CommitReply *reply;
	int r;

	m.part.data = (uint8_t *)digest;
	m.part.len = ROAR_COORD_DIGEST;
	r = run(c, save, &m, &reply);
	if (r < 0)
		return r;
	commit.committed = reply->committed;
	commit.world_epoch = reply->world_epoch;
	commit.fencing_token = m.fencing_token;
	r = reply->committed ? take_digest(&reply->manifest, commit.manifest) :
			       take_parts(reply, &commit);
	roar__commit_reply__free_unpacked(reply, NULL);
	if (r < 0)
		return r;
	*ret = commit;
	commit = (struct roar_coord_commit){ 0 };
	return 0;
}

/* Both only have to be heard. */
static int tell(struct roar_coord *c, const struct roar_coord_save *save,
		Roar__CommitRequest *m)
{
	Roar__CommitReply *reply;
	int r = run(c, save, m, &reply);

	if (r == 0)
		roar__commit_reply__free_unpacked(reply, NULL);
	return r;
}

API int roar_coord_commit_manifest(struct roar_coord *c,
				   const struct roar_coord_save *save,
				   const uint8_t digest[ROAR_COORD_DIGEST])
{
	Roar__CommitRequest m = ROAR__COMMIT_REQUEST__INIT;

	m.manifest.data = (uint8_t *)digest;
	m.manifest.len = ROAR_COORD_DIGEST;
	return tell(c, save, &m);
}

API int roar_coord_commit_failed(struct roar_coord *c,
				 const struct roar_coord_save *save,
				 const char *why)
{
	Roar__CommitRequest m = ROAR__COMMIT_REQUEST__INIT;

	m.failure = text_of(why && *why ? why : "the save failed");
	return tell(c, save, &m);
}
