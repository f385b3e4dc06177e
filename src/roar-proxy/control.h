/* control.h - the socket by which a daemon gets and loses runs.
 *
 *	POST /runs?log=PATH	opens a listener whose requests go to that object log:
 *				{"endpoint": "http://127.0.0.1:PORT"}
 *	DELETE /runs?log=PATH	ends it; the answer comes when the log is complete
 *	GET /status		counters
 *
 * The socket's mode is 0600: its owner alone can connect. */
#ifndef PROXY_CONTROL_H
#define PROXY_CONTROL_H

#include "base/error.h"

struct control;
struct proxy;

int control_new(struct proxy *p, const char *path, struct control **ret,
		struct roar_error *err);
void control_free(struct control *c); /* NULL is fine */

#endif
