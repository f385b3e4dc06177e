/* shards.c - see shards.h */
#include "shards.h"

void tar_seal(struct str *tar, size_t at)
{
	char *h = tar->data + at;
	unsigned sum = 0;

	memset(h + 148, ' ', 8);
	for (size_t i = 0; i < 512; i++)
		sum += (unsigned char)h[i];
	(void)snprintf(h + 148, 8, "%06o", sum);
}

void tar_add_header(struct str *tar, const char *name, char type, uint64_t size)
{
	char h[512] = "";

	memcpy(h, name, strnlen(name, 100));
	memcpy(h + 100, "0000644", 8);
	(void)snprintf(h + 124, 12, "%011llo", (unsigned long long)size);
	h[156] = type;
	memcpy(h + 257,
	       "ustar\0"
	       "00",
	       8);
	str_add(tar, h, sizeof(h));
	tar_seal(tar, tar->len - sizeof(h));
}

void tar_add_data(struct str *tar, const void *data, size_t len)
{
	str_add(tar, data, len);
	str_pad(tar, '\0', (512 - len % 512) % 512);
}

void tar_add_file(struct str *tar, const char *name, const char *text)
{
	tar_add_header(tar, name, '0', strlen(text));
	tar_add_data(tar, text, strlen(text));
}

void tar_add_end(struct str *tar)
{
	str_pad(tar, '\0', 1024);
}

const char *path_in(const struct temp_dir *dir, const char *name)
{
	static char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", dir->path, name);
	return path;
}

void write_file(const struct temp_dir *dir, const char *name, const void *data,
		size_t len)
{
	CLEANUP(closep)
	int fd = openat(dir->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
}

void write_text(const struct temp_dir *dir, const char *name, const char *text)
{
	write_file(dir, name, text, strlen(text));
}

struct reader *open_shard(const struct temp_dir *dir, const char *name,
			  struct reader_options options)
{
	struct roar_error err = { "" };
	struct reader *r = NULL;

	options.index = READER_INDEX_NONE;
	if (reader_open(path_in(dir, name), &options, &r, &err) < 0)
		fail_msg("%s", err.text);
	return r;
}

int open_error(const struct temp_dir *dir, const char *name,
	       struct reader_options options, struct roar_error *err)
{
	struct reader *r = NULL;
	int error;

	err->text[0] = '\0';
	options.index = READER_INDEX_NONE;
	error = reader_open(path_in(dir, name), &options, &r, err);
	assert_null(r);
	assert_true(error < 0);
	return error;
}

void sample_text(const struct reader_sample *s, struct str *out)
{
	str_add(out, s->key, s->key_len);
	str_addc(out, '{');
	for (size_t i = 0; i < s->n_parts; i++) {
		if (i)
			str_addc(out, ',');
		str_add(out, s->parts[i].name, s->parts[i].name_len);
		str_addc(out, '=');
		str_add(out, s->parts[i].data, s->parts[i].len);
	}
	str_addc(out, '}');
}

void assert_sample(const struct reader *r, uint64_t number, const char *text)
{
	CLEANUP(reader_block_dropp) struct reader_block *block = NULL;
	CLEANUP(str_release) struct str got = STR_INIT;
	const struct reader_sample *sample;
	struct roar_error err;

	if (reader_read(r, number, &block, &sample, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(sample->number, number);
	sample_text(sample, &got);
	assert_string_equal(str_cstr(&got), text);
}
