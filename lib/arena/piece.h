/* piece.h - messages larger than the arena, put together by the receiver. */
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

/* A message of which pieces have come. */
struct partial {
	struct partial *next;
	uint64_t message;
	uint32_t producer;
	struct arena_piece head; /* as the first piece had it */
	uint64_t have_bytes;
	unsigned char *memory; /* total_bytes */
};

/* Adds a piece that was received, and releases it.  1: *ret is the whole message, in
 * private memory, in hand.  0: there is more to come.  -EBADMSG, -ENOMEM. */
int piece_join(struct roar_arena *a, struct held_unit *piece,
	       struct held_unit **ret);

/* Forgets the messages of a producer that is dead. */
void piece_forget(struct roar_arena *a, uint32_t producer);

/* All of them, at the end.  Takes no lock: a child made by fork() may have it locked. */
void piece_release(struct roar_arena *a);

#endif
