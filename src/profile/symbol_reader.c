/* SPDX-License-Identifier: Apache-2.0
 * symbol_reader.c - a thread that has symbols of files of other processes read.
 *
 * Such a file may lie on a file system that its user serves, who may let each read() wait for ever. The profiler has other
 * clients meanwhile, so a thread reads (unwind/load_queue.c), and the caller waits for it with a limit. A job has its own
 * descriptor and its own copy of everything else, because it may last longer than the file's owner.
 *
 * The thread opens the file, and a child without rights reads it (unwind/table_builder.h), because symbols are as hostile as
 * unwind information. A child that dies, hangs or lies costs the names of the file that it had.
 *
 * A stripped file names only the functions that it exports. The names of all are in its debugging information, if that is
 * installed: /usr/lib/debug is root's, so it is searched here, by build id alone. Other places and lines of source code are for
 * `orma symbolize`, which has more time.
 */
#include "profile/symbol_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"
#include "profile/symbol_names.h"
#include "symbols/debug_file.h"
#include "unwind/load_queue.h"
#include "unwind/mapped_file.h"
#include "unwind/table_builder.h"

/* The deadline may be the end of time. */
#define WAIT_NS_MAX (3600 * ORMA_NS_PER_SEC)

struct orma_symbol_reader {
	struct orma_load_queue *queue; /* owns the builder, which is its thread's */
};

struct job {
	struct orma_load_job base; /* first */
	int fd, debug_fd;          /* the job's own, or -1 */
	struct orma_build_id id;   /* size 0 = no debugging information is wanted */
	struct orma_file_identity identity;
	int result;
	struct orma_buf question, answer;
	size_t path_size;
	char path[];
};

/* --- on the thread ---------------------------------------------------------------------------- */

static void open_file(struct orma_load_job *base)
{
	struct job *job = ORMA_CONTAINER_OF(base, struct job, base);

	if (job->fd < 0)
		job->fd = orma_mapped_file_reopen(&job->identity,
						  (struct orma_str){job->path, job->path_size});
	if (job->id.size > 0) {
		const struct orma_debug_folders none = {NULL, 0};
		struct orma_debug_file file;

		if (orma_debug_file_open_by_id(&job->id, &none, &file) == 0)
			job->debug_fd = file.fd;
	}
}

static int ask(struct orma_table_builder *builder, int fd, struct job *job)
{
	struct orma_elf_file elf;
	int r = orma_table_builder_open(builder, fd, &elf);

	return r < 0 ? r
		     : orma_table_builder_ask(builder, job->question.data, job->question.size,
					      &job->answer);
}

static void run(void *ctx, struct orma_load_job *base)
{
	struct job *job = ORMA_CONTAINER_OF(base, struct job, base);
	struct orma_table_builder *builder = ctx;

	job->result = job->debug_fd < 0 ? -ENOENT : ask(builder, job->debug_fd, job);
	if (job->result == 0 || job->result == -ECANCELED)
		return;
	job->answer.size = 0;
	job->result = job->fd < 0 ? job->fd : ask(builder, job->fd, job);
}

static void free_job(struct orma_load_job *base)
{
	struct job *job = ORMA_CONTAINER_OF(base, struct job, base);

	orma_base_buf_done(&job->question);
	orma_base_buf_done(&job->answer);
	orma_base_fd_close(job->fd);
	orma_base_fd_close(job->debug_fd);
	orma_base_free(job);
}

static void rest(void *ctx)
{
	orma_table_builder_rest(ctx);
}

static void stop(void *ctx)
{
	orma_table_builder_stop(ctx);
}

static void end(void *ctx)
{
	orma_table_builder_free(ctx);
}

static const struct orma_load_queue_ops ops = {
	.open = open_file,
	.run = run,
	.free = free_job,
	.rest = rest,
	.stop = stop,
	.end = end,
};

/* --- interface -------------------------------------------------------------------------------- */

int orma_symbol_reader_new(const struct orma_table_builder_options *options,
			   struct orma_symbol_reader **ret)
{
	const struct orma_table_builder_options of_builder = {
		.timeout_ms = options ? options->timeout_ms : 0,
		.child = options && options->child ? options->child : orma_symbol_names_run,
	};
	struct orma_symbol_reader *reader = orma_base_zalloc(sizeof(*reader));
	struct orma_table_builder *builder = NULL;
	int r = reader ? orma_table_builder_new(&of_builder, &builder) : -ENOMEM;

	if (r == 0)
		r = orma_load_queue_new(&ops, builder, &reader->queue);
	if (r < 0) {
		orma_table_builder_free(builder);
		orma_base_free(reader);
		return r;
	}
	*ret = reader;
	return 0;
}

void orma_symbol_reader_free(struct orma_symbol_reader *reader)
{
	if (!reader)
		return;
	orma_load_queue_free(reader->queue);
	orma_base_free(reader);
}

static struct job *new_job(const struct orma_unwind_file *file, struct orma_str path,
			   const uint64_t *addresses, size_t count)
{
	struct job *job = orma_base_zalloc(sizeof(*job) + path.size);

	if (!job)
		return NULL;
	job->debug_fd = -1;
	if (!file->elf.has_symtab) {
		job->id.size = file->elf.build_id_size;
		memcpy(job->id.bytes, file->elf.build_id, file->elf.build_id_size);
	}
	job->fd = file->elf.fd;
	if (job->fd >= 0)
		job->fd = fcntl(job->fd, F_DUPFD_CLOEXEC, 3);
	job->identity = orma_unwind_file_identity(file);
	job->base.place = job->identity.device;
	job->path_size = path.size;
	if (path.size > 0)
		memcpy(job->path, path.data, path.size);
	if (orma_base_buf_append(&job->question, addresses, count * sizeof(*addresses)) == 0)
		return job;
	free_job(&job->base);
	return NULL;
}

int orma_symbol_reader_read(struct orma_symbol_reader *reader,
			    const struct orma_symbol_request *request, uint64_t deadline_ns,
			    struct orma_buf *ret)
{
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	const struct orma_unwind_file *file = request->file;

	/* It is the kernel's, in memory. */
	if (file->elf.image)
		return orma_symbol_names_answer(&file->elf, request->addresses,
						request->count * sizeof(*request->addresses), ret);
	struct job *job = now_ns < deadline_ns
				  ? new_job(file, request->path, request->addresses, request->count)
				  : NULL;
	if (!job)
		return now_ns < deadline_ns ? -ENOMEM : -ETIMEDOUT;
	int r = orma_load_queue_add(reader->queue, &job->base);
	if (r < 0) {
		free_job(&job->base);
		return r;
	}
	if (!orma_load_queue_wait(reader->queue, &job->base,
				  ORMA_MIN(deadline_ns - now_ns, WAIT_NS_MAX)))
		r = -ETIMEDOUT;
	else
		r = job->result;
	if (r == 0) {
		*ret = job->answer;
		job->answer = (struct orma_buf){0};
	}
	orma_load_queue_unref(reader->queue, &job->base);
	return r;
}
