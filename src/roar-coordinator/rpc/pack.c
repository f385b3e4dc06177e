/* pack.c - see pack.h */
#include "rpc/pack.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum { ALIGN = 16 };

void pack_add(struct str *out, const ProtobufCMessage *message)
{
	size_t len = protobuf_c_message_get_packed_size(message);

	if (str_reserve(out, len + 1) < 0)
		return;
	out->len += protobuf_c_message_pack(message,
					    (uint8_t *)out->data + out->len);
	out->data[out->len] = '\0';
}

/* ---- memory ---- */

static void *take(void *data, size_t size)
{
	struct unpacker *u = data;
	size_t need = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	void *at;

	if (need >= size && need <= UNPACK_BLOCK - u->used) {
		at = u->block + u->used;
		u->used += need;
		return at;
	}
	if (need < size || need > UNPACK_MAX - u->n_more) {
		u->too_large = true;
		return NULL;
	}
	at = pool_alloc(&u->more, size);
	u->n_more += at ? need : 0;
	return at;
}

/* All of it ends with unpack_done(). */
static void leave(void *data, void *pointer)
{
	(void)data;
	(void)pointer;
}

int unpacker_init(struct unpacker *u)
{
	*u = (struct unpacker){
		.allocator = { .alloc = take, .free = leave },
		.block = malloc(UNPACK_BLOCK),
	};
	u->allocator.allocator_data = u;
	return u->block ? 0 : -ENOMEM;
}

void unpacker_release(struct unpacker *u)
{
	unpack_done(u);
	free(u->block);
	u->block = NULL;
}

void unpack_done(struct unpacker *u)
{
	u->used = 0;
	if (u->n_more)
		pool_release(&u->more);
	u->n_more = 0;
}

/* ---- what a message may bring ---- */

static bool clean(ProtobufCMessage *m);

static bool clean_value(const ProtobufCFieldDescriptor *f, void *const *at)
{
	if (!*at)
		return true;
	return f->type == PROTOBUF_C_TYPE_STRING ? utf8_is_valid(*at) :
						   clean(*at);
}

static bool clean_field(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
	char *at = (char *)m + f->offset;
	void *const *items;
	size_t n;

	if (f->type != PROTOBUF_C_TYPE_STRING &&
	    f->type != PROTOBUF_C_TYPE_MESSAGE)
		return true;
	if (f->label != PROTOBUF_C_LABEL_REPEATED)
		return clean_value(f, (void *const *)at);
	items = *(void *const *const *)at;
	n = *(const size_t *)((const char *)m + f->quantifier_offset);
	for (size_t i = 0; i < n; i++) {
		if (!clean_value(f, &items[i]))
			return false;
	}
	return true;
}

/* Of the members of a oneof only the one that is set may be looked at. */
static bool is_set(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
	return !(f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) ||
	       *(const uint32_t *)((const char *)m + f->quantifier_offset) ==
		       f->id;
}

/* Text that is no UTF-8 would go out again to clients that refuse a whole reply for
 * it: false.  Fields that we do not know would be copied, kept and sent along with
 * those that we do, and no limit of ours is about them: they end here. */
static bool clean(ProtobufCMessage *m)
{
	const ProtobufCMessageDescriptor *d = m->descriptor;

	m->n_unknown_fields = 0;
	m->unknown_fields = NULL;
	for (unsigned i = 0; i < d->n_fields; i++) {
		if (is_set(m, &d->fields[i]) && !clean_field(m, &d->fields[i]))
			return false;
	}
	return true;
}

ProtobufCMessage *unpack(struct unpacker *u,
			 const ProtobufCMessageDescriptor *type,
			 const void *data, size_t len)
{
	ProtobufCMessage *m;

	u->too_large = false;
	m = protobuf_c_message_unpack(type, &u->allocator, len, data);
	if (m && clean(m))
		return m;
	unpack_done(u);
	return NULL;
}

const char *unpack_sentence(const struct unpacker *u)
{
	return u->too_large ?
		       "the message has too many parts" :
		       "the message is not what the method takes: it must be "
		       "the protobuf of its .proto file, text in UTF-8";
}
