/* show_situation.c - see show_situation.h
 *
 * The documents are those of lib/capture, which describes them.  One that is missing or
 * cannot be understood is not shown. */
#include "show/show_situation.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/macros.h"
#include "lineage/redact.h"
#include "store/store_situation.h"
#include "ui/view.h"

static void release(json_t **root)
{
	json_decref(*root);
}

/* *ret is NULL when there is none. */
static int read_document(struct view *v, int64_t job_id,
			 enum situation_kind kind, json_t **ret,
			 struct roar_error *err)
{
	const char *text;
	int r = store_situation(v->store, &v->pool, job_id, kind, &text, err);

	*ret = NULL;
	if (r < 0 || !text)
		return r;
	*ret = json_loads(text, JSON_ALLOW_NUL, NULL);
	return 0;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static json_int_t number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* Any text of the record, safe to print. */
static void add_text(struct view *v, const char *text)
{
	view_cut(&v->out, text, 400);
}

/* ---- a line each ---- */

static void add_gpus(struct view *v, const json_t *m)
{
	const json_t *gpus = json_object_get(m, "gpus");
	size_t n = json_array_size(gpus);

	if (!n)
		return;
	str_addf(&v->out, ", %zu x ", n);
	add_text(v, text_of(json_array_get(gpus, 0), "name"));
	if (*text_of(m, "driver")) {
		str_adds(&v->out, ", driver ");
		add_text(v, text_of(m, "driver"));
	}
	if (*text_of(m, "cuda")) {
		str_adds(&v->out, ", CUDA ");
		add_text(v, text_of(m, "cuda"));
	}
}

static void add_machine(struct view *v, const json_t *m)
{
	const json_t *cpu = json_object_get(m, "cpu");
	const json_t *cloud = json_object_get(m, "cloud");
	const json_t *container = json_object_get(m, "container");

	view_label(v, "Machine:");
	if (*text_of(cpu, "model")) {
		add_text(v, text_of(cpu, "model"));
		str_adds(&v->out, ", ");
	}
	str_addf(&v->out, "%lld CPUs, ", (long long)number_of(cpu, "threads"));
	format_size(&v->out, (uint64_t)number_of(m, "memory_bytes"));
	add_gpus(v, m);
	if (*text_of(m, "os")) {
		str_adds(&v->out, ", ");
		add_text(v, text_of(m, "os"));
	}
	if (*text_of(container, "kind")) {
		str_adds(&v->out, ", in ");
		add_text(v, text_of(container, "kind"));
	}
	if (*text_of(cloud, "vendor")) {
		str_adds(&v->out, ", ");
		add_text(v, text_of(cloud, "vendor"));
		str_addc(&v->out, ' ');
		add_text(v, text_of(cloud, "product"));
	}
	str_addc(&v->out, '\n');
}

static void add_gpu_memory(struct view *v, const json_t *gpus)
{
	const char *before = "";

	for (size_t i = 0; i < json_array_size(gpus); i++) {
		const json_t *gpu = json_array_get(gpus, i);

		if (number_of(gpu, "peak_memory_bytes") <= 0)
			continue;
		if (!*before)
			view_label(v, "GPU memory:");
		str_adds(&v->out, before);
		format_size(&v->out,
			    (uint64_t)number_of(gpu, "peak_memory_bytes"));
		str_addf(&v->out, " on GPU %lld",
			 (long long)number_of(gpu, "index"));
		before = ", ";
	}
	if (*before)
		str_addc(&v->out, '\n');
}

static void add_use(struct view *v, const json_t *use)
{
	add_gpu_memory(v, json_object_get(use, "gpus"));
	if (!json_is_integer(json_object_get(use, "bytes_read")))
		return;
	view_label(v, "I/O:");
	format_size(&v->out, (uint64_t)number_of(use, "bytes_read"));
	str_adds(&v->out, " read, ");
	format_size(&v->out, (uint64_t)number_of(use, "bytes_written"));
	str_adds(&v->out, " written\n");
}

/* "Packages:    31 (dpkg 20, pip 11)": they are sorted by manager. */
static void add_packages(struct view *v, const json_t *root)
{
	const json_t *packages = json_object_get(root, "packages");
	const json_t *notes = json_object_get(root, "notes");
	size_t n = json_array_size(packages);

	view_label(v, "Packages:");
	str_addf(&v->out, "%zu", n);
	for (size_t i = 0; i < n;) {
		const char *manager = text_of(json_array_get(packages, i),
					      "manager");
		size_t first = i;

		while (i < n &&
		       strcmp(text_of(json_array_get(packages, i), "manager"),
			      manager) == 0)
			i++;
		str_adds(&v->out, first ? ", " : " (");
		add_text(v, manager);
		str_addf(&v->out, " %zu%s", i - first, i == n ? ")" : "");
	}
	for (size_t i = 0; i < json_array_size(notes); i++) {
		str_adds(&v->out, "; ");
		add_text(v, json_string_value(json_array_get(notes, i)));
	}
	str_addc(&v->out, '\n');
}

static void add_interpreters(struct view *v, const json_t *root)
{
	const json_t *list = json_object_get(root, "interpreters");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);

		view_label(v, i ? "" : "Interpreter:");
		add_text(v, text_of(item, "kind"));
		str_addc(&v->out, ' ');
		add_text(v, text_of(item, "version"));
		str_adds(&v->out, " (");
		if (json_is_true(json_object_get(item, "venv"))) {
			str_adds(&v->out, "environment ");
			view_path(v, &v->out, text_of(item, "prefix"));
		} else {
			view_path(v, &v->out, text_of(item, "path"));
		}
		str_adds(&v->out, ")\n");
	}
}

static void add_variables(struct view *v, const json_t *root)
{
	const json_t *list = json_object_get(root, "environments");
	json_t *variables = json_object_get(json_array_get(list, 0),
					    "variables");
	size_t n = json_array_size(list), redacted = 0;
	const char *name;
	json_t *value;

	json_object_foreach(variables, name, value)
		redacted += strstr(json_string_value(value), REDACTED) != NULL;
	view_label(v, "Variables:");
	str_addf(&v->out, "%zu", json_object_size(variables));
	if (redacted)
		str_addf(&v->out, ", %zu redacted", redacted);
	if (n > 1)
		str_addf(&v->out, "; %zu other environment%s in the run", n - 1,
			 n == 2 ? "" : "s");
	str_addc(&v->out, '\n');
}

static void add_trackers(struct view *v, const json_t *root)
{
	const json_t *list = json_object_get(root, "trackers");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);

		view_label(v, i ? "" : "Trackers:");
		add_text(v, text_of(item, "name"));
		if (*text_of(item, "run_id")) {
			str_adds(&v->out, " run ");
			add_text(v, text_of(item, "run_id"));
		}
		if (*text_of(item, "project")) {
			str_adds(&v->out, " of project ");
			add_text(v, text_of(item, "project"));
		}
		str_adds(&v->out, " in ");
		view_path(v, &v->out, text_of(item, "folder"));
		str_addc(&v->out, '\n');
	}
}

/* ---- lists ---- */

static void add_title(struct view *v, const char *title, size_t n)
{
	str_addc(&v->out, '\n');
	term_add(&v->out, &v->term, COLOR_BOLD, title);
	str_addf(&v->out, " (%zu)\n", n);
}

static void list_packages(struct view *v, const json_t *root)
{
	const json_t *list = json_object_get(root, "packages");

	add_title(v, "Packages", json_array_size(list));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);

		str_adds(&v->out, "  ");
		view_cell(v, COLOR_NONE, text_of(item, "manager"), 7);
		add_text(v, text_of(item, "name"));
		str_addc(&v->out, ' ');
		add_text(v, text_of(item, "version"));
		if (json_is_true(json_object_get(item, "editable"))) {
			str_adds(&v->out, "  editable in ");
			view_path(v, &v->out, text_of(item, "location"));
		}
		str_addc(&v->out, '\n');
	}
}

static void list_libraries(struct view *v, const json_t *root)
{
	const json_t *list = json_object_get(root, "libraries");

	add_title(v, "Libraries and programs", json_array_size(list));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);

		str_adds(&v->out, "  ");
		view_cell(v, COLOR_NONE, text_of(item, "build_id"), 42);
		view_path(v, &v->out, text_of(item, "path"));
		str_addc(&v->out, '\n');
	}
}

static void list_members(struct view *v, const char *mark, json_t *object)
{
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
	{
		str_adds(&v->out, mark);
		add_text(v, name);
		str_addc(&v->out, '=');
		add_text(v, json_string_value(value));
		str_addc(&v->out, '\n');
	}
}

/* The first environment is that of the command, of which the others differ. */
static void list_variables(struct view *v, const json_t *root)
{
	const json_t *list = json_object_get(root, "environments");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);
		const json_t *unset = json_object_get(item, "unset");
		json_t *variables = json_object_get(item, i ? "changed" :
							      "variables");

		add_title(v, i ? "Variables changed" : "Variables",
			  json_object_size(variables));
		list_members(v, "  ", variables);
		for (size_t k = 0; k < json_array_size(unset); k++) {
			str_adds(&v->out, "  unset ");
			add_text(v,
				 json_string_value(json_array_get(unset, k)));
			str_addc(&v->out, '\n');
		}
	}
}

/* ---- text ---- */

struct part {
	enum situation_kind kind;
	void (*add)(struct view *v, const json_t *root);
};

static int add_parts(struct view *v, int64_t job_id, const struct part *parts,
		     size_t n, struct roar_error *err)
{
	for (size_t i = 0; i < n; i++) {
		CLEANUP(release) json_t *root = NULL;
		int r = read_document(v, job_id, parts[i].kind, &root, err);

		if (r < 0)
			return r;
		if (root)
			parts[i].add(v, root);
	}
	return 0;
}

int show_situation_text(struct view *v, int64_t job_id, struct roar_error *err)
{
	static const struct part parts[] = {
		{ SITUATION_USE, add_use },
		{ SITUATION_MACHINE, add_machine },
		{ SITUATION_LIBRARIES, add_interpreters },
		{ SITUATION_PACKAGES, add_packages },
		{ SITUATION_VARIABLES, add_variables },
		{ SITUATION_TRACKERS, add_trackers },
	};

	return add_parts(v, job_id, parts, ARRAY_SIZE(parts), err);
}

int show_situation_lists(struct view *v, int64_t job_id, struct roar_error *err)
{
	static const struct part parts[] = {
		{ SITUATION_PACKAGES, list_packages },
		{ SITUATION_LIBRARIES, list_libraries },
		{ SITUATION_VARIABLES, list_variables },
	};

	return add_parts(v, job_id, parts, ARRAY_SIZE(parts), err);
}

/* ---- JSON ---- */

/* Documents are shallow; a deeper one is not ours. */
static void copy_value(struct json *j, const json_t *value, int depth)
{
	const char *key;
	json_t *member;
	size_t i;

	if (depth > 8) {
		json_put_null(j);
	} else if (json_is_object(value)) {
		json_put_object(j);
		json_object_foreach((json_t *)value, key, member)
		{
			json_put_key(j, key);
			copy_value(j, member, depth + 1);
		}
		json_end(j);
	} else if (json_is_array(value)) {
		json_put_array(j);
		json_array_foreach(value, i, member)
			copy_value(j, member, depth + 1);
		json_end(j);
	} else if (json_is_string(value)) {
		json_put_bytes(j, json_string_value(value),
			       json_string_length(value));
	} else if (json_is_integer(value)) {
		json_put_int(j, json_integer_value(value));
	} else if (json_is_real(value)) {
		json_put_double(j, json_real_value(value));
	} else if (json_is_boolean(value)) {
		json_put_bool(j, json_is_true(value));
	} else {
		json_put_null(j);
	}
}

int show_situation_json(struct view *v, struct json *j, int64_t job_id,
			struct roar_error *err)
{
	/* `member`: of the document, NULL: all of it. */
	static const struct {
		const char *key;
		enum situation_kind kind;
		const char *member;
	} parts[] = {
		{ "machine", SITUATION_MACHINE, NULL },
		{ "use", SITUATION_USE, NULL },
		{ "packages", SITUATION_PACKAGES, "packages" },
		{ "package_notes", SITUATION_PACKAGES, "notes" },
		{ "interpreters", SITUATION_LIBRARIES, "interpreters" },
		{ "libraries", SITUATION_LIBRARIES, "libraries" },
		{ "environment", SITUATION_VARIABLES, NULL },
		{ "trackers", SITUATION_TRACKERS, "trackers" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		CLEANUP(release) json_t *root = NULL;
		int r = read_document(v, job_id, parts[i].kind, &root, err);

		if (r < 0)
			return r;
		json_put_key(j, parts[i].key);
		copy_value(j,
			   parts[i].member ?
				   json_object_get(root, parts[i].member) :
				   root,
			   0);
	}
	return 0;
}
