/* SPDX-License-Identifier: Apache-2.0
 * file_cache.c - the files that have been read, found by their identity.
 *
 * Owns the files. A file that has been opened is found by two keys: the facts from stat() (device, inode, time of change, size),
 * and its build id together with its owner. The build id alone is not enough, because any user can write a file that claims to
 * be libc by its build id. The table of such a file must not be used for programs of other users. An owner cannot be forged: only root
 * can create a file that belongs to somebody else, and a file on a FUSE mount, whose server can claim any user, belongs to the mount.
 *
 * If a file has a descriptor, mappings find it by device and inode alone, and nothing is opened. While the descriptor is open, no
 * other file gets the inode. `by_inode` has the files with a descriptor.
 *
 * Invariants: `mutex` guards everything but the content of a file, which does not change once the file is in the cache.
 * `table_bytes` is the sum over all files. A file without users is in `unused`, oldest first, and has no descriptor. While unused
 * files take more than `limits.unused_bytes`, the oldest of them are freed.
 *
 * The descriptor of a file in use stays open, because its symbols are read at the end of a recording, when the process and its
 * mount namespace may be gone. At most `limits.open_count` files have one. Other files are opened again by their path, and are
 * only used if the path still leads to the same file.
 */
#include "unwind/file_cache.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/fd.h"
#include "base/macros.h"
#include "base/map.h"

#define UNUSED_BYTES ((size_t)64 << 20)
#define TABLE_BYTES  ((size_t)512 << 20)
#define OPEN_MAX     256u

struct orma_file_cache {
	pthread_mutex_t mutex;
	struct orma_unwind_files_limits limits;
	struct orma_map by_stat, by_id, by_inode; /* values: struct orma_cached_file */
	struct orma_list unused;                  /* oldest first */
	size_t unused_bytes, table_bytes;
	uint32_t file_count, open_count;
	uint64_t last_number;
};

static struct orma_cached_file *to_file(const struct orma_unwind_file *file)
{
	return ORMA_CONTAINER_OF(file, struct orma_cached_file, base);
}

/* --- the mutex is held ------------------------------------------------------------------------ */

static uint64_t hash_id(const struct orma_elf_file *elf, uint64_t owner)
{
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, &owner, sizeof(owner));

	return orma_base_fnv1a(hash, elf->build_id, elf->build_id_size);
}

static struct orma_cached_file *find_identity(struct orma_file_cache *cache,
					      const struct orma_file_identity *identity)
{
	struct orma_cached_file *file =
		orma_base_map_get(&cache->by_stat, orma_file_identity_hash(identity));

	return file && orma_file_identity_is_same(&file->identity, identity) ? file : NULL;
}

static struct orma_cached_file *find_id(struct orma_file_cache *cache,
					const struct orma_elf_file *elf, uint64_t owner)
{
	struct orma_cached_file *file = orma_base_map_get(&cache->by_id, hash_id(elf, owner));

	return file && elf->build_id_size > 0 && file->identity.owner == owner &&
			       file->base.elf.build_id_size == elf->build_id_size &&
			       memcmp(file->base.elf.build_id, elf->build_id, elf->build_id_size) ==
				       0
		       ? file
		       : NULL;
}

static uint64_t hash_inode(uint64_t device, uint64_t inode)
{
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, &device, sizeof(device));

	return orma_base_fnv1a(hash, &inode, sizeof(inode));
}

static void forget(struct orma_map *map, uint64_t key, const struct orma_cached_file *file)
{
	if (orma_base_map_get(map, key) == file)
		orma_base_map_remove(map, key);
}

void orma_cached_file_discard(struct orma_cached_file *file)
{
	orma_unwind_table_free(file->base.table);
	orma_base_free(file->image);
	orma_base_free(file);
}

static void free_file(struct orma_cached_file *file)
{
	struct orma_file_cache *cache = file->cache;

	forget(&cache->by_stat, orma_file_identity_hash(&file->identity), file);
	forget(&cache->by_id, hash_id(&file->base.elf, file->identity.owner), file);
	cache->table_bytes -= file->bytes;
	cache->file_count--;
	orma_cached_file_discard(file);
}

/* Takes the headers and the identity from `fresh`, which has the same build id. The file was written
 * again, and its sections may have moved. */
static void renew(struct orma_cached_file *file, const struct orma_cached_file *fresh)
{
	struct orma_file_cache *cache = file->cache;

	forget(&cache->by_stat, orma_file_identity_hash(&file->identity), file);
	file->identity = fresh->identity;
	file->base.elf = fresh->base.elf;
	file->base.elf.fd = -1;
	orma_base_map_put(&cache->by_stat, orma_file_identity_hash(&file->identity), file);
}

/* Adds a reference. The descriptor of the first user becomes the file's. `fresh` has the headers that were
 * read from the descriptor, or is NULL. `identity` is that of the descriptor. */
static void use_file(struct orma_cached_file *file, const struct orma_cached_file *fresh,
		     const struct orma_file_identity *identity, int *fd)
{
	struct orma_file_cache *cache = file->cache;

	if (file->refs++ > 0)
		return;
	orma_base_list_remove(&file->unused_item);
	cache->unused_bytes -= file->bytes;
	if (*fd < 0 || file->image || cache->open_count >= cache->limits.open_count)
		return;
	if (fresh && fresh != file && !orma_file_identity_is_same(identity, &file->identity))
		renew(file, fresh);
	/* The descriptor is of another file, so the offsets in the known headers are not valid for it. */
	if (!orma_file_identity_is_same(identity, &file->identity))
		return;
	file->base.elf.fd = *fd;
	file->base.elf.size = identity->size;
	*fd = -1;
	cache->open_count++;
	orma_base_map_put(&cache->by_inode, hash_inode(identity->device, identity->inode), file);
}

/* Returns the descriptor, or -1. The caller closes it without the mutex, because a file system may take its
 * time for that. */
static int unuse_file(struct orma_cached_file *file)
{
	struct orma_file_cache *cache = file->cache;
	int fd = file->base.elf.fd;

	if (fd >= 0) {
		file->base.elf.fd = -1;
		file->base.elf.size = 0;
		cache->open_count--;
		forget(&cache->by_inode, hash_inode(file->identity.device, file->identity.inode),
		       file);
	}
	cache->unused_bytes += file->bytes;
	orma_base_list_append(&cache->unused, &file->unused_item);
	while (cache->unused_bytes > cache->limits.unused_bytes) {
		struct orma_cached_file *oldest =
			ORMA_LIST_ENTRY(cache->unused.next, struct orma_cached_file, unused_item);

		orma_base_list_remove(&oldest->unused_item);
		cache->unused_bytes -= oldest->bytes;
		free_file(oldest);
	}
	return fd;
}

/* Adds a file that is not used yet. */
static void add_file(struct orma_file_cache *cache, struct orma_cached_file *file)
{
	file->cache = cache;
	cache->file_count++;
	cache->table_bytes += file->bytes;
	cache->unused_bytes += file->bytes;
	orma_base_list_append(&cache->unused, &file->unused_item);
	/* If there is no memory for a key, the file can be used, but the next process reads it again. */
	orma_base_map_put(&cache->by_stat, orma_file_identity_hash(&file->identity), file);
	if (file->base.elf.build_id_size > 0)
		orma_base_map_put(&cache->by_id, hash_id(&file->base.elf, file->identity.owner),
				  file);
}

/* --- interface -------------------------------------------------------------------------------- */

int orma_file_cache_new(const struct orma_unwind_files_limits *limits, struct orma_file_cache **ret)
{
	struct orma_file_cache *cache = orma_base_zalloc(sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	if (limits)
		cache->limits = *limits;
	if (cache->limits.unused_bytes == 0)
		cache->limits.unused_bytes = UNUSED_BYTES;
	if (cache->limits.table_bytes == 0)
		cache->limits.table_bytes = TABLE_BYTES;
	if (cache->limits.open_count == 0)
		cache->limits.open_count = OPEN_MAX;
	pthread_mutex_init(&cache->mutex, NULL);
	orma_base_list_init(&cache->unused);
	*ret = cache;
	return 0;
}

void orma_file_cache_free(struct orma_file_cache *cache)
{
	struct orma_cached_file *file, *next;

	if (!cache)
		return;
	ORMA_LIST_FOR_EACH_SAFE (file, next, &cache->unused, unused_item)
		free_file(file);
	ORMA_ASSERT(cache->file_count == 0);
	orma_base_map_done(&cache->by_stat);
	orma_base_map_done(&cache->by_id);
	orma_base_map_done(&cache->by_inode);
	pthread_mutex_destroy(&cache->mutex);
	orma_base_free(cache);
}

bool orma_file_cache_is_full(struct orma_file_cache *cache)
{
	pthread_mutex_lock(&cache->mutex);
	bool result = cache->table_bytes >= cache->limits.table_bytes;
	pthread_mutex_unlock(&cache->mutex);
	return result;
}

struct orma_cached_file *orma_file_cache_share(struct orma_file_cache *cache,
					       struct orma_cached_file *file, int *fd)
{
	pthread_mutex_lock(&cache->mutex);
	struct orma_cached_file *known = find_id(cache, &file->base.elf, file->identity.owner);
	if (!known)
		known = find_identity(cache, &file->identity);
	bool is_new = !known && (file->base.table || file->base.table_error < 0);
	if (is_new)
		add_file(cache, known = file);
	if (known)
		use_file(known, file, &file->identity, fd);
	pthread_mutex_unlock(&cache->mutex);
	if (known && !is_new)
		orma_cached_file_discard(file);
	return known;
}

int orma_file_cache_find_mapped(struct orma_file_cache *cache, const struct orma_process_map *map,
				struct orma_cached_file **ret)
{
	uint64_t device = makedev(map->device_major, map->device_minor);
	int none = -1;

	pthread_mutex_lock(&cache->mutex);
	struct orma_cached_file *file =
		orma_base_map_get(&cache->by_inode, hash_inode(device, map->inode));
	if (file && (file->identity.device != device || file->identity.inode != map->inode))
		file = NULL;
	if (file)
		use_file(file, NULL, NULL, &none);
	pthread_mutex_unlock(&cache->mutex);
	*ret = file;
	return file ? 0 : -ENOENT;
}

int orma_file_cache_find_opened(struct orma_file_cache *cache,
				const struct orma_file_identity *identity, int *fd,
				struct orma_cached_file **ret)
{
	pthread_mutex_lock(&cache->mutex);
	struct orma_cached_file *file = find_identity(cache, identity);
	if (file)
		use_file(file, NULL, identity, fd);
	pthread_mutex_unlock(&cache->mutex);
	*ret = file;
	return file ? 0 : -ENOENT;
}

struct orma_unwind_files_facts orma_file_cache_facts(struct orma_file_cache *cache)
{
	pthread_mutex_lock(&cache->mutex);
	struct orma_unwind_files_facts facts = {
		.file_count = cache->file_count,
		.open_count = cache->open_count,
		.table_bytes = cache->table_bytes,
	};
	pthread_mutex_unlock(&cache->mutex);
	return facts;
}

struct orma_cached_file *orma_file_cache_find_vdso(struct orma_file_cache *cache)
{
	const struct orma_file_identity identity = {0};
	int none = -1;

	pthread_mutex_lock(&cache->mutex);
	struct orma_cached_file *file = find_identity(cache, &identity);
	if (file)
		use_file(file, NULL, NULL, &none);
	pthread_mutex_unlock(&cache->mutex);
	return file;
}

uint64_t orma_file_cache_next_number(struct orma_file_cache *cache)
{
	pthread_mutex_lock(&cache->mutex);
	uint64_t number = ++cache->last_number;
	pthread_mutex_unlock(&cache->mutex);
	return number;
}

const struct orma_unwind_file *orma_unwind_file_ref(const struct orma_unwind_file *base)
{
	struct orma_cached_file *file = to_file(base);

	pthread_mutex_lock(&file->cache->mutex);
	file->refs++;
	pthread_mutex_unlock(&file->cache->mutex);
	return base;
}

void orma_unwind_file_unref(const struct orma_unwind_file *base)
{
	if (!base)
		return;
	struct orma_cached_file *file = to_file(base);
	struct orma_file_cache *cache = file->cache;
	int fd = -1;

	pthread_mutex_lock(&cache->mutex);
	ORMA_ASSERT(file->refs > 0);
	if (--file->refs == 0)
		fd = unuse_file(file);
	pthread_mutex_unlock(&cache->mutex);
	orma_base_fd_close(fd);
}
