/* SPDX-License-Identifier: Apache-2.0
 * ftrace_cpu_reader.c - reads one CPU's ring buffer.
 *
 *	trace_pipe_raw --read()--> pages[0 .. 32) --page_parse.c--> each sink takes records
 *
 * Each read() takes one page. A page that the kernel has filled is taken whole; of the one that it is writing, read()
 * gives what is complete so far. Pages are read in batches and only then parsed, so that neither the kernel's code nor
 * the parser's is evicted by the other for each page.
 *
 * Caught up: of two pages in a row that are less than half full, the second is what the kernel was writing. One such page
 * proves nothing: the kernel leaves the rest of a page empty when the next event does not fit, but that event then fills
 * half of the next page. The first page of a call may be the rest of one that an earlier call had begun, so it does not
 * count. Reading on until there is nothing may never end, because reading causes events itself; only what a flush or a
 * stop waits for is read so, up to a limit. (The kernel's files that tell how full a buffer is cost more than the read that
 * finds nothing.)
 *
 * Invariant: no bundle is open between two calls of drain().
 *
 * Rejected, after measuring Linux 6.12 in an emulated machine, per event of sched and with nothing but the transport:
 * read() 258 ns; splice() to a pipe and read() from that 313 ns. The ring mapped by TRACE_MMAP: 993 ns with parsing, where
 * read() has 462, because the ioctl that takes a page over walks through its events one by one, while read() swaps the
 * page; and a mapped buffer cannot be resized.
 */
#include "probes/ftrace/ftrace_cpu_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/fd.h"
#include "base/macros.h"
#include "probes/ftrace/page_parse.h"
#include "probes/ftrace/sink_state.h"
#include "probes/probe_files.h"

#define BATCH_PAGES      32
#define HEADER_BYTES_MAX 65536

struct orma_ftrace_cpu_reader {
	uint32_t cpu;
	int fd;
	bool was_short; /* the last page was less than half full */
};

/* --- the shared part --------------------------------------------------------------------- */

/* The layout of kernels whose header_page cannot be read. */
static struct orma_ftrace_page_layout usual_layout(void)
{
	struct utsname system;
	bool is_64_bit = sizeof(long) == 8 ||
			 (uname(&system) == 0 &&
			  (strstr(system.machine, "64") || strstr(system.machine, "armv8")));
	uint16_t commit_bytes = is_64_bit ? 8 : 4;

	return (struct orma_ftrace_page_layout){
		.page_bytes = (uint32_t)sysconf(_SC_PAGESIZE),
		.commit_bytes = commit_bytes,
		.commit_offset = 8,
		.data_offset = (uint16_t)(8 + commit_bytes),
	};
}

static int read_layout(const char *tracefs_path, struct orma_ftrace_page_layout *ret)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf path = {0}, text = {0};

	int r = orma_base_buf_printf(&path, "%s/events/header_page", tracefs_path);
	const char *name = r == 0 ? orma_base_buf_cstr(&path) : NULL;
	if (!name)
		return -ENOMEM;
	r = orma_base_file_read(AT_FDCWD, name, HEADER_BYTES_MAX, &text);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		*ret = usual_layout();
		return 0;
	}
	return orma_ftrace_page_layout_parse((struct orma_str){(const char *)text.data, text.size},
					     ret);
}

int orma_ftrace_drain_init(struct orma_ftrace_drain *drain, const char *tracefs_path)
{
	*drain = (struct orma_ftrace_drain){0};
	int r = read_layout(tracefs_path, &drain->layout);
	if (r < 0)
		return r;
	drain->pages = orma_base_alloc_array(BATCH_PAGES, drain->layout.page_bytes);
	return drain->pages ? 0 : -ENOMEM;
}

void orma_ftrace_drain_done(struct orma_ftrace_drain *drain)
{
	orma_base_free(drain->pages);
	*drain = (struct orma_ftrace_drain){0};
}

/* --- parsing -------------------------------------------------------------------------------- */

static void parse_page(struct orma_ftrace_cpu_reader *reader, const struct orma_ftrace_drain *drain,
		       const uint8_t *data)
{
	struct orma_ftrace_page page;

	orma_ftrace_page_begin(&drain->layout, data, &page);
	for (uint32_t i = 0; i < drain->sink_count; i++) {
		struct orma_ftrace_page rest = page;

		orma_sink_page(drain->sinks[i], reader->cpu, &drain->clock, &rest);
		if (rest.status != ORMA_FTRACE_STATUS(OK))
			orma_sink_error(drain->sinks[i], rest.status, page.begin_ns, data,
					drain->layout.page_bytes);
	}
}

static void parse_batch(struct orma_ftrace_cpu_reader *reader,
			const struct orma_ftrace_drain *drain, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		parse_page(reader, drain, drain->pages + (size_t)i * drain->layout.page_bytes);
	for (uint32_t i = 0; i < drain->sink_count; i++)
		orma_sink_end(drain->sinks[i]);
}

/* --- reading -------------------------------------------------------------------------------- */

/* No page to spare, or the buffer is being resized: the next read may succeed. */
static bool is_temporary(int error)
{
	return error == -ENOMEM || error == -EBUSY;
}

/* Returns true when it has read a whole page. Otherwise *ret_error is 0 (nothing to read), or -errno. */
static bool read_page(struct orma_ftrace_cpu_reader *reader, const struct orma_ftrace_drain *drain,
		      uint8_t *page, int *ret_error)
{
	int status = 0;
	ssize_t size;

	do {
		size = read(reader->fd, page, drain->layout.page_bytes);
	} while (size < 0 && errno == EINTR);
	if (size == (ssize_t)drain->layout.page_bytes)
		return true;
	*ret_error = size < 0 && errno != EAGAIN ? -errno : 0;
	/* A CPU that is offline has no buffer. */
	if (*ret_error < 0 && !is_temporary(*ret_error) && *ret_error != -ENODEV)
		status = ORMA_FTRACE_STATUS(UNEXPECTED_READ_ERROR);
	else if (size > 0)
		status = ORMA_FTRACE_STATUS(PARTIAL_PAGE_READ);
	for (uint32_t i = 0; status != 0 && i < drain->sink_count; i++)
		orma_sink_count_error(drain->sinks[i], status);
	return false;
}

/* Reads up to `max` pages; sets drained->is_done when there is no more. */
static uint32_t read_batch(struct orma_ftrace_cpu_reader *reader,
			   const struct orma_ftrace_drain *drain, uint32_t max, bool must_empty,
			   struct orma_ftrace_drained *drained)
{
	const struct orma_ftrace_page_layout *layout = &drain->layout;
	uint32_t count = 0;

	while (count < max && !drained->is_done) {
		uint8_t *page = drain->pages + (size_t)count * layout->page_bytes;
		if (!read_page(reader, drain, page, &drained->error)) {
			drained->is_done = true;
			break;
		}
		bool is_first = drained->pages + count == 0;
		bool is_short = !is_first &&
				orma_ftrace_page_used_bytes(layout, page) < layout->page_bytes / 2;
		count++;
		drained->is_done = !must_empty && is_short && reader->was_short;
		reader->was_short = is_short;
	}
	return count;
}

struct orma_ftrace_drained orma_ftrace_cpu_reader_drain(struct orma_ftrace_cpu_reader *reader,
							struct orma_ftrace_drain *drain,
							uint32_t limit, bool must_empty)
{
	struct orma_ftrace_drained drained = {0};

	while (!drained.is_done && drained.pages < limit) {
		uint32_t max = ORMA_MIN(limit - drained.pages, (uint32_t)BATCH_PAGES);
		uint32_t count = read_batch(reader, drain, max, must_empty, &drained);
		if (count > 0)
			parse_batch(reader, drain, count);
		drained.pages += count;
	}
	if (is_temporary(drained.error)) {
		drained.error = 0;
		drained.is_done = !must_empty;
	}
	return drained;
}

int orma_ftrace_cpu_reader_new(const char *tracefs_path, uint32_t cpu,
			       struct orma_ftrace_cpu_reader **ret)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf path = {0};
	struct orma_ftrace_cpu_reader *reader;

	int r = orma_base_buf_printf(&path, "%s/per_cpu/cpu%u/trace_pipe_raw", tracefs_path, cpu);
	const char *name = r == 0 ? orma_base_buf_cstr(&path) : NULL;
	if (!name)
		return -ENOMEM;
	int fd = orma_base_fd_avoid_standard(open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
	if (fd < 0)
		return -errno;
	reader = orma_base_zalloc(sizeof(*reader));
	if (!reader) {
		orma_base_fd_close(fd);
		return -ENOMEM;
	}
	reader->cpu = cpu;
	reader->fd = fd;
	*ret = reader;
	return 0;
}

void orma_ftrace_cpu_reader_free(struct orma_ftrace_cpu_reader *reader)
{
	if (!reader)
		return;
	orma_base_fd_close(reader->fd);
	orma_base_free(reader);
}

uint32_t orma_ftrace_cpu_reader_cpu(const struct orma_ftrace_cpu_reader *reader)
{
	return reader->cpu;
}

int orma_ftrace_cpu_reader_fd(const struct orma_ftrace_cpu_reader *reader)
{
	return reader->fd;
}

uint32_t orma_ftrace_cpu_reader_buffer_pages(const struct orma_ftrace_cpu_reader *reader,
					     const struct orma_ftrace_drain *drain,
					     const struct orma_tracefs *fs)
{
	const struct orma_ftrace_page_layout *layout = &drain->layout;
	uint64_t bytes = (orma_tracefs_buffer_kb(fs, reader->cpu) + 1) * 1024;
	uint32_t data_bytes = layout->page_bytes - layout->data_offset;

	return (uint32_t)ORMA_MIN(bytes / ORMA_MAX(data_bytes, 1u) + 2, (uint64_t)UINT32_MAX);
}
