/* echo.h - a handler of a few methods that show what the wires do.
 *
 * Messages are plain bytes.  Methods of "/echo.Echo/", numbered from 1 on:
 *
 *	Unary	the request
 *	Wait	nothing, until somebody ends it
 *	Bidi	each request, and OK after the last
 *	Many	"N SIZE": N messages of that size
 *	Collect	how many messages and bytes came
 *	Who	its metadata: authorization, a line, job
 *	Fail	"STATUS SENTENCE": ends with that, and a trailer
 *	Counts	what the server has seen
 *	Slow	the request, after 2 ms in which nobody else is served
 *	Brief	as Wait, for 10 ms at most */
#ifndef TESTS_NET_ECHO_H
#define TESTS_NET_ECHO_H

#include "net/rpc/rpc.h"

/* The handler's context. */
struct echo {
	struct rpc_server *server;
	const char *token; /* of those who are known; NULL: everybody is */
	uint64_t waiting; /* the last call of Wait */
	unsigned cancelled, disconnected;
};

extern const struct rpc_handler echo_handler;

#endif
