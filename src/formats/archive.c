/* SPDX-License-Identifier: Apache-2.0
 * archive.c - the files in zip and tar archives.
 *
 * Zip is read from its directory at the end, which has the true sizes. Nothing of it is trusted: places and sizes lie in the file,
 * and what is unpacked has a limit. Folders, hidden files and what is encrypted are left out.
 */
#include "formats/archive.h"

#include <errno.h>

#include "base/error_message.h"
#include "base/macros.h"
#include "formats/inflate.h"
#include "formats/text_lines.h"

enum { NAME_MAX_BYTES = 4096, COPY_BYTES = 256 << 10 };

/* A view of the archive. */
struct view {
	const struct orma_trace_bytes *input;
	struct orma_trace_window window;
	uint64_t end;
};

static int read_at(struct view *view, uint64_t address, size_t size, const uint8_t **ret)
{
	if (address > view->end || size > view->end - address)
		return -EBADMSG;
	int r = orma_trace_window_read(&view->window, view->input, address, size, size, ret);
	return r == 0 ? -EBADMSG : ORMA_MIN(r, 0);
}

static int copy(struct view *view, uint64_t address, uint64_t size, struct orma_trace_bytes *ret)
{
	int r = size > view->end || address > view->end - size ? -EBADMSG : 0;
	while (r == 0 && size > 0) {
		const uint8_t *data;
		uint64_t added;
		size_t piece = (size_t)ORMA_MIN(size, (uint64_t)COPY_BYTES);
		r = read_at(view, address, piece, &data);
		if (r == 0)
			r = orma_trace_bytes_add(ret, data, piece, &added);
		address += piece;
		size -= piece;
	}
	return r;
}

/* Hidden files are notes of file systems and programs, and not of the trace. */
static bool is_hidden(struct orma_str name)
{
	bool is_first = true;
	for (size_t i = 0; i < name.size; i++) {
		if (is_first && name.data[i] == '.' && i + 1 < name.size && name.data[i + 1] != '/')
			return true;
		is_first = name.data[i] == '/';
	}
	return orma_text_starts_with(name, "__MACOSX/");
}

static bool is_wanted(struct orma_str name, uint64_t size)
{
	return size > 0 && name.size > 0 && name.data[name.size - 1] != '/' && !is_hidden(name);
}

static int damaged(struct orma_error *reterr, uint64_t address)
{
	return orma_base_error_set(reterr, -EBADMSG, "the archive is cut or damaged at byte %llu",
				   (unsigned long long)address);
}

/* --- zip -------------------------------------------------------------------------------------- */

enum {
	ZIP_END_BYTES = 22,
	ZIP_COMMENT_MAX_BYTES = 65535,
	ZIP_ENTRY_BYTES = 46,
	ZIP_LOCAL_BYTES = 30,
	ZIP_IS_ENCRYPTED = 1,
	ZIP_STORED = 0,
	ZIP_DEFLATED = 8,
};

static uint32_t get16(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

static uint32_t get32(const uint8_t *at)
{
	return get16(at) | get16(at + 2) << 16;
}

static uint64_t get64(const uint8_t *at)
{
	return get32(at) | (uint64_t)get32(at + 4) << 32;
}

struct zip_entry {
	uint64_t packed, size, address;
	uint32_t method, flags, crc, name_size, extra_size, comment_size;
	char name[NAME_MAX_BYTES];
};

/* Finds the directory: its place, and its number of entries. */
static int find_directory(struct view *view, uint64_t *ret_address, uint64_t *ret_count)
{
	uint64_t from = view->end > ZIP_END_BYTES + ZIP_COMMENT_MAX_BYTES
				? view->end - ZIP_END_BYTES - ZIP_COMMENT_MAX_BYTES
				: 0;
	const uint8_t *data, *found = NULL;
	int r = read_at(view, from, (size_t)(view->end - from), &data);
	if (r < 0)
		return r;
	for (uint64_t at = view->end - from; at >= ZIP_END_BYTES && !found; at--)
		if (memcmp(data + at - ZIP_END_BYTES, "PK\5\6", 4) == 0)
			found = data + at - ZIP_END_BYTES;
	if (!found)
		return -EBADMSG;
	*ret_count = get16(found + 10);
	*ret_address = get32(found + 16);
	uint64_t locator = from + (uint64_t)(found - data);
	if (*ret_address != UINT32_MAX && *ret_count != UINT16_MAX)
		return 0;
	/* Sizes of more than 32 bits are in another record, which a locator before this one names. */
	if (locator < 20 || (r = read_at(view, locator - 20, 20, &data)) < 0 ||
	    memcmp(data, "PK\6\7", 4) != 0)
		return -EBADMSG;
	r = read_at(view, get64(data + 8), 56, &data);
	if (r < 0 || memcmp(data, "PK\6\6", 4) != 0)
		return -EBADMSG;
	*ret_count = get64(data + 32);
	*ret_address = get64(data + 48);
	return 0;
}

/* Takes the large sizes of an entry from its extra fields. */
static void take_large_sizes(struct zip_entry *entry, const uint8_t *at, size_t size)
{
	while (size >= 4) {
		uint32_t id = get16(at), length = get16(at + 2);
		if (length > size - 4)
			return;
		const uint8_t *value = at + 4, *end = value + length;
		uint64_t *const wanted[] = {&entry->size, &entry->packed, &entry->address};
		for (size_t i = 0; id == 1 && i < ORMA_ARRAY_SIZE(wanted); i++)
			if (*wanted[i] == UINT32_MAX && end - value >= 8) {
				*wanted[i] = get64(value);
				value += 8;
			}
		at = end;
		size -= 4 + length;
	}
}

/* Reads the entry at *address, and moves that behind it. */
static int read_entry(struct view *view, uint64_t *address, struct zip_entry *ret)
{
	const uint8_t *data;
	int r = read_at(view, *address, ZIP_ENTRY_BYTES, &data);
	if (r < 0 || memcmp(data, "PK\1\2", 4) != 0)
		return r < 0 ? r : -EBADMSG;
	ret->flags = get16(data + 8);
	ret->method = get16(data + 10);
	ret->crc = get32(data + 16);
	ret->packed = get32(data + 20);
	ret->size = get32(data + 24);
	ret->name_size = get16(data + 28);
	ret->extra_size = get16(data + 30);
	ret->comment_size = get16(data + 32);
	ret->address = get32(data + 42);
	size_t tail = (size_t)ret->name_size + ret->extra_size + ret->comment_size;
	r = read_at(view, *address + ZIP_ENTRY_BYTES, tail, &data);
	if (r < 0)
		return r;
	take_large_sizes(ret, data + ret->name_size, ret->extra_size);
	ret->name_size = ORMA_MIN(ret->name_size, (uint32_t)NAME_MAX_BYTES);
	memcpy(ret->name, data, ret->name_size);
	*address += ZIP_ENTRY_BYTES + tail;
	return 0;
}

static int unpack_entry(struct view *view, const struct zip_entry *entry, uint64_t limit,
			struct orma_trace_bytes *ret)
{
	const uint8_t *data;
	uint64_t size;
	uint32_t crc;
	int r = read_at(view, entry->address, ZIP_LOCAL_BYTES, &data);
	if (r < 0 || memcmp(data, "PK\3\4", 4) != 0)
		return r < 0 ? r : -EBADMSG;
	uint64_t address = entry->address + ZIP_LOCAL_BYTES + get16(data + 26) + get16(data + 28);
	if (entry->packed > view->end || address > view->end - entry->packed)
		return -EBADMSG;
	if (entry->method == ZIP_STORED)
		return entry->size > limit ? -EMSGSIZE : copy(view, address, entry->size, ret);
	r = orma_inflate(view->input, &address, address + entry->packed, limit, ret, &crc, &size);
	return r < 0 || (crc == entry->crc && size == entry->size) ? r : -EBADMSG;
}

static int list_zip(struct orma_conversion *conversion, struct orma_error *reterr)
{
	struct view view = {.input = conversion->input,
			    .end = orma_trace_bytes_end(conversion->input)};
	uint64_t address = 0, count = 0, limit = orma_unpacked_limit(view.end);
	struct zip_entry entry;
	int r = find_directory(&view, &address, &count);
	for (uint64_t i = 0; i < count && r == 0; i++) {
		struct orma_trace_bytes content = {.fd = -1, .spool_fd = -1};
		r = read_entry(&view, &address, &entry);
		struct orma_str name = {entry.name, entry.name_size};
		if (r < 0 || !is_wanted(name, entry.size) || entry.flags & ZIP_IS_ENCRYPTED ||
		    (entry.method != ZIP_STORED && entry.method != ZIP_DEFLATED))
			continue;
		r = unpack_entry(&view, &entry, limit, &content);
		limit -= ORMA_MIN(limit, content.spool_size);
		/* The beginning of a damaged member may be a trace. */
		int added = (r == 0 || r == -EBADMSG) && content.spool_size > 0
				    ? orma_archive_add(conversion->archive, name, &content)
				    : 0;
		orma_trace_bytes_done(&content);
		r = added < 0 ? added : r;
	}
	orma_trace_window_done(&view.window);
	if (r == -EMSGSIZE)
		return orma_base_error_set(reterr, r,
					   "the archive holds more than %d times its size",
					   ORMA_UNPACKED_RATIO_MAX);
	return r == -EBADMSG ? damaged(reterr, address) : r;
}

static bool detect_zip(int fd, struct orma_str beginning)
{
	(void)fd;
	return beginning.size >= 4 && memcmp(beginning.data, "PK\3\4", 4) == 0;
}

const struct orma_format orma_format_zip = {"zip", false, false, detect_zip, list_zip};

/* --- tar -------------------------------------------------------------------------------------- */

enum {
	TAR_BLOCK_BYTES = 512,
	TAR_NAME_BYTES = 100,
	TAR_PREFIX_AT = 345,
	TAR_PREFIX_BYTES = 155,
	TAR_MAGIC_AT = 257,
};

static struct orma_str field_of(const uint8_t *block, size_t at, size_t size)
{
	const char *text = (const char *)block + at;
	return (struct orma_str){text, strnlen(text, size)};
}

/* A size is octal, or, when it is large, binary behind a set bit. */
static bool read_tar_size(const uint8_t *block, uint64_t *ret)
{
	const uint8_t *at = block + 124;
	*ret = 0;
	if (at[0] & 0x80) {
		for (int i = 4; i < 12; i++)
			*ret = *ret << 8 | at[i];
		return *ret < INT64_MAX;
	}
	for (int i = 0; i < 12 && at[i] && at[i] != ' '; i++) {
		if (at[i] < '0' || at[i] > '7')
			return false;
		*ret = *ret << 3 | (uint64_t)(at[i] - '0');
	}
	return true;
}

static struct orma_str name_of(const uint8_t *block, char buffer[NAME_MAX_BYTES])
{
	struct orma_str prefix = field_of(block, TAR_PREFIX_AT, TAR_PREFIX_BYTES);
	struct orma_str name = field_of(block, 0, TAR_NAME_BYTES);
	size_t size = 0;
	if (prefix.size > 0) {
		memcpy(buffer, prefix.data, prefix.size);
		buffer[prefix.size] = '/';
		size = prefix.size + 1;
	}
	memcpy(buffer + size, name.data, name.size);
	return (struct orma_str){buffer, size + name.size};
}

static int list_tar(struct orma_conversion *conversion, struct orma_error *reterr)
{
	struct view view = {.input = conversion->input,
			    .end = orma_trace_bytes_end(conversion->input)};
	char buffer[NAME_MAX_BYTES], long_name[NAME_MAX_BYTES];
	size_t long_size = 0;
	uint64_t address = 0;
	int r = 0;
	while (r == 0 && view.end - address >= TAR_BLOCK_BYTES) {
		const uint8_t *block;
		uint64_t size = 0;
		r = read_at(&view, address, TAR_BLOCK_BYTES, &block);
		if (r < 0 || block[0] == 0)
			break; /* the end is a block of zeros */
		if (memcmp(block + TAR_MAGIC_AT, "ustar", 5) != 0 || !read_tar_size(block, &size) ||
		    size > view.end - address - TAR_BLOCK_BYTES) {
			r = -EBADMSG;
			break;
		}
		char type = (char)block[156];
		struct orma_str name = name_of(block, buffer);
		address += TAR_BLOCK_BYTES;
		if (type == 'L') {
			/* GNU: the name of the next file. */
			long_size = (size_t)ORMA_MIN(size, (uint64_t)NAME_MAX_BYTES);
			r = read_at(&view, address, long_size, &block);
			if (r == 0)
				memcpy(long_name, block, long_size);
			long_size = strnlen(long_name, long_size);
		} else if (type == '0' || type == '\0' || type == '7') {
			struct orma_trace_bytes content = {.fd = -1, .spool_fd = -1};
			if (long_size > 0)
				name = (struct orma_str){long_name, long_size};
			if (is_wanted(name, size))
				r = copy(&view, address, size, &content);
			if (r == 0 && content.spool_size > 0)
				r = orma_archive_add(conversion->archive, name, &content);
			orma_trace_bytes_done(&content);
			long_size = 0;
		}
		address += (size + TAR_BLOCK_BYTES - 1) / TAR_BLOCK_BYTES * TAR_BLOCK_BYTES;
		address = ORMA_MIN(address, view.end);
	}
	orma_trace_window_done(&view.window);
	return r == -EBADMSG ? damaged(reterr, address) : r;
}

static bool detect_tar(int fd, struct orma_str beginning)
{
	(void)fd;
	return beginning.size >= TAR_BLOCK_BYTES &&
	       memcmp(beginning.data + TAR_MAGIC_AT, "ustar", 5) == 0;
}

const struct orma_format orma_format_tar = {"tar", false, false, detect_tar, list_tar};
