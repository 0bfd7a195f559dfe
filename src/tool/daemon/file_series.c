/* SPDX-License-Identifier: Apache-2.0
 * file_series.c - recognises files that an earlier recording into the same place has left.
 *
 * Such files are renamed and, when they are the oldest, removed. So it is not enough that the name
 * fits: the file has to be ours by its owner, and the trace in it has to say itself, in the config
 * that each file begins with, that it was written to be rotated at this very path. An empty file of
 * ours at the path itself is what a crash or a full disk leaves, and holds nothing to lose.
 *
 * A recording that is under way holds a write lock on its file. Such a lock takes a descriptor that
 * may write, so only users who may change the file can hold one. A recording that continues the
 * series takes a read lock: a write lock refuses it, and other readers' locks do not.
 * The lock belongs to the open file, and not to the process. Rejected: flock(), which each reader
 * can take and so keep the next recording from its path; a list of names beside the files (what it
 * says and what is there would differ one day); extended attributes (not every file system has
 * them).
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

/* A file system without locks cannot tell; then the checks of a file's identity remain. */
static int take_lock(int fd, short type)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_SETLK, &lock) && (errno == EAGAIN || errno == EACCES) ? -EBUSY : 0;
}

int orma_file_series_lock(int fd)
{
	return take_lock(fd, F_WRLCK);
}

/* 0, -EEXIST, -EBUSY or what the system says. */
static int check(int fd, const char *output_path, bool is_newest, struct orma_file_identity *ret)
{
	struct search search = {.output_path = orma_base_str(output_path)};
	struct stat info;

	if (is_newest && take_lock(fd, F_RDLCK))
		return -EBUSY;
	/* Behind the lock: what the file has can no longer be a recording's that is under way. */
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

/* Other kinds of files are not even opened: with some of them, that alone has an effect. Only to
 * read: the daemon's filter allows no more with a file that was there before (seccomp.c). */
static int open_own(int folder_fd, const char *name)
{
	struct stat info;
	int fd;

	if (fstatat(folder_fd, name, &info, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (!is_own_file(&info))
		return -EEXIST;
	/* It may have changed meanwhile: a pipe is not waited for, and a link is not followed. */
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
	/* What cannot even be opened is something else, too. */
	return r == 0 ? 1 : r == -ELOOP || r == -EACCES || r == -ENXIO ? -EEXIST : r;
}
