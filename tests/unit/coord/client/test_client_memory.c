/* Every allocation of a client may fail: the call says so, or the connection is given up
 * and tried again, and nothing is lost or freed twice. */
#include <errno.h>
#include <roar/coord.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
/* after the four it needs */
#include <cmocka.h>

#include "alloc_fail.h"
#include "coord/client/client.h"
#include "coordinator.pb-c.h"
#include "net/frames/frames.h"
#include "roar_coordinator.pb-c.h"

enum { ENOUGH = 200 }; /* more allocations than a scene has */

/* ---- what the server says ---- */

static size_t add_frame(uint8_t *to, uint16_t method, uint16_t flags,
			uint32_t call, const ProtobufCMessage *m)
{
	struct frame f = {
		.len = (uint32_t)protobuf_c_message_get_packed_size(m),
		.method = method,
		.flags = flags,
		.call = call,
	};

	frame_pack(&f, to);
	(void)protobuf_c_message_pack(m, to + FRAME_HEADER_LEN);
	return FRAME_HEADER_LEN + f.len;
}

/* The answer to a registration, which is the first call. */
static size_t make_place(uint8_t *to)
{
	Coordinator__WorkerConfig config = COORDINATOR__WORKER_CONFIG__INIT;

	config.world_size = 1;
	config.session = 7;
	config.world_epoch = 1;
	return add_frame(to, METHOD_REGISTER_WORKER, FRAME_END, 1,
			 &config.base);
}

/* A command by the watch, the second call, and the end of a gather, the third. */
static size_t make_answers(uint8_t *to)
{
	Roar__WatchEvent event = ROAR__WATCH_EVENT__INIT;
	Roar__MeetReply meet = ROAR__MEET_REPLY__INIT;
	Roar__MeetValue value = ROAR__MEET_VALUE__INIT;
	Roar__MeetValue *values = &value;
	Coordinator__Lateness late = COORDINATOR__LATENESS__INIT;
	Coordinator__Lateness *all_late = &late;
	size_t n;

	event.kind = ROAR__WATCH_EVENT__KIND__COMMAND;
	event.command = "stop";
	value.worker_id = late.worker_id = "other";
	value.value = (ProtobufCBinaryData){ 2, (uint8_t *)"hi" };
	meet.generation = 1;
	meet.n_values = meet.n_late = 1;
	meet.values = &values;
	meet.late = &all_late;
	n = add_frame(to, METHOD_WATCH, 0, 2, &event.base);
	return n + add_frame(to + n, METHOD_MEET, FRAME_END, 3, &meet.base);
}

/* ---- a client, from its making to its end ---- */

static void note(void *data, int error, const struct roar_coord_meeting *m)
{
	*(int *)data = error;
	assert_true((error == 0) == (m != NULL));
}

static int make(struct roar_coord **ret)
{
	static const char *const metadata[] = { "a", "b", NULL };
	struct roar_coord_options o = { .address = "unix:/nonexistent/socket,"
						   "host:1",
					.worker_id = "w",
					.job = "j",
					.token = "t",
					.metadata = metadata,
					.flags = ROAR_COORD_NO_THREAD };
	int r = client_make(&o, ret);

	if (r == 0)
		r = client_start(*ret);
	return r;
}

/* The server's words come before each turn. */
static void say(struct roar_coord *c, int fd, const uint8_t *bytes, size_t len)
{
	int64_t ms;

	(void)send(fd, bytes, len, MSG_NOSIGNAL);
	(void)roar_coord_turn(c, &ms);
}

static void converse(struct roar_coord *c, int fds[2], int *told)
{
	struct roar_coord_meet m = { .id = "m", .timeout_ms = -1 };
	uint8_t bytes[1024];

	assert_int_equal(client_enter(c), 0);
	c->watching = true;
	dial_take(&c->link.frames.dial, fds[1]);
	client_leave(c);
	(void)roar_coord_begin_meet(c, &m, "v", 1, note, told);
	say(c, fds[0], bytes, make_place(bytes));
	say(c, fds[0], bytes, make_answers(bytes));
}

/* Returns whether all went well: so many allocations are enough. */
static bool play(int n)
{
	struct roar_coord *c = NULL;
	char command[16] = "";
	int told = 1;
	int fds[2];
	int r;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	alloc_fail_after(n);
	r = make(&c);
	if (r == 0) {
		converse(c, fds, &told);
		(void)roar_coord_command(c, 0, command, sizeof(command));
	}
	alloc_fail_never();
	assert_true(r == 0 || r == -ENOMEM);
	if (r < 0)
		(void)close(fds[1]);
	roar_coord_free(c);
	(void)close(fds[0]);
	return told == 0 && strcmp(command, "stop") == 0;
}

static void every_allocation_may_fail(void **state)
{
	int n = 0;

	(void)state;
	while (n < ENOUGH && !play(n))
		n++;
	assert_in_range(n, 10, ENOUGH - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
