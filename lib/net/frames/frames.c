/* frames.c - the header of a frame, to bytes and back. */
#include "net/frames/frames.h"

#include <endian.h>
#include <string.h>

void frame_pack(const struct frame *f, uint8_t ret[FRAME_HEADER_LEN])
{
	uint32_t len = htole32(f->len);
	uint16_t method = htole16(f->method);
	uint16_t flags = htole16(f->flags);
	uint32_t call = htole32(f->call);
	uint32_t number = htole32(f->number);

	memcpy(ret, &len, 4);
	memcpy(ret + 4, &method, 2);
	memcpy(ret + 6, &flags, 2);
	memcpy(ret + 8, &call, 4);
	memcpy(ret + 12, &number, 4);
}

void frame_unpack(const uint8_t bytes[FRAME_HEADER_LEN], struct frame *ret)
{
	memcpy(&ret->len, bytes, 4);
	memcpy(&ret->method, bytes + 4, 2);
	memcpy(&ret->flags, bytes + 6, 2);
	memcpy(&ret->call, bytes + 8, 4);
	memcpy(&ret->number, bytes + 12, 4);
	ret->len = le32toh(ret->len);
	ret->method = le16toh(ret->method);
	ret->flags = le16toh(ret->flags);
	ret->call = le32toh(ret->call);
	ret->number = le32toh(ret->number);
}
