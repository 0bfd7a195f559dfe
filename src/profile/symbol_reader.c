/* SPDX-License-Identifier: Apache-2.0
 * symbol_reader.c - a thread that reads symbols of files of other processes.
 *
 * Such a file may lie on a file system that its user serves, who may let each read() wait for ever. The profiler has other
 * clients meanwhile, so a thread reads (unwind/load_queue.c), and the caller waits for it with a limit. A job has its own
 * descriptor and its own copy of everything else, because it may last longer than the file's owner.
 *
 * Rejected: the child without rights that builds unwind tables (it knows no names, and a second kind of message would be
 * as large as this file).
 */
#include "profile/symbol_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"
#include "unwind/load_queue.h"
#include "unwind/mapped_file.h"

/* The deadline may be the end of time. */
#define WAIT_NS_MAX (3600 * ORMA_NS_PER_SEC)

struct orma_symbol_reader {
	struct orma_load_queue *queue;
	orma_symbol_read_fn *fn;
};

struct job {
	struct orma_load_job base; /* first */
	orma_symbol_read_fn *fn;
	struct orma_elf_file elf; /* fd: the job's own, or -1 */
	struct orma_file_identity identity;
	int result;
	struct orma_symbol_table *table;
	size_t path_size;
	char path[];
};

/* --- on the thread ---------------------------------------------------------------------------- */

static void run(void *ctx, struct orma_load_job *base)
{
	struct job *job = ORMA_CONTAINER_OF(base, struct job, base);

	(void)ctx;
	if (job->elf.fd < 0) {
		job->elf.fd = orma_mapped_file_reopen(&job->identity,
						      (struct orma_str){job->path, job->path_size});
		job->elf.size = job->identity.size;
	}
	job->result = job->elf.fd < 0 ? job->elf.fd : job->fn(&job->elf, &job->table);
}

static void free_job(struct orma_load_job *base)
{
	struct job *job = ORMA_CONTAINER_OF(base, struct job, base);

	orma_symbol_table_free(job->table);
	orma_base_fd_close(job->elf.fd);
	orma_base_free(job);
}

static void nothing(void *ctx)
{
	(void)ctx;
}

static const struct orma_load_queue_ops ops = {
	.run = run,
	.free = free_job,
	.rest = nothing,
	.end = nothing,
};

/* --- interface -------------------------------------------------------------------------------- */

int orma_symbol_reader_new(orma_symbol_read_fn *fn, struct orma_symbol_reader **ret)
{
	struct orma_symbol_reader *reader = orma_base_zalloc(sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	reader->fn = fn ? fn : orma_symbol_table_new;
	int r = orma_load_queue_new(&ops, NULL, &reader->queue);
	if (r < 0) {
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

static struct job *new_job(const struct orma_symbol_reader *reader,
			   const struct orma_unwind_file *file, struct orma_str path)
{
	struct job *job = orma_base_zalloc(sizeof(*job) + path.size);

	if (!job)
		return NULL;
	job->fn = reader->fn;
	job->elf = file->elf;
	if (job->elf.fd >= 0)
		job->elf.fd = fcntl(job->elf.fd, F_DUPFD_CLOEXEC, 3);
	job->identity = orma_unwind_file_identity(file);
	job->path_size = path.size;
	if (path.size > 0)
		memcpy(job->path, path.data, path.size);
	return job;
}

int orma_symbol_reader_read(struct orma_symbol_reader *reader, const struct orma_unwind_file *file,
			    struct orma_str path, uint64_t deadline_ns,
			    struct orma_symbol_table **ret)
{
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);

	/* It is the kernel's, in memory. */
	if (file->elf.image)
		return reader->fn(&file->elf, ret);
	struct job *job = now_ns < deadline_ns ? new_job(reader, file, path) : NULL;
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
	if (r == 0)
		*ret = ORMA_TAKE(job->table);
	orma_load_queue_unref(reader->queue, &job->base);
	return r;
}
