/* fake.h - a coordinator that does what a test wants: frames over loopback TCP.
 *
 * It registers everybody, answers heartbeats, and keeps what waits (meetings, keys) until
 * the test lets it go.  A thread of its own; fields that tests set or read are taken
 * under the lock by the functions here. */
#ifndef TESTS_COORD_CLIENT_FAKE_H
#define TESTS_COORD_CLIENT_FAKE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { FAKE_CONNECTIONS = 16, FAKE_HELD = 64 };

struct fake_held {
	int fd; /* 0: free */
	uint32_t call;
	uint16_t method;
	uint64_t generation; /* of a meeting, as asked for */
};

struct fake {
	pthread_mutex_t lock;
	pthread_t thread;
	int listener, wake;
	uint16_t port;
	char address[64];
	bool stop;

	/* what it says */
	int64_t interval_ms; /* of heartbeats */
	uint64_t epoch; /* of the world */
	uint32_t register_status; /* 0: everybody may come */
	uint32_t beat_status; /* of the next heartbeat */
	uint32_t refuses_beats; /* the status of all; 0: they are answered */
	uint32_t key_status; /* of KvSet */
	const char *standby; /* NULL: it leads; else who does, "" for nobody */
	uint64_t token; /* of fencing, told before each registration; 0: none */
	const char *command; /* with the next heartbeat's reply */
	bool mute; /* reads, and says nothing */
	bool drops_sums; /* ends the connection where a KvAdd comes */
	bool drops_take; /* likewise the next TakeLease */
	bool drops_set; /* likewise the next KvSet */
	bool drops_commit; /* likewise the next CommitCheckpoint */
	const char *garbage; /* sent in place of frames; or NULL */
	bool goes_away; /* says so with the next heartbeat */

	/* what it heard */
	unsigned n_connections, n_registered, n_beats, n_cancelled, n_sums;
	unsigned n_meets, n_gets, n_watches, n_left;
	unsigned n_turned_away; /* calls, as a standby */
	uint64_t session; /* of the last registration */
	unsigned n_takes; /* of leases */
	uint64_t take_session, take_request; /* of the last */
	unsigned n_sets, n_pings, n_commits;
	uint64_t set_request, set_before; /* of the last two */
	uint64_t generation; /* of the last meeting */
	bool again; /* of the last meeting */
	int64_t step; /* of the last heartbeat */
	uint32_t timeout_ms; /* of the last meeting */
	char hello[64]; /* token and job of the last, with a space between */

	int fds[FAKE_CONNECTIONS];
	bool greeted[FAKE_CONNECTIONS]; /* the preface was read */
	struct fake_held held[FAKE_HELD];
};

void fake_start(struct fake *f);
/* Ends all connections and listens no more; the port is kept for fake_restart(). */
void fake_halt(struct fake *f);
void fake_restart(struct fake *f);
void fake_stop(struct fake *f);

/* Ends all connections: the clients come again. */
void fake_drop(struct fake *f);
/* Lets meetings go: those that wait get this generation (0: the one they asked for, or
 * 1), or the status and sentence. */
void fake_release(struct fake *f, uint64_t generation);
void fake_refuse(struct fake *f, uint32_t status, const char *sentence,
		 const char *absent);
/* Answers keys that are waited for. */
void fake_answer_keys(struct fake *f, const char *value);
/* Tells watchers of another world. */
void fake_change_world(struct fake *f, uint64_t epoch);

/* Waits until the counter is at least that, ten seconds at most. */
#define fake_await(f, counter, n)                         \
	do {                                              \
		for (int i_ = 0; i_ < 10000; i_++) {      \
			pthread_mutex_lock(&(f)->lock);   \
			unsigned seen_ = (f)->counter;    \
			pthread_mutex_unlock(&(f)->lock); \
			if (seen_ >= (n))                 \
				break;                    \
			usleep(1000);                     \
		}                                         \
		pthread_mutex_lock(&(f)->lock);           \
		assert_true((f)->counter >= (n));         \
		pthread_mutex_unlock(&(f)->lock);         \
	} while (0)

#define fake_set(f, field, value)                 \
	do {                                      \
		pthread_mutex_lock(&(f)->lock);   \
		(f)->field = (value);             \
		pthread_mutex_unlock(&(f)->lock); \
	} while (0)

#define fake_get(f, field)                        \
	({                                        \
		pthread_mutex_lock(&(f)->lock);   \
		__auto_type value_ = (f)->field;  \
		pthread_mutex_unlock(&(f)->lock); \
		value_;                           \
	})

#endif
