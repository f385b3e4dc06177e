/* coord_load.c - asks a coordinator as many workers would, and times it.
 *
 *	coord_load barrier WIRE ADDRESS	rounds of a barrier: last arrival sent to last
 *					release read
 *	coord_load beat WIRE ADDRESS	heartbeats, each after the reply to the one before
 *	coord_load offer WIRE ADDRESS	heartbeats at a fixed rate, whatever comes back; times
 *					are from when one should have left, so that a
 *					server that stops for a while is not spared
 *	coord_load idle WIRE ADDRESS	registers, prints "ready", and waits for the end of
 *					its input
 *
 * WIRE is grpc, frames or, for barriers, store (torch's TCPStore); ADDRESS HOST:PORT or
 * unix:PATH.  Each lane is a connection and a worker; with --ranks N, for frames, an agent
 * with N workers, whose requests of one moment are one packet as an agent's are.  All but
 * `idle` print one JSON object. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "coord_figures.h"
#include "coord_load.h"
#include "coordinator.pb-c.h"

enum {
	WARM_ROUNDS = 3,
	MAX_OFFERED = 1 << 17, /* calls under way at a fixed rate */
};

#define SECOND 1000000000LL
#define WARM_NS (SECOND / 4)

static const struct method register_worker = {
	"/coordinator.Coordinator/RegisterWorker", 1
};
static const struct method heartbeat = { "/coordinator.Coordinator/Heartbeat",
					 2 };
static const struct method wait_barrier = {
	"/coordinator.Coordinator/WaitBarrier", 8
};

struct options {
	uint32_t lanes, ranks, streams, rounds, rate, first;
	double seconds;
	pid_t server; /* whose CPU time is told; 0: nobody's */
	const char *job;
	bool bare; /* the server knows no workers */
};

/* ---- messages ---- */

static void must_be_good(const struct call *call, const char *what)
{
	if (call->status != 0)
		die("%s of %s: status %u%s%.*s", what, load_worker(call)->id,
		    call->status, call->reply_len ? ": " : "",
		    (int)(call->reply_len < CALL_REPLY ? call->reply_len :
							 CALL_REPLY),
		    (const char *)call->reply);
}

static size_t pack(struct call *call, const ProtobufCMessage *message)
{
	if (protobuf_c_message_get_packed_size(message) > CALL_MESSAGE)
		die("a request has more than %d bytes", CALL_MESSAGE);
	return protobuf_c_message_pack(message, call->request + CALL_PREFIX);
}

static size_t pack_heartbeat(const struct load *load, const struct worker *w,
			     struct call *call)
{
	Coordinator__WorkerStatus status = COORDINATOR__WORKER_STATUS__INIT;
	Coordinator__HeartbeatRequest m = COORDINATOR__HEARTBEAT_REQUEST__INIT;

	status.state = COORDINATOR__WORKER_STATUS__STATE__TRAINING;
	status.current_step = 1000;
	status.current_epoch = 3;
	m.worker_id = (char *)w->id;
	m.timestamp_ms = 1700000000000;
	m.status = &status;
	m.job_id = (char *)load->job;
	m.session = w->session;
	return pack(call, &m.base);
}

static void registered(struct load *load, struct call *call)
{
	Coordinator__WorkerConfig *config = NULL;

	(void)load;
	must_be_good(call, "RegisterWorker");
	if (call->reply_len <= CALL_REPLY)
		config = coordinator__worker_config__unpack(
			NULL, call->reply_len, call->reply);
	if (!config)
		die("RegisterWorker: a reply that cannot be read");
	load_worker(call)->session = config->session;
	coordinator__worker_config__free_unpacked(config, NULL);
}

static void register_all(struct load *load)
{
	Coordinator__WorkerInfo m = COORDINATOR__WORKER_INFO__INIT;

	load->done = registered;
	m.hostname = "localhost";
	m.port = 1;
	m.gpu_count = 8;
	m.memory_bytes = 1LL << 40;
	m.job_id = (char *)load->job;
	for (uint32_t i = 0; i < load->n_lanes; i++) {
		struct lane *lane = &load->lanes[i];

		for (uint32_t j = 0; j < load->ranks; j++) {
			struct call *call = load_call_new(load);

			m.worker_id = lane->workers[j].id;
			load_call(lane, j, call, &register_worker,
				  pack(call, &m.base));
		}
		load_flush(lane);
	}
	load_settle(load);
}

/* ---- barrier ---- */

static void released(struct load *load, struct call *call)
{
	(void)load;
	must_be_good(call, "WaitBarrier");
}

static int64_t barrier_round(struct load *load, uint32_t round)
{
	Coordinator__BarrierRequest m = COORDINATOR__BARRIER_REQUEST__INIT;
	int64_t last_ns = 0;

	m.barrier_id = "bench";
	m.step = round + 1;
	m.job_id = (char *)load->job;
	for (uint32_t i = 0; i < load->n_lanes; i++) {
		struct lane *lane = &load->lanes[(i + round) % load->n_lanes];

		for (uint32_t j = 0; j < load->ranks; j++) {
			struct call *call = load_call_new(load);

			m.worker_id = lane->workers[j].id;
			load_call(lane, j, call, &wait_barrier,
				  pack(call, &m.base));
		}
		last_ns = clock_mono_ns();
		load_flush(lane);
	}
	load_settle(load);
	return clock_mono_ns() - last_ns;
}

/* Workers compute between barriers; so others have a turn on these CPUs, even where we
 * have precedence. */
static void rest(int64_t ns)
{
	struct timespec t = { .tv_sec = ns / SECOND, .tv_nsec = ns % SECOND };

	(void)nanosleep(&t, NULL);
}

static void barrier(struct load *load, const struct options *o)
{
	load->done = released;
	for (uint32_t i = 0; i < WARM_ROUNDS; i++)
		(void)barrier_round(load, i);
	figures_begin(o->server);
	for (uint32_t i = 0; i < o->rounds; i++) {
		int64_t began = clock_mono_ns();

		figures_add(barrier_round(load, WARM_ROUNDS + i));
		rest((clock_mono_ns() - began) / 4);
	}
	figures_end(o->server);
}

/* ---- heartbeats ---- */

static int64_t now_ns; /* read once for the replies of a turn */
static bool going_on;

static void beat_once(struct lane *lane, uint32_t rank, int64_t since_ns)
{
	struct call *call = load_call_new(lane->load);

	call->since_ns = since_ns;
	load_call(lane, rank, call, &heartbeat,
		  pack_heartbeat(lane->load, &lane->workers[rank], call));
}

/* One of each worker of the lane. */
static void beat_all(struct lane *lane, int64_t since_ns)
{
	for (uint32_t i = 0; i < lane->load->ranks; i++)
		beat_once(lane, i, since_ns);
}

static void beaten(struct load *load, struct call *call)
{
	(void)load;
	must_be_good(call, "Heartbeat");
	figures_add(now_ns - call->since_ns);
	if (going_on)
		beat_once(call->lane, call->rank, now_ns);
}

static void beat_until(struct load *load, int64_t end_ns)
{
	while (now_ns < end_ns) {
		load_turn(load, SECOND);
		now_ns = clock_mono_ns();
	}
}

static void beat(struct load *load, const struct options *o)
{
	load->done = beaten;
	going_on = true;
	now_ns = clock_mono_ns();
	for (uint32_t i = 0; i < load->n_lanes; i++) {
		for (uint32_t j = 0; j < o->streams; j++)
			beat_all(&load->lanes[i], now_ns);
		load_flush(&load->lanes[i]);
	}
	beat_until(load, now_ns + WARM_NS);
	figures_begin(o->server);
	beat_until(load, now_ns + (int64_t)(o->seconds * 1e9));
	figures_end(o->server);
	going_on = false;
}

static void answered(struct load *load, struct call *call)
{
	(void)load;
	must_be_good(call, "Heartbeat");
	figures_add(clock_mono_ns() - call->since_ns);
}

/* From `due_ns` until `end_ns`; when the next one is due. */
static int64_t offer_until(struct load *load, int64_t due_ns, int64_t end_ns,
			   int64_t every_ns)
{
	static uint32_t lane;

	while (due_ns < end_ns) {
		int64_t now = clock_mono_ns();

		for (; due_ns <= now; due_ns += every_ns) {
			beat_all(&load->lanes[lane], due_ns);
			load_flush(&load->lanes[lane]);
			lane = (lane + 1) % load->n_lanes;
		}
		load_turn(load, due_ns - now);
	}
	return due_ns;
}

static void offer(struct load *load, const struct options *o)
{
	int64_t every_ns = SECOND * load->ranks / o->rate;
	int64_t began = clock_mono_ns();
	int64_t due;

	load->done = answered;
	due = offer_until(load, began, began + 2 * WARM_NS, every_ns);
	load_settle(load);
	figures_begin(o->server);
	due = clock_mono_ns();
	(void)offer_until(load, due, due + (int64_t)(o->seconds * 1e9),
			  every_ns);
	load_settle(load);
	figures_end(o->server);
}

/* ---- idle ---- */

static void idle(struct load *load, const struct options *o)
{
	struct pollfd in[] = { { .fd = STDIN_FILENO, .events = POLLIN },
			       { .fd = load->epoll, .events = POLLIN } };
	char byte;

	(void)o;
	(void)puts("ready");
	(void)fflush(stdout);
	while (poll(in, 2, -1) >= 0 || errno == EINTR) {
		if (in[1].revents)
			load_turn(load, 0);
		if (in[0].revents && read(STDIN_FILENO, &byte, 1) <= 0)
			break;
	}
}

/* ---- the program ---- */

static const struct {
	const char *name;
	void (*run)(struct load *load, const struct options *o);
	bool prints;
} modes[] = {
	{ "barrier", barrier, true },
	{ "beat", beat, true },
	{ "offer", offer, true },
	{ "idle", idle, false },
};

static const struct option names[] = {
	{ "lanes", required_argument, NULL, 'l' },
	{ "ranks", required_argument, NULL, 'n' },
	{ "streams", required_argument, NULL, 's' },
	{ "rounds", required_argument, NULL, 'r' },
	{ "rate", required_argument, NULL, 'R' },
	{ "first", required_argument, NULL, 'f' },
	{ "seconds", required_argument, NULL, 't' },
	{ "server", required_argument, NULL, 'p' },
	{ "job", required_argument, NULL, 'j' },
	{ "bare", no_argument, NULL, 'b' },
	{ 0 },
};

static uint32_t number(const char *text)
{
	return (uint32_t)strtoul(text, NULL, 10);
}

static void parse(int argc, char **argv, struct options *o)
{
	int c;

	while ((c = getopt_long(argc, argv, "", names, NULL)) >= 0) {
		switch (c) {
		case 'l':
			o->lanes = number(optarg);
			break;
		case 'n':
			o->ranks = number(optarg);
			break;
		case 's':
			o->streams = number(optarg);
			break;
		case 'r':
			o->rounds = number(optarg);
			break;
		case 'R':
			o->rate = number(optarg);
			break;
		case 'f':
			o->first = number(optarg);
			break;
		case 't':
			o->seconds = strtod(optarg, NULL);
			break;
		case 'p':
			o->server = (pid_t)number(optarg);
			break;
		case 'j':
			o->job = optarg;
			break;
		case 'b':
			o->bare = true;
			break;
		default:
			exit(2);
		}
	}
	if (argc - optind != 3 || !o->lanes || !o->ranks || !o->streams ||
	    !o->rate)
		die("usage: coord_load barrier|beat|offer|idle grpc|frames|store "
		    "ADDRESS [--lanes N] [--ranks N] [--streams N] "
		    "[--rounds N] [--rate N] "
		    "[--seconds S] [--first N] [--job ID] [--server PID] "
		    "[--bare]");
}

static const struct wire *wire_named(const char *name)
{
	static const struct {
		const char *name;
		const struct wire *wire;
	} wires[] = {
		{ "grpc", &wire_grpc },
		{ "frames", &wire_frames },
		{ "store", &wire_store },
	};

	for (size_t i = 0; i < 3; i++)
		if (strcmp(wires[i].name, name) == 0)
			return wires[i].wire;
	die("there is no wire '%s'", name);
}

static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int main(int argc, char **argv)
{
	struct options o = { .lanes = 100,
			     .ranks = 1,
			     .streams = 1,
			     .rounds = 100,
			     .rate = 10000,
			     .seconds = 1,
			     .job = "bench" };
	struct load load = { 0 };
	size_t mode = 0;

	parse(argc, argv, &o);
	while (mode < 4 && strcmp(modes[mode].name, argv[optind]) != 0)
		mode++;
	if (mode == 4)
		die("there is no mode '%s'", argv[optind]);
	raise_limit();
	load.wire = wire_named(argv[optind + 1]);
	load.address = argv[optind + 2];
	load.job = o.job;
	load.n_lanes = o.lanes;
	load.ranks = o.ranks;
	if (load.ranks > 1 && load.wire != &wire_frames)
		die("only frames have several workers on a connection");
	load.first = o.first;
	/* One more a worker: a reply is dealt with while the next call begins. */
	load_open(&load, modes[mode].run == offer ?
				 MAX_OFFERED :
				 o.lanes * o.ranks * (o.streams + 1));
	if (!o.bare)
		register_all(&load);
	modes[mode].run(&load, &o);
	if (modes[mode].prints)
		figures_print();
	load_close(&load);
	return 0;
}
