/* test_election.c - who leads, by what etcd says and when. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "etcd/election.h"
#include "fake_etcd.h"

struct fixture;

struct party {
	struct fixture *x;
	struct etcd *etcd;
	struct election *election;
	int64_t token; /* of its lead; 0: it does not lead */
	unsigned n_elected;
	char leader[64]; /* as it was told; "" for nobody */
	char why[256]; /* deposed or refused */
	char hindrance[256]; /* "": none */
};

struct fixture {
	struct loop *loop;
	struct fake_etcd fake;
	struct party parties[2];
};

static void on_elected(void *data, int64_t token)
{
	struct party *p = data;

	p->token = token;
	p->n_elected++;
}

static void on_deposed(void *data, const char *why)
{
	struct party *p = data;

	p->token = 0;
	(void)snprintf(p->why, sizeof(p->why), "%s", why);
}

static void on_follows(void *data, const char *leader)
{
	struct party *p = data;

	(void)snprintf(p->leader, sizeof(p->leader), "%s",
		       leader ? leader : "");
}

static void on_refused(void *data, const char *sentence)
{
	struct party *p = data;

	(void)snprintf(p->why, sizeof(p->why), "%s", sentence);
}

static void on_hindered(void *data, const char *sentence)
{
	struct party *p = data;

	(void)snprintf(p->hindrance, sizeof(p->hindrance), "%s",
		       sentence ? sentence : "");
}

static const struct election_events events = {
	.elected = on_elected,
	.deposed = on_deposed,
	.follows = on_follows,
	.hindered = on_hindered,
	.refused = on_refused,
};

#define AWAIT(x, condition)                                             \
	do {                                                            \
		int64_t by_ = loop_now_ms((x)->loop) + 60000;           \
		while (!(condition) && loop_now_ms((x)->loop) < by_)    \
			assert_int_equal(loop_round((x)->loop, 20), 0); \
		assert_true(condition);                                 \
	} while (0)

static struct party *begin_with(struct fixture *x, int i, int64_t ttl_s)
{
	struct party *p = &x->parties[i];
	struct roar_error err;

	p->x = x;
	assert_int_equal(
		etcd_new(x->loop,
			 &(struct etcd_access){ .addresses = x->fake.url },
			 NULL, NULL, &p->etcd, &err),
		0);
	assert_int_equal(election_new(x->loop, p->etcd, "c",
				      i ? "second:1" : "first:1", ttl_s,
				      &events, p, &p->election),
			 0);
	return p;
}

static struct party *begin(struct fixture *x, int i)
{
	return begin_with(x, i, 60);
}

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	assert_int_equal(loop_new(&x->loop), 0);
	fake_etcd_start(&x->fake, x->loop);
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	for (int i = 0; i < 2; i++) {
		election_free(x->parties[i].election);
		etcd_free(x->parties[i].etcd);
	}
	fake_etcd_stop(&x->fake);
	loop_free(x->loop);
	free(x);
	return 0;
}

static void the_first_one_leads_and_the_second_follows(void **state)
{
	struct fixture *x = *state;
	struct party *first = begin(x, 0), *second;
	const struct fake_key *key;

	AWAIT(x, first->token);
	assert_true(election_holds(first->election));
	key = fake_etcd_find(&x->fake, "/roar/c/leader");
	assert_int_equal(key->create_revision, first->token);
	assert_string_equal(str_cstr(&key->value), "first:1");
	second = begin(x, 1);
	AWAIT(x, second->leader[0]);
	assert_string_equal(second->leader, "first:1");
	assert_false(election_holds(second->election));
}

static void when_the_key_goes_the_other_leads_with_a_larger_token(void **state)
{
	struct fixture *x = *state;
	struct party *first = begin(x, 0), *second;
	int64_t old;

	AWAIT(x, first->token);
	old = first->token;
	second = begin(x, 1);
	AWAIT(x, second->leader[0]);
	election_resign(first->election, true, "it ends");
	AWAIT(x, second->token);
	assert_true(second->token > old);
	assert_false(election_holds(first->election));
	assert_string_equal(first->why, "it ends");
	AWAIT(x, !election_is_resigning(first->election));
	assert_int_equal(first->n_elected, 1);
}

static void who_leads_hears_when_its_key_is_removed(void **state)
{
	struct fixture *x = *state;
	struct party *first = begin(x, 0);

	AWAIT(x, first->token);
	AWAIT(x, x->fake.watches[0]);
	fake_etcd_remove(&x->fake, 0, "/roar/c/leader");
	AWAIT(x, first->why[0]);
	AWAIT(x, first->n_elected == 2);
}

/* The key is bound to our lease: the answer that was lost said that we lead. */
static void a_lost_answer_does_not_lose_the_election(void **state)
{
	struct fixture *x = *state;
	struct party *first = begin(x, 0);

	AWAIT(x, x->fake.last_lease == 1);
	x->fake.n_lose = 1;
	AWAIT(x, first->token);
	assert_int_equal(x->fake.n_lose, 0);
	assert_int_equal(x->fake.last_lease, 1);
}

static void no_lead_without_a_sign_of_life(void **state)
{
	struct fixture *x = *state;
	struct party *first = &x->parties[0];
	struct roar_error err;

	assert_int_equal(
		etcd_new(x->loop,
			 &(struct etcd_access){ .addresses = x->fake.url },
			 NULL, NULL, &first->etcd, &err),
		0);
	assert_int_equal(election_new(x->loop, first->etcd, "c", "first:1", 2,
				      &events, first, &first->election),
			 0);
	AWAIT(x, first->token);
	AWAIT(x, x->fake.n_keep_alives >= 2);
	assert_true(election_holds(first->election));
	x->fake.is_mute = true;
	AWAIT(x, !first->token);
	assert_non_null(strstr(first->why, "lease"));
	assert_false(election_holds(first->election));
}

static void a_foreign_schema_is_left_alone(void **state)
{
	struct fixture *x = *state;
	struct party *first;

	fake_etcd_put(&x->fake, "/roar/c/schema", "another 9");
	first = begin(x, 0);
	AWAIT(x, first->why[0]);
	assert_non_null(strstr(first->why, "'another 9'"));
	assert_null(fake_etcd_find(&x->fake, "/roar/c/leader"));
}

/* As often as the lease is kept alive: a member that hangs is noticed in time. */
static void who_follows_looks_again_within_a_lease(void **state)
{
	struct fixture *x = *state;
	struct party *first = begin_with(x, 0, 2);
	struct party *second;
	unsigned n_txns, n_alive;

	AWAIT(x, first->token);
	second = begin_with(x, 1, 2);
	AWAIT(x, second->leader[0]);
	n_txns = x->fake.n_txns;
	n_alive = x->fake.n_keep_alives;
	AWAIT(x, x->fake.n_keep_alives >= n_alive + 4);
	assert_true(x->fake.n_txns >= n_txns + 3);
}

static void an_etcd_that_is_full_is_told_of(void **state)
{
	struct fixture *x = *state;
	struct party *first;

	x->fake.is_full = true;
	first = begin(x, 0);
	AWAIT(x, first->hindrance[0]);
	assert_non_null(strstr(first->hindrance, "space"));
	x->fake.is_full = false;
	AWAIT(x, first->token);
	assert_string_equal(first->hindrance, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_one_leads_and_the_second_follows),
		TEST(when_the_key_goes_the_other_leads_with_a_larger_token),
		TEST(who_leads_hears_when_its_key_is_removed),
		TEST(a_lost_answer_does_not_lose_the_election),
		TEST(no_lead_without_a_sign_of_life),
		TEST(an_etcd_that_is_full_is_told_of),
		TEST(who_follows_looks_again_within_a_lease),
		TEST(a_foreign_schema_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
