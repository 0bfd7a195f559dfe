/* SPDX-License-Identifier: Apache-2.0
 * export_file.c - writes FILE.part and renames it, so that an older file stays until the new one is whole.
 *
 * Standard output (-), devices and pipes are written directly. Renaming a file to the name of a device would replace the device,
 * such as /dev/null, when root does it.
 */
#include "tool/export/export_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "base/utf8.h"
#include "tool/tool.h"

enum { WAITING_BYTES = 256 << 10 };

static const char suffix[] = ".part";
static const int fatal_signals[] = {SIGINT, SIGTERM, SIGHUP};
/* The path of the file that is written; empty = none. Written with the signals blocked, read by their handler. */
static char unfinished[PATH_MAX];

static void remove_and_die(int signal_number)
{
	if (unfinished[0])
		(void)unlink(unfinished);
	sigaction(signal_number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	raise(signal_number);
}

static void set_unfinished(const char *path)
{
	sigset_t signals, before;
	struct sigaction action = {.sa_handler = remove_and_die};
	sigemptyset(&signals);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(fatal_signals); i++)
		sigaddset(&signals, fatal_signals[i]);
	sigprocmask(SIG_BLOCK, &signals, &before);
	snprintf(unfinished, sizeof(unfinished), "%s", path);
	if (*path)
		for (size_t i = 0; i < ORMA_ARRAY_SIZE(fatal_signals); i++)
			sigaction(fatal_signals[i], &action, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static int fail(const struct orma_export_file *file, const char *what, int error)
{
	return orma_tool_fail("cannot %s %s: %s", what, file->is_output ? file->name : file->path,
			      strerror(error));
}

/* True: nothing may be renamed into its place. A link there to a file is a descriptor, such as /dev/stdout. */
static bool is_device(const char *path)
{
	struct stat info;

	if (stat(path, &info) < 0 || S_ISDIR(info.st_mode))
		return false;
	return !S_ISREG(info.st_mode) ||
	       (lstat(path, &info) == 0 && S_ISLNK(info.st_mode) &&
		(strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0));
}

int orma_export_file_name(struct orma_export_file *file, const char *path)
{
	struct stat info;

	*file = (struct orma_export_file){.fd = -1};
	if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
		return orma_tool_fail("%s is a folder; name a file in it", path);
	if (is_device(path))
		return orma_tool_fail("%s is not a file", path);
	if ((size_t)snprintf(file->path, sizeof(file->path), "%s%s", path, suffix) >=
	    sizeof(file->path)) {
		file->path[0] = '\0';
		return orma_tool_fail("%s: %s", path, strerror(ENAMETOOLONG));
	}
	(void)unlink(file->path);
	set_unfinished(file->path);
	return 0;
}

static int open_output(struct orma_export_file *file)
{
	*file = (struct orma_export_file){.is_output = true, .name = "standard output"};
	file->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return file->fd < 0 ? fail(file, "write to", errno) : 0;
}

static int open_device(struct orma_export_file *file, const char *path)
{
	*file = (struct orma_export_file){.is_output = true, .name = path};
	file->fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);
	return file->fd < 0 ? fail(file, "write to", errno) : 0;
}

int orma_export_file_open(struct orma_export_file *file, const char *path)
{
	if (strcmp(path, "-") == 0)
		return open_output(file);
	if (is_device(path))
		return open_device(file, path);
	int r = orma_export_file_name(file, path);
	if (r)
		return r;
	file->fd = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (file->fd >= 0)
		return 0;
	r = fail(file, "create", errno);
	set_unfinished("");
	file->path[0] = '\0';
	return r;
}

static int write_waiting(struct orma_export_file *file)
{
	int r = orma_base_fd_write_all(file->fd, file->waiting.data, file->waiting.size);
	file->waiting.size = 0;
	/* `orma export --json - x | head` is not a failure. */
	if (file->is_output && r == -EPIPE)
		r = 0;
	return r < 0 ? fail(file, "write to", -r) : 0;
}

int orma_export_file_write(struct orma_export_file *file, const void *data, size_t size)
{
	int r = orma_base_buf_append(&file->waiting, data, size);
	if (r < 0)
		return fail(file, "write to", -r);
	file->size += size;
	return file->waiting.size >= WAITING_BYTES ? write_waiting(file) : 0;
}

/* False when another process writes the same file, and has put its own in the place. */
static bool is_in_place(const struct orma_export_file *file)
{
	struct stat own, found;
	return file->fd < 0 || (fstat(file->fd, &own) == 0 && lstat(file->path, &found) == 0 &&
				own.st_dev == found.st_dev && own.st_ino == found.st_ino);
}

int orma_export_file_finish(struct orma_export_file *file)
{
	char path[PATH_MAX];
	int r = file->fd >= 0 ? write_waiting(file) : 0;
	if (file->is_output)
		return r;
	/* Some file systems tell only now that the disk is full. */
	if (r == 0 && file->fd >= 0 && fsync(file->fd) < 0 && errno != EINVAL && errno != EROFS)
		r = fail(file, "write to", errno);
	if (r)
		return r;
	if (!is_in_place(file))
		return orma_tool_fail("%s is written by another process, too", file->path);
	snprintf(path, sizeof(path), "%.*s", (int)(strlen(file->path) - strlen(suffix)),
		 file->path);
	if (rename(file->path, path) < 0)
		return fail(file, "rename", errno);
	set_unfinished("");
	file->path[0] = '\0';
	return 0;
}

void orma_export_file_done(struct orma_export_file *file)
{
	if (file->path[0]) {
		if (is_in_place(file))
			(void)unlink(file->path);
		set_unfinished("");
	}
	file->fd = orma_base_fd_close(file->fd);
	orma_base_buf_done(&file->waiting);
	file->path[0] = '\0';
}

static size_t utf8_size(struct orma_str text, size_t at)
{
	return text.data[at] > 0
		       ? 1
		       : orma_base_utf8_size((struct orma_str){text.data + at, text.size - at});
}

int orma_export_utf8(struct orma_str *text, struct orma_buf *buf)
{
	size_t size, at = 0;
	int r = 0;
	while (at < text->size && (size = utf8_size(*text, at)) > 0)
		at += size;
	if (at == text->size)
		return 0;
	buf->size = 0;
	for (at = 0; r == 0 && at<text->size; at += size> 0 ? size : 1) {
		size = utf8_size(*text, at);
		r = size > 0 ? orma_base_buf_append(buf, text->data + at, size)
			     : orma_base_buf_append_str(buf, "\xef\xbf\xbd");
	}
	*text = (struct orma_str){(const char *)buf->data, buf->size};
	return r;
}

int orma_export_folder(const char *path)
{
	struct stat info;
	if (mkdir(path, 0777) == 0)
		return 0;
	int error = errno;
	if (error == EEXIST && stat(path, &info) == 0)
		error = S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
	return error ? orma_tool_fail("cannot create the folder %s: %s", path, strerror(error)) : 0;
}
