/* SPDX-License-Identifier: Apache-2.0
 * memory.c - the memory that a producer shares with the service: its sizes, who makes it, when.
 *
 * One memory per producer, made lazily at its first instance, never resized. A producer that cannot
 * receive descriptors (emulated) gets none: it needs only the page size, and its chunks arrive
 * inside commits. Rejected: one memory per session (upstream's producers expect one), making it at
 * connect (a connected, idle producer would cost 256 KiB of address space and a descriptor). The
 * mapping belongs to the port; the descriptor stays open until setup_tracing and after, because a
 * transport may send it later.
 */
#include <errno.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "service/state.h"

/* Clamps, then falls back to both defaults when the pair cannot be used. */
void orma_service_memory_sizes(uint64_t *shm_bytes, uint64_t *page_bytes)
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

static int map_memory(struct orma_producer_port *port, int fd, size_t size, uint32_t page_bytes)
{
	void *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	int r;

	if (start == MAP_FAILED)
		return -errno;
	r = orma_shm_view_init(&port->view, start, size, page_bytes);
	if (r < 0) {
		munmap(start, size);
		return r;
	}
	port->memory.start = start;
	port->memory.size_bytes = size;
	port->memory.page_size_bytes = page_bytes;
	port->has_memory = true;
	return 0;
}

int orma_service_memory_map_provided(struct orma_producer_port *port, int fd)
{
	uint64_t shm, page = port->page_size_hint_bytes;
	size_t size;
	int r = orma_base_memfd_check(fd, &size);

	if (r < 0)
		return r;
	shm = size;
	orma_service_memory_sizes(&shm, &page);
	/* The memory exists with its size, so only sizes that need no correction fit it. */
	if (shm != size || (port->page_size_hint_bytes && page != port->page_size_hint_bytes))
		return -EINVAL;
	return map_memory(port, fd, size, (uint32_t)page);
}

int orma_service_memory_create(struct orma_producer_port *port,
			       const struct orma_pb_trace_config *config)
{
	uint64_t shm = 0, page = 0;
	int fd, r;

	if (port->has_memory)
		return 0;
	for (size_t i = 0; i < config->producers.count; i++) {
		const struct orma_pb_trace_config_producer_config *producer =
			config->producers.items[i];

		if (!orma_base_str_is(producer->producer_name, port->name))
			continue;
		shm = (uint64_t)producer->shm_size_kb << 10;
		page = (uint64_t)producer->page_size_kb << 10;
		break;
	}
	shm = shm ? shm : port->shm_size_hint_bytes;
	page = page ? page : port->page_size_hint_bytes;
	orma_service_memory_sizes(&shm, &page);
	if (port->is_emulated) {
		port->memory.page_size_bytes = (uint32_t)page;
		port->has_memory = true;
		return 0;
	}
	fd = orma_base_memfd_new("perfetto_shmem", shm);
	if (fd < 0)
		return fd;
	r = map_memory(port, fd, shm, (uint32_t)page);
	if (r < 0) {
		orma_base_fd_close(fd);
		return r;
	}
	port->memory.fd = fd;
	return 0;
}

void orma_service_memory_announce(struct orma_producer_port *port)
{
	if (port->is_memory_announced)
		return;
	port->is_memory_announced = true;
	if (port->callbacks.setup_tracing)
		port->callbacks.setup_tracing(port->ctx, &port->memory);
}

void orma_service_memory_done(struct orma_producer_port *port)
{
	if (port->memory.start)
		munmap(port->memory.start, port->memory.size_bytes);
	port->memory.start = NULL;
	port->memory.fd = orma_base_fd_close(port->memory.fd);
	port->has_memory = false;
}
