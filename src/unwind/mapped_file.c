/* SPDX-License-Identifier: Apache-2.0
 * mapped_file.c - opens the files that other processes have mapped.
 *
 * Owns nothing. Trust: a process chooses what it maps, and what lies at the path of a mapping later.
 * Therefore a path is opened with O_PATH first, which neither waits for a FIFO nor has an effect on a
 * device. If it is a regular file and the one of the mapping, it is opened for reading through
 * /proc/self/fd. The inode suffices on btrfs and overlayfs, because they show another device in maps
 * than in stat(). At worst, a process gets a wrong table for its own stacks.
 *
 * The process may serve the file system itself, and never answer. So these functions run on a thread
 * that may wait.
 */
#include "unwind/mapped_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/map.h"

#define PATH_BYTES_MAX 4096u
#define BTRFS_MAGIC    0x9123683e
#define OVERLAY_MAGIC  0x794c7630
#define FUSE_MAGIC     0x65735546

/* The server of a FUSE mount may claim any user for a file. */
static uint64_t owner_of(int fd, const struct stat *st)
{
	struct statfs fs;
	bool is_known = fstatfs(fd, &fs) == 0 && (uint32_t)fs.f_type != FUSE_MAGIC;

	return is_known ? st->st_uid : ORMA_OWNED_BY_DEVICE | (uint64_t)st->st_dev;
}

static struct orma_file_identity identify(int fd, const struct stat *st)
{
	return (struct orma_file_identity){
		.device = st->st_dev,
		.inode = st->st_ino,
		.size = (uint64_t)st->st_size,
		.changed_s = st->st_mtim.tv_sec,
		.changed_ns = st->st_mtim.tv_nsec,
		.owner = owner_of(fd, st),
	};
}

bool orma_file_identity_is_same(const struct orma_file_identity *a,
				const struct orma_file_identity *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

uint64_t orma_file_identity_hash(const struct orma_file_identity *identity)
{
	return orma_base_fnv1a(ORMA_FNV1A_INIT, identity, sizeof(*identity));
}

static bool has_other_devices(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 &&
	       ((uint32_t)fs.f_type == BTRFS_MAGIC || (uint32_t)fs.f_type == OVERLAY_MAGIC);
}

/* Checks that this is the file that was mapped, as far as the mapping tells. */
static int check_identity(int fd, const struct orma_process_map *map, struct stat *ret)
{
	if (fstat(fd, ret) < 0)
		return -errno;
	/* Files of /proc have no size, and reading some of them has side effects. */
	if (!S_ISREG(ret->st_mode) || ret->st_size < (off_t)sizeof(Elf64_Ehdr))
		return -ENOEXEC;
	if (map->inode == 0)
		return -ENOENT;
	if (ret->st_ino != map->inode)
		return -ESTALE;
	if (ret->st_dev != makedev(map->device_major, map->device_minor) && !has_other_devices(fd))
		return -ESTALE;
	return 0;
}

/* Opens the path if it leads to the file of the mapping. */
static int open_checked(const char *path, const struct orma_process_map *map,
			struct orma_file_identity *ret)
{
	struct stat st;
	ORMA_AUTO(orma_base_fd_closep)
	int place = orma_base_fd_avoid_standard(open(path, O_PATH | O_CLOEXEC));

	if (place < 0)
		return -errno;
	int r = check_identity(place, map, &st);
	if (r == 0)
		r = orma_base_fd_reopen(place);
	if (r >= 0)
		*ret = identify(place, &st);
	return r;
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

int orma_mapped_file_open(int32_t pid, const struct orma_process_map *map,
			  struct orma_file_identity *ret)
{
	char path[PATH_BYTES_MAX];

	if (map->path.size == 0 || map->path.data[0] != '/')
		return -ENOENT;
	/* This needs CAP_CHECKPOINT_RESTORE. It leads to the file itself, also after it was deleted. */
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)pid,
		 (unsigned long long)map->start, (unsigned long long)map->end);
	int fd = open_checked(path, map, ret);
	if (fd >= 0)
		return fd;
	int size = snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	append_path(path + size, sizeof(path) - (size_t)size, map->path);
	fd = open_checked(path, map, ret);
	/* A process that has ended has no root folder. Most processes had ours. */
	return fd == -ENOENT || fd == -ESRCH ? open_checked(path + size, map, ret) : fd;
}

int orma_mapped_file_reopen(const struct orma_file_identity *identity, struct orma_str path)
{
	const struct orma_process_map map = {
		.inode = identity->inode,
		.device_major = major(identity->device),
		.device_minor = minor(identity->device),
	};
	struct orma_file_identity found;
	char text[PATH_BYTES_MAX];

	if (path.size == 0 || path.data[0] != '/')
		return -ENOENT;
	append_path(text, sizeof(text), path);
	int fd = open_checked(text, &map, &found);
	if (fd >= 0 && !orma_file_identity_is_same(&found, identity)) {
		orma_base_fd_close(fd);
		return -ESTALE;
	}
	return fd;
}
