/* machine.c - see machine.h */
#include "capture/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <jansson.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/macros.h"
#include "base/number.h"
#include "base/str.h"
#include "capture/cgroup_limits.h"
#include "capture/gpu.h"
#include "capture/package_database.h"

enum {
	TEXT_MAX = 4 * 1024 * 1024, /* cpuinfo of a thousand CPUs */
	CPUS_MAX = 8192,
	CACHE_MAX = 1024 * 1024,
};

static bool read_text(const char *root, const char *path, struct str *out)
{
	CLEANUP(str_release) struct str full = STR_INIT;

	str_addf(&full, "%s%s", root, path);
	str_clear(out);
	return str_error(&full) == 0 &&
	       fd_read_file(AT_FDCWD, full.data, TEXT_MAX, out) == 0;
}

/* The first line, without blanks at its end; "" when there is none. */
static const char *read_line(const char *root, const char *path,
			     struct str *out)
{
	char *end;

	if (!read_text(root, path, out) || !out->len)
		return "";
	end = out->data + strcspn(out->data, "\n");
	while (end > out->data && end[-1] == ' ')
		end--;
	*end = '\0';
	return out->data;
}

static void put_text(struct json *json, const char *key, const char *text)
{
	json_put_key(json, key);
	json_put_string(json, *text ? text : NULL);
}

static void put_number(struct json *json, const char *key, int64_t n)
{
	json_put_key(json, key);
	json_put_int(json, n);
}

/* ---- CPU and memory ---- */

static int compare_words(const void *a, const void *b)
{
	const uint64_t *x = a;
	const uint64_t *y = b;

	return (*x > *y) - (*x < *y);
}

static size_t count_distinct(uint64_t *list, size_t n)
{
	size_t distinct = 0;

	qsort(list, n, sizeof(*list), compare_words);
	for (size_t i = 0; i < n; i++)
		distinct += !i || list[i] != list[i - 1];
	return distinct;
}

/* "NAME\t: VALUE" in a paragraph of /proc/cpuinfo. */
static const char *cpu_field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	at = at ? strchr(at, ':') : NULL;
	return at ? at + 1 + (at[1] == ' ') : NULL;
}

static void write_cpu(const char *root, struct json *json)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(freep) uint64_t *cores = calloc(CPUS_MAX, sizeof(*cores));
	CLEANUP(freep) uint64_t *sockets = calloc(CPUS_MAX, sizeof(*sockets));
	const char *model = NULL;
	size_t n = 0, threads = 0;

	json_put_key(json, "cpu");
	json_put_object(json);
	if (!cores || !sockets || !read_text(root, "/proc/cpuinfo", &text)) {
		json_end(json);
		return;
	}
	model = cpu_field(str_cstr(&text), "model name");
	for (const char *at = str_cstr(&text);
	     (at = strstr(at, "processor\t")) && threads < CPUS_MAX; at++) {
		const char *socket = cpu_field(at, "physical id");
		const char *core = cpu_field(at, "core id");

		threads++;
		if (!socket || !core)
			continue;
		sockets[n] = strtoul(socket, NULL, 10);
		cores[n] = sockets[n] << 32 | strtoul(core, NULL, 10);
		n++;
	}
	json_put_key(json, "model");
	if (model)
		json_put_bytes(json, model, strcspn(model, "\n"));
	else
		json_put_null(json);
	if (n) {
		put_number(json, "sockets",
			   (int64_t)count_distinct(sockets, n));
		put_number(json, "cores", (int64_t)count_distinct(cores, n));
	}
	put_number(json, "threads", (int64_t)threads);
	json_end(json);
}

/* Bytes of "NAME:   N kB" in /proc/meminfo; 0: unknown. */
static uint64_t read_memory(const char *root)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	const char *value;
	size_t len;

	if (!read_text(root, "/proc/meminfo", &text) ||
	    !package_field(str_cstr(&text), text.len, "MemTotal", &value, &len))
		return 0;
	return strtoull(value, NULL, 10) * 1024;
}

/* ---- the cloud ---- */

static void write_cloud(const char *root, struct json *json)
{
	static const struct {
		const char *vendor; /* how the firmware's string starts */
		const char *name;
	} clouds[] = {
		{ "Amazon EC2", "aws" },
		{ "Google", "gcp" },
		{ "Microsoft Corporation", "azure" },
		{ "Alibaba", "alibaba" },
		{ "DigitalOcean", "digitalocean" },
		{ "Hetzner", "hetzner" },
		{ "OpenStack", "openstack" },
		{ "OracleCloud", "oracle" },
		{ "Scaleway", "scaleway" },
		{ "Vultr", "vultr" },
		{ "Akamai", "linode" },
		{ "Linode", "linode" },
		{ "Tencent", "tencent" },
		{ "OVH", "ovh" },
		{ "CoreWeave", "coreweave" },
		{ "Nebius", "nebius" },
	};
	static const char *const files[] = {
		"/sys/class/dmi/id/sys_vendor",
		"/sys/class/dmi/id/chassis_asset_tag",
		"/sys/class/dmi/id/board_vendor",
	};
	CLEANUP(str_release) struct str text = STR_INIT;

	json_put_key(json, "cloud");
	for (size_t f = 0; f < ARRAY_SIZE(files); f++) {
		const char *vendor = read_line(root, files[f], &text);

		for (size_t i = 0; i < ARRAY_SIZE(clouds); i++) {
			if (strncmp(vendor, clouds[i].vendor,
				    strlen(clouds[i].vendor)) != 0)
				continue;
			json_put_object(json);
			put_text(json, "vendor", clouds[i].name);
			put_text(json, "product",
				 read_line(root,
					   "/sys/class/dmi/id/product_name",
					   &text));
			json_end(json);
			return;
		}
	}
	json_put_null(json);
}

/* ---- what is kept until the next boot ---- */

static void write_gpus(const char *root, const char *nvml, struct json *json)
{
	CLEANUP(freep) struct gpus *g = calloc(1, sizeof(*g));

	if (!g || gpus_find(root, nvml, g) < 0)
		return;
	json_put_key(json, "gpus");
	json_put_array(json);
	for (unsigned i = 0; i < g->n; i++) {
		json_put_object(json);
		put_number(json, "index", i);
		put_text(json, "name", g->list[i].name);
		put_text(json, "uuid", g->list[i].uuid);
		json_put_key(json, "memory_bytes");
		if (g->list[i].memory_bytes)
			json_put_int(json, (int64_t)g->list[i].memory_bytes);
		else
			json_put_null(json);
		json_end(json);
	}
	json_end(json);
	put_text(json, "driver", g->driver);
	put_text(json, "cuda", g->cuda);
	if (!g->timed_out)
		return;
	json_put_key(json, "notes");
	json_put_array(json);
	json_put_string(json, "the NVIDIA management library did not answer, "
			      "so the memory of the GPUs is not known");
	json_end(json);
}

static void write_hardware(const char *root, const char *nvml, struct str *out)
{
	struct json json = json_writer(out, false);

	json_put_object(&json);
	write_cpu(root, &json);
	put_number(&json, "memory_bytes", (int64_t)read_memory(root));
	write_gpus(root, nvml, &json);
	write_cloud(root, &json);
	json_end(&json);
}

static void cache_path(const struct capture_system *system, struct str *out)
{
	if (system->cache)
		str_addf(out, "%s/machine", system->cache);
}

/* The hardware that was found since the last boot; NULL: unknown. */
static json_t *load_hardware(const char *path, const char *boot)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	size_t n = strlen(boot);

	if (!*path || !n ||
	    package_file_read(AT_FDCWD, path, CACHE_MAX, &text) < 0 ||
	    text.len <= n || memcmp(text.data, boot, n) != 0 ||
	    text.data[n] != '\n')
		return NULL;
	return json_loadb(text.data + n + 1, text.len - n - 1, 0, NULL);
}

static json_t *find_hardware(const struct capture_system *system,
			     const char *nvml)
{
	CLEANUP(str_release) struct str boot = STR_INIT;
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(str_release) struct str file = STR_INIT;
	json_t *known;

	(void)read_line(system->root, "/proc/sys/kernel/random/boot_id", &boot);
	cache_path(system, &path);
	known = load_hardware(str_cstr(&path), str_cstr(&boot));
	if (known)
		return known;
	write_hardware(system->root, nvml, &text);
	if (str_error(&text) < 0)
		return NULL;
	str_addf(&file, "%s\n%s", str_cstr(&boot), text.data);
	if (path.len && boot.len && str_error(&file) == 0)
		package_cache_save(path.data, file.data, file.len);
	return json_loadb(text.data, text.len, 0, NULL);
}

/* ---- all of it ---- */

/* PRETTY_NAME="Debian GNU/Linux 12 (bookworm)" */
static void write_os(const char *root, struct json *json)
{
	static const char key[] = "PRETTY_NAME=";
	CLEANUP(str_release) struct str text = STR_INIT;
	const char *at = NULL;

	if (read_text(root, "/etc/os-release", &text) ||
	    read_text(root, "/usr/lib/os-release", &text))
		at = strstr(str_cstr(&text), key);
	json_put_key(json, "os");
	if (!at) {
		json_put_null(json);
		return;
	}
	at += sizeof(key) - 1;
	at += *at == '"';
	json_put_bytes(json, at, strcspn(at, "\"\n"));
}

static void write_container(const char *root, struct json *json)
{
	char kind[64];
	char image[256];

	json_put_key(json, "container");
	if (!container_find(root, kind, sizeof(kind), image, sizeof(image))) {
		json_put_null(json);
		return;
	}
	json_put_object(json);
	put_text(json, "kind", kind);
	if (image[0])
		put_text(json, "image", image);
	json_end(json);
}

static void write_limits(const char *root, struct json *json)
{
	struct cgroup_limits limits;

	json_put_key(json, "cgroup");
	if (!cgroup_limits_find(root, &limits)) {
		json_put_null(json);
		return;
	}
	json_put_object(json);
	json_put_key(json, "cpus");
	if (limits.cpus > 0)
		json_put_double(json, limits.cpus);
	else
		json_put_null(json);
	json_put_key(json, "memory_bytes");
	if (limits.memory_bytes)
		json_put_int(json, (int64_t)limits.memory_bytes);
	else
		json_put_null(json);
	json_end(json);
}

void machine_write(const struct capture_system *system, const char *nvml,
		   struct json *json)
{
	json_t *hardware = find_hardware(system, nvml);
	struct utsname name;
	const char *key;
	json_t *value;

	json_put_object(json);
	if (uname(&name) == 0) {
		put_text(json, "host", name.nodename);
		put_text(json, "kernel", name.release);
		put_text(json, "arch", name.machine);
	}
	write_os(system->root, json);
	json_object_foreach(hardware, key, value)
	{
		char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

		if (!text)
			continue;
		json_put_key(json, key);
		json_put_raw(json, text, strlen(text));
		free(text);
	}
	write_container(system->root, json);
	write_limits(system->root, json);
	json_end(json);
	json_decref(hardware);
}
