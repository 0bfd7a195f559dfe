/* SPDX-License-Identifier: Apache-2.0
 * ctf_folder.c - finds the traces below a folder.
 *
 * Links are not followed, so the walk ends. Folders called index and hidden ones hold no streams.
 */
#include "formats/ctf_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error_message.h"
#include "base/fd.h"

struct subfolder {
	const char *path; /* "" = the folder itself */
	uint32_t depth;
};

struct walk {
	struct orma_ctf_folder *folder;
	int fd;
	ORMA_CTF_LIST(struct subfolder) folders;
	uint32_t file_count;
	struct orma_error *reterr;
};

void orma_ctf_folder_done(struct orma_ctf_folder *folder)
{
	orma_base_arena_done(&folder->arena);
	*folder = (struct orma_ctf_folder){0};
}

static const char *join(struct orma_arena *arena, const char *path, const char *name)
{
	size_t size = strlen(path) + strlen(name) + 2;
	char *joined = orma_base_arena_alloc(arena, size);
	if (joined)
		snprintf(joined, size, "%s%s%s", path, *path ? "/" : "", name);
	return joined;
}

static int add_folder(struct walk *walk, const char *path, uint32_t depth)
{
	if (walk->folders.count == ORMA_CTF_FOLDERS_MAX || depth > ORMA_CTF_FOLDER_DEPTH_MAX)
		return orma_base_error_set(walk->reterr, -EMSGSIZE,
					   "more than %d folders, or more than %d levels of them",
					   ORMA_CTF_FOLDERS_MAX, ORMA_CTF_FOLDER_DEPTH_MAX);
	struct subfolder *subfolder =
		orma_ctf_list_add(&walk->folder->arena, &walk->folders.items, &walk->folders.count,
				  &walk->folders.capacity, sizeof(*subfolder));
	if (!subfolder)
		return -ENOMEM;
	*subfolder = (struct subfolder){path, depth};
	return 0;
}

static int add_file(struct walk *walk, struct orma_ctf_found *found, const char *path)
{
	if (++walk->file_count > ORMA_CTF_FILES_MAX)
		return orma_base_error_set(walk->reterr, -EMSGSIZE, "more than %d files",
					   ORMA_CTF_FILES_MAX);
	const char **file =
		orma_ctf_list_add(&walk->folder->arena, &found->files.items, &found->files.count,
				  &found->files.capacity, sizeof(char *));
	if (!file)
		return -ENOMEM;
	*file = path;
	return 0;
}

static int add_entry(struct walk *walk, DIR *dir, const struct subfolder *in, const char *name,
		     struct orma_ctf_found *found)
{
	struct stat status;
	if (name[0] == '.' || strcmp(name, "index") == 0 ||
	    fstatat(dirfd(dir), name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode))
		return 0;
	const char *path = join(&walk->folder->arena, in->path, name);
	if (!path)
		return -ENOMEM;
	if (S_ISDIR(status.st_mode))
		return add_folder(walk, path, in->depth + 1);
	if (strcmp(name, "metadata") == 0)
		found->metadata = path;
	return strcmp(name, "metadata") == 0 ? 0 : add_file(walk, found, path);
}

/* Whether a file is metadata of this format. An empty one belongs to a trace that nothing was recorded of. */
static bool is_metadata(int folder_fd, const char *path)
{
	char begin[16];
	int ORMA_AUTO(orma_base_fd_closep) fd = orma_base_fd_avoid_standard(
		openat(folder_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
	ssize_t size = fd < 0 ? -1 : pread(fd, begin, sizeof(begin), 0);
	return size > 0 && orma_ctf_metadata_is((struct orma_str){begin, (size_t)size});
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int add_trace(struct walk *walk, struct orma_ctf_found *found)
{
	struct orma_ctf_folder *folder = walk->folder;
	if (!found->metadata || !is_metadata(walk->fd, found->metadata))
		return 0;
	if (folder->traces.count == ORMA_CTF_TRACES_MAX)
		return orma_base_error_set(walk->reterr, -EMSGSIZE, "more than %d traces",
					   ORMA_CTF_TRACES_MAX);
	struct orma_ctf_found *added =
		orma_ctf_list_add(&folder->arena, &folder->traces.items, &folder->traces.count,
				  &folder->traces.capacity, sizeof(*added));
	if (!added)
		return -ENOMEM;
	if (found->files.count > 0)
		qsort(found->files.items, found->files.count, sizeof(char *), compare_paths);
	*added = *found;
	return 0;
}

static int read_folder(struct walk *walk, struct subfolder in)
{
	struct orma_ctf_found found = {.folder = orma_base_str(in.path)};
	int fd = orma_base_fd_avoid_standard(
		openat(walk->fd, *in.path ? in.path : ".",
		       O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW));
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int r = 0;
	if (!dir) {
		r = -errno;
		orma_base_fd_close(fd);
		return r;
	}
	for (const struct dirent *entry; r == 0 && (entry = readdir(dir));)
		r = add_entry(walk, dir, &in, entry->d_name, &found);
	closedir(dir);
	return r < 0 ? r : add_trace(walk, &found);
}

static int compare_traces(const void *a, const void *b)
{
	const struct orma_ctf_found *one = a, *other = b;
	return strcmp(one->metadata, other->metadata);
}

int orma_ctf_folder_find(struct orma_ctf_folder *folder, int fd, struct orma_error *reterr)
{
	struct walk walk = {.folder = folder, .fd = fd, .reterr = reterr};
	int r = add_folder(&walk, "", 0);
	for (uint32_t i = 0; i < walk.folders.count && r == 0; i++)
		r = read_folder(&walk, walk.folders.items[i]);
	if (r < 0)
		return r;
	if (folder->traces.count == 0)
		return -ENOENT;
	qsort(folder->traces.items, folder->traces.count, sizeof(*folder->traces.items),
	      compare_traces);
	return 0;
}
