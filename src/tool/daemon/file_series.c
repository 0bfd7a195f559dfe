/* SPDX-License-Identifier: Apache-2.0
 * file_series.c - recognises files that an earlier recording into the same place has left.
 *
 * Such files are renamed, and the oldest ones are removed, so a matching name is not enough. This
 * user must own the file, and the config at the beginning of its trace must have max_file_count and
 * this very output_path. An empty file of this user at the path itself is accepted, too: a crash or
 * a full disk leaves one, and it has no data to lose.
 *
 * A recording in progress holds a write lock on its file. Such a lock needs a descriptor that is
 * open for writing, so only users who may change the file can hold one. A recording that continues
 * the series takes a read lock, which fails while another process holds the write lock and succeeds
 * beside other read locks. Locks belong to the open file, not to the process (F_OFD_SETLK).
 *
 * Rejected: flock(), which any reader can take, and so keep the next recording from its path; a
 * list of names beside the files (it could differ from the files); extended attributes (not every
 * file system has them).
 */
#include "tool/daemon/file_series.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "proto/reader.h"
#include "schema/gen/trace_config.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "tool/trace/trace_file.h"

/* The config is among the first packets of a file. */
#define SEARCHED_PACKETS 64

struct search {
	struct orma_str output_path;
	unsigned packets;
	bool is_found;
};

static bool is_own_file(const struct stat *info)
{
	return S_ISREG(info->st_mode) && info->st_uid == geteuid();
}

static bool is_config_of(struct orma_str config_untrusted, struct orma_str output_path)
{
	struct orma_proto_field path, count;

	return orma_proto_reader_find(config_untrusted.data, config_untrusted.size,
				      ORMA_PB_TRACE_CONFIG_OUTPUT_PATH, &path) == 1 &&
	       path.type == ORMA_PROTO_BYTES && orma_base_str_is_equal(path.bytes, output_path) &&
	       orma_proto_reader_find(config_untrusted.data, config_untrusted.size,
				      ORMA_PB_TRACE_CONFIG_MAX_FILE_COUNT, &count) == 1 &&
	       count.type == ORMA_PROTO_VARINT && count.value > 0;
}

static int look_at_packet(void *ctx, const void *packet, size_t size)
{
	struct search *search = ctx;
	struct orma_proto_field config;

	if (orma_proto_reader_find(packet, size, ORMA_PB_TRACE_PACKET_TRACE_CONFIG, &config) == 1 &&
	    config.type == ORMA_PROTO_BYTES) {
		search->is_found = is_config_of(config.bytes, search->output_path);
		return 1;
	}
	return ++search->packets == SEARCHED_PACKETS;
}

/* On a file system without locks, only the checks of the file's identity are left. */
static int take_lock(int fd, short type)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_SETLK, &lock) && (errno == EAGAIN || errno == EACCES) ? -EBUSY : 0;
}

int orma_file_series_lock(int fd)
{
	return take_lock(fd, F_WRLCK);
}

/* Returns 0, -EEXIST, -EBUSY or the error of a system call. */
static int check(int fd, const char *output_path, bool is_newest, struct orma_file_identity *ret)
{
	struct search search = {.output_path = orma_base_str(output_path)};
	struct stat info;

	if (is_newest && take_lock(fd, F_RDLCK))
		return -EBUSY;
	/* With the lock held, the file cannot belong to a recording in progress. */
	if (fstat(fd, &info))
		return -errno;
	if (!is_own_file(&info))
		return -EEXIST;
	if (!is_newest || info.st_size > 0)
		(void)orma_tool_trace_read(fd, look_at_packet, &search, NULL);
	else
		search.is_found = true;
	if (!search.is_found)
		return -EEXIST;
	*ret = (struct orma_file_identity){info.st_dev, info.st_ino, info.st_size, info.st_mtim};
	return 0;
}

/* Opens a regular file for reading. Other kinds are not opened, because opening a device can have
 * an effect. The daemon's system call filter refuses to open an existing file for writing
 * (seccomp.c). */
static int open_own(int folder_fd, const char *name)
{
	struct stat info;
	int fd;

	if (fstatat(folder_fd, name, &info, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (!is_own_file(&info))
		return -EEXIST;
	/* The file may have been replaced meanwhile, so do not wait for a pipe and do not follow a
	 * link. */
	fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int orma_file_series_check(int folder_fd, const char *name, const char *output_path,
			   struct orma_file_identity *ret, int *ret_fd)
{
	int fd = open_own(folder_fd, name);
	int r = fd < 0 ? fd : check(fd, output_path, ret_fd != NULL, ret);

	if (r == -ENOENT)
		return 0;
	if (r == 0 && ret_fd)
		*ret_fd = fd;
	else
		orma_base_fd_close(fd);
	/* A file that cannot be opened is not one of ours either. */
	return r == 0 ? 1 : r == -ELOOP || r == -EACCES || r == -ENXIO ? -EEXIST : r;
}
