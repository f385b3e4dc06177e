// test_coordinator.cc - a worker's side of a coordinator as a C++ program holds it; what
// it does with a coordinator is in tests/python and tests/cli.
#include <roar/coord.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

struct client_deleter {
	void operator()(roar_coord *c) const
	{
		roar_coord_free(c);
	}
};

using client = std::unique_ptr<roar_coord, client_deleter>;

static int check(bool good, const char *what)
{
	if (!good)
		std::printf("%s: %s\n", what, roar_coord_error());
	return !good;
}

int main()
{
	roar_coord_options options = {};
	roar_coord *c = nullptr;
	int failed = 0;

	options.address = "unix:/nonexistent/socket";
	options.worker_id = "w";
	options.connect_timeout_ms = -1;
	failed += check(roar_coord_join(&options, &c) == -ENOTCONN, "nobody");
	failed += check(std::strstr(roar_coord_error(), "nonexistent") != nullptr,
			"the sentence");
	options.worker_id = "not an id";
	failed += check(roar_coord_join(&options, &c) == -EINVAL, "an id");
	client none(c);
	roar_coord_meeting meeting = {};
	roar_coord_meeting_release(&meeting);
	failed += check(roar_coord_absent()[0] == '\0', "the absent");
	return failed != 0;
}
