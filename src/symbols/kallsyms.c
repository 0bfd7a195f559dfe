/* SPDX-License-Identifier: Apache-2.0
 * kallsyms.c - a table of the kernel's functions.
 *
 *	ffffffff810d3c40 T schedule              entries: address, name | address, name | address, - | ...
 *	ffffffff82a0b000 D init_task             names:   "schedule\0" ...
 *
 * Owns two arrays: the entries, of 16 bytes each and sorted by address, and the names. An entry with a name is a function that
 * begins at its address. An entry without a name is something else, so that an address in the data after a function is not taken
 * for the function. Adjacent entries without a name are merged into one.
 *
 * Invariant: addresses rise strictly, and the first entry has a name. If several functions have the same address, the first one in
 * the file is kept.
 *
 * /proc/kallsyms has 200,000 lines. Reading it takes 50 to 200 ms, because the kernel generates the text meanwhile. So a thread
 * reads it, with a raised priority, because the first samples wait for it. When the thread has written its eventfd, the loop's
 * thread joins it and then uses the result.
 *
 * Rejected: compressing the names, as upstream does, because that saves 2 MB, and only while a session needs names; reading symbols
 * on demand, because the file has no index.
 */
#include "symbols/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/macros.h"
#include "base/raise_priority.h"

#define KALLSYMS_BYTES_MAX (64u << 20)
/* An address that is farther from the beginning of a function does not lie in it. */
#define FUNCTION_BYTES_MAX (1u << 20)
#define NO_NAME            UINT32_MAX

struct entry {
	uint64_t address;
	uint32_t name_offset; /* NO_NAME = no function begins here */
	uint32_t line;        /* keeps the order of the file for equal addresses */
};

struct orma_kallsyms {
	struct entry *entries;
	uint32_t count, capacity;
	uint32_t function_count;
	struct orma_buf names; /* each ends in a NUL */
};

/* --- parsing -------------------------------------------------------------------------------- */

static int add_entry(struct orma_kallsyms *kallsyms, uint64_t address, uint32_t name_offset,
		     uint32_t line)
{
	if (kallsyms->count == kallsyms->capacity) {
		uint32_t capacity = ORMA_MAX(kallsyms->capacity * 2, 1024u);
		struct entry *entries =
			orma_base_realloc_array(kallsyms->entries, capacity, sizeof(*entries));
		if (!entries)
			return -ENOMEM;
		kallsyms->entries = entries;
		kallsyms->capacity = capacity;
	}
	kallsyms->entries[kallsyms->count++] = (struct entry){address, name_offset, line};
	return 0;
}

static int add_name(struct orma_kallsyms *kallsyms, struct orma_str name, uint32_t *ret_offset)
{
	*ret_offset = (uint32_t)kallsyms->names.size;
	int r = orma_base_buf_append(&kallsyms->names, name.data, name.size);
	return r < 0 ? r : orma_base_buf_append(&kallsyms->names, "", 1);
}

static bool is_function(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

static bool take_line(struct orma_str *rest, struct orma_str *ret)
{
	if (rest->size == 0)
		return false;
	const char *end = memchr(rest->data, '\n', rest->size);
	size_t size = end ? (size_t)(end - rest->data) : rest->size;
	*ret = (struct orma_str){rest->data, size};
	rest->data += size + (end != NULL);
	rest->size -= size + (end != NULL);
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Takes the next word off the front of a line. Loops over bytes instead of calling functions, because the file has 10 MB. */
static bool take_word(struct orma_str *line, struct orma_str *ret)
{
	const char *begin = line->data, *limit = line->data + line->size;

	while (begin < limit && is_blank(*begin))
		begin++;
	const char *end = begin;
	while (end < limit && !is_blank(*end))
		end++;
	*ret = (struct orma_str){begin, (size_t)(end - begin)};
	*line = (struct orma_str){end, (size_t)(limit - end)};
	return end > begin;
}

static bool parse_hex(struct orma_str text, uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < text.size; i++) {
		char c = text.data[i];
		bool is_digit = c >= '0' && c <= '9';

		if ((!is_digit && (c < 'a' || c > 'f')) || value >> 60)
			return false;
		value = value << 4 | (uint64_t)(is_digit ? c - '0' : c - 'a' + 10);
	}
	*ret = value;
	return text.size > 0;
}

/* "ADDRESS TYPE NAME[\t[MODULE]]"; other lines are ignored. */
static int add_line(struct orma_kallsyms *kallsyms, struct orma_str line, uint32_t number)
{
	struct orma_str address_text, type, name;
	uint64_t address;
	uint32_t offset = NO_NAME;

	if (!take_word(&line, &address_text) || !take_word(&line, &type) ||
	    !take_word(&line, &name) || type.size != 1 || !parse_hex(address_text, &address) ||
	    address == 0)
		return 0;
	if (is_function(type.data[0])) {
		int r = add_name(kallsyms, name, &offset);
		if (r < 0)
			return r;
		kallsyms->function_count++;
	}
	return add_entry(kallsyms, address, offset, number);
}

/* Orders by address, puts functions before others, and keeps the order of the file. */
static int compare_entries(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;
	bool left_is_other = left->name_offset == NO_NAME;
	bool right_is_other = right->name_offset == NO_NAME;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	if (left_is_other != right_is_other)
		return left_is_other ? 1 : -1;
	return left->line < right->line ? -1 : left->line > right->line;
}

static void sort_and_unite(struct orma_kallsyms *kallsyms)
{
	uint32_t count = 0;

	qsort(kallsyms->entries, kallsyms->count, sizeof(*kallsyms->entries), compare_entries);
	for (uint32_t i = 0; i < kallsyms->count; i++) {
		struct entry *entry = &kallsyms->entries[i];
		bool is_named = entry->name_offset != NO_NAME;
		if (count == 0 && !is_named)
			continue;
		if (count > 0 &&
		    (kallsyms->entries[count - 1].address == entry->address ||
		     (!is_named && kallsyms->entries[count - 1].name_offset == NO_NAME)))
			continue;
		kallsyms->entries[count++] = *entry;
	}
	kallsyms->count = count;
	/* The table is kept for a whole session, and half of its memory may be unused. */
	struct entry *smaller = orma_base_realloc_array(kallsyms->entries, count, sizeof(*smaller));
	if (smaller) {
		kallsyms->entries = smaller;
		kallsyms->capacity = count;
	}
}

int orma_kallsyms_parse(struct orma_str text, struct orma_kallsyms **ret)
{
	struct orma_kallsyms *kallsyms = orma_base_zalloc(sizeof(*kallsyms));
	struct orma_str line;
	uint32_t number = 0;
	int r = kallsyms ? 0 : -ENOMEM;

	while (r == 0 && take_line(&text, &line))
		if (line.size > 0)
			r = add_line(kallsyms, line, number++);
	if (r == 0 && kallsyms->function_count == 0)
		r = number > 0 ? -EACCES : -ENODATA;
	if (r < 0) {
		orma_kallsyms_free(kallsyms);
		return r;
	}
	sort_and_unite(kallsyms);
	*ret = kallsyms;
	return 0;
}

void orma_kallsyms_free(struct orma_kallsyms *kallsyms)
{
	if (!kallsyms)
		return;
	orma_base_free(kallsyms->entries);
	orma_base_buf_done(&kallsyms->names);
	orma_base_free(kallsyms);
}

/* --- finding -------------------------------------------------------------------------------- */

struct orma_str orma_kallsyms_find(const struct orma_kallsyms *kallsyms, uint64_t address)
{
	uint32_t low = 0, high = kallsyms->count; /* entries below `low` begin at or before it */

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (kallsyms->entries[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return (struct orma_str){0};
	const struct entry *entry = &kallsyms->entries[low - 1];
	if (entry->name_offset == NO_NAME || address - entry->address >= FUNCTION_BYTES_MAX)
		return (struct orma_str){0};
	return orma_base_str((const char *)kallsyms->names.data + entry->name_offset);
}

uint32_t orma_kallsyms_count(const struct orma_kallsyms *kallsyms)
{
	return kallsyms->function_count;
}

size_t orma_kallsyms_bytes(const struct orma_kallsyms *kallsyms)
{
	return sizeof(*kallsyms) + kallsyms->capacity * sizeof(*kallsyms->entries) +
	       kallsyms->names.capacity;
}

/* --- the thread ----------------------------------------------------------------------------- */

struct orma_kallsyms_load {
	pthread_t thread;
	char *path;
	struct orma_watch watch;
	int done_fd; /* eventfd: the thread writes it at its end */
	bool is_joined;
	int result;
	struct orma_kallsyms *kallsyms;
	orma_kallsyms_loaded_fn *on_loaded;
	void *ctx;
};

static void *load_symbols(void *arg)
{
	struct orma_kallsyms_load *load = arg;
	struct orma_buf text = {0};

	orma_base_raise_priority();
	load->result = orma_base_file_read(AT_FDCWD, load->path, KALLSYMS_BYTES_MAX, &text);
	if (load->result == 0)
		load->result = orma_kallsyms_parse(
			(struct orma_str){(const char *)text.data, text.size}, &load->kallsyms);
	orma_base_buf_done(&text);
	orma_base_fd_wake(load->done_fd);
	return NULL;
}

static void on_done(struct orma_watch *watch, unsigned ready)
{
	struct orma_kallsyms_load *load =
		ORMA_CONTAINER_OF(watch, struct orma_kallsyms_load, watch);

	(void)ready;
	orma_base_watch_remove(watch);
	pthread_join(load->thread, NULL); /* the thread is about to return */
	load->is_joined = true;
	/* The callee may free the load. */
	load->on_loaded(load->ctx, load->result, ORMA_TAKE(load->kallsyms));
}

static int start_thread(struct orma_loop *loop, struct orma_kallsyms_load *load)
{
	load->done_fd = orma_base_fd_avoid_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (load->done_fd < 0)
		return -errno;
	int r = orma_base_loop_watch(loop, &load->watch, load->done_fd, ORMA_LOOP_READ, on_done);
	if (r < 0)
		return r;
	r = pthread_create(&load->thread, NULL, load_symbols, load);
	if (r != 0)
		orma_base_watch_remove(&load->watch);
	return -r;
}

int orma_kallsyms_load_start(struct orma_loop *loop, const char *path,
			     orma_kallsyms_loaded_fn *on_loaded, void *ctx,
			     struct orma_kallsyms_load **ret)
{
	struct orma_kallsyms_load *load = orma_base_zalloc(sizeof(*load));

	if (!load)
		return -ENOMEM;
	load->done_fd = -1;
	load->on_loaded = on_loaded;
	load->ctx = ctx;
	load->path = orma_base_strdup(path);
	int r = load->path ? start_thread(loop, load) : -ENOMEM;
	if (r < 0) {
		orma_base_fd_close(load->done_fd);
		orma_base_free(load->path);
		orma_base_free(load);
		return r;
	}
	*ret = load;
	return 0;
}

void orma_kallsyms_load_free(struct orma_kallsyms_load *load)
{
	if (!load)
		return;
	if (!load->is_joined)
		pthread_join(load->thread, NULL);
	orma_base_watch_remove(&load->watch);
	orma_kallsyms_free(load->kallsyms);
	orma_base_fd_close(load->done_fd);
	orma_base_free(load->path);
	orma_base_free(load);
}
