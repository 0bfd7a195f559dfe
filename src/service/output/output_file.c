/* SPDX-License-Identifier: Apache-2.0
 * output_file.c - the file of a session: open it, write to it, close it.
 *
 * A file that is not ready refuses a write with -EAGAIN. The refused data, and all data after them,
 * are kept in `refused` until an event says that the file is ready. Invariant: nothing is written
 * while `refused` has data.
 */
#include "service/output/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/error_message.h"
#include "base/fd.h"
#include "base/macros.h"
#include "service/output/output_compress.h"
#include "service/output/output_hold.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_state.h"
#include "service/timer.h"

/* Says what an error means for a file. */
static const char *describe(int error)
{
	switch (error) {
	case EPIPE:
		return "the reader of the pipe is gone";
	case EBADF:
	case EINVAL:
		return "the descriptor cannot be written to";
	case ENOTSUP:
		return "the descriptor is neither that of a file or device, nor of a pipe or a "
		       "connected stream socket";
	case ETIMEDOUT:
		return "the file takes no data";
	case EBUSY:
		return "it is being replaced";
	case EEXIST:
		return "a file of that name exists already";
	case ESTALE:
		return "it was completed meanwhile";
	case ESPIPE:
		return "what was written cannot be read again";
	case ENOENT:
		return "its folder does not exist";
	case ELOOP:
		return "a symbolic link is in its path";
	case EPERM:
		return "permission denied";
	default:
		return orma_base_error_words(error);
	}
}

void orma_service_output_explain(char *text, size_t size, const char *what, int error)
{
	snprintf(text, size, "%s: %s", what, describe(error));
}

/* Creates the file in the calling thread; output_create.c is for embedders that have one of
 * their own for it. */
static int create_file(const char *path, struct orma_error *reterr)
{
	int fd = orma_base_fd_avoid_standard(
		open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
	char text[128];

	if (fd < 0) {
		int error = errno;

		orma_service_output_explain(text, sizeof(text),
					    "output_path: the file cannot be created", error);
		return orma_base_error_set(reterr, -error, "%s", text);
	}
	/* Every user may read traces. A failure does not matter: some file systems have no
	 * modes. */
	(void)fchmod(fd, 0644);
	return fd;
}

/* Report an existing file now, and not after hours of recording. */
static int check_series(const struct orma_service_session *session, struct orma_error *reterr)
{
	const struct orma_service_output *output = &session->output;
	char name[ORMA_SERVICE_PATH_BYTES_MAX + 16];
	struct stat info;

	for (uint32_t i = 1; i < output->max_files; i++) {
		snprintf(name, sizeof(name), "%s.%u", output->path, i);
		if (fstatat(AT_FDCWD, name, &info, AT_SYMLINK_NOFOLLOW) == 0)
			return orma_base_error_set(reterr, -EEXIST,
						   "max_file_count: a file called output_path.%u "
						   "exists already",
						   i);
	}
	return 0;
}

int orma_service_output_open(struct orma_service_session *session, int file_fd,
			     struct orma_error *reterr)
{
	struct orma_service *service = session->service;
	const char *path = session->output.path;
	int fd, r;

	if (!session->config->write_into_file)
		return 0;
	if (path) {
		r = check_series(session, reterr);
		if (r < 0)
			return r;
		fd = create_file(path, reterr);
		if (fd < 0)
			return fd;
	} else {
		fd = orma_base_fd_duplicate(file_fd);
		if (fd < 0)
			return orma_base_error_set(reterr, fd,
						   "write_into_file: no file descriptor is left");
	}
	r = service->files.ops.open(service->files.ctx, fd, session->id, &session->output.file);
	if (r < 0 && path)
		(void)unlink(path);
	if (r < 0)
		return orma_base_error_set(reterr, r, "write_into_file: %s", describe(-r));
	return 0;
}

bool orma_service_output_is_writable(int fd)
{
	int flags = fcntl(fd, F_GETFL), mode = flags & O_ACCMODE;

	/* Not "!= O_RDONLY": the mode of an O_PATH descriptor depends on the C library. */
	return flags >= 0 && (mode == O_WRONLY || mode == O_RDWR);
}

int orma_service_output_open_copy(struct orma_service_session *session, int *file_fd,
				  struct orma_service_session *source)
{
	struct orma_service *service = session->service;
	struct orma_service_output *output = &session->output;
	int r = source->output.file ? 0 : -ESTALE;

	if (r == 0) {
		r = service->files.ops.open(service->files.ctx, *file_fd, session->id,
					    &output->file);
		*file_fd = -1;
	}
	if (r == 0)
		r = service->files.ops.copy(service->files.ctx, output->file, source->output.file,
					    source->output.written_bytes);
	/* Packets that were read from the source but are not in its file yet. */
	if (r == 0 && source->output.carried.size)
		r = orma_base_buf_append(&output->refused,
					 source->output.carried.data + source->output.carried_at,
					 source->output.carried.size - source->output.carried_at);
	if (r == 0)
		r = orma_service_compression_copy(source, &output->refused);
	if (r < 0)
		orma_service_output_explain(session->error, sizeof(session->error),
					    "the session's file", -r);
	return r;
}

void orma_service_output_close(struct orma_service_session *session, bool sync)
{
	struct orma_service *service = session->service;
	struct orma_service_output *output = &session->output;
	void *file = ORMA_TAKE(output->file);

	orma_service_timer_disarm(&session->output.write_timer);
	orma_service_timer_disarm(&session->output.step_timer);
	orma_base_buf_done(&output->refused);
	orma_service_rotation_done(session);
	output->is_draining = false;
	output->is_waiting = false;
	output->is_closing = service->files.are_async;
	service->files.ops.close(service->files.ctx, file, sync);
}

static int keep_refused(struct orma_service_output *output, const struct iovec *iov, int iov_count)
{
	for (int i = 0; i < iov_count; i++) {
		int r = orma_base_buf_append(&output->refused, iov[i].iov_base, iov[i].iov_len);

		if (r < 0)
			return r;
	}
	return 0;
}

int orma_service_output_put(struct orma_service_session *session, const struct iovec *iov,
			    int iov_count)
{
	struct orma_service *service = session->service;
	struct orma_service_output *output = &session->output;
	int r = -EAGAIN;

	if (iov_count == 0)
		return 0;
	ORMA_ASSERT(output->file);
	ORMA_ASSERT(output->is_waiting || output->refused.size == 0);
	for (int i = 0; i < iov_count; i++) {
		output->written_bytes += iov[i].iov_len;
		output->pass_bytes += iov[i].iov_len;
	}
	if (!output->is_waiting)
		r = service->files.ops.write(service->files.ctx, output->file, iov, iov_count);
	if (r != -EAGAIN)
		return r;
	output->is_waiting = true;
	return keep_refused(output, iov, iov_count);
}

int orma_service_output_put_refused(struct orma_service_session *session)
{
	struct orma_service *service = session->service;
	struct orma_service_output *output = &session->output;
	struct iovec iov = {output->refused.data, output->refused.size};
	int r;

	if (output->refused.size == 0)
		return 0;
	r = service->files.ops.write(service->files.ctx, output->file, &iov, 1);
	if (r == -EAGAIN) {
		output->is_waiting = true;
		return 0;
	}
	orma_base_buf_done(&output->refused);
	return r;
}

void orma_service_output_done(struct orma_service_session *session)
{
	if (session->output.file)
		orma_service_output_close(session, false);
}
