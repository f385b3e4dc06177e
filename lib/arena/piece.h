/* piece.h - the receiver's assembly of messages that are larger than the arena. */
#ifndef ROAR_ARENA_PIECE_H
#define ROAR_ARENA_PIECE_H

#include <stdint.h>

/* The envelope of a piece. */
struct arena_piece {
	uint64_t total_bytes; /* of the stream, see arena_send.c */
	uint64_t offset; /* of this piece in it */
	uint64_t envelope_len;
	uint64_t n_buffers;
	uint64_t given_up; /* the last message this producer did not finish */
};

struct roar_arena;
struct held_unit;

/* A message that has arrived in part. */
struct partial {
	struct partial *next;
	uint64_t message;
	uint32_t producer;
	struct arena_piece head; /* as the first piece had it */
	uint64_t have_bytes;
	unsigned char *memory; /* total_bytes */
};

/* Adds a received piece and releases it.  1: *ret is the whole message, held, in private
 * memory.  0: pieces are still missing.  -EBADMSG, -ENOMEM. */
int piece_join(struct roar_arena *a, struct held_unit *piece,
	       struct held_unit **ret);

/* Drops the messages of a dead producer. */
void piece_forget(struct roar_arena *a, uint32_t producer);

/* Drops all messages when the handle ends.  Takes no lock: in a child made by fork() it may
 * be locked for ever. */
void piece_release(struct roar_arena *a);

#endif
