/* SPDX-License-Identifier: Apache-2.0
 * producer_memory.c - the memory that a producer shares with the service: its sizes, which side
 * makes it and when, and which of its pages may be read.
 *
 * A producer has one memory, which is never resized. The producer brings it when it connects, or
 * the service makes it at the producer's first instance. A producer that cannot receive descriptors
 * (emulated) gets none: it needs only the page size, and its chunks arrive inside commits. The
 * mapping belongs to the port. The descriptor stays open as long as the port, because a transport
 * may send it later, and because pages are probed through it. Rejected: one memory per session
 * (upstream's producers expect one), making it at connect (a connected, idle producer would cost
 * 256 KiB of address space and a descriptor).
 *
 * SIZES. All producers of one user share at most ORMA_SERVICE_SHM_BYTES_PER_USER. A producer that
 * asks for more than what is left gets the default size, which every producer gets: it works, and
 * loses data sooner. Memory that a producer brings is refused in that case, unless it is no larger
 * than the default.
 *
 * Upstream's libraries take a lock about three times per page, and threads that write at once spend
 * more time on that lock than on writing. Fewer pages per byte cure it. So a producer with such a
 * library gets pages of 16 KiB, and as many of them as it would otherwise get of the default size,
 * under three conditions: neither it nor the config names a page size, it asks for little memory,
 * and its user's share is large enough. Rejected: taking the chunks later, so that the memory fills
 * and threads sleep (half the effect, and not reliable), the same memory in fewer pages (each
 * thread holds one), larger pages for all producers (orma's library divides pages as it needs to).
 *
 * HOLES. Memory that was never written has no pages behind it. A read through the mapping would
 * allocate them, to the service's account; pread() does not. So each page's word is read with
 * pread() until it is not 0. Only then is the page marked as used and read through the mapping.
 * Scraping still copies from it with pread(), because the end of a chunk may be a hole as well.
 * When the file has no more blocks than there are marked pages, the other pages are holes and need
 * no probe. Rejected: lseek(SEEK_DATA), which waits for the inode's lock; a producer can hold that
 * lock for any time by a write() to the file from memory whose page fault is never answered. Also
 * rejected: mincore(), which reports swapped pages as holes, and which the owner of the file can
 * blind by fchmod().
 */
#include "service/producer/producer_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/fd.h"
#include "base/list.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "base/str.h"
#include "schema/gen/trace_config.pb.h"
#include "service/producer/producer.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "shm/view.h"

/* Where the system's pages are larger, checks based on this never hold; that costs only time. */
enum { SYSTEM_PAGE_BYTES = 4096, STAT_BLOCK_BYTES = 512 };

/* Clamps both sizes, and falls back to both defaults when the pair cannot be used. */
static void correct_sizes(uint64_t *shm_bytes, uint64_t *page_bytes)
{
	uint64_t shm = *shm_bytes ? *shm_bytes : ORMA_SERVICE_SHM_BYTES_DEFAULT;
	uint64_t page = *page_bytes ? *page_bytes : ORMA_SERVICE_PAGE_BYTES_DEFAULT;
	bool is_valid;

	shm = ORMA_MIN(shm, (uint64_t)ORMA_SERVICE_SHM_BYTES_MAX);
	page = ORMA_MIN(page, (uint64_t)ORMA_SERVICE_PAGE_BYTES_MAX);
	is_valid = page >= ORMA_SERVICE_PAGE_BYTES_MIN && (page & (page - 1)) == 0 && shm >= page &&
		   shm % page == 0;
	*shm_bytes = is_valid ? shm : ORMA_SERVICE_SHM_BYTES_DEFAULT;
	*page_bytes = is_valid ? page : ORMA_SERVICE_PAGE_BYTES_DEFAULT;
}

/* True when this size, added to what its user's other producers share, is within the limit. */
static bool is_within_limit(const struct orma_producer_port *port, uint64_t shm_bytes)
{
	const struct orma_producer_port *other;
	uint64_t shared_bytes = 0;

	ORMA_LIST_FOR_EACH (other, &port->service->producers.list, link)
		if (other->uid == port->uid)
			shared_bytes += other->memory.shared.size_bytes;
	return shm_bytes <= ORMA_SERVICE_SHM_BYTES_DEFAULT ||
	       shared_bytes + shm_bytes <= ORMA_SERVICE_SHM_BYTES_PER_USER;
}

/* Takes the descriptor over when it succeeds. */
static int map_memory(struct orma_producer_port *port, int fd, size_t size, uint32_t page_bytes)
{
	uint8_t *used_pages = orma_base_zalloc(size / page_bytes / 8 + 1);
	void *start;
	int r;

	if (!used_pages)
		return -ENOMEM;
	start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (start == MAP_FAILED) {
		r = -errno;
		orma_base_free(used_pages);
		return r;
	}
	r = orma_shm_view_init(&port->memory.view, start, size, page_bytes);
	if (r < 0) {
		munmap(start, size);
		orma_base_free(used_pages);
		return r;
	}
	port->memory.shared.start = start;
	port->memory.shared.size_bytes = size;
	port->memory.shared.page_size_bytes = page_bytes;
	port->memory.fd = fd;
	port->memory.used_pages = used_pages;
	port->memory.is_made = true;
	return 0;
}

int orma_service_memory_map_provided(struct orma_producer_port *port, int fd)
{
	uint64_t shm, page = port->memory.page_size_hint_bytes;
	size_t size;
	int r = orma_base_memfd_check(fd, &size);

	if (r < 0)
		return r;
	shm = size;
	correct_sizes(&shm, &page);
	/* The size of existing memory cannot change, so sizes that need a correction are
	 * refused. */
	if (shm != size ||
	    (port->memory.page_size_hint_bytes && page != port->memory.page_size_hint_bytes))
		return -EINVAL;
	if (!is_within_limit(port, size))
		return -ENOSPC;
	ORMA_AUTO(orma_base_fd_closep) int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return -errno;
	r = map_memory(port, copy, size, (uint32_t)page);
	if (r == 0)
		copy = -1;
	return r;
}

/* The sizes that the config has for this producer; 0 = none. */
static void find_sizes(const struct orma_producer_port *port,
		       const struct orma_pb_trace_config *config, uint64_t *ret_shm,
		       uint64_t *ret_page)
{
	*ret_shm = *ret_page = 0;
	for (size_t i = 0; i < config->producers.count; i++) {
		const struct orma_pb_trace_config_producer_config *producer =
			config->producers.items[i];

		if (!orma_base_str_is(producer->producer_name, port->name))
			continue;
		*ret_shm = (uint64_t)producer->shm_size_kb << 10;
		*ret_page = (uint64_t)producer->page_size_kb << 10;
		break;
	}
}

/* True for upstream's library, by the version that it sends; those from before 2021 send none. */
static bool is_upstreams(const struct orma_producer_port *port)
{
	static const char begin[] = "Perfetto ";

	return strncmp(port->sdk_version, begin, sizeof(begin) - 1) == 0;
}

/* True when the producer gets as many pages, but larger ones. */
static bool wants_large_pages(const struct orma_producer_port *port, uint64_t shm_bytes)
{
	return is_upstreams(port) && !port->is_emulated &&
	       shm_bytes <= ORMA_SERVICE_SHM_BYTES_UPSTREAM &&
	       is_within_limit(port, shm_bytes / ORMA_SERVICE_PAGE_BYTES_DEFAULT *
					     ORMA_SERVICE_PAGE_BYTES_UPSTREAM);
}

/* Not a warning, because a profiled program may have hundreds of children. If the memory is too small, losses are reported. */
static void log_limit(const struct orma_producer_port *port, uint64_t shm_bytes)
{
	orma_base_log(ORMA_LOG_INFO,
		      "process %lld of user %lu gets %u KiB of shared memory instead of %llu KiB: "
		      "the producers of one user share at most %u MiB",
		      (long long)port->pid, (unsigned long)port->uid,
		      ORMA_SERVICE_SHM_BYTES_DEFAULT >> 10, (unsigned long long)shm_bytes >> 10,
		      ORMA_SERVICE_SHM_BYTES_PER_USER >> 20);
}

/* The sizes of the config, else of the producer, else the defaults. */
static void pick_sizes(const struct orma_producer_port *port,
		       const struct orma_pb_trace_config *config, uint64_t *ret_shm,
		       uint64_t *ret_page)
{
	bool is_free;

	find_sizes(port, config, ret_shm, ret_page);
	is_free = !*ret_shm && !*ret_page && !port->memory.page_size_hint_bytes;
	*ret_shm = *ret_shm ? *ret_shm : port->memory.shm_size_hint_bytes;
	*ret_page = *ret_page ? *ret_page : port->memory.page_size_hint_bytes;
	correct_sizes(ret_shm, ret_page);
	if (is_free && wants_large_pages(port, *ret_shm)) {
		*ret_shm = *ret_shm / *ret_page * ORMA_SERVICE_PAGE_BYTES_UPSTREAM;
		*ret_page = ORMA_SERVICE_PAGE_BYTES_UPSTREAM;
	} else if (!port->is_emulated && !is_within_limit(port, *ret_shm)) {
		log_limit(port, *ret_shm);
		*ret_shm = ORMA_SERVICE_SHM_BYTES_DEFAULT;
	}
}

int orma_service_memory_create(struct orma_producer_port *port,
			       const struct orma_pb_trace_config *config)
{
	uint64_t shm, page;
	int fd, r;

	if (port->memory.is_made)
		return 0;
	pick_sizes(port, config, &shm, &page);
	if (port->is_emulated) {
		port->memory.shared.page_size_bytes = (uint32_t)page;
		port->memory.is_made = true;
		return 0;
	}
	fd = orma_base_memfd_new("perfetto_shmem", (size_t)shm);
	if (fd < 0)
		return fd;
	r = map_memory(port, fd, (size_t)shm, (uint32_t)page);
	if (r < 0) {
		orma_base_fd_close(fd);
		return r;
	}
	port->memory.shared.fd = fd;
	return 0;
}

static bool is_marked(const struct orma_producer_port *port, uint32_t page_idx)
{
	ORMA_ASSERT(page_idx < port->memory.view.page_count);
	return port->memory.used_pages[page_idx / 8] >> page_idx % 8 & 1;
}

bool orma_service_memory_is_used(struct orma_producer_port *port, uint32_t page_idx)
{
	uint32_t word = 0;

	if (is_marked(port, page_idx))
		return true;
	if (pread(port->memory.fd, &word, sizeof(word),
		  (off_t)page_idx * port->memory.view.page_bytes) != (ssize_t)sizeof(word) ||
	    word == 0)
		return false;
	port->memory.used_pages[page_idx / 8] |= (uint8_t)(1u << page_idx % 8);
	port->memory.used_count++;
	return true;
}

/* True when only marked pages are allocated. False also when a page of the producer is several
 * pages of the system: then it is not known, and there are few pages to probe. */
static bool are_others_holes(const struct orma_producer_port *port)
{
	struct stat st;

	return port->memory.view.page_bytes == SYSTEM_PAGE_BYTES &&
	       fstat(port->memory.fd, &st) == 0 &&
	       (uint64_t)st.st_blocks * STAT_BLOCK_BYTES ==
		       (uint64_t)port->memory.used_count * SYSTEM_PAGE_BYTES;
}

uint32_t orma_service_memory_next_used(struct orma_producer_port *port, uint32_t page_idx,
				       int64_t *budget_bytes)
{
	bool is_known;

	if (page_idx < port->memory.view.page_count && is_marked(port, page_idx))
		return page_idx;
	is_known = are_others_holes(port);
	for (; page_idx<port->memory.view.page_count && * budget_bytes> 0; page_idx++) {
		if (is_known ? is_marked(port, page_idx)
			     : orma_service_memory_is_used(port, page_idx))
			return page_idx;
		*budget_bytes -= is_known ? 1 : ORMA_SERVICE_SCRAPE_LOOK_BYTES;
	}
	return page_idx;
}

bool orma_service_memory_copy(const struct orma_producer_port *port,
			      const struct orma_shm_chunk *chunk, uint8_t *to)
{
	off_t offset = (off_t)(chunk->payload - port->memory.view.start);

	return pread(port->memory.fd, to, chunk->payload_bytes, offset) ==
	       (ssize_t)chunk->payload_bytes;
}

void orma_service_memory_announce(struct orma_producer_port *port)
{
	if (port->memory.is_announced)
		return;
	port->memory.is_announced = true;
	if (port->callbacks.setup_tracing)
		port->callbacks.setup_tracing(port->ctx, &port->memory.shared);
}

void orma_service_memory_done(struct orma_producer_port *port)
{
	if (port->memory.shared.start)
		munmap(port->memory.shared.start, port->memory.shared.size_bytes);
	port->memory.shared.start = NULL;
	port->memory.shared.size_bytes = 0;
	port->memory.shared.fd = -1;
	port->memory.fd = orma_base_fd_close(port->memory.fd);
	orma_base_free(ORMA_TAKE(port->memory.used_pages));
	port->memory.is_made = false;
}
