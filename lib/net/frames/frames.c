/* frames.c - the header of a frame, to bytes and back. */
#include "net/frames/frames.h"

#include "base/byte_order.h"

void frame_pack(const struct frame *f, uint8_t ret[FRAME_HEADER_LEN])
{
	le32_put(ret, f->len);
	le16_put(ret + 4, f->method);
	le16_put(ret + 6, f->flags);
	le32_put(ret + 8, f->call);
	le32_put(ret + 12, f->number);
}

void frame_unpack(const uint8_t bytes[FRAME_HEADER_LEN], struct frame *ret)
{
	ret->len = le32_get(bytes);
	ret->method = le16_get(bytes + 4);
	ret->flags = le16_get(bytes + 6);
	ret->call = le32_get(bytes + 8);
	ret->number = le32_get(bytes + 12);
}
