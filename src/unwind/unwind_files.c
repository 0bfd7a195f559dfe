/* SPDX-License-Identifier: Apache-2.0
 * unwind_files.c - reads the files that other processes run, without waiting and without rights.
 *
 * The work is divided among three parties:
 *
 *	the caller     looks into the cache (file_cache.c); it never opens a file
 *	the thread     opens files, and checks that they are what was mapped (load_queue.c)
 *	the child      reads them and builds tables, without rights (table_builder.c)
 *
 * The reader of samples must not wait, because the kernel's rings fill meanwhile. The table of a large
 * program takes 100 ms, and a file system that its user serves may take for ever. So a load is an object
 * that the caller polls, and an eventfd becomes readable when a load ends. Callers that may wait do so
 * for at most WAIT_NS.
 *
 * Invariants: only the thread uses the builder. Everything else that both use is in the cache, which
 * has a mutex. A load's result is written before the queue says that the load is done.
 *
 * Rejected: opening files in the caller's thread, because a hung file system would stop the reader of
 * samples; several threads that build, because two CPUs do not build faster; copies of samples that wait for their tables, because each takes 16 KiB and the mappings of its
 * process change meanwhile (the ring itself is the better queue, see src/probes/perf/perf_reader.c).
 */
#include "unwind/unwind_files.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"
#include "unwind/file_cache.h"
#include "unwind/load_queue.h"
#include "unwind/mapped_file.h"

#define VDSO_BYTES_MAX 65536u
#define WAIT_NS        (3 * ORMA_NS_PER_SEC)
#define LOAD_NS        (3 * ORMA_NS_PER_SEC)

struct orma_unwind_files {
	uint64_t load_ns; /* constant */
	struct orma_file_cache *cache;
	struct orma_table_builder *builder;
	struct orma_load_queue *queue;
	struct orma_perf_map_loader *perf_maps; /* NULL once the files belong to the thread alone */
};

struct orma_unwind_load {
	struct orma_load_job job; /* first */
	struct orma_unwind_files *files;
	int32_t pid;
	struct orma_process_map map; /* its texts are in `text` */
	int fd;                      /* or -errno */
	struct orma_file_identity identity;
	int result;
	struct orma_cached_file *file;
	char text[];
};

/* --- on the thread ---------------------------------------------------------------------------- */

static void count_bytes(struct orma_cached_file *file)
{
	file->bytes = sizeof(*file);
	if (file->base.table)
		file->bytes += orma_unwind_table_facts(file->base.table).bytes;
}

/* Reads the headers of a file. Builds its table, unless a known file has the same build id. */
static int read_file(struct orma_unwind_files *files, const struct orma_file_identity *identity,
		     int *fd, struct orma_cached_file **ret)
{
	struct orma_cached_file *file = orma_base_zalloc(sizeof(*file));

	if (!file)
		return -ENOMEM;
	file->identity = *identity;
	file->base.number = orma_file_cache_next_number(files->cache);
	int r = orma_table_builder_open(files->builder, *fd, &file->base.elf);
	if (r == -EIO || r == -ETIMEDOUT) {
		/* The error is kept, so that the file is not read again for each process that maps it. */
		file->base.table_error = r;
	} else if (r < 0) {
		orma_cached_file_discard(file);
		return r;
	} else if ((*ret = orma_file_cache_share(files->cache, file, fd))) {
		orma_table_builder_drop(files->builder);
		return 0;
	} else if (orma_file_cache_is_full(files->cache)) {
		orma_table_builder_drop(files->builder);
		file->base.table_error = -EFBIG;
	} else {
		file->base.table_error =
			orma_table_builder_build(files->builder, &file->base.table);
	}
	count_bytes(file);
	*ret = orma_file_cache_share(files->cache, file, fd);
	return 0;
}

static int load_file(struct orma_unwind_files *files, struct orma_unwind_load *load)
{
	if (load->fd < 0)
		return load->fd;
	int r = orma_file_cache_find_opened(files->cache, &load->identity, &load->fd, &load->file);
	return r == -ENOENT ? read_file(files, &load->identity, &load->fd, &load->file) : r;
}

/* --- loads ------------------------------------------------------------------------------------ */

static void open_load(struct orma_load_job *job)
{
	struct orma_unwind_load *load = ORMA_CONTAINER_OF(job, struct orma_unwind_load, job);

	load->fd = orma_mapped_file_open(load->pid, &load->map, &load->identity);
}

static void run_load(void *ctx, struct orma_load_job *job)
{
	struct orma_unwind_load *load = ORMA_CONTAINER_OF(job, struct orma_unwind_load, job);

	load->result = load_file(ctx, load);
	load->fd = orma_base_fd_close(load->fd);
}

static void free_load(struct orma_load_job *job)
{
	struct orma_unwind_load *load = ORMA_CONTAINER_OF(job, struct orma_unwind_load, job);

	if (load->file)
		orma_unwind_file_unref(&load->file->base);
	orma_base_fd_close(load->fd);
	orma_base_free(load);
}

static void rest(void *ctx)
{
	struct orma_unwind_files *files = ctx;

	orma_table_builder_rest(files->builder);
}

static void stop(void *ctx)
{
	struct orma_unwind_files *files = ctx;

	orma_table_builder_stop(files->builder);
}

static void free_files(void *ctx)
{
	struct orma_unwind_files *files = ctx;

	orma_table_builder_free(files->builder);
	orma_file_cache_free(files->cache);
	orma_base_free(files);
}

static const struct orma_load_queue_ops queue_ops = {
	.open = open_load,
	.run = run_load,
	.free = free_load,
	.rest = rest,
	.stop = stop,
	.end = free_files,
};

static int begin_load(struct orma_unwind_files *files, int32_t pid,
		      const struct orma_process_map *map, struct orma_unwind_load **ret)
{
	struct orma_unwind_load *load = orma_base_zalloc(sizeof(*load) + map->path.size);

	if (!load)
		return -ENOMEM;
	load->job.place = (uint64_t)map->device_major << 32 | map->device_minor;
	load->files = files;
	load->fd = -1;
	load->pid = pid;
	load->map = *map;
	load->map.path.data = load->text;
	if (map->path.size > 0)
		memcpy(load->text, map->path.data, map->path.size);
	int r = orma_load_queue_add(files->queue, &load->job);
	if (r < 0)
		orma_base_free(load);
	else
		*ret = load;
	return r < 0 ? r : -EAGAIN;
}

static int finish_load(struct orma_unwind_load **load, const struct orma_unwind_file **ret)
{
	struct orma_unwind_load *done = *load;

	if (!orma_load_queue_is_done(done->files->queue, &done->job))
		return -EAGAIN;
	int r = done->result;
	if (r == 0)
		*ret = &ORMA_TAKE(done->file)->base;
	orma_unwind_load_free(done);
	*load = NULL;
	return r;
}

/* --- the vDSO --------------------------------------------------------------------------------- */

/* Returns the size of the image, or 0. The section headers are its last part, and the kernel maps whole pages. */
static size_t vdso_bytes(const Elf64_Ehdr *header)
{
	uint64_t size = header->e_shoff + (uint64_t)header->e_shnum * header->e_shentsize;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	size = (size + page - 1) / page * page;
	return size <= VDSO_BYTES_MAX ? (size_t)size : 0;
}

static int load_vdso(struct orma_unwind_files *files, struct orma_cached_file **ret)
{
	const Elf64_Ehdr *header = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	int none = -1;

	*ret = orma_file_cache_find_vdso(files->cache);
	if (*ret)
		return 0;
	if (!header || vdso_bytes(header) == 0)
		return -ENOENT;
	struct orma_cached_file *file = orma_base_zalloc(sizeof(*file));
	if (!file)
		return -ENOMEM;
	file->base.number = orma_file_cache_next_number(files->cache);
	file->image = orma_base_memdup(header, vdso_bytes(header));
	int r = file->image
			? orma_elf_file_init_image(&file->base.elf, file->image, vdso_bytes(header))
			: -ENOMEM;
	if (r < 0) {
		orma_cached_file_discard(file);
		return r;
	}
	/* The kernel made it, so no child without rights is needed to read it. */
	file->base.table_error = orma_unwind_table_new(&file->base.elf, &file->base.table);
	count_bytes(file);
	file->bytes += vdso_bytes(header);
	*ret = orma_file_cache_share(files->cache, file, &none);
	return 0;
}

/* --- interface -------------------------------------------------------------------------------- */

int orma_unwind_files_new(const struct orma_unwind_files_limits *limits,
			  struct orma_unwind_files **ret)
{
	struct orma_unwind_files *files = orma_base_zalloc(sizeof(*files));

	if (!files)
		return -ENOMEM;
	files->load_ns = limits && limits->load_ns > 0 ? limits->load_ns : LOAD_NS;
	int r = orma_file_cache_new(limits, &files->cache);
	if (r == 0)
		r = orma_table_builder_new(limits ? &limits->builder : NULL, &files->builder);
	if (r == 0)
		r = orma_perf_map_loader_new(limits ? limits->read_perf_map : NULL,
					     &files->perf_maps);
	if (r == 0)
		r = orma_load_queue_new(&queue_ops, files, &files->queue);
	if (r < 0) {
		orma_perf_map_loader_free(files->perf_maps);
		free_files(files);
		return r;
	}
	*ret = files;
	return 0;
}

void orma_unwind_files_free(struct orma_unwind_files *files)
{
	if (!files)
		return;
	orma_perf_map_loader_free(ORMA_TAKE(files->perf_maps));
	orma_load_queue_free(files->queue);
}

int orma_unwind_files_poll(struct orma_unwind_files *files, int32_t pid,
			   const struct orma_process_map *map, struct orma_unwind_load **load,
			   const struct orma_unwind_file **ret)
{
	struct orma_cached_file *file = NULL;
	int r;

	if (*load)
		return finish_load(load, ret);
	if (orma_base_str_is(map->path, "[vdso]"))
		r = load_vdso(files, &file);
	else if (map->path.size == 0 || map->path.data[0] != '/')
		r = -ENOENT;
	else
		r = orma_file_cache_find_mapped(files->cache, map, &file) == 0
			    ? 0
			    : begin_load(files, pid, map, load);
	if (r == 0)
		*ret = &file->base;
	return r;
}

void orma_unwind_load_free(struct orma_unwind_load *load)
{
	if (load)
		orma_load_queue_unref(load->files->queue, &load->job);
}

int orma_unwind_files_event_fd(const struct orma_unwind_files *files)
{
	return orma_load_queue_event_fd(files->queue);
}

int orma_unwind_files_wait(struct orma_unwind_load **load, const struct orma_unwind_file **ret)
{
	if (orma_load_queue_wait((*load)->files->queue, &(*load)->job, WAIT_NS))
		return finish_load(load, ret);
	orma_unwind_load_free(*load);
	*load = NULL;
	return -ETIMEDOUT;
}

bool orma_unwind_load_wait(struct orma_unwind_load *load, uint64_t timeout_ns)
{
	return orma_load_queue_wait(load->files->queue, &load->job, timeout_ns);
}

int orma_unwind_files_load(struct orma_unwind_files *files, int32_t pid,
			   const struct orma_process_map *map, const struct orma_unwind_file **ret)
{
	struct orma_unwind_load *load = NULL;
	int r = orma_unwind_files_poll(files, pid, map, &load, ret);

	return r == -EAGAIN ? orma_unwind_files_wait(&load, ret) : r;
}

struct orma_unwind_files_facts orma_unwind_files_facts(struct orma_unwind_files *files)
{
	return orma_file_cache_facts(files->cache);
}

struct orma_perf_map_loader *orma_unwind_files_perf_maps(const struct orma_unwind_files *files)
{
	return files->perf_maps;
}

uint64_t orma_unwind_files_load_ns(const struct orma_unwind_files *files)
{
	return files->load_ns;
}

uint64_t orma_unwind_files_next_number(struct orma_unwind_files *files)
{
	return orma_file_cache_next_number(files->cache);
}

struct orma_file_identity orma_unwind_file_identity(const struct orma_unwind_file *file)
{
	return ORMA_CONTAINER_OF(file, const struct orma_cached_file, base)->identity;
}
