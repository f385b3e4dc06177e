/* scene.h - a server of echo.h in this process, and sockets to it.
 *
 * Server and client take turns on one thread; nothing waits for a clock. */
#ifndef TESTS_NET_SCENE_H
#define TESTS_NET_SCENE_H

#include <stddef.h>
#include <stdint.h>

#include "echo.h"
#include "net/loop.h"
#include "test.h"

struct scene {
	struct loop *loop;
	struct echo echo;
};

void scene_open(struct scene *s, const struct rpc_limits *limits);
void scene_close(struct scene *s);

/* A new connection; returns the client's end, which does not block. */
int scene_connect(struct scene *s);
/* Lets the server do what there is to do. */
void scene_turn(struct scene *s);
struct rpc_counts scene_counts(struct scene *s);
/* The call of Wait that came last; it must be there. */
struct rpc_call *scene_waiting(struct scene *s);

/* Writes all, while the server reads. */
void scene_write(struct scene *s, int fd, const void *data, size_t len);
/* Reads what there is, up to `len`: -1 when the server has closed, before anything was
 * read. */
ssize_t scene_read(struct scene *s, int fd, void *data, size_t len);

#endif
