/* SPDX-License-Identifier: Apache-2.0
 * unwind_mapping.c - loads the files of mappings, without waiting longer than the reader can.
 *
 * A mapping is loaded (its file opened, its table built) when a walk needs it. When that fails, it is not tried again. Processes that
 * share a mapping share the result.
 *
 * A reader waits for a file in one of three ways: as long as orma_unwind_files_wait() does; as long as its patience lasts; or not at
 * all, and then the file is given up after orma_unwind_files_load_ns(). The load of a file that was given up goes on. If the file
 * is read after all, the mapping is late. It stays as it is, because stacks and names that were written refer to it, and a new mapping
 * with the file takes its place.
 *
 * Rejected: cancelling the load of a file that was given up. A table may take seconds on a busy machine, and without it the frames of
 * a whole recording would have no names.
 */
#include "unwind/unwind_mapping.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock_ns.h"

#define PATH_BYTES_MAX 4096u

static struct orma_private_mapping *to_private(struct orma_unwind_mapping *base)
{
	return ORMA_CONTAINER_OF(base, struct orma_private_mapping, base);
}

struct orma_unwind_mapping *orma_unwind_mapping_ref(struct orma_unwind_mapping *mapping)
{
	to_private(mapping)->refs++;
	return mapping;
}

void orma_unwind_mapping_unref(struct orma_unwind_mapping *base)
{
	struct orma_private_mapping *mapping = base ? to_private(base) : NULL;

	if (!mapping || --mapping->refs > 0)
		return;
	orma_unwind_load_free(mapping->load);
	orma_unwind_file_unref(mapping->late_file);
	orma_unwind_file_unref(mapping->base.file);
	orma_base_free(mapping);
}

static bool has_file(const struct orma_process_map *map)
{
	return (map->path.size > 0 && map->path.data[0] == '/') ||
	       orma_base_str_is(map->path, "[vdso]");
}

struct orma_private_mapping *orma_private_mapping_new(struct orma_unwind_files *files,
						      const struct orma_process_map *map)
{
	size_t path_size = ORMA_MIN(map->path.size, (size_t)PATH_BYTES_MAX);
	struct orma_private_mapping *mapping = orma_base_zalloc(sizeof(*mapping) + path_size + 1);

	if (!mapping)
		return NULL;
	if (path_size > 0)
		memcpy(mapping->text, map->path.data, path_size);
	mapping->refs = 1;
	mapping->map = *map;
	mapping->map.path = (struct orma_str){mapping->text, path_size};
	mapping->is_loaded = !has_file(map);
	mapping->base = (struct orma_unwind_mapping){
		.id = orma_unwind_files_next_number(files),
		.start = map->start,
		.end = map->end,
		.offset = map->offset,
		.path = mapping->map.path,
		.load_error = mapping->is_loaded ? -ENOENT : 0,
	};
	return mapping;
}

bool orma_private_mapping_is_same(const struct orma_private_mapping *mapping,
				  const struct orma_process_map *map)
{
	const struct orma_process_map *own = &mapping->map;

	return own->start == map->start && own->end == map->end && own->offset == map->offset &&
	       own->inode == map->inode && own->device_major == map->device_major &&
	       own->device_minor == map->device_minor &&
	       orma_base_str_is_equal(own->path, map->path);
}

/* -EAGAIN: all patience is spent. */
static int wait_with_patience(struct orma_private_mapping *mapping,
			      const struct orma_mapping_reader *reader,
			      const struct orma_unwind_file **ret)
{
	struct orma_unwind_patience *patience = reader->patience;
	uint64_t left_ns = orma_unwind_patience_left(patience, orma_base_clock_ns(CLOCK_MONOTONIC));
	bool is_done = left_ns > 0 && orma_unwind_load_wait(mapping->load, left_ns);

	orma_unwind_patience_spend(patience, orma_base_clock_ns(CLOCK_MONOTONIC));
	return is_done ? orma_unwind_files_poll(reader->files, reader->pid, &mapping->map,
						&mapping->load, ret)
		       : -EAGAIN;
}

/* As orma_unwind_files_poll(), but -EAGAIN becomes -ETIMEDOUT when too much time has passed. */
static int poll_load(struct orma_private_mapping *mapping, const struct orma_mapping_reader *reader,
		     const struct orma_unwind_file **ret)
{
	int r = orma_unwind_files_poll(reader->files, reader->pid, &mapping->map, &mapping->load,
				       ret);

	if (r != -EAGAIN)
		return r;
	if (reader->patience)
		return wait_with_patience(mapping, reader, ret);
	if (!reader->never_waits)
		return orma_unwind_files_wait(&mapping->load, ret);
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	if (mapping->load_end_ns == 0)
		mapping->load_end_ns = now_ns + orma_unwind_files_load_ns(reader->files);
	return now_ns < mapping->load_end_ns ? -EAGAIN : -ETIMEDOUT;
}

/* The reference becomes the mapping's. */
static void take_file(struct orma_private_mapping *mapping, const struct orma_unwind_file *file)
{
	uint64_t bias;

	mapping->is_loaded = true;
	mapping->base.file = file;
	mapping->base.load_error = file->table_error;
	if (file->elf.build_id_size > 0) {
		mapping->base.build_id = file->elf.build_id;
		mapping->base.build_id_size = file->elf.build_id_size;
	}
	int r = orma_process_map_bias(&mapping->map, &file->elf, &bias);
	if (r < 0)
		mapping->base.load_error = r;
	else
		mapping->base.load_bias = mapping->map.start - mapping->map.offset - bias;
}

int orma_private_mapping_load(struct orma_private_mapping *mapping,
			      const struct orma_mapping_reader *reader)
{
	const struct orma_unwind_file *file = NULL;
	int r = poll_load(mapping, reader, &file);

	if (r == -ENOMEM || r == -EAGAIN)
		return r;
	mapping->is_loaded = true;
	mapping->base.load_error = r;
	if (r == 0)
		take_file(mapping, file);
	return 0;
}

void orma_private_mapping_poll_late(struct orma_private_mapping *mapping,
				    const struct orma_mapping_reader *reader)
{
	if (mapping->is_loaded && mapping->load)
		(void)orma_unwind_files_poll(reader->files, reader->pid, &mapping->map,
					     &mapping->load, &mapping->late_file);
}

struct orma_private_mapping *orma_private_mapping_renew(const struct orma_private_mapping *late,
							struct orma_unwind_files *files)
{
	struct orma_private_mapping *fresh = orma_private_mapping_new(files, &late->map);

	if (fresh)
		take_file(fresh, orma_unwind_file_ref(late->late_file));
	return fresh;
}

struct orma_unwind_module orma_private_mapping_module(const struct orma_private_mapping *mapping,
						      uint64_t start, uint64_t end)
{
	const struct orma_unwind_mapping *base = &mapping->base;

	return (struct orma_unwind_module){
		.start = start,
		.end = end,
		.bias = base->start - base->offset - base->load_bias,
		.table_number = base->file ? base->file->number : 0,
		.table = base->file && base->load_error == 0 ? base->file->table : NULL,
		.is_pending = !mapping->is_loaded,
	};
}
