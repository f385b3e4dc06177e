/* script.c - see script.h */
#include "script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_fail.h"

enum { WORDS_MAX = 16, SECOND = 1000 * 1000 * 1000 };

struct line {
	const char *verb;
	const char *names[2];
	int n_names;
	struct event ev; /* without strings */
};

static unsigned ftype_of(const char *word)
{
	static const char *const names[] = { "none", "reg",  "dir", "sym",
					     "fifo", "sock", "dev" };

	for (unsigned i = 0; i < EVENT_FTYPE_END; i++)
		if (strcmp(word, names[i]) == 0)
			return i;
	fail_msg("no such type: %s", word);
	return 0;
}

static unsigned flags_of(const char *word)
{
	static const char letters[] = "rwctTixxP";
	unsigned flags = 0;

	for (; *word; word++) {
		const char *at = strchr(letters, *word);

		if (!at)
			fail_msg("no such flag: %c", *word);
		flags |= 1u << (at - letters);
	}
	return flags;
}

/* A fraction marks a file system with fine stamps. */
static int64_t stamp_ns(long long seconds)
{
	return seconds * SECOND + 5;
}

static void set_value(struct line *line, const char *key, const char *value)
{
	long long n = strtoll(value, NULL, 10);
	struct event *ev = &line->ev;

	if (strcmp(key, "ino") == 0)
		ev->before.ino = (uint64_t)n;
	else if (strcmp(key, "size") == 0)
		ev->before.size = (uint64_t)n;
	else if (strcmp(key, "dev") == 0)
		ev->before.dev = (uint64_t)n;
	else if (strcmp(key, "mtime") == 0)
		ev->before.mtime_ns = stamp_ns(n);
	else if (strcmp(key, "ctime") == 0)
		ev->before.ctime_ns = stamp_ns(n);
	else if (strcmp(key, "pid") == 0)
		ev->pid = (int32_t)n;
	else if (strcmp(key, "aux") == 0)
		ev->aux = (int32_t)n;
	else if (strcmp(key, "at") == 0)
		ev->time_ns = n * SECOND;
	else if (strcmp(key, "type") == 0)
		ev->ftype = (uint8_t)ftype_of(value);
	else
		fail_msg("no such key: %s", key);
}

static char *next_word(char **at)
{
	char *word = *at + strspn(*at, " \t");
	char end = ' ';

	if (!*word)
		return NULL;
	if (*word == '"') {
		end = '"';
		word++;
	}
	*at = word;
	while (**at && **at != end)
		(*at)++;
	if (**at)
		*(*at)++ = '\0';
	return word;
}

static bool is_setting(const char *word)
{
	static const char *const keys[] = { "ino=",   "size=",	"dev=",
					    "mtime=", "ctime=", "pid=",
					    "aux=",   "at=",	"type=" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strncmp(word, keys[i], strlen(keys[i])) == 0)
			return true;
	return false;
}

static void take_word(struct line *line, char *word)
{
	if (is_setting(word)) {
		char *equals = strchr(word, '=');

		*equals = '\0';
		set_value(line, word, equals + 1);
	} else if (strcmp(word, "x") == 0) {
		line->ev.flags |= EVENT_EXCHANGE;
	} else if (strcmp(word, "root") == 0) {
		line->ev.flags |= EVENT_ROOT;
	} else if (strcmp(line->verb, "open") == 0 && !line->n_names &&
		   word[0] != '/' && !line->ev.flags) {
		line->ev.flags = (uint16_t)flags_of(word);
	} else {
		assert_true(line->n_names < 2);
		line->names[line->n_names++] = word;
	}
}

/* Defaults: process 1, a second after the line before, all stamps complete. */
static bool parse(char *text, int64_t number, struct line *line)
{
	char *at = text;
	char *word;

	*line = (struct line){ .names = { "", "" } };
	line->verb = next_word(&at);
	if (!line->verb || line->verb[0] == '#')
		return false;
	line->ev.pid = 1;
	line->ev.time_ns = (1000000 + number) * SECOND;
	line->ev.ftype = EVENT_FTYPE_END;
	while ((word = next_word(&at)))
		take_word(line, word);
	if (line->ev.before.ino && !line->ev.before.dev)
		line->ev.before.dev = 1;
	if (line->ev.before.ino && !line->ev.before.ctime_ns)
		line->ev.before.ctime_ns = line->ev.before.mtime_ns;
	if (line->ev.ftype == EVENT_FTYPE_END)
		line->ev.ftype = line->ev.before.ino ? EVENT_FTYPE_REGULAR :
						       EVENT_FTYPE_NONE;
	return true;
}

/* Only the fold's own allocations are counted. */
static int add_event(struct fold *fold, const struct event *head,
		     const char *path, const char *path2, int n_allocations,
		     struct fold_change *ret_change)
{
	size_t len = strlen(path);
	size_t len2 = strlen(path2);
	CLEANUP(freep) struct event *ev = malloc(event_size(len, len2));
	int r;

	assert_non_null(ev);
	*ev = *head;
	event_set_paths(ev, path, len, path2, len2);
	assert_int_equal(event_check(ev, ev->size), ev->size);
	alloc_fail_after(n_allocations);
	r = fold_add(fold, ev, ret_change);
	alloc_fail_never();
	return r;
}

static struct event simple_event(int kind, unsigned flags,
				 const struct stamp *before)
{
	static int64_t now = 5000000;
	struct event head = { .kind = (uint8_t)kind,
			      .flags = (uint16_t)flags,
			      .pid = 1,
			      .time_ns = now++ * SECOND };

	if (before) {
		head.before = *before;
		head.ftype = EVENT_FTYPE_REGULAR;
	}
	return head;
}

int script_event(struct fold *fold, int kind, unsigned flags, const char *path,
		 const char *path2, const struct stamp *before,
		 struct fold_change *ret_change)
{
	struct event head = simple_event(kind, flags, before);

	return add_event(fold, &head, path, path2, -1, ret_change);
}

int script_event_failing(struct fold *fold, int kind, unsigned flags,
			 const char *path, const char *path2,
			 const struct stamp *before, int n_allocations)
{
	struct event head = simple_event(kind, flags, before);
	struct fold_change change;

	return add_event(fold, &head, path, path2, n_allocations, &change);
}

static unsigned kind_of(const char *verb)
{
	for (unsigned kind = 1; kind < EVENT_KIND_END; kind++)
		if (strcmp(event_kind_name(kind), verb) == 0)
			return kind;
	fail_msg("no such verb: %s", verb);
	return 0;
}

static void apply(struct fold *fold, struct line *line, struct str *news)
{
	static const char *const texts[] = { "nothing", "input", "closed",
					     "rewritten" };
	const char *path = line->names[0];
	struct fold_change change;

	line->ev.kind = (uint8_t)kind_of(line->verb);
	if (line->ev.kind == EVENT_LINK && strcmp(path, "-") == 0)
		path = "";
	assert_int_equal(add_event(fold, &line->ev, path, line->names[1], -1,
				   &change),
			 0);
	if (!news || change.news == FOLD_NOTHING)
		return;
	str_addf(news, "%s %s", texts[change.news], change.file->path);
	if (change.at != change.file)
		str_addf(news, " at %s", change.at->path);
	str_addc(news, '\n');
}

struct ending {
	char path[64];
	struct stamp stamp;
};

struct endings {
	struct ending list[32];
	size_t n;
};

static void play(struct fold *fold, const char *script, struct str *news,
		 struct endings *endings)
{
	CLEANUP(freep) char *copy = strdup(script);
	char *rest = copy;
	char *text;

	for (int64_t i = 0; (text = strsep(&rest, "\n")); i++) {
		struct line line;

		if (!parse(text, i, &line))
			continue;
		if (strcmp(line.verb, "found") == 0) {
			assert_int_equal(fold_add_found(fold, line.names[0],
							line.ev.ftype,
							&line.ev.before),
					 0);
		} else if (strcmp(line.verb, "after") != 0) {
			apply(fold, &line, news);
		} else if (endings) {
			struct ending *e = &endings->list[endings->n++];

			assert_true(endings->n <= 32);
			(void)snprintf(e->path, sizeof(e->path), "%s",
				       line.names[0]);
			e->stamp = line.ev.before;
		}
	}
}

void script_play(struct fold *fold, const char *script)
{
	play(fold, script, NULL, NULL);
}

static struct fold *new_fold(void)
{
	struct fold *fold;

	assert_int_equal(fold_new(&fold), 0);
	return fold;
}

void script_news(const char *script, struct str *out)
{
	CLEANUP(fold_freep) struct fold *fold = new_fold();

	play(fold, script, out, NULL);
}

static void add_bits(struct str *out, unsigned bits, const char *const names[],
		     size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bits & 1u << i)
			str_addf(out, " %s", names[i]);
}

static void add_fact(struct str *out, const struct lineage_file *file,
		     const struct endings *endings)
{
	static const char *const seen[] = {
		"read-prior", "read-own",   "opened-write", "created",
		"truncated",  "renamed-to", "linked-to",    "removed",
		"moved-away", "executed",   "inherited",    "unstable",
	};
	static const char *const roles[] = { "input", "output", "intermediate",
					     "temporary", "touched" };
	struct stamp after = { 0 };

	for (size_t i = 0; i < endings->n; i++)
		if (strcmp(endings->list[i].path, file->path) == 0)
			after = endings->list[i].stamp;
	str_adds(out, file->path);
	add_bits(out, file->seen, seen, 12);
	if (file->origin)
		str_addf(out, " < %s", file->origin->path);
	if (file->own)
		str_adds(out, " own");
	if (lineage_is_prior(file, &after))
		str_adds(out, " prior");
	str_adds(out, " =");
	add_bits(out, lineage_roles(file, &after), roles, 5);
	str_addc(out, '\n');
}

void script_facts(const char *script, struct str *out)
{
	CLEANUP(fold_freep) struct fold *fold = new_fold();
	struct endings endings = { .n = 0 };
	struct lineage_file *const *files;
	size_t n;

	play(fold, script, NULL, &endings);
	files = fold_files(fold, &n);
	for (size_t i = 0; i < n; i++)
		add_fact(out, files[i], &endings);
}

void script_processes(const char *script, struct str *out)
{
	CLEANUP(fold_freep) struct fold *fold = new_fold();
	const struct lineage_process *p;
	size_t n;

	play(fold, script, NULL, NULL);
	p = fold_processes(fold, &n);
	for (size_t i = 0; i < n; i++)
		str_addf(out, "%d < %d \"%s\" %lld-%lld status %d\n", p[i].pid,
			 p[i].parent, p[i].command,
			 (long long)(p[i].start_ns / SECOND),
			 (long long)(p[i].end_ns / SECOND), p[i].status);
}

void script_gaps(const char *script, struct str *out)
{
	CLEANUP(fold_freep) struct fold *fold = new_fold();
	const struct lineage_gap *gaps;
	size_t n;

	play(fold, script, NULL, NULL);
	gaps = fold_gaps(fold, &n);
	for (size_t i = 0; i < n; i++)
		str_addf(out, "%s \"%s\" x%u\n",
			 event_gap_name((unsigned)gaps[i].code), gaps[i].detail,
			 gaps[i].count);
}

struct edge_list {
	struct lineage_edge list[64];
	size_t n;
};

static void add_edge(struct edge_list *edges, struct lineage_edge edge)
{
	if (!edge.kind)
		return;
	assert_true(edges->n < 64);
	edges->list[edges->n++] = edge;
}

static void add_named(struct edge_list *edges, const struct fold *fold,
		      uint32_t file, int32_t pid, uint32_t order,
		      enum lineage_edge_kind kind)
{
	bool unique;
	int64_t process = fold_process_at(fold, pid, order, &unique);

	if (order && process >= 0)
		add_edge(edges, (struct lineage_edge){ file, (uint32_t)process,
						       order, (uint8_t)kind });
}

static int by_order(const void *a, const void *b)
{
	const struct lineage_edge *x = a;
	const struct lineage_edge *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	if (x->kind == LINEAGE_EDGE_REPLACED ||
	    y->kind == LINEAGE_EDGE_REPLACED)
		return y->kind - x->kind; /* first */
	return x->kind - y->kind;
}

static void collect_edges(const struct fold *fold, struct edge_list *edges)
{
	uint64_t left_out;
	size_t n;
	struct lineage_file *const *files = fold_files(fold, &n);

	for (uint32_t i = 0; i < n; i++) {
		const struct lineage_file *f = files[i];

		assert_int_equal(fold_file_index(f), i);
		add_named(edges, fold, i, f->reader, f->read_order,
			  lineage_first_read(f->seen));
		add_named(edges, fold, i, f->writer, f->write_order,
			  LINEAGE_EDGE_WRITTEN);
	}
	n = fold_n_edges(fold, &left_out);
	assert_int_equal(left_out, 0);
	for (size_t i = 0; i < n; i++)
		add_edge(edges, fold_edge(fold, i));
	qsort(edges->list, edges->n, sizeof(edges->list[0]), by_order);
}

void script_edges(const char *script, struct str *out)
{
	static const char *const kinds[] = {
		"",	    "read",	   "read-own",	      "wrote",
		"made",	    "passed-read", "passed-read-own", "passed-wrote",
		"replaced",
	};
	CLEANUP(fold_freep) struct fold *fold = new_fold();
	struct edge_list edges = { .n = 0 };
	const struct lineage_process *p;
	size_t n;

	play(fold, script, NULL, NULL);
	collect_edges(fold, &edges);
	p = fold_processes(fold, &n);
	for (size_t i = 0; i < edges.n; i++) {
		const struct lineage_edge *e = &edges.list[i];

		assert_true(e->process < n);
		str_addf(out, "%d%s %s %s\n", p[e->process].pid,
			 p[e->process].former ? "'" : "", kinds[e->kind],
			 fold_files(fold, &n)[e->file]->path);
		p = fold_processes(fold, &n);
	}
}

void script_check(void (*play)(const char *script, struct str *out),
		  const char *script, const char *expected)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	play(script, &out);
	assert_string_equal(str_cstr(&out), expected);
}
