/* fake.c - see fake.h */
#include "fake.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "coord/proto/methods.h"
#include "coordinator.pb-c.h"
#include "net/frames/frames.h"
#include "roar_coordinator.pb-c.h"
#include "roar_shards.pb-c.h"

/* ---- out ---- */

static void send_frame(int fd, uint16_t method, uint16_t flags, uint32_t call,
		       uint32_t status, const void *data, size_t len)
{
	struct frame h = { .len = (uint32_t)len,
			   .method = method,
			   .flags = flags,
			   .call = call,
			   .number = status };
	uint8_t header[FRAME_HEADER_LEN];

	frame_pack(&h, header);
	(void)send(fd, header, sizeof(header), MSG_NOSIGNAL);
	if (len)
		(void)send(fd, data, len, MSG_NOSIGNAL);
}

static void reply(int fd, uint16_t method, uint32_t call, uint16_t flags,
		  const ProtobufCMessage *m)
{
	uint8_t bytes[4096];
	size_t len = protobuf_c_message_pack(m, bytes);

	send_frame(fd, method, flags, call, 0, bytes, len);
}

static void refuse(int fd, uint16_t method, uint32_t call, uint32_t status,
		   const char *sentence)
{
	send_frame(fd, method, FRAME_END, call, status, sentence,
		   strlen(sentence));
}

/* ---- methods ---- */

static void hold(struct fake *f, int fd, const struct frame *h,
		 uint64_t generation)
{
	for (int i = 0; i < FAKE_HELD; i++) {
		if (f->held[i].fd)
			continue;
		f->held[i] = (struct fake_held){ .fd = fd,
						 .call = h->call,
						 .method = h->method,
						 .generation = generation };
		return;
	}
}

static void on_register(struct fake *f, int fd, const struct frame *h,
			const uint8_t *data)
{
	Coordinator__WorkerConfig m = COORDINATOR__WORKER_CONFIG__INIT;
	Coordinator__WorkerInfo *info = coordinator__worker_info__unpack(
		NULL, h->len, data);

	f->session = info->session;
	f->n_registered++;
	m.rank = 1;
	m.world_size = 2;
	m.heartbeat_interval_ms = f->interval_ms;
	m.session = info->session ? info->session : 77;
	m.incarnation = 1;
	m.world_epoch = f->epoch;
	m.ready = true;
	m.timeout_ms = 30000;
	if (f->token)
		send_frame(fd, FRAME_TOKEN, 0, 0, 0, &f->token,
			   sizeof(f->token));
	if (f->register_status)
		refuse(fd, h->method, h->call, f->register_status,
		       "the place is not to be had");
	else
		reply(fd, h->method, h->call, FRAME_END, &m.base);
	coordinator__worker_info__free_unpacked(info, NULL);
}

static void on_heartbeat(struct fake *f, int fd, const struct frame *h,
			 const uint8_t *data)
{
	Coordinator__HeartbeatResponse m = COORDINATOR__HEARTBEAT_RESPONSE__INIT;
	Coordinator__HeartbeatRequest *beat =
		coordinator__heartbeat_request__unpack(NULL, h->len, data);
	char *command = (char *)f->command;

	f->step = beat->status->current_step;
	f->n_beats++;
	m.acknowledged = true;
	m.world_epoch = f->epoch;
	m.rank = 1;
	m.world_size = 2;
	m.ready = true;
	m.n_pending_commands = command != NULL;
	m.pending_commands = &command;
	f->command = NULL;
	if (f->goes_away)
		send_frame(fd, FRAME_GOAWAY, 0, 0, 0, NULL, 0);
	if (f->beat_status || f->refuses_beats)
		refuse(fd, h->method, h->call,
		       f->beat_status ? f->beat_status : f->refuses_beats,
		       "this worker is not known");
	else
		reply(fd, h->method, h->call, FRAME_END, &m.base);
	f->beat_status = 0;
	coordinator__heartbeat_request__free_unpacked(beat, NULL);
}

static void on_meet(struct fake *f, int fd, const struct frame *h,
		    const uint8_t *data)
{
	Roar__MeetRequest *m = roar__meet_request__unpack(NULL, h->len, data);

	f->n_meets++;
	f->generation = m->generation;
	f->again = m->again;
	f->timeout_ms = h->number;
	hold(f, fd, h, m->generation);
	roar__meet_request__free_unpacked(m, NULL);
}

static void on_watch(struct fake *f, int fd, const struct frame *h)
{
	Roar__WatchEvent m = ROAR__WATCH_EVENT__INIT;

	f->n_watches++;
	m.world_epoch = f->epoch;
	m.world_size = 2;
	m.rank = 1;
	m.ready = true;
	hold(f, fd, h, 0);
	reply(fd, h->method, h->call, 0, &m.base);
}

static void on_key(struct fake *f, int fd, const struct frame *h,
		   const char *value)
{
	Roar__KvReply m = ROAR__KV_REPLY__INIT;
	Roar__KvEntry e = ROAR__KV_ENTRY__INIT;

	e.key = "k";
	e.value.data = (uint8_t *)value;
	e.value.len = strlen(value);
	e.version = 5;
	m.done = true;
	m.entry = &e;
	if (f->key_status)
		refuse(fd, h->method, h->call, f->key_status, "not now");
	else
		reply(fd, h->method, h->call, FRAME_END, &m.base);
	f->key_status = 0;
}

/* Returns false to end the connection. */
static bool on_take(struct fake *f, int fd, const struct frame *h,
		    const uint8_t *data)
{
	Roar__TakeLeaseRequest *m = roar__take_lease_request__unpack(
		NULL, h->len, data);
	Roar__TakeLeaseReply lease = ROAR__TAKE_LEASE_REPLY__INIT;
	bool drops = f->drops_take;

	f->n_takes++;
	f->take_session = m->session;
	f->take_request = m->request;
	f->drops_take = false;
	lease.lease_id = 1;
	if (!drops)
		reply(fd, h->method, h->call, FRAME_END, &lease.base);
	roar__take_lease_request__free_unpacked(m, NULL);
	return !drops;
}

/* Likewise.  All parts are there: this worker, and another. */
static bool on_commit(struct fake *f, int fd, const struct frame *h,
		      const uint8_t *data)
{
	Roar__CommitRequest *m = roar__commit_request__unpack(NULL, h->len,
							      data);
	Roar__CommitReply all = ROAR__COMMIT_REPLY__INIT;
	Roar__CheckpointPart parts[2] = { ROAR__CHECKPOINT_PART__INIT,
					  ROAR__CHECKPOINT_PART__INIT };
	Roar__CheckpointPart *ptrs[2] = { &parts[0], &parts[1] };
	bool drops = f->drops_commit;

	f->n_commits++;
	f->drops_commit = false;
	for (int i = 0; i < 2; i++) {
		parts[i].rank = i;
		parts[i].worker_id = m->info->worker_id;
		parts[i].digest = m->part;
	}
	all.world_epoch = 9;
	all.committed = m->manifest.len != 0;
	all.manifest = m->manifest;
	all.parts = ptrs;
	all.n_parts = all.committed ? 0 : 2;
	if (!drops && m->fencing_token != f->token)
		refuse(fd, h->method, h->call, 9, "the token is stale");
	else if (!drops && *m->failure)
		refuse(fd, h->method, h->call, 10, m->failure);
	else if (!drops)
		reply(fd, h->method, h->call, FRAME_END, &all.base);
	roar__commit_request__free_unpacked(m, NULL);
	return !drops;
}

/* Likewise. */
static bool on_set(struct fake *f, int fd, const struct frame *h,
		   const uint8_t *data)
{
	Roar__KvSetRequest *m = roar__kv_set_request__unpack(NULL, h->len,
							     data);
	bool drops = f->drops_set;

	f->n_sets++;
	f->set_before = f->set_request;
	f->set_request = m->request;
	f->drops_set = false;
	roar__kv_set_request__free_unpacked(m, NULL);
	if (!drops)
		on_key(f, fd, h, "v");
	return !drops;
}

static void on_hello(struct fake *f, const uint8_t *data, size_t len)
{
	size_t n = strnlen((const char *)data, len);

	(void)snprintf(f->hello, sizeof(f->hello), "%.*s %.*s", (int)n, data,
		       (int)(len > n ? len - n - 1 : 0), data + n + 1);
}

static void turn_to_leader(struct fake *f, int fd, const struct frame *h)
{
	char text[256] = "this is a standby";
	size_t n = strlen(text) + 1;

	n += (size_t)snprintf(text + n, sizeof(text) - n, "roar-leader=%s",
			      f->standby);
	f->n_turned_away++;
	send_frame(fd, h->method, FRAME_END, h->call, 14, text, n);
}

/* Returns false to end the connection. */
static bool on_frame(struct fake *f, int fd, const struct frame *h,
		     const uint8_t *data)
{
	Coordinator__WorkerConfig left = COORDINATOR__WORKER_CONFIG__INIT;

	if (f->mute)
		return true;
	if (f->standby && h->method < FRAME_HELLO) {
		turn_to_leader(f, fd, h);
		return true;
	}
	switch (h->method) {
	case FRAME_HELLO:
		on_hello(f, data, h->len);
		break;
	case FRAME_CANCEL:
		f->n_cancelled++;
		break;
	case FRAME_PING:
		f->n_pings++;
		send_frame(fd, FRAME_PONG, 0, h->call, 0, NULL, 0);
		break;
	case METHOD_REGISTER_WORKER:
		on_register(f, fd, h, data);
		break;
	case METHOD_HEARTBEAT:
		on_heartbeat(f, fd, h, data);
		break;
	case METHOD_DEREGISTER_WORKER:
		f->n_left++;
		reply(fd, h->method, h->call, FRAME_END, &left.base);
		break;
	case METHOD_MEET:
		on_meet(f, fd, h, data);
		break;
	case METHOD_WATCH:
		on_watch(f, fd, h);
		break;
	case METHOD_KV_GET:
		f->n_gets++;
		hold(f, fd, h, 0);
		break;
	case METHOD_KV_ADD:
		f->n_sums++;
		if (f->drops_sums)
			return false;
		on_key(f, fd, h, "42");
		break;
	case METHOD_TAKE_LEASE:
		return on_take(f, fd, h, data);
	case METHOD_COMMIT_CHECKPOINT:
		return on_commit(f, fd, h, data);
	case METHOD_KV_SET:
		return on_set(f, fd, h, data);
	case METHOD_KV_COMPARE_SET:
	case METHOD_KV_DELETE:
		on_key(f, fd, h, "v");
		break;
	default:
		refuse(fd, h->method, h->call, 12, "no such method");
	}
	return true;
}

/* ---- in ---- */

static void close_at(struct fake *f, int i)
{
	for (int k = 0; k < FAKE_HELD; k++)
		if (f->held[k].fd == f->fds[i])
			f->held[k].fd = 0;
	(void)close(f->fds[i]);
	f->fds[i] = -1;
}

/* One whole frame; the sockets block. */
static bool read_frame(struct fake *f, int fd)
{
	uint8_t header[FRAME_HEADER_LEN];
	uint8_t data[65536];
	struct frame h;

	if (fd_read_all(fd, header, sizeof(header)) != sizeof(header))
		return false;
	frame_unpack(header, &h);
	if (h.len > sizeof(data) ||
	    fd_read_all(fd, data, h.len) != (ssize_t)h.len)
		return false;
	return on_frame(f, fd, &h, data);
}

static void take(struct fake *f)
{
	int fd = accept(f->listener, NULL, NULL);
	int one = 1;
	int i = 0;

	while (i < FAKE_CONNECTIONS && f->fds[i] >= 0)
		i++;
	if (fd < 0)
		return;
	f->n_connections++;
	if (i == FAKE_CONNECTIONS) {
		(void)close(fd);
		return;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	f->fds[i] = fd;
	f->greeted[i] = false;
}

static bool read_preface(struct fake *f, int fd)
{
	char preface[FRAMES_PREFACE_LEN];

	if (f->garbage)
		(void)send(fd, f->garbage, strlen(f->garbage), MSG_NOSIGNAL);
	return fd_read_all(fd, preface, sizeof(preface)) == sizeof(preface) &&
	       memcmp(preface, FRAMES_PREFACE, sizeof(preface)) == 0;
}

static bool read_some(struct fake *f, int i)
{
	if (f->greeted[i])
		return read_frame(f, f->fds[i]);
	f->greeted[i] = true;
	return read_preface(f, f->fds[i]);
}

static void round_of(struct fake *f, struct pollfd *p)
{
	uint64_t count;

	if (p[0].revents)
		(void)!read(f->wake, &count, sizeof(count));
	if (p[1].revents)
		take(f);
	for (int i = 0; i < FAKE_CONNECTIONS; i++)
		if (p[i + 2].revents && p[i + 2].fd == f->fds[i] &&
		    f->fds[i] >= 0 && !read_some(f, i))
			close_at(f, i);
}

static void *body(void *arg)
{
	struct fake *f = arg;
	struct pollfd p[FAKE_CONNECTIONS + 2];

	pthread_mutex_lock(&f->lock);
	while (!f->stop) {
		p[0] = (struct pollfd){ .fd = f->wake, .events = POLLIN };
		p[1] = (struct pollfd){ .fd = f->listener, .events = POLLIN };
		for (int i = 0; i < FAKE_CONNECTIONS; i++)
			p[i + 2] = (struct pollfd){ .fd = f->fds[i],
						    .events = POLLIN };
		pthread_mutex_unlock(&f->lock);
		(void)poll(p, FAKE_CONNECTIONS + 2, -1);
		pthread_mutex_lock(&f->lock);
		round_of(f, p);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

static void wake(struct fake *f)
{
	uint64_t one = 1;

	(void)!write(f->wake, &one, sizeof(one));
}

/* ---- life ---- */

static int listen_at(uint16_t port, uint16_t *ret_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	/* A client that tries again may have connected to itself just now. */
	for (int i = 0; i < 5000; i++) {
		if (bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
			break;
		(void)usleep(1000);
	}
	if (listen(fd, 64) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		abort();
	*ret_port = ntohs(a.sin_port);
	return fd;
}

void fake_start(struct fake *f)
{
	*f = (struct fake){ .interval_ms = 20, .epoch = 1 };
	(void)pthread_mutex_init(&f->lock, NULL);
	for (int i = 0; i < FAKE_CONNECTIONS; i++)
		f->fds[i] = -1;
	f->wake = eventfd(0, EFD_CLOEXEC);
	f->listener = listen_at(0, &f->port);
	(void)snprintf(f->address, sizeof(f->address), "127.0.0.1:%u", f->port);
	(void)pthread_create(&f->thread, NULL, body, f);
}

void fake_drop(struct fake *f)
{
	pthread_mutex_lock(&f->lock);
	for (int i = 0; i < FAKE_CONNECTIONS; i++)
		if (f->fds[i] >= 0)
			close_at(f, i);
	pthread_mutex_unlock(&f->lock);
	wake(f);
}

void fake_halt(struct fake *f)
{
	pthread_mutex_lock(&f->lock);
	(void)close(f->listener);
	f->listener = -1;
	pthread_mutex_unlock(&f->lock);
	fake_drop(f);
}

void fake_restart(struct fake *f)
{
	pthread_mutex_lock(&f->lock);
	f->listener = listen_at(f->port, &f->port);
	pthread_mutex_unlock(&f->lock);
	wake(f);
}

void fake_stop(struct fake *f)
{
	fake_drop(f);
	fake_set(f, stop, true);
	wake(f);
	(void)pthread_join(f->thread, NULL);
	if (f->listener >= 0)
		(void)close(f->listener);
	(void)close(f->wake);
}

/* ---- what waits ---- */

static void each_held(struct fake *f, uint16_t method,
		      void (*act)(struct fake_held *h, const void *arg),
		      const void *arg)
{
	pthread_mutex_lock(&f->lock);
	for (int i = 0; i < FAKE_HELD; i++)
		if (f->held[i].fd && f->held[i].method == method)
			act(&f->held[i], arg);
	pthread_mutex_unlock(&f->lock);
}

static void let_go(struct fake_held *h, const void *arg)
{
	uint64_t generation = *(const uint64_t *)arg;
	Roar__MeetReply m = ROAR__MEET_REPLY__INIT;
	Roar__MeetValue v = ROAR__MEET_VALUE__INIT;
	Coordinator__Lateness l = COORDINATOR__LATENESS__INIT;
	Roar__MeetValue *values = &v;
	Coordinator__Lateness *late = &l;

	m.generation = generation    ? generation :
		       h->generation ? h->generation :
				       1;
	m.participants = 2;
	m.arrival_order = 1;
	m.votes_for = 1;
	m.n_values = 1;
	m.values = &values;
	v.worker_id = "other";
	v.value.data = (uint8_t *)"hi";
	v.value.len = 2;
	m.n_late = 1;
	m.late = &late;
	l.worker_id = "other";
	l.late_ms = 7;
	reply(h->fd, h->method, h->call, FRAME_END, &m.base);
	h->fd = 0;
}

void fake_release(struct fake *f, uint64_t generation)
{
	each_held(f, METHOD_MEET, let_go, &generation);
}

struct refusal {
	uint32_t status;
	const char *text;
	size_t len;
};

static void turn_away(struct fake_held *h, const void *arg)
{
	const struct refusal *r = arg;

	send_frame(h->fd, h->method, FRAME_END, h->call, r->status, r->text,
		   r->len);
	h->fd = 0;
}

void fake_refuse(struct fake *f, uint32_t status, const char *sentence,
		 const char *absent)
{
	char text[512];
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", sentence);
	struct refusal r = { .status = status, .text = text };

	if (absent)
		n += 1 + (size_t)snprintf(text + n + 1, sizeof(text) - n - 1,
					  "roar-absent=%s", absent);
	r.len = n;
	each_held(f, METHOD_MEET, turn_away, &r);
}

static void answer_key(struct fake_held *h, const void *arg)
{
	struct frame frame = { .method = h->method, .call = h->call };
	struct fake none = { 0 };

	on_key(&none, h->fd, &frame, arg);
	h->fd = 0;
}

void fake_answer_keys(struct fake *f, const char *value)
{
	each_held(f, METHOD_KV_GET, answer_key, value);
}

static void tell_world(struct fake_held *h, const void *arg)
{
	Roar__WatchEvent m = ROAR__WATCH_EVENT__INIT;

	m.world_epoch = *(const uint64_t *)arg;
	m.world_size = 3;
	m.rank = 2;
	m.ready = true;
	reply(h->fd, h->method, h->call, 0, &m.base);
}

void fake_change_world(struct fake *f, uint64_t epoch)
{
	fake_set(f, epoch, epoch);
	each_held(f, METHOD_WATCH, tell_world, &epoch);
}
