/* SPDX-License-Identifier: Apache-2.0
 * debug_file.c - searches the places where distributions put debugging information that they strip from programs.
 *
 * Invariant: a file that is returned belongs to the program that was asked for. If both build ids are known, they are equal; a file
 * that is named by a debug link has the checksum of the link.
 *
 * Trust: paths come from traces of strangers. They are only opened for reading, and FIFOs and devices neither block nor are read. A
 * name in a debug link has no slash.
 */
#include "symbols/debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"

#define LINK_BYTES_MAX    (NAME_MAX + 8u)
#define CHECKED_BYTES_MAX (UINT64_C(8) << 30)
#define DEFAULT_FOLDER    "/usr/lib/debug"

void orma_debug_file_close(struct orma_debug_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

static int open_path(const char *path, struct orma_debug_file *ret)
{
	struct stat st;

	ret->fd = -1;
	/* Before the open(), because opening a device can have side effects. */
	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	ret->fd = orma_base_fd_avoid_standard(
		open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
	int r = ret->fd < 0 ? -errno : orma_elf_file_init(&ret->elf, ret->fd);

	if (r < 0)
		orma_debug_file_close(ret);
	snprintf(ret->path, sizeof(ret->path), "%s", path);
	return r;
}

static bool has_other_id(const struct orma_elf_file *elf, const struct orma_build_id *id)
{
	return id->size > 0 &&
	       (elf->build_id_size != id->size || memcmp(elf->build_id, id->bytes, id->size) != 0);
}

/* Opens a path if its file has the build id. 0, -ENOENT, -ESTALE or another error of opening. */
static int try_path(const char *path, const struct orma_build_id *id, struct orma_debug_file *ret)
{
	int r = open_path(path, ret);

	if (r < 0)
		return r == -ENOTDIR ? -ENOENT : r;
	if (!has_other_id(&ret->elf, id))
		return 0;
	orma_debug_file_close(ret);
	return -ESTALE;
}

ORMA_PRINTF(3, 4)
static int try_format(const struct orma_build_id *id, struct orma_debug_file *ret,
		      const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;

	va_start(args, format);
	int size = vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	return size < 0 || (size_t)size >= sizeof(path) ? -ENAMETOOLONG : try_path(path, id, ret);
}

/* Opens FOLDER/.build-id/ab/cdefSUFFIX. */
static int try_id(const char *folder, const struct orma_build_id *id, const char *suffix,
		  struct orma_debug_file *ret)
{
	char text[2 * ORMA_ELF_BUILD_ID_MAX + 1];

	if (id->size < 2)
		return -ENOENT;
	for (size_t i = 0; i < id->size; i++)
		snprintf(text + 2 * i, 3, "%02x", id->bytes[i]);
	return try_format(id, ret, "%s/.build-id/%.2s/%s%s", folder, text, text + 2, suffix);
}

/* Returns the error that says more: a file with another build id says more than no file. */
static int choose_error(int before, int now)
{
	return before == -ESTALE || now == -ENOENT ? before : now;
}

/* A folder may be a root, a folder of files, or one of build ids. */
static int search_folder(const char *folder, const char *path, const struct orma_build_id *id,
			 struct orma_debug_file *ret)
{
	const char *slash = strrchr(path, '/');
	int r = try_id(folder, id, "", ret);
	int reason = r;

	if (r < 0)
		reason = choose_error(reason, r = try_format(id, ret, "%s/%s", folder, path));
	if (r < 0 && slash)
		reason = choose_error(reason, r = try_format(id, ret, "%s%s", folder, slash));
	return r == 0 ? 0 : reason;
}

int orma_debug_file_open(const char *path, const struct orma_build_id *id,
			 const struct orma_debug_folders *folders, struct orma_debug_file *ret)
{
	ret->fd = -1;
	ret->path[0] = '\0';
	int r = path[0] == '/' ? try_path(path, id, ret) : -ENOENT;
	int reason = r;

	for (size_t i = 0; r < 0 && i < folders->count; i++)
		reason = choose_error(reason, r = search_folder(folders->paths[i], path, id, ret));
	return r == 0 ? 0 : reason;
}

int orma_debug_file_open_by_id(const struct orma_build_id *id,
			       const struct orma_debug_folders *folders,
			       struct orma_debug_file *ret)
{
	ret->fd = -1;
	int r = -ENOENT;

	for (size_t i = 0; r < 0 && i < folders->count; i++)
		r = try_id(folders->paths[i], id, ".debug", ret);
	return r < 0 ? try_id(DEFAULT_FOLDER, id, ".debug", ret) : 0;
}

/* --- debug links ------------------------------------------------------------------------------ */

int orma_debug_link_read(const struct orma_elf_file *file, char ret_name[NAME_MAX + 1],
			 uint32_t *ret_crc)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf link = {0};
	int r = orma_elf_file_read_part(file, &file->debug_link, LINK_BYTES_MAX, &link);

	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	size_t size = link.size > 0 ? strnlen((const char *)link.data, link.size) : 0;
	size_t crc_at = (size + 4) & ~(size_t)3; /* behind the NUL, at a multiple of 4 */
	if (size == 0 || size > NAME_MAX || crc_at + 4 > link.size ||
	    memchr(link.data, '/', size) || link.data[0] == '.')
		return -EBADMSG;
	memcpy(ret_name, link.data, size + 1);
	memcpy(ret_crc, link.data + crc_at, sizeof(*ret_crc));
	return 0;
}

/* Computes the checksum of a whole file, the CRC-32 of gzip. */
static int sum_file(int fd, uint64_t size, uint32_t *ret)
{
	uint32_t table[256], crc = UINT32_MAX;
	uint8_t bytes[16 << 10];

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
	}
	if (size > CHECKED_BYTES_MAX)
		return -EFBIG;
	for (uint64_t at = 0; at < size;) {
		ssize_t count = pread(fd, bytes, sizeof(bytes), (off_t)at);

		if (count <= 0 && !(count < 0 && errno == EINTR))
			return count < 0 ? -errno : -EBADMSG;
		for (ssize_t i = 0; i < count; i++)
			crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
		at += count > 0 ? (uint64_t)count : 0;
	}
	*ret = ~crc;
	return 0;
}

/* Opens a path if its file has the checksum. */
ORMA_PRINTF(3, 4)
static bool try_link(uint32_t crc, struct orma_debug_file *ret, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	uint32_t sum = 0;

	va_start(args, format);
	int size = vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (size < 0 || (size_t)size >= sizeof(path) || open_path(path, ret) < 0)
		return false;
	if (sum_file(ret->fd, ret->elf.size, &sum) == 0 && sum == crc)
		return true;
	orma_debug_file_close(ret);
	return false;
}

static int open_by_link(const struct orma_elf_file *of, const char *path,
			const struct orma_debug_folders *folders, struct orma_debug_file *ret)
{
	const char *slash = strrchr(path, '/');
	int folder_size = slash ? (int)(slash - path) : 0;
	char name[NAME_MAX + 1];
	uint32_t crc;
	int r = orma_debug_link_read(of, name, &crc);

	if (r < 0)
		return r == -EBADMSG ? -ENOENT : r;
	if (try_link(crc, ret, "%.*s/%s", folder_size, path, name) ||
	    try_link(crc, ret, "%.*s/.debug/%s", folder_size, path, name))
		return 0;
	for (size_t i = 0; i <= folders->count; i++) {
		const char *folder = i < folders->count ? folders->paths[i] : DEFAULT_FOLDER;

		if (try_link(crc, ret, "%s%.*s/%s", folder, folder_size, path, name) ||
		    (i < folders->count && try_link(crc, ret, "%s/%s", folder, name)))
			return 0;
	}
	return -ENOENT;
}

int orma_debug_file_open_separate(const struct orma_elf_file *of, const char *path,
				  const struct orma_debug_folders *folders,
				  struct orma_debug_file *ret)
{
	struct orma_build_id id = {.size = of->build_id_size};

	memcpy(id.bytes, of->build_id, of->build_id_size);
	int r = orma_debug_file_open_by_id(&id, folders, ret);
	return r < 0 && of->debug_link.size > 0 ? open_by_link(of, path, folders, ret) : r;
}
