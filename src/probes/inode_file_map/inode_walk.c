/* SPDX-License-Identifier: Apache-2.0
 * inode_walk.c - a walk through folders that can stop after every entry.
 *
 * Owns the folder that is being read, with a buffer of its entries, and a stack of the folders that
 * follow. So the walk goes on where it was in a later turn of the loop, and depth costs no stack.
 * Depth first keeps the stack of folders short. A folder that vanishes or may not be read is left
 * out. Symbolic links are not followed, and neither are mount points: a folder is entered only if
 * it is on the device of its parent, so a walk of / reads neither /proc nor a file server.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "probes/inode_file_map/inode_file_map.h"

enum { ENTRIES_BYTES = 32768 };

/* Ends a path on the stack. */
struct folder_head {
	uint64_t device;
	uint32_t size; /* size of the path in front, with its NUL */
};

void orma_inode_walk_done(struct orma_inode_walk *walk)
{
	walk->fd = orma_base_fd_close(walk->fd);
	orma_base_buf_done(&walk->folders);
	orma_base_buf_done(&walk->path);
	orma_base_buf_done(&walk->entries);
	*walk = (struct orma_inode_walk){.fd = -1};
}

/* Pushes "<path>/<name>"; `name` is NULL for a root. */
static int push(struct orma_inode_walk *walk, const char *path, const char *name, uint64_t device)
{
	size_t before = walk->folders.size;
	int r = orma_base_buf_append_str(&walk->folders, path);

	if (r == 0 && name && path[strlen(path) - 1] != '/')
		r = orma_base_buf_append_str(&walk->folders, "/");
	if (r == 0 && name)
		r = orma_base_buf_append_str(&walk->folders, name);
	if (r == 0)
		r = orma_base_buf_append(&walk->folders, "", 1);
	struct folder_head head = {device, (uint32_t)(walk->folders.size - before)};
	if (r == 0)
		r = orma_base_buf_append(&walk->folders, &head, sizeof(head));
	if (r < 0)
		walk->folders.size = before;
	else
		walk->folder_count++;
	return r;
}

int orma_inode_walk_add(struct orma_inode_walk *walk, const char *path)
{
	return path[0] ? push(walk, path, NULL, 0) : 0;
}

/* Moves the path of the next folder to walk->path. Returns false when there is none, or no
 * memory. */
static bool pop(struct orma_inode_walk *walk, uint64_t *ret_device)
{
	struct orma_buf *folders = &walk->folders;
	struct folder_head head;

	if (walk->folder_count == 0)
		return false;
	memcpy(&head, folders->data + folders->size - sizeof(head), sizeof(head));
	folders->size -= sizeof(head) + head.size;
	walk->folder_count--;
	walk->path.size = 0;
	*ret_device = head.device;
	return orma_base_buf_append(&walk->path, folders->data + folders->size, head.size) == 0;
}

/* Opens the next folder of the stack, if that is possible. Returns false when there is none. */
static bool open_next(struct orma_inode_walk *walk)
{
	uint64_t wanted;
	struct stat status;

	if (!pop(walk, &wanted))
		return false;
	int fd = orma_base_fd_avoid_standard(
		open((const char *)walk->path.data,
		     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
	if (fd < 0)
		return true;
	if (fstat(fd, &status) < 0 || (wanted && status.st_dev != wanted)) {
		orma_base_fd_close(fd);
		return true;
	}
	walk->fd = fd;
	walk->device = status.st_dev;
	walk->entries.size = walk->at = 0;
	return true;
}

/* Reads more entries of the open folder. Returns false at its end. */
static bool fill(struct orma_inode_walk *walk)
{
	walk->entries.size = walk->at = 0;
	if (orma_base_buf_reserve(&walk->entries, ENTRIES_BYTES) < 0)
		return false;
	long got = syscall(SYS_getdents64, walk->fd, walk->entries.data, ENTRIES_BYTES);
	walk->entries.size = got > 0 ? (size_t)got : 0;
	return got > 0;
}

/* An entry as getdents64() writes it. */
struct entry_head {
	uint64_t inode;
	int64_t offset;
	uint16_t size; /* size of the entry, padding included */
	uint8_t type;
} __attribute__((packed));

static bool is_dots(const char *name)
{
	return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

static bool take_entry(struct orma_inode_walk *walk, struct orma_inode_entry *ret)
{
	struct entry_head head;
	const uint8_t *at = walk->entries.data + walk->at;

	memcpy(&head, at, sizeof(head));
	walk->at += head.size;
	const char *name = (const char *)at + sizeof(head);
	if (is_dots(name))
		return false;
	*ret = (struct orma_inode_entry){
		.device = walk->device,
		.inode = head.inode,
		.type = head.type == DT_DIR   ? ORMA_INODE_FOLDER
			: head.type == DT_REG ? ORMA_INODE_FILE
					      : ORMA_INODE_UNKNOWN,
		.folder = (const char *)walk->path.data,
		.name = name,
	};
	if (head.type == DT_DIR && walk->folder_count < ORMA_INODE_FOLDERS_MAX)
		(void)push(walk, ret->folder, name, walk->device);
	return true;
}

bool orma_inode_walk_next(struct orma_inode_walk *walk, struct orma_inode_entry *ret)
{
	ret->name = NULL;
	if (walk->fd < 0)
		return open_next(walk);
	while (walk->at < walk->entries.size)
		if (take_entry(walk, ret))
			return true;
	if (!fill(walk))
		walk->fd = orma_base_fd_close(walk->fd);
	return true;
}
