/* change.c - the one way in which slow state changes, live and at replay. */
#include "coord/core/state.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macros.h"

static change_fn *const changes[] = {
	[ROAR__RECORD__RECORD__WHAT_JOB] = change_job,
	[ROAR__RECORD__RECORD__WHAT_JOIN] = change_join,
	[ROAR__RECORD__RECORD__WHAT_LEAVE] = change_leave,
	[ROAR__RECORD__RECORD__WHAT_WORLD] = change_world,
	[ROAR__RECORD__RECORD__WHAT_RELEASE] = change_release,
	[ROAR__RECORD__RECORD__WHAT_KEY] = change_key,
	[ROAR__RECORD__RECORD__WHAT_KEY_GONE] = change_key_gone,
	[ROAR__RECORD__RECORD__WHAT_COMMAND] = change_command,
	[ROAR__RECORD__RECORD__WHAT_COMMANDS_TOLD] = change_commands_told,
	[ROAR__RECORD__RECORD__WHAT_DRAIN] = change_drain,
	[ROAR__RECORD__RECORD__WHAT_DATASET] = change_dataset,
	[ROAR__RECORD__RECORD__WHAT_CHECKPOINT] = change_checkpoint,
	[ROAR__RECORD__RECORD__WHAT_DEATH] = change_death,
	[ROAR__RECORD__RECORD__WHAT_JOB_GONE] = change_job_gone,
	[ROAR__RECORD__RECORD__WHAT_DEAL] = change_deal,
	[ROAR__RECORD__RECORD__WHAT_SHARD_TABLE] = change_shard_table,
	[ROAR__RECORD__RECORD__WHAT_EPOCH] = change_epoch,
	[ROAR__RECORD__RECORD__WHAT_CONSUMED] = change_consumed,
	[ROAR__RECORD__RECORD__WHAT_LENDING] = change_lending,
	[ROAR__RECORD__RECORD__WHAT_LEASE_TAKEN] = change_lease_taken,
	[ROAR__RECORD__RECORD__WHAT_LEASE_USED] = change_lease_used,
	[ROAR__RECORD__RECORD__WHAT_LEASES_LAPSED] = change_leases_lapsed,
	[ROAR__RECORD__RECORD__WHAT_KEY_PAST] = change_key_past,
	[ROAR__RECORD__RECORD__WHAT_LENT_BEFORE] = change_lent_before,
	[ROAR__RECORD__RECORD__WHAT_CLOCK] = change_clock,
	[ROAR__RECORD__RECORD__WHAT_SAVE_END] = change_save_end,
};

int change_make(struct coord *c, const Record *record)
{
	unsigned what = (unsigned)record->what_case;

	if (what >= ARRAY_SIZE(changes) || !changes[what])
		return -EBADMSG;
	return changes[what](c, record);
}

int record_append(struct coord *c, const Record *record)
{
	return c->replaying ? 0 : c->host.record(c->host_data, record);
}

int coord_replay(struct coord *c, const Roar__Record__Record *record)
{
	int r;

	assert(!c->replaying); /* a change makes no other change */
	c->replaying = true;
	r = change_make(c, record);
	c->replaying = false;
	return r;
}

/* By way of its packed form: the messages are small and copies are rare. */
void *message_copy(const void *message)
{
	const ProtobufCMessage *from = message;
	size_t len = protobuf_c_message_get_packed_size(from);
	CLEANUP(freep) uint8_t *bytes = malloc(len ? len : 1);

	if (!bytes)
		return NULL;
	protobuf_c_message_pack(from, bytes);
	return protobuf_c_message_unpack(from->descriptor, NULL, len, bytes);
}

void message_free(void *message)
{
	if (message)
		protobuf_c_message_free_unpacked(message, NULL);
}
