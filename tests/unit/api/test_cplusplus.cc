// test_cplusplus.cc - the headers are C++ as well: a tree and an arena as a C++ program
// holds them.
#include <roar/arena.h>
#include <roar/checkpoint.h>
#include <roar/hash.h>
#include <roar/run.h>
#include <roar/shard.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

struct tree_deleter {
	void operator()(roar_tree *t) const
	{
		roar_tree_free(t);
	}
};

using tree = std::unique_ptr<roar_tree, tree_deleter>;

static tree make_tree(const std::vector<uint8_t> &data)
{
	roar_tree *t = nullptr;

	if (roar_tree_new(data.size(), 1024, &t) != 0 ||
	    roar_tree_add(t, 0, data.data(), data.size()) != 0)
		return nullptr;
	return tree(t);
}

struct arena_deleter {
	void operator()(roar_arena *a) const
	{
		roar_arena_close(a);
	}
};

static bool arena_works()
{
	roar_arena_config config = {};
	roar_arena *made = nullptr;
	roar_arena_part part = {};
	roar_arena_unit *unit = nullptr;

	config.size_bytes = 1 << 16;
	part.len = 5000;
	if (roar_arena_create(&config, &made) != 0)
		return false;
	std::unique_ptr<roar_arena, arena_deleter> a(made);

	if (roar_arena_join(made, ROAR_ARENA_PRODUCER | ROAR_ARENA_CONSUMER,
			    0) != 0 ||
	    roar_arena_reserve(made, &part, 1, 0, 0, &unit) != 0)
		return false;
	std::memset(unit->buffers[0].data, 7, part.len);
	if (roar_arena_commit(unit, 3) != 0 ||
	    roar_arena_receive(made, ROAR_ARENA_ANY, ROAR_ARENA_FOREVER,
			       &unit) != 0)
		return false;
	bool same = unit->tag == 3 && unit->buffers[0].len == 5000 &&
		    static_cast<char *>(unit->buffers[0].data)[4999] == 7;

	roar_arena_release(unit);
	return same;
}

int main()
{
	if (!arena_works()) {
		std::puts(roar_arena_error());
		return 1;
	}

	std::vector<uint8_t> data(10000, 7);
	tree t = make_tree(data);
	roar_digests whole;
	uint8_t root[32];

	if (!t || roar_tree_root(t.get(), root) != 0 ||
	    roar_hash(data.data(), data.size(), ROAR_BLAKE3, &whole) != 0 ||
	    std::memcmp(root, whole.blake3, sizeof(root)) != 0) {
		std::puts("the tree has another digest than the whole");
		return 1;
	}
	std::vector<uint8_t> stored(roar_tree_stored_len(t.get()));
	roar_tree *again = nullptr;

	if (roar_tree_store(t.get(), stored.data(), stored.size()) != 0 ||
	    roar_tree_load(stored.data(), stored.size(), root, &again) != 0) {
		std::puts("the tree was not stored and loaded");
		return 1;
	}
	tree loaded(again);

	if (roar_tree_check(loaded.get(), 1024, data.data(), 1024, nullptr)) {
		std::puts("a part was not proved");
		return 1;
	}
	return 0;
}
