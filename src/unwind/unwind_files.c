/* SPDX-License-Identifier: Apache-2.0
 * unwind_files.c - a cache of ELF files and their unwind tables.
 *
 * Owns the files. A file is found by two keys: what stat() says (device, inode, time of change,
 * size), and its build id together with its owner. The owner is a part of the key, because anybody
 * can write a file that has the build id of libc; a table that was made from it must not serve
 * programs of others. A process cannot make files of other users.
 *
 * Trust: a process chooses what it maps and what lies at the path of a mapping by now. Therefore a
 * path is opened with O_PATH first, which has no effect on devices and FIFOs and does not wait.
 * When that is a regular file and the one of the mapping, it is opened for reading through
 * /proc/self/fd. btrfs and overlayfs show another device in maps than in stat(), so there the inode
 * suffices. The worst that a process achieves is a wrong table for its own stacks.
 *
 * Invariants: `mutex` guards everything but the content of a file, which is written before anybody
 * else has it. `table_bytes` is the sum over all files. A file without users is in `unused`, oldest
 * first, has no descriptor, and goes when unused files have more than `limits.unused_bytes`.
 *
 * The descriptor of a file in use stays open, so that its symbols can be read at the end of a
 * recording, when the process and its mount namespace may be gone. Beyond a number of open files,
 * they are opened again by their path, if the same file is there.
 */
#include "unwind/unwind_files.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/list.h"
#include "base/macros.h"
#include "base/map.h"

#define UNUSED_BYTES   ((size_t)64 << 20)
#define TABLE_BYTES    ((size_t)512 << 20)
#define OPEN_MAX       256u
#define PATH_BYTES_MAX 4096u
#define VDSO_BYTES_MAX 65536u
#define BTRFS_MAGIC    0x9123683e
#define OVERLAY_MAGIC  0x794c7630

/* The parts of stat()'s answer that tell files and their versions apart. */
struct identity {
	uint64_t device, inode, size;
	int64_t changed_s, changed_ns;
	uint64_t owner;
};

struct file {
	struct orma_unwind_file base;
	struct orma_unwind_files *files;
	struct orma_list unused_item; /* in `unused` while refs is 0 */
	uint32_t refs;
	struct identity identity; /* all 0 = the vDSO */
	size_t bytes;             /* all that it takes */
	void *image;              /* the vDSO's; owned */
};

struct orma_unwind_files {
	pthread_mutex_t mutex;
	struct orma_unwind_files_limits limits;
	struct orma_map by_stat, by_id; /* values: struct file */
	struct orma_list unused;        /* oldest first */
	size_t unused_bytes, table_bytes;
	uint32_t file_count, open_count;
	uint64_t last_number;
};

static struct file *to_file(const struct orma_unwind_file *file)
{
	return ORMA_CONTAINER_OF(file, struct file, base);
}

/* --- opening ---------------------------------------------------------------------------------- */

static bool has_other_devices(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 &&
	       ((uint32_t)fs.f_type == BTRFS_MAGIC || (uint32_t)fs.f_type == OVERLAY_MAGIC);
}

/* Is this what was mapped, as far as the mapping tells? Its build id is compared later. */
static int check_identity(int fd, const struct orma_process_map *map, struct stat *ret)
{
	if (fstat(fd, ret) < 0)
		return -errno;
	/* Files of /proc have no size, and some of them do something when they are read. */
	if (!S_ISREG(ret->st_mode) || ret->st_size < (off_t)sizeof(Elf64_Ehdr))
		return -ENOEXEC;
	if (map->inode == 0)
		return map->build_id_size > 0 ? 0 : -ENOENT;
	if (ret->st_ino != map->inode)
		return -ESTALE;
	if (ret->st_dev != makedev(map->device_major, map->device_minor) && !has_other_devices(fd))
		return -ESTALE;
	return 0;
}

/* Opens a path whose file may be anything. */
static int open_checked(const char *path, const struct orma_process_map *map, struct stat *ret_stat)
{
	ORMA_AUTO(orma_base_fd_closep)
	int place = orma_base_fd_avoid_standard(open(path, O_PATH | O_CLOEXEC));

	if (place < 0)
		return -errno;
	int r = check_identity(place, map, ret_stat);
	return r < 0 ? r : orma_base_fd_reopen(place);
}

/* The kernel writes a line feed in a path as \012. */
static void append_path(char *text, size_t size, struct orma_str path)
{
	for (size_t i = 0; i < path.size && size > 1; i++, size--) {
		bool is_escape = path.size - i >= 4 && memcmp(path.data + i, "\\012", 4) == 0;

		*text = path.data[i];
		if (is_escape) {
			*text = '\n';
			i += 3;
		}
		text++;
	}
	*text = '\0';
}

static int open_file(int32_t pid, const struct orma_process_map *map, struct stat *ret_stat)
{
	char path[PATH_BYTES_MAX];

	if (map->path.size == 0 || map->path.data[0] != '/')
		return -ENOENT;
	/* Needs CAP_CHECKPOINT_RESTORE, and gives the file itself, also when it has been deleted. */
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)pid,
		 (unsigned long long)map->start, (unsigned long long)map->end);
	int fd = open_checked(path, map, ret_stat);
	if (fd >= 0)
		return fd;
	int size = snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	append_path(path + size, sizeof(path) - (size_t)size, map->path);
	fd = open_checked(path, map, ret_stat);
	/* A process that has ended has no root any more, but most have ours. */
	return fd == -ENOENT || fd == -ESRCH ? open_checked(path + size, map, ret_stat) : fd;
}

/* --- the cache; the mutex is held ------------------------------------------------------------- */

static struct identity identify(const struct stat *st)
{
	return (struct identity){
		.device = st->st_dev,
		.inode = st->st_ino,
		.size = (uint64_t)st->st_size,
		.changed_s = st->st_mtim.tv_sec,
		.changed_ns = st->st_mtim.tv_nsec,
		.owner = st->st_uid,
	};
}

static bool is_same(const struct identity *a, const struct identity *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static uint64_t hash_identity(const struct identity *identity)
{
	return orma_base_fnv1a(ORMA_FNV1A_INIT, identity, sizeof(*identity));
}

static uint64_t hash_id(const struct orma_elf_file *elf, uint64_t owner)
{
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, &owner, sizeof(owner));

	return orma_base_fnv1a(hash, elf->build_id, elf->build_id_size);
}

static struct file *find_identity(struct orma_unwind_files *files, const struct identity *identity)
{
	struct file *file = orma_base_map_get(&files->by_stat, hash_identity(identity));

	return file && is_same(&file->identity, identity) ? file : NULL;
}

static struct file *find_id(struct orma_unwind_files *files, const struct orma_elf_file *elf,
			    uint64_t owner)
{
	struct file *file = orma_base_map_get(&files->by_id, hash_id(elf, owner));

	return file && elf->build_id_size > 0 && file->identity.owner == owner &&
			       file->base.elf.build_id_size == elf->build_id_size &&
			       memcmp(file->base.elf.build_id, elf->build_id, elf->build_id_size) ==
				       0
		       ? file
		       : NULL;
}

static void forget(struct orma_map *map, uint64_t key, const struct file *file)
{
	if (orma_base_map_get(map, key) == file)
		orma_base_map_remove(map, key);
}

static void free_file(struct file *file)
{
	struct orma_unwind_files *files = file->files;

	forget(&files->by_stat, hash_identity(&file->identity), file);
	forget(&files->by_id, hash_id(&file->base.elf, file->identity.owner), file);
	files->table_bytes -= file->bytes;
	files->file_count--;
	orma_unwind_table_free(file->base.table);
	orma_base_free(file->image);
	orma_base_free(file);
}

/* The headers and the identity become those of `fresh`, which has the same build id: the sections of
 * a file that was written again may lie elsewhere. */
static void renew(struct file *file, const struct file *fresh)
{
	struct orma_unwind_files *files = file->files;

	forget(&files->by_stat, hash_identity(&file->identity), file);
	file->identity = fresh->identity;
	file->base.elf = fresh->base.elf;
	file->base.elf.fd = -1;
	orma_base_map_put(&files->by_stat, hash_identity(&file->identity), file);
}

/* Takes the descriptor when the file had no user and so none. `fresh` has what was read from the
 * descriptor; NULL = it was not read. */
static void use_file(struct file *file, const struct file *fresh, int *fd)
{
	struct orma_unwind_files *files = file->files;
	struct stat st;

	if (file->refs++ > 0)
		return;
	orma_base_list_remove(&file->unused_item);
	files->unused_bytes -= file->bytes;
	if (*fd < 0 || file->image || files->open_count >= files->limits.open_count ||
	    fstat(*fd, &st) < 0)
		return;
	struct identity identity = identify(&st);
	if (fresh && fresh != file && is_same(&identity, &fresh->identity) &&
	    !is_same(&identity, &file->identity))
		renew(file, fresh);
	/* The offsets of one file would be wrong for another. */
	if (!is_same(&identity, &file->identity))
		return;
	file->base.elf.fd = *fd;
	file->base.elf.size = (uint64_t)st.st_size;
	*fd = -1;
	files->open_count++;
}

static void unuse_file(struct file *file)
{
	struct orma_unwind_files *files = file->files;

	if (file->base.elf.fd >= 0) {
		file->base.elf.fd = orma_base_fd_close(file->base.elf.fd);
		file->base.elf.size = 0;
		files->open_count--;
	}
	files->unused_bytes += file->bytes;
	orma_base_list_append(&files->unused, &file->unused_item);
	while (files->unused_bytes > files->limits.unused_bytes) {
		struct file *oldest = ORMA_LIST_ENTRY(files->unused.next, struct file, unused_item);

		orma_base_list_remove(&oldest->unused_item);
		files->unused_bytes -= oldest->bytes;
		free_file(oldest);
	}
}

/* The file becomes an unused one. On failure it is not in the cache, but works. */
static void add_file(struct orma_unwind_files *files, struct file *file)
{
	file->files = files;
	files->file_count++;
	files->table_bytes += file->bytes;
	files->unused_bytes += file->bytes;
	orma_base_list_append(&files->unused, &file->unused_item);
	/* Without memory for its key it is read again by the next process. */
	orma_base_map_put(&files->by_stat, hash_identity(&file->identity), file);
	if (file->base.elf.build_id_size > 0)
		orma_base_map_put(&files->by_id, hash_id(&file->base.elf, file->identity.owner),
				  file);
}

/* --- reading; the mutex is free --------------------------------------------------------------- */

static void build_table(struct file *file, bool is_full)
{
	int r = is_full ? -EFBIG : orma_unwind_table_new(&file->base.elf, &file->base.table);

	file->base.table_error = r;
	file->bytes = sizeof(*file);
	if (r == 0)
		file->bytes += orma_unwind_table_facts(file->base.table).bytes;
}

static bool is_full(struct orma_unwind_files *files)
{
	pthread_mutex_lock(&files->mutex);
	bool result = files->table_bytes >= files->limits.table_bytes;
	pthread_mutex_unlock(&files->mutex);
	return result;
}

/* Gives out a file of the cache that has the build id of `file`, or else `file`, which moves into
 * the cache. */
static struct file *share_file(struct orma_unwind_files *files, struct file *file, int *fd)
{
	pthread_mutex_lock(&files->mutex);
	struct file *known = find_id(files, &file->base.elf, file->identity.owner);
	if (!known)
		known = find_identity(files, &file->identity);
	bool is_new = !known && (file->base.table || file->base.table_error < 0);
	if (is_new)
		add_file(files, known = file);
	if (known)
		use_file(known, file, fd);
	if (is_new)
		file = NULL;
	pthread_mutex_unlock(&files->mutex);
	if (file && known) {
		orma_unwind_table_free(file->base.table);
		orma_base_free(file->image);
		orma_base_free(file);
	}
	return known;
}

static int read_headers(const struct orma_process_map *map, const struct stat *st, int fd,
			struct file **ret)
{
	struct file *file = orma_base_zalloc(sizeof(*file));

	if (!file)
		return -ENOMEM;
	file->identity = identify(st);
	int r = orma_elf_file_init(&file->base.elf, fd);
	if (r == 0 && map->build_id_size > 0 &&
	    (file->base.elf.build_id_size != map->build_id_size ||
	     memcmp(file->base.elf.build_id, map->build_id, map->build_id_size) != 0))
		r = -ESTALE;
	if (r < 0)
		orma_base_free(file);
	else
		*ret = file;
	return r;
}

/* A process that has ended leaves the build ids of its mappings. They are enough to find files that
 * others use, if nobody but the administrator can have written them. */
static int find_by_id_only(struct orma_unwind_files *files, const struct orma_process_map *map,
			   struct file **ret)
{
	struct orma_elf_file elf = {.build_id_size = map->build_id_size};
	int none = -1;

	if (map->build_id_size == 0 || map->build_id_size > sizeof(elf.build_id))
		return -ENOENT;
	memcpy(elf.build_id, map->build_id, map->build_id_size);
	pthread_mutex_lock(&files->mutex);
	*ret = find_id(files, &elf, 0);
	if (*ret)
		use_file(*ret, NULL, &none);
	pthread_mutex_unlock(&files->mutex);
	return *ret ? 0 : -ENOENT;
}

static bool has_build_id(const struct file *file, const struct orma_process_map *map)
{
	return file->base.elf.build_id_size == map->build_id_size &&
	       memcmp(file->base.elf.build_id, map->build_id, map->build_id_size) == 0;
}

static int load_path(struct orma_unwind_files *files, int32_t pid,
		     const struct orma_process_map *map, struct file **ret)
{
	struct stat st;
	struct file *file = NULL;
	ORMA_AUTO(orma_base_fd_closep) int fd = open_file(pid, map, &st);

	if (fd < 0)
		return find_by_id_only(files, map, ret) == 0 ? 0 : fd;
	struct identity identity = identify(&st);
	pthread_mutex_lock(&files->mutex);
	*ret = find_identity(files, &identity);
	/* The path may have another program now than the process had. */
	bool is_other = *ret && map->build_id_size > 0 && !has_build_id(*ret, map);
	if (*ret && !is_other)
		use_file(*ret, NULL, &fd);
	pthread_mutex_unlock(&files->mutex);
	if (is_other)
		return find_by_id_only(files, map, ret) == 0 ? 0 : -ESTALE;
	if (*ret)
		return 0;
	int r = read_headers(map, &st, fd, &file);
	if (r < 0)
		return find_by_id_only(files, map, ret) == 0 ? 0 : r;
	*ret = share_file(files, file, &fd);
	if (*ret)
		return 0;
	build_table(file, is_full(files));
	/* The descriptor is the caller's until use_file() takes it. */
	file->base.elf.fd = -1;
	file->base.elf.size = 0;
	*ret = share_file(files, file, &fd);
	return 0;
}

/* --- the vDSO --------------------------------------------------------------------------------- */

/* Where the image ends: the section headers are its last part, and the kernel maps whole pages. */
static size_t vdso_bytes(const Elf64_Ehdr *header)
{
	uint64_t size = header->e_shoff + (uint64_t)header->e_shnum * header->e_shentsize;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	size = (size + page - 1) / page * page;
	return size <= VDSO_BYTES_MAX ? (size_t)size : 0;
}

static int load_vdso(struct orma_unwind_files *files, struct file **ret)
{
	const Elf64_Ehdr *header = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	const struct identity identity = {0};
	int none = -1;

	pthread_mutex_lock(&files->mutex);
	*ret = find_identity(files, &identity);
	if (*ret)
		use_file(*ret, NULL, &none);
	pthread_mutex_unlock(&files->mutex);
	if (*ret)
		return 0;
	if (!header || vdso_bytes(header) == 0)
		return -ENOENT;
	struct file *file = orma_base_zalloc(sizeof(*file));
	if (!file)
		return -ENOMEM;
	file->image = orma_base_memdup(header, vdso_bytes(header));
	int r = file->image
			? orma_elf_file_init_image(&file->base.elf, file->image, vdso_bytes(header))
			: -ENOMEM;
	if (r < 0) {
		orma_base_free(file->image);
		orma_base_free(file);
		return r;
	}
	build_table(file, false);
	file->bytes += vdso_bytes(header);
	*ret = share_file(files, file, &none);
	return 0;
}

/* --- interface -------------------------------------------------------------------------------- */

int orma_unwind_files_new(const struct orma_unwind_files_limits *limits,
			  struct orma_unwind_files **ret)
{
	struct orma_unwind_files *files = orma_base_zalloc(sizeof(*files));

	if (!files)
		return -ENOMEM;
	if (limits)
		files->limits = *limits;
	if (files->limits.unused_bytes == 0)
		files->limits.unused_bytes = UNUSED_BYTES;
	if (files->limits.table_bytes == 0)
		files->limits.table_bytes = TABLE_BYTES;
	if (files->limits.open_count == 0)
		files->limits.open_count = OPEN_MAX;
	pthread_mutex_init(&files->mutex, NULL);
	orma_base_list_init(&files->unused);
	*ret = files;
	return 0;
}

void orma_unwind_files_free(struct orma_unwind_files *files)
{
	struct file *file, *next;

	if (!files)
		return;
	ORMA_LIST_FOR_EACH_SAFE (file, next, &files->unused, unused_item)
		free_file(file);
	ORMA_ASSERT(files->file_count == 0);
	orma_base_map_done(&files->by_stat);
	orma_base_map_done(&files->by_id);
	pthread_mutex_destroy(&files->mutex);
	orma_base_free(files);
}

struct orma_unwind_files_facts orma_unwind_files_facts(struct orma_unwind_files *files)
{
	pthread_mutex_lock(&files->mutex);
	struct orma_unwind_files_facts facts = {
		.file_count = files->file_count,
		.open_count = files->open_count,
		.table_bytes = files->table_bytes,
	};
	pthread_mutex_unlock(&files->mutex);
	return facts;
}

int orma_unwind_files_load(struct orma_unwind_files *files, int32_t pid,
			   const struct orma_process_map *map, const struct orma_unwind_file **ret)
{
	struct file *file = NULL;
	int r = orma_base_str_is(map->path, "[vdso]") ? load_vdso(files, &file)
						      : load_path(files, pid, map, &file);

	if (r == 0)
		*ret = &file->base;
	return r;
}

uint64_t orma_unwind_files_next_number(struct orma_unwind_files *files)
{
	pthread_mutex_lock(&files->mutex);
	uint64_t number = ++files->last_number;
	pthread_mutex_unlock(&files->mutex);
	return number;
}

int orma_unwind_file_reopen(const struct orma_unwind_file *base, struct orma_str path,
			    struct orma_elf_file *ret)
{
	const struct file *file = ORMA_CONTAINER_OF(base, const struct file, base);
	struct orma_process_map map = {
		.inode = file->identity.inode,
		.device_major = major(file->identity.device),
		.device_minor = minor(file->identity.device),
	};
	char text[PATH_BYTES_MAX];
	struct stat st;

	if (file->image || path.size == 0 || path.data[0] != '/')
		return -ENOENT;
	append_path(text, sizeof(text), path);
	int fd = open_checked(text, &map, &st);
	if (fd < 0)
		return fd;
	struct identity identity = identify(&st);
	if (!is_same(&identity, &file->identity)) {
		orma_base_fd_close(fd);
		return -ESTALE;
	}
	*ret = base->elf;
	ret->fd = fd;
	ret->size = (uint64_t)st.st_size;
	return 0;
}

const struct orma_unwind_file *orma_unwind_file_ref(const struct orma_unwind_file *base)
{
	struct file *file = to_file(base);

	pthread_mutex_lock(&file->files->mutex);
	file->refs++;
	pthread_mutex_unlock(&file->files->mutex);
	return base;
}

void orma_unwind_file_unref(const struct orma_unwind_file *base)
{
	if (!base)
		return;
	struct file *file = to_file(base);
	struct orma_unwind_files *files = file->files;

	pthread_mutex_lock(&files->mutex);
	ORMA_ASSERT(file->refs > 0);
	if (--file->refs == 0)
		unuse_file(file);
	pthread_mutex_unlock(&files->mutex);
}
