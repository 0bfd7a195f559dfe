/* SPDX-License-Identifier: Apache-2.0
 * trace_series.c - finds the files of one trace by the uuid with which each of them begins, and
 * counts their packets from the oldest to the newest.
 */
#include "tool/record/trace_series.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error_message.h"
#include "base/fd.h"
#include "proto/reader.h"
#include "schema/gen/trace_packet.pb.h"

#define UUID_BYTES_MAX 32

struct uuid {
	uint8_t bytes[UUID_BYTES_MAX];
	size_t size; /* 0 = none */
};

/* -ENOENT, -EACCES and the like. -EINVAL: not a regular file. */
static int open_trace(const char *path, uint32_t number, uint64_t *ret_bytes)
{
	char name[PATH_MAX];
	struct stat info;
	int fd;

	if (snprintf(name, sizeof(name), number ? "%s.%u" : "%s", path, number) >=
	    (int)sizeof(name))
		return -ENAMETOOLONG;
	/* Without O_NONBLOCK, open() of a pipe would wait for its writer. */
	fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &info) || !S_ISREG(info.st_mode)) {
		orma_base_fd_close(fd);
		return -EINVAL;
	}
	*ret_bytes = (uint64_t)info.st_size;
	return fd;
}

static int take_uuid(void *ctx, const void *packet, size_t size)
{
	struct uuid *uuid = ctx;
	struct orma_proto_field field;

	if (orma_proto_reader_find(packet, size, ORMA_PB_TRACE_PACKET_TRACE_UUID, &field) != 1 ||
	    field.type != ORMA_PROTO_BYTES || field.bytes.size > UUID_BYTES_MAX)
		return 0;
	memcpy(uuid->bytes, field.bytes.data, field.bytes.size);
	uuid->size = field.bytes.size;
	return 1;
}

/* Returns 1 when both files have the uuid, 0 when they do not, or -errno. */
static int is_of_trace(const char *path, uint32_t number, const struct uuid *uuid)
{
	struct uuid other = {.size = 0};
	uint64_t bytes;
	ORMA_AUTO(orma_base_fd_closep) int fd = open_trace(path, number, &bytes);

	return fd >= 0 && orma_tool_trace_read(fd, take_uuid, &other, NULL) == 1 &&
	       other.size == uuid->size && memcmp(other.bytes, uuid->bytes, uuid->size) == 0;
}

static uint32_t find_files(const char *path, uint32_t max_files)
{
	struct uuid uuid = {.size = 0};
	uint64_t bytes;
	uint32_t count = 1;
	ORMA_AUTO(orma_base_fd_closep)
	int fd = max_files > 1 ? open_trace(path, 0, &bytes) : -1;

	if (fd < 0 || orma_tool_trace_read(fd, take_uuid, &uuid, NULL) != 1)
		return count;
	while (count < max_files && is_of_trace(path, count, &uuid))
		count++;
	return count;
}

int orma_tool_series_count(const char *path, uint32_t max_files, struct orma_tool_counter *counter,
			   struct orma_tool_series *ret, struct orma_error *reterr)
{
	uint32_t files = find_files(path, max_files);

	*ret = (struct orma_tool_series){.files = files};
	for (uint32_t number = files; number-- > 0;) {
		uint64_t bytes = 0;
		ORMA_AUTO(orma_base_fd_closep) int fd = open_trace(path, number, &bytes);
		int r = fd < 0 ? orma_base_error_set(reterr, fd, "%s", strerror(-fd))
			       : orma_tool_counter_add_file(counter, fd, reterr);

		if (r < 0)
			return r;
		ret->bytes += bytes;
	}
	return 0;
}
