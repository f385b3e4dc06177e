/* frames.h - the frames protocol: gRPC's messages, each after a header of 16 bytes.
 *
 * A connection starts with the eight bytes "ROARFR1\n" from the client, which differ from
 * HTTP/2's preface.  Then both sides send frames, with all numbers in little-endian order:
 *
 *	0	u32	length of the data after the header
 *	4	u16	method (coord.h), or one of enum frame_type
 *	6	u16	flags (enum frame_flags)
 *	8	u32	call, chosen by the client, unique among its open calls
 *	12	u32	request: its timeout in ms, 0 for no limit
 *			reply: its gRPC status
 *	16		the message (protobuf).  If a reply's status is not 0: an error
 *			message in UTF-8 and then, for each trailer, a 0 byte, its
 *			name, '=', its value
 *
 * Client: FRAME_HELLO comes first if a token or a job is to be named: "TOKEN\0JOB", either
 * may be empty.  It gets no reply.  FRAME_CANCEL cancels a call, which then gets no reply.
 * Calls with streams_in send frames with the same call and method, all but the first with
 * FRAME_MORE, the last one with FRAME_END and no message.  A frame with FRAME_MORE whose
 * call has ended meanwhile is dropped; a frame without it starts a call.
 *
 * Server: each call gets exactly one reply with FRAME_END; streams get replies without it
 * before that.  FRAME_GOAWAY: no new calls on this connection.  FRAME_TOKEN, with eight
 * bytes: the fencing token of all replies that follow, if there is one.  Both sides answer
 * FRAME_PING with FRAME_PONG.
 *
 * Lanes: a client that multiplexes other clients (an agent) has one lane for each.
 * FRAME_LANE, with the lane's number as its call, selects the lane of the frames that
 * follow: 1 to FRAMES_MAX_LANES, and 0 for the agent itself.  A lane starts with its first
 * FRAME_LANE and ends with FRAME_LANE_END or the connection.  To the server a lane is a
 * connection, with a hello, calls and an end of its own.  Numbers of lanes may be reused.
 * Numbers of calls are unique within the connection, across lanes, so replies need not name
 * their lane. */
#ifndef NET_FRAMES_H
#define NET_FRAMES_H

#include <stdint.h>

#define FRAMES_PREFACE "ROARFR1\n"

enum {
	FRAMES_PREFACE_LEN = 8,
	FRAME_HEADER_LEN = 16,
	FRAMES_MAX_LANES = 1024,
};

enum frame_type {
	FRAME_HELLO = 0xff00,
	FRAME_CANCEL = 0xff01,
	FRAME_PING = 0xff02,
	FRAME_PONG = 0xff03,
	FRAME_GOAWAY = 0xff04,
	FRAME_TOKEN = 0xff05,
	FRAME_LANE = 0xff06,
	FRAME_LANE_END = 0xff07,
};

enum frame_flags {
	FRAME_END = 1 << 0,
	FRAME_MORE = 1 << 1,
};

struct frame {
	uint32_t len;
	uint16_t method;
	uint16_t flags;
	uint32_t call;
	uint32_t number; /* timeout or status */
};

void frame_pack(const struct frame *f, uint8_t ret[FRAME_HEADER_LEN]);
void frame_unpack(const uint8_t bytes[FRAME_HEADER_LEN], struct frame *ret);

#endif
