/* arena_actors.c - the tasks of arena_scene.h. */
#include "arena_scene_internal.h"

#define M (&scene_map)

/* ---- the kernel ---- */

void shared_wait(uint32_t *word, uint32_t seen, int64_t timeout_ns)
{
	(void)timeout_ns;
	(void)explore_wait(word, seen);
}

void shared_wake_all(uint32_t *word)
{
	explore_wake(word);
}

/* ---- notes ---- */

bool scene_has_died(unsigned place)
{
	return scene_now->actors[place].dead || explore_has_died(place);
}

static unsigned dead_tasks(void)
{
	unsigned dead = 0;

	for (unsigned i = 0; i < scene_now->n_actors; i++)
		dead |= (unsigned)scene_has_died(i) << i;
	return dead;
}

/* Into these hands, out of which? */
static void hand(uint32_t unit, unsigned hands, unsigned others)
{
	explore_check((scene_notes->hands[unit] & ~dead_tasks() & ~others) == 0);
	scene_notes->hands[unit] = (uint8_t)(hands | (scene_notes->hands[unit] &
						      others & ~dead_tasks()));
}

static void let_go(uint32_t unit, unsigned task)
{
	explore_check(scene_notes->hands[unit] >> task & 1);
	scene_notes->hands[unit] &= (uint8_t) ~(1U << task);
}

void scene_got(unsigned task, unsigned message)
{
	struct notes *n = scene_notes;

	explore_check(message < SCENE_MESSAGES && n->begun >> message & 1);
	for (unsigned i = 0; i < n->n_got[task]; i++) {
		unsigned former = n->got[task][i];

		explore_check(former != message);
		explore_check(!(n->before[former] >> message & 1));
	}
	n->got[task][n->n_got[task]++] = (uint8_t)message;
}

/* ---- parties ---- */

void scene_join(const struct actor *a)
{
	int pid = a->heir ? SCENE_DEAD_PID : (int)a->place + 1;

	explore_check(party_claim(M, a->place, false, pid, a->roles) ==
		      (int)a->place);
	explore_check(party_enter(M, a->place) == 0);
}

static void leave(const struct actor *a)
{
	if (a->roles & ROAR_ARENA_CONSUMER)
		party_retire(M, a->place, NULL, NULL);
	party_leave(M, a->place);
	bell_ring(M, BELL_UNITS);
	bell_ring(M, BELL_ROOM);
}

/* As the library looks: a sweep that its sweeper did not end is found with the
 * sweeper. */
static bool is_dead(uint64_t word)
{
	unsigned place = (unsigned)party_pid(word) - 1;

	if (party_state(word) != PARTY_ALIVE &&
	    party_state(word) != PARTY_JOINING)
		return false;
	return party_pid(word) == SCENE_DEAD_PID ||
	       scene_now->actors[place].dead || explore_is_dead(place);
}

void scene_bury(unsigned me)
{
	for (unsigned i = 0; i < scene_now->n_actors; i++) {
		uint64_t word = shared_load(&M->parties[i].word);

		if (i != me && is_dead(word))
			(void)sweep_party(M, me, i, word);
	}
}

static bool has_party(unsigned roles)
{
	for (unsigned i = 0; i < scene_now->n_actors; i++)
		if (party_roles(shared_load(&M->parties[i].word)) & roles)
			return true;
	return false;
}

/* ---- waiting ---- */

/* What the tasks know at the top of their loops, apart from what the nap knows. */
static uint64_t known[EXPLORE_MAX_TASKS];

static void know(const struct actor *a, uint64_t what)
{
	known[a->place] = what;
}

/* As struct arena_wait of the library, without its clocks. */
struct nap {
	const struct actor *a;
	enum arena_bell bell;
	uint32_t *word;
	uint32_t seen;
};

static void nap_end(struct nap *n)
{
	if (n->word)
		bell_disarm(M, n->bell, n->a->place);
	n->word = NULL;
}

/* The first time it says where it will sleep, so that the caller can look once more; then it
 * sleeps. */
static void nap_next(struct nap *n)
{
	if (n->word && explore_wait(n->word, n->seen) == -ETIMEDOUT)
		scene_bury(n->a->place);
	nap_end(n);
	n->word = bell_arm(M, n->bell, n->a->place, &n->seen);
	explore_forget(known[n->a->place] << 32 | n->seen);
}

/* ---- sending ---- */

/* A place that was claimed is kept while there is no room for its data. */
static bool try_reserve(const struct actor *a, bool thorough, int64_t *unit)
{
	if (*unit < 0) {
		*unit = unit_claim(M, a->place, 0, thorough);
		if (*unit < 0)
			return false;
		hand((uint32_t)*unit, 1U << a->place, 0);
		know(a, known[a->place] | (uint64_t)(*unit + 1) << 8);
	}
	return !a->bytes || block_claim(M, (uint32_t)*unit, 0, a->bytes) == 0;
}

/* -1: nobody is left to send to. */
static int64_t reserve(const struct actor *a)
{
	struct nap nap = { .a = a, .bell = BELL_ROOM };
	int64_t unit = -1;

	for (bool thorough = false; !try_reserve(a, thorough, &unit);
	     thorough = true) {
		if (!has_party(ROAR_ARENA_CONSUMER)) {
			nap_end(&nap);
			if (unit >= 0) {
				let_go((uint32_t)unit, a->place);
				unit_free(M, a->place, (uint32_t)unit);
			}
			return -1;
		}
		nap_next(&nap);
	}
	nap_end(&nap);
	return unit;
}

static uint32_t *blocks_of(uint32_t unit, unsigned *ret_n)
{
	uint64_t extent = M->units[unit].extent;

	*ret_n = (unsigned)extent;
	return &M->owners[extent >> 32];
}

/* Each block of a unit that somebody has is its own. */
static void check_blocks(uint32_t unit)
{
	unsigned n;
	const uint32_t *owners = blocks_of(unit, &n);

	for (unsigned i = 0; i < n; i++)
		explore_check(owners[i] == unit + 1);
}

static struct arena_row *row_of(uint32_t unit)
{
	return (struct arena_row *)(M->base + unit_inline_at(M, unit));
}

/* A unit for a part of the message, with what the message has. */
static int64_t reserve_part(const struct actor *a, unsigned message)
{
	int64_t part = a->adopts ? reserve(a) : -1;

	if (part < 0)
		return -1;
	shared_store(&M->units[part].tag, message);
	know(a, message | (uint64_t)(part + 1) << 16);
	explore_forget(known[a->place]);
	return part;
}

static void fill_in(const struct actor *a, int64_t unit, int64_t part,
		    unsigned message)
{
	struct arena_unit *u = &M->units[unit];

	shared_store(&u->tag, message);
	if (part >= 0) {
		shared_store(&row_of((uint32_t)unit)->unit, (uint64_t)part);
		shared_store(&u->n_buffers, 1);
		shared_store(&u->flags, UNIT_PARENT);
		unit_adopt(M, a->place, (uint32_t)part, (uint32_t)unit);
	}
	if (a->pieces && message < a->first + 2) {
		shared_store(&u->producer, a->place);
		shared_store(&u->message, 1);
		shared_store(&u->flags, message == a->first ?
						UNIT_PIECE | UNIT_FIRST :
						UNIT_PIECE);
	}
}

static void publish(const struct actor *a, int64_t unit, unsigned message)
{
	struct notes *n = scene_notes;

	let_go((uint32_t)unit, a->place);
	n->before[message] = n->sent;
	n->begun |= (uint8_t)(1U << message);
	explore_check(unit_publish(M, a->place, (uint32_t)unit) == 0);
	n->sent |= (uint8_t)(1U << message);
}

static void let_go_of_part(const struct actor *a, int64_t part)
{
	uint64_t word;

	if (part < 0)
		return;
	word = shared_load(&M->units[part].word);
	let_go((uint32_t)part, a->place);
	unit_drop(M, a->place, (uint32_t)part, unit_generation(word));
}

static bool send(const struct actor *a, unsigned message)
{
	int64_t part;
	int64_t unit;

	know(a, message);
	part = reserve_part(a, message);
	unit = part < 0 && a->adopts ? -1 : reserve(a);
	if (unit < 0) {
		let_go_of_part(a, part);
		return false;
	}
	explore_check((uint32_t)M->units[unit].extent == a->bytes / 64);
	check_blocks((uint32_t)unit);
	explore_forget(known[a->place]);
	fill_in(a, unit, part, message);
	publish(a, unit, message);
	let_go_of_part(a, part);
	explore_forget(message);
	return true;
}

/* The dead has named the blocks that it wanted and got none. */
static void die_reserving(const struct actor *a)
{
	int64_t unit = unit_claim(M, a->place, 0, false);

	explore_check(unit >= 0);
	hand((uint32_t)unit, 1U << a->place, 0);
	shared_store(&M->units[unit].extent, a->bytes / 64);
}

void scene_prepare(const struct actor *a)
{
	if (a->dead && a->roles & ROAR_ARENA_PRODUCER)
		die_reserving(a);
	for (unsigned i = 0; i < a->already; i++)
		(void)send(a, a->first + i);
}

void act_produce(void *arg)
{
	const struct actor *a = arg;

	for (unsigned i = a->already; i < a->n; i++)
		if (!send(a, a->first + i))
			break;
	leave(a);
}

/* ---- taking ---- */

static void note_taken(const struct actor *a, int64_t unit)
{
	unsigned others = scene_now->flags & ROAR_ARENA_BROADCAST ? ~0U : 0;

	hand((uint32_t)unit, 1U << a->place, others);
	scene_got(a->place, (unsigned)M->units[unit].tag);
}

static int64_t take(const struct actor *a)
{
	int64_t unit = queue_take(M, a->place);

	explore_check(unit >= 0 || unit == -EAGAIN);
	if (unit < 0)
		return unit;
	note_taken(a, unit);
	/* The next may be another's, who could not get at it behind this. */
	if (shared_load(&M->units[unit].flags) & UNIT_PIECE)
		bell_ring(M, BELL_UNITS);
	return unit;
}

/* -1: no producer is left, and nothing of any. */
static int64_t receive(const struct actor *a)
{
	struct nap nap = { .a = a, .bell = BELL_UNITS };
	int64_t unit;

	while ((unit = take(a)) < 0) {
		if (!has_party(ROAR_ARENA_PRODUCER)) {
			unit = take(a);
			break;
		}
		nap_next(&nap);
	}
	nap_end(&nap);
	return unit;
}

static void check_part(uint32_t unit, unsigned message)
{
	const struct arena_unit *part;

	if (!(shared_load(&M->units[unit].flags) & UNIT_PARENT))
		return;
	part = &M->units[shared_load(&row_of(unit)->unit)];
	explore_check(shared_load(&part->tag) == message);
	explore_check(unit_state(part->word) == UNIT_CHILD);
}

/* What it reads of a message that it has is what was sent. */
static void drop(const struct actor *a, int64_t unit, unsigned message)
{
	uint64_t word = shared_load(&M->units[unit].word);

	explore_check(shared_load(&M->units[unit].tag) == message);
	check_part((uint32_t)unit, message);
	check_blocks((uint32_t)unit);
	let_go((uint32_t)unit, a->place);
	unit_drop(M, a->place, (uint32_t)unit, unit_generation(word));
}

/* Which units it has, and how many it had; which messages they are is in the notes. */
static void know_kept(const struct actor *a, const int64_t *kept,
		      unsigned dropped, unsigned n)
{
	uint64_t what = n;

	for (unsigned i = dropped; i < n; i++)
		what = what << 4 | (uint64_t)(kept[i] + 1);
	know(a, what << 4 | 0xf);
	explore_forget(known[a->place]);
}

static void take_all(const struct actor *a,
		     int64_t (*next)(const struct actor *a))
{
	const uint8_t *got = scene_notes->got[a->place];
	int64_t kept[SCENE_MESSAGES + 1];
	unsigned n = 0;
	unsigned dropped = 0;

	know_kept(a, kept, 0, 0);
	while ((!a->n || n < a->n) && (kept[n] = next(a)) >= 0) {
		n++;
		know_kept(a, kept, dropped, n);
		if (n <= dropped + a->keeps)
			continue;
		drop(a, kept[dropped], got[dropped]);
		know_kept(a, kept, ++dropped, n);
	}
	for (; dropped < n; dropped++)
		drop(a, kept[dropped], got[dropped]);
}

void act_consume(void *arg)
{
	take_all(arg, receive);
	leave(arg);
}

/* Where a producer is on its way the place may be refused: then there is no visit. */
void act_visit(void *arg)
{
	const struct actor *a = arg;

	if (party_claim(M, a->place, false, (int)a->place + 1, a->roles) < 0)
		return;
	explore_check(party_enter(M, a->place) == 0);
	take_all(arg, take);
	leave(arg);
}

void act_inherit(void *arg)
{
	const struct actor *a = arg;
	uint64_t word = shared_load(&M->parties[a->place].word);

	if (!is_dead(word) ||
	    sweep_inherit(M, a->place, word, (int)a->place + 1, a->roles) < 0)
		return;
	explore_check(party_enter(M, a->place) == 0);
	take_all(arg, take);
	leave(arg);
}

void act_return(void *arg)
{
	leave(arg);
	act_visit(arg);
}

void act_bury(void *arg)
{
	const struct actor *a = arg;

	scene_bury(a->place);
	leave(a);
}

void act_sweep(void *arg)
{
	const struct actor *a = arg;

	for (unsigned n = 0; explore_await_death(n); n++)
		scene_bury(a->place);
	leave(a);
}
