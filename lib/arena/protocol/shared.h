/* shared.h - atomic access to the words that processes share.
 *
 * Every access to a word that another party may change goes through these functions.  So
 * the memory order is stated in one place, and the explorer can stop between any two
 * accesses: with ARENA_EXPLORE each first calls explore_point(), which decides which party
 * continues and which one is killed here.
 *
 * The order: loads and read-modify-writes are sequentially consistent, which costs
 * nothing on x86 beyond the lock prefix.  There are two kinds of stores: shared_store()
 * releases, for words that are read only after another word was; shared_swap() is for
 * writers that must then see the sleepers, because x86 reorders a store and a later load.
 * There are no fences: ThreadSanitizer does not support them. */
#ifndef ROAR_ARENA_SHARED_H
#define ROAR_ARENA_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#ifdef ARENA_EXPLORE
#include "explore.h"
#define SHARED_POINT(op, p) explore_point(op, p, sizeof(*(p)))
#else
#define SHARED_POINT(op, p) ((void)0)
#endif

static inline uint64_t shared_load(const uint64_t *p)
{
	SHARED_POINT(EXPLORE_LOAD, p);
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

static inline void shared_store(uint64_t *p, uint64_t value)
{
	SHARED_POINT(EXPLORE_STORE, p);
	__atomic_store_n(p, value, __ATOMIC_RELEASE);
}

/* Stores; later loads of this thread are not reordered before the store. */
static inline uint64_t shared_swap(uint64_t *p, uint64_t value)
{
	SHARED_POINT(EXPLORE_RMW, p);
	return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);
}

static inline bool shared_cas(uint64_t *p, uint64_t old, uint64_t value)
{
	SHARED_POINT(EXPLORE_RMW, p);
	return __atomic_compare_exchange_n(p, &old, value, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* These three return what was there before. */
static inline uint64_t shared_or(uint64_t *p, uint64_t bits)
{
	SHARED_POINT(EXPLORE_RMW, p);
	return __atomic_fetch_or(p, bits, __ATOMIC_SEQ_CST);
}

static inline uint64_t shared_and(uint64_t *p, uint64_t bits)
{
	SHARED_POINT(EXPLORE_RMW, p);
	return __atomic_fetch_and(p, bits, __ATOMIC_SEQ_CST);
}

static inline uint64_t shared_add(uint64_t *p, uint64_t n)
{
	SHARED_POINT(EXPLORE_RMW, p);
	return __atomic_fetch_add(p, n, __ATOMIC_SEQ_CST);
}

static inline uint32_t shared_load32(const uint32_t *p)
{
	SHARED_POINT(EXPLORE_LOAD, p);
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

static inline void shared_store32(uint32_t *p, uint32_t value)
{
	SHARED_POINT(EXPLORE_STORE, p);
	__atomic_store_n(p, value, __ATOMIC_RELEASE);
}

static inline bool shared_cas32(uint32_t *p, uint32_t old, uint32_t value)
{
	SHARED_POINT(EXPLORE_RMW, p);
	return __atomic_compare_exchange_n(p, &old, value, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static inline void shared_add32(uint32_t *p, uint32_t n)
{
	SHARED_POINT(EXPLORE_RMW, p);
	__atomic_fetch_add(p, n, __ATOMIC_SEQ_CST);
}

/* For counters that no decision depends on: no point for the explorer. */
static inline void shared_count(uint64_t *p, uint64_t n)
{
	__atomic_fetch_add(p, n, __ATOMIC_RELAXED);
}

/* As futex(2), between processes: sleeps while the word is `seen`, for at most
 * `timeout_ns`, and may return early. */
void shared_wait(uint32_t *word, uint32_t seen, int64_t timeout_ns);
void shared_wake_all(uint32_t *word);

#endif
