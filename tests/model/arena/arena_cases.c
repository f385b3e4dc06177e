/* arena_cases.c - see arena_cases.h.
 *
 * Each is as small as what it shows: the price of one more message, task or death is a
 * factor of ten. */
#include "arena_cases.h"

#include "arena_scene.h"

#define PRODUCER(i, from, count, ...)                                        \
	{                                                                    \
		.place = (i), .roles = ROAR_ARENA_PRODUCER, .first = (from), \
		.n = (count), __VA_ARGS__                                    \
	}
#define CONSUMER(i, ...)                                                \
	{                                                               \
		.place = (i), .roles = ROAR_ARENA_CONSUMER, __VA_ARGS__ \
	}
#define BYSTANDER(i)                                    \
	{                                               \
		.place = (i), .roles = SCENE_BYSTANDER, \
	}

/* ---- who is there ---- */

static const struct actor one_to_one[] = { PRODUCER(0, 0, 2), CONSUMER(1) };

static const struct actor one_to_one_keeping[] = {
	PRODUCER(0, 0, 3),
	CONSUMER(1, .keeps = 1),
};

static const struct actor two_to_one[] = {
	PRODUCER(0, 0, 1),
	PRODUCER(1, 1, 1),
	CONSUMER(2),
};

static const struct actor one_to_two[] = {
	PRODUCER(0, 0, 2),
	CONSUMER(1),
	CONSUMER(2),
};

static const struct actor one_to_two_once[] = {
	PRODUCER(0, 0, 1),
	CONSUMER(1),
	CONSUMER(2),
};

static const struct actor one_to_a_visitor[] = {
	PRODUCER(0, 0, 2),
	CONSUMER(1),
	CONSUMER(2, .late = true, .keeps = 1),
};

static const struct actor one_to_a_successor[] = {
	PRODUCER(0, 0, 2),
	CONSUMER(1, .n = 2),
};

static const struct actor one_to_an_heir[] = {
	PRODUCER(0, 0, 2),
	CONSUMER(1, .heir = true, .keeps = 1),
};

static const struct actor large[] = {
	PRODUCER(0, 0, 1, .bytes = 128),
	PRODUCER(1, 1, 1, .bytes = 128),
	CONSUMER(2),
};

static const struct actor watched[] = {
	PRODUCER(0, 0, 1),
	CONSUMER(1),
	BYSTANDER(2),
};

static const struct actor watched_large[] = {
	PRODUCER(0, 0, 1, .bytes = 128),
	CONSUMER(1),
	BYSTANDER(2),
};

static const struct actor one_to_two_late[] = {
	PRODUCER(0, 0, 3, .already = 2),
	CONSUMER(1),
	CONSUMER(2),
};

static const struct actor with_a_dead_consumer[] = {
	PRODUCER(0, 0, 2),
	CONSUMER(1),
	BYSTANDER(2),
	CONSUMER(3, .dead = true),
};

static const struct actor with_a_dead_producer[] = {
	PRODUCER(0, 0, 1),
	BYSTANDER(1),
	BYSTANDER(2),
	PRODUCER(3, 0, 0, .dead = true, .bytes = 64),
	CONSUMER(4, .dead = true),
};

static const struct actor with_a_dead_claim[] = {
	PRODUCER(0, 0, 1, .bytes = 128),
	CONSUMER(1),
	BYSTANDER(2),
	PRODUCER(3, 0, 0, .dead = true, .bytes = 128),
};

static const struct actor with_parts[] = {
	PRODUCER(0, 0, 2, .adopts = true),
	CONSUMER(1),
};

static const struct actor watched_with_parts[] = {
	PRODUCER(0, 0, 1, .adopts = true),
	CONSUMER(1),
	BYSTANDER(2),
};

static const struct actor in_pieces[] = {
	PRODUCER(0, 0, 2, .pieces = true),
	CONSUMER(1),
	CONSUMER(2),
};

static const struct actor many[] = {
	PRODUCER(0, 0, 3, .bytes = 64),
	PRODUCER(1, 3, 3, .adopts = true),
	CONSUMER(2, .keeps = 1),
	CONSUMER(3),
	BYSTANDER(4),
};

/* ---- where ---- */

#define SCENE(who, units, bytes, how)                                      \
	&(const struct scene)                                              \
	{                                                                  \
		.actors = (who), .n_actors = sizeof(who) / sizeof(*(who)), \
		.n_units = (units), .size_bytes = (bytes), .flags = (how), \
	}

#define TASK(title, verb, actor)                                        \
	{                                                               \
		.name = (title), .run = (verb), .arg = (void *)(actor), \
		.mortal = true,                                         \
	}

#define ARENA(scene)                                                        \
	.memory = scene_memory, .size = SCENE_BYTES, .setup = scene_setup,  \
	.step = scene_step, .end = scene_end, .name_word = scene_name_word, \
	.arg = (scene)

#define PC(who)                                                   \
	{                                                         \
		TASK("producer", act_produce, &(who)[0]),         \
			TASK("consumer", act_consume, &(who)[1]), \
	}
#define PPC(who)                                                  \
	{                                                         \
		TASK("producer", act_produce, &(who)[0]),         \
			TASK("producer", act_produce, &(who)[1]), \
			TASK("consumer", act_consume, &(who)[2]), \
	}
#define PCC(who)                                                  \
	{                                                         \
		TASK("producer", act_produce, &(who)[0]),         \
			TASK("consumer", act_consume, &(who)[1]), \
			TASK("consumer", act_consume, &(who)[2]), \
	}
#define PCV(who)                                                  \
	{                                                         \
		TASK("producer", act_produce, &(who)[0]),         \
			TASK("consumer", act_consume, &(who)[1]), \
			TASK("visitor", act_visit, &(who)[2]),    \
	}
#define PCS(who)                                                  \
	{                                                         \
		TASK("producer", act_produce, &(who)[0]),         \
			TASK("consumer", act_consume, &(who)[1]), \
			TASK("sweeper", act_sweep, &(who)[2]),    \
	}

#define PCB(who)                                                  \
	{                                                         \
		TASK("producer", act_produce, &(who)[0]),         \
			TASK("consumer", act_consume, &(who)[1]), \
			TASK("sweeper", act_bury, &(who)[2]),     \
	}

#define PPCCS(who)                                                \
	{                                                         \
		TASK("producer", act_produce, &(who)[0]),         \
			TASK("producer", act_produce, &(who)[1]), \
			TASK("consumer", act_consume, &(who)[2]), \
			TASK("consumer", act_consume, &(who)[3]), \
			TASK("sweeper", act_sweep, &(who)[4]),    \
	}

const struct arena_case arena_cases[] = {
	{ { .name = "one-to-one",
	    .about = "two messages through one unit, all orders",
	    .tasks = PC(one_to_one),
	    ARENA(SCENE(one_to_one, 1, 64, 0)),
	    .preemptions = EXPLORE_UNBOUNDED },
	  .everyday = EXPLORE_UNBOUNDED },
	{ { .name = "keeping",
	    .about = "a consumer that keeps one while it takes the next",
	    .tasks = PC(one_to_one_keeping),
	    ARENA(SCENE(one_to_one_keeping, 2, 64, 0)),
	    .preemptions = EXPLORE_UNBOUNDED },
	  .everyday = EXPLORE_UNBOUNDED },
	{ { .name = "slices",
	    .about = "sleeps that end by time at any moment",
	    .tasks = PC(one_to_one),
	    ARENA(SCENE(one_to_one, 1, 64, 0)),
	    .preemptions = EXPLORE_UNBOUNDED,
	    .timeouts = 2 },
	  .everyday = EXPLORE_UNBOUNDED },
	{ { .name = "two-producers",
	    .about = "two producers of one unit",
	    .tasks = PPC(two_to_one),
	    ARENA(SCENE(two_to_one, 1, 64, 0)),
	    .preemptions = 3 },
	  .everyday = 2 },
	{ { .name = "two-producers-two-units",
	    .about = "two producers publish at once",
	    .tasks = PPC(two_to_one),
	    ARENA(SCENE(two_to_one, 2, 64, 0)),
	    .preemptions = 3 },
	  .everyday = 2 },
	{ { .name = "two-consumers",
	    .about = "two consumers share two messages",
	    .tasks = PCC(one_to_two),
	    ARENA(SCENE(one_to_two, 2, 64, 0)),
	    .preemptions = 3 },
	  .everyday = 2 },
	{ { .name = "former-name",
	    .about = "a unit is sent again while a consumer looks at it",
	    .tasks = PCC(one_to_two_late),
	    ARENA(SCENE(one_to_two_late, 2, 64, 0)),
	    .preemptions = 3 },
	  .everyday = 2 },
	{ { .name = "blocks",
	    .about = "two producers want three blocks' worth of four",
	    .tasks = PPC(large),
	    ARENA(SCENE(large, 2, 192, 0)),
	    .preemptions = 3 },
	  .everyday = 2 },
	{ { .name = "broadcast",
	    .about = "each of two consumers gets both messages",
	    .tasks = PCC(one_to_two),
	    ARENA(SCENE(one_to_two, 1, 64, ROAR_ARENA_BROADCAST)),
	    .preemptions = 3 },
	  .everyday = 2 },
	{ { .name = "broadcast-visitor",
	    .about = "a consumer comes and goes during a broadcast",
	    .tasks = PCV(one_to_a_visitor),
	    ARENA(SCENE(one_to_a_visitor, 1, 64, ROAR_ARENA_BROADCAST)),
	    .preemptions = 3 },
	  .everyday = 2 },
	{ { .name = "broadcast-successor",
	    .about = "a consumer goes and another one comes in its place",
	    .tasks = { TASK("producer", act_produce, &one_to_a_successor[0]),
		       TASK("successor", act_return, &one_to_a_successor[1]) },
	    ARENA(SCENE(one_to_a_successor, 1, 64, ROAR_ARENA_BROADCAST)),
	    .preemptions = EXPLORE_UNBOUNDED },
	  .everyday = EXPLORE_UNBOUNDED },
	{ { .name = "broadcast-heir",
	    .about = "a consumer takes the place of one that died",
	    .tasks = { TASK("producer", act_produce, &one_to_an_heir[0]),
		       TASK("heir", act_inherit, &one_to_an_heir[1]) },
	    ARENA(SCENE(one_to_an_heir, 1, 64, ROAR_ARENA_BROADCAST)),
	    .preemptions = EXPLORE_UNBOUNDED },
	  .everyday = 4 },
	{ { .name = "parts",
	    .about = "messages with a part in a unit of its own",
	    .tasks = PC(with_parts),
	    ARENA(SCENE(with_parts, 2, 64, 0)),
	    .preemptions = EXPLORE_UNBOUNDED },
	  .everyday = EXPLORE_UNBOUNDED },
	{ { .name = "pieces",
	    .about = "two consumers, and a message in two pieces",
	    .tasks = PCC(in_pieces),
	    ARENA(SCENE(in_pieces, 2, 64, 0)),
	    .preemptions = 3 },
	  .everyday = 2 },
	{ { .name = "death-parts",
	    .about = "a death with a part in hand, and of who sweeps",
	    .tasks = PCS(watched_with_parts),
	    ARENA(SCENE(watched_with_parts, 2, 64, 0)),
	    .preemptions = 2,
	    .kills = 2 },
	  .everyday = 1 },
	{ { .name = "death-pieces",
	    .about = "a message in two pieces, and a death",
	    .tasks = PCC(in_pieces),
	    ARENA(SCENE(in_pieces, 2, 64, 0)),
	    .preemptions = 2,
	    .kills = 1 },
	  .everyday = 1 },
	{ { .name = "death",
	    .about = "one of two dies, the other gives back",
	    .tasks = PC(one_to_one),
	    ARENA(SCENE(one_to_one, 1, 64, 0)),
	    .preemptions = EXPLORE_UNBOUNDED,
	    .kills = 1 },
	  .everyday = EXPLORE_UNBOUNDED },
	{ { .name = "death-swept",
	    .about = "a death that a third one notices at any moment",
	    .tasks = PCS(watched),
	    ARENA(SCENE(watched, 1, 64, 0)),
	    .preemptions = 3,
	    .kills = 2 },
	  .everyday = 1 },
	{ { .name = "death-blocks",
	    .about = "a death with blocks, and of who sweeps",
	    .tasks = PCS(watched_large),
	    ARENA(SCENE(watched_large, 1, 128, 0)),
	    .preemptions = 3,
	    .kills = 2 },
	  .everyday = 1 },
	{ { .name = "death-blocks-two",
	    .about = "a death of one of two that want the same blocks",
	    .tasks = PPC(large),
	    ARENA(SCENE(large, 2, 192, 0)),
	    .preemptions = 3,
	    .kills = 1 },
	  .everyday = 1 },
	{ { .name = "dead-consumer",
	    .about = "one sweeps who was to receive a broadcast, while it goes on",
	    .tasks = PCB(with_a_dead_consumer),
	    ARENA(SCENE(with_a_dead_consumer, 1, 64, ROAR_ARENA_BROADCAST)),
	    .preemptions = 3 },
	  .everyday = 2 },
	{ { .name = "dead-claim",
	    .about = "one sweeps who had only named the blocks it wanted",
	    .tasks = PCB(with_a_dead_claim),
	    ARENA(SCENE(with_a_dead_claim, 2, 192, 0)),
	    .preemptions = 3 },
	  .everyday = 2 },
	{ { .name = "two-sweepers",
	    .about = "two want to sweep, and a producer wants what they give back",
	    .tasks = { TASK("producer", act_produce, &with_a_dead_producer[0]),
		       TASK("sweeper", act_bury, &with_a_dead_producer[1]),
		       TASK("sweeper", act_bury, &with_a_dead_producer[2]) },
	    ARENA(SCENE(with_a_dead_producer, 1, 64, 0)),
	    .preemptions = 3 },
	  .everyday = 2 },
	{ { .name = "death-broadcast-swept",
	    .about = "a death in a broadcast that a third one notices at any moment",
	    .tasks = PCS(watched),
	    ARENA(SCENE(watched, 1, 64, ROAR_ARENA_BROADCAST)),
	    .preemptions = 3,
	    .kills = 2 },
	  .everyday = 1 },
	{ { .name = "death-visitor",
	    .about = "a consumer comes and goes in a broadcast where one dies",
	    .tasks = PCV(one_to_a_visitor),
	    ARENA(SCENE(one_to_a_visitor, 1, 64, ROAR_ARENA_BROADCAST)),
	    .preemptions = 3,
	    .kills = 1 },
	  .everyday = 1 },
	{ { .name = "death-two-producers",
	    .about = "two producers of one unit, one dies",
	    .tasks = PPC(two_to_one),
	    ARENA(SCENE(two_to_one, 1, 64, 0)),
	    .preemptions = 3,
	    .kills = 1 },
	  .everyday = 1 },
	{ { .name = "death-two-consumers",
	    .about = "two consumers share two messages, one dies",
	    .tasks = PCC(one_to_two),
	    ARENA(SCENE(one_to_two, 2, 64, 0)),
	    .preemptions = 3,
	    .kills = 1 },
	  .everyday = 1 },
	{ { .name = "death-broadcast",
	    .about = "a death in a broadcast to two",
	    .tasks = PCC(one_to_two_once),
	    ARENA(SCENE(one_to_two_once, 1, 64, ROAR_ARENA_BROADCAST)),
	    .preemptions = 3,
	    .kills = 1 },
	  .everyday = 1 },
	{ { .name = "crowd",
	    .about = "two producers, two consumers, a sweeper, and deaths",
	    .tasks = PPCCS(many),
	    ARENA(SCENE(many, 4, 128, 0)),
	    .preemptions = EXPLORE_UNBOUNDED,
	    .kills = 3,
	    .timeouts = 1 },
	  .crowd = true },
	{ { .name = "crowd-broadcast",
	    .about = "the same, where each gets all",
	    .tasks = PPCCS(many),
	    ARENA(SCENE(many, 4, 128, ROAR_ARENA_BROADCAST)),
	    .preemptions = EXPLORE_UNBOUNDED,
	    .kills = 3,
	    .timeouts = 1 },
	  .crowd = true },
};

const unsigned n_arena_cases = sizeof(arena_cases) / sizeof(*arena_cases);
