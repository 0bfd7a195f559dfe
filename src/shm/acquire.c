/* SPDX-License-Identifier: Apache-2.0
 * acquire.c - finds free chunks in the right size without a lock, completes them, and waits for the
 * service.
 *
 * Owns the producer's moves on the page words (abi.h). Nothing but these words says which chunks
 * are free. A search visits
 *   1. for small chunks only: pages near hints[layout] that were cut before, looking for a page that is cut into that
 *      layout and has a free chunk; then
 *   2. all pages from a rotating cursor, looking for one that is not cut. One compare-exchange cuts it
 *      and takes its first chunk; then
 *   3. all pages, looking for a free chunk of any size.
 * The service frees chunks in the order in which it was given them, so step 2 finds the next page
 * at once even when the memory is busy. Small chunks fill a page that is cut before another page is
 * cut, so slow writers leave whole pages to fast ones.
 *
 * Chunk size: a writer asks for a layout that follows its pace (trace_writer.c). Together, writers
 * should hold at most three quarters of the memory. A new chunk takes at most a quarter of what is
 * left of these three quarters, but never less than a fourteenth of a page. So the more memory
 * writers hold, the smaller new chunks are, and the memory that idle threads occupy is bounded.
 *
 * Rejected: whole pages for all writers, because 64 idle threads would occupy a default buffer, and
 * all other data would be lost; a list of free chunks beside the words, because the two could
 * disagree, and the service, which frees chunks, cannot maintain the list.
 */
#include <errno.h>
#include <sched.h>
#include <time.h>

#include "base/cancel.h"
#include "base/clock_ns.h"
#include "shm/arbiter_state.h"

#define HINT_PROBE_MAX   64u
#define NEAR_BYTES       (256u * 1024)
#define WAIT_YIELDS      64u
#define WAIT_NS_MIN      UINT64_C(20000)
#define WAIT_NS_MAX      UINT64_C(1000000)
#define LAYOUT_ANY       ORMA_SHM_LAYOUT_FREE
#define EVEN_BITS        0x05555555u
#define TAKE_ATTEMPT_MAX 64

struct orma_shm_page_header *orma_shm_arbiter_page(const struct orma_shm_arbiter *arbiter,
						   uint32_t page_idx)
{
	uint8_t *page = arbiter->view.start + (size_t)page_idx * arbiter->view.page_bytes;

	return (struct orma_shm_page_header *)(void *)page;
}

static void locate(const struct orma_shm_arbiter *arbiter, const struct orma_shm_event *chunk,
		   uint32_t *ret_page_idx, uint32_t *ret_chunk_idx)
{
	uint32_t slot = (uint32_t)(chunk - arbiter->slots);

	*ret_page_idx = slot / ORMA_SHM_CHUNKS_PER_PAGE;
	*ret_chunk_idx = slot % ORMA_SHM_CHUNKS_PER_PAGE;
}

uint8_t *orma_shm_arbiter_chunk_start(const struct orma_shm_arbiter *arbiter,
				      const struct orma_shm_event *chunk)
{
	uint32_t page_idx, chunk_idx;

	locate(arbiter, chunk, &page_idx, &chunk_idx);
	return (uint8_t *)(orma_shm_arbiter_page(arbiter, page_idx) + 1) +
	       (size_t)chunk_idx * arbiter->chunk_bytes[chunk->layout];
}

/* Has a bit set for each free chunk of a page that is cut: bit 2 * chunk_idx. */
static uint32_t free_chunks(uint32_t word)
{
	uint32_t count = orma_shm_layout_chunk_count(orma_shm_word_layout(word));

	return ~(word | word >> 1) & EVEN_BITS & ((1u << 2 * count) - 1);
}

/* Marks the record of a chunk that this thread has just made BeingWritten as owned. */
static struct orma_shm_event *own_record(struct orma_shm_arbiter *arbiter, uint32_t page_idx,
					 uint32_t chunk_idx, uint32_t layout)
{
	struct orma_shm_event *chunk =
		&arbiter->slots[page_idx * ORMA_SHM_CHUNKS_PER_PAGE + chunk_idx];

	/* Pairs with the release of the loop thread (release_event()). */
	if (atomic_exchange_explicit(&chunk->is_owned, true, memory_order_acquire)) {
		atomic_fetch_add_explicit(&arbiter->violations, 1, memory_order_relaxed);
		return NULL; /* it stays BeingWritten, because its owner still writes */
	}
	ORMA_ASSERT(chunk_idx < orma_shm_layout_chunk_count(layout));
	chunk->layout = (uint8_t)layout;
	return chunk;
}

/* Takes the first chunk of a page that is not cut. */
static struct orma_shm_event *cut_page(struct orma_shm_arbiter *arbiter, uint32_t page_idx,
				       uint32_t layout)
{
	struct orma_shm_page_header *page = orma_shm_arbiter_page(arbiter, page_idx);
	uint32_t cut = layout << ORMA_SHM_LAYOUT_SHIFT | ORMA_SHM_BEING_WRITTEN;
	uint32_t locked = (uint32_t)ORMA_SHM_LAYOUT_BEING_CUT << ORMA_SHM_LAYOUT_SHIFT;
	uint8_t *chunk = (uint8_t *)(page + 1);
	uint32_t expected = 0;

	/* The header of the first chunk is at the same place in all layouts, and is clear. Acquire
	 * pairs with the release in orma_shm_page_free_chunk(). */
	if (!atomic_compare_exchange_strong_explicit(&page->word, &expected,
						     layout == ORMA_SHM_LAYOUT_1 ? cut : locked,
						     memory_order_acquire, memory_order_relaxed))
		return NULL;
	if (layout != ORMA_SHM_LAYOUT_1) {
		for (uint32_t i = 1; i < orma_shm_layout_chunk_count(layout); i++) {
			chunk += arbiter->chunk_bytes[layout];
			orma_shm_chunk_clear((struct orma_shm_chunk_header *)(void *)chunk);
		}
		/* Release pairs with take_from_page() and the scraper. */
		atomic_store_explicit(&page->word, cut, memory_order_release);
	}
	return own_record(arbiter, page_idx, 0, layout);
}

/* Takes a free chunk of a page that is cut into `layout` (LAYOUT_ANY: into any layout). */
static struct orma_shm_event *take_from_page(struct orma_shm_arbiter *arbiter, uint32_t page_idx,
					     uint32_t layout)
{
	_Atomic uint32_t *shared = &orma_shm_arbiter_page(arbiter, page_idx)->word;
	uint32_t word = atomic_load_explicit(shared, memory_order_relaxed);

	for (int attempt = 0; attempt < TAKE_ATTEMPT_MAX; attempt++) {
		uint32_t candidates = free_chunks(word), chunk_idx;

		if (candidates == 0 ||
		    (layout != LAYOUT_ANY && orma_shm_word_layout(word) != layout))
			return NULL;
		chunk_idx = (uint32_t)__builtin_ctz(candidates) / 2;
		/* Acquire pairs with orma_shm_page_free_chunk() and cut_page(). */
		if (atomic_compare_exchange_strong_explicit(
			    shared, &word, word | (uint32_t)ORMA_SHM_BEING_WRITTEN << 2 * chunk_idx,
			    memory_order_acquire, memory_order_relaxed))
			return own_record(arbiter, page_idx, chunk_idx, orma_shm_word_layout(word));
	}
	return NULL;
}

static uint32_t page_after(const struct orma_shm_arbiter *arbiter, uint32_t page_idx)
{
	return page_idx + 1 < arbiter->view.page_count ? page_idx + 1 : 0;
}

/*
 * The page where the next search begins, after `page_idx` was cut: the next page, or, every
 * NEAR_BYTES, the first page if it and the page in the middle are free. Memory that was used
 * recently is still in the caches of both sides, so only as much of a large memory is used as the
 * service's pace requires.
 */
static uint32_t page_after_cut(const struct orma_shm_arbiter *arbiter, uint32_t page_idx)
{
	uint32_t next = page_after(arbiter, page_idx);

	if (next % (NEAR_BYTES / (uint32_t)arbiter->view.page_bytes) != 0 ||
	    atomic_load_explicit(&orma_shm_arbiter_page(arbiter, next / 2)->word,
				 memory_order_relaxed) != 0 ||
	    atomic_load_explicit(&orma_shm_arbiter_page(arbiter, 0)->word, memory_order_relaxed) !=
		    0)
		return next;
	return 0;
}

/* Steps 1 to 3 of the preface, over at most `pages` pages each. */
static struct orma_shm_event *search(struct orma_shm_arbiter *arbiter, uint32_t layout,
				     uint32_t pages)
{
	uint32_t cursor = atomic_load_explicit(&arbiter->cursor, memory_order_relaxed);
	uint32_t page_idx = atomic_load_explicit(&arbiter->hints[layout], memory_order_relaxed);
	uint32_t used = atomic_load_explicit(&arbiter->used_pages, memory_order_relaxed);
	uint32_t near = ORMA_MIN(used, HINT_PROBE_MAX);
	struct orma_shm_event *chunk = NULL;
	uint32_t i, spare_pages = 0;

	for (i = 0; layout != ORMA_SHM_LAYOUT_1 && i < ORMA_MIN(pages, near); i++) {
		chunk = take_from_page(arbiter, page_idx, layout);
		if (chunk) {
			atomic_store_explicit(&arbiter->hints[layout], page_idx,
					      memory_order_relaxed);
			return chunk;
		}
		page_idx = page_idx + 1 < used ? page_idx + 1 : 0;
	}
	for (i = 0, page_idx = cursor; i < pages; i++, page_idx = page_after(arbiter, page_idx)) {
		uint32_t word = atomic_load_explicit(
			&orma_shm_arbiter_page(arbiter, page_idx)->word, memory_order_relaxed);

		if (word != 0) {
			spare_pages += free_chunks(word) != 0;
			continue;
		}
		chunk = cut_page(arbiter, page_idx, layout);
		if (!chunk)
			continue;
		/* Two threads may leave the smaller number here: the first step then looks at fewer pages. */
		if (page_idx >= used)
			atomic_store_explicit(&arbiter->used_pages, page_idx + 1,
					      memory_order_relaxed);
		atomic_store_explicit(&arbiter->hints[layout], page_idx, memory_order_relaxed);
		atomic_store_explicit(&arbiter->cursor, page_after_cut(arbiter, page_idx),
				      memory_order_relaxed);
		return chunk;
	}
	for (i = 0; spare_pages > 0 && i < pages; i++) {
		chunk = take_from_page(arbiter, cursor, LAYOUT_ANY);
		if (chunk)
			return chunk;
		cursor = page_after(arbiter, cursor);
	}
	/* The next search of a few pages continues here. */
	atomic_store_explicit(&arbiter->cursor, page_idx, memory_order_relaxed);
	return NULL;
}

/* Returns `layout`, or a layout with smaller chunks if the chunk would otherwise leave too little
 * memory to other writers; see "Chunk size" in the preface. The caller is about to hand over
 * `own_bytes`. */
static uint32_t fit_layout(const struct orma_shm_arbiter *arbiter, uint32_t layout,
			   uint32_t own_bytes)
{
	uint32_t limit = (uint32_t)arbiter->view.size_bytes / 4 * 3;
	uint32_t in_hand = atomic_load_explicit(&arbiter->in_hand_bytes, memory_order_relaxed);
	uint32_t others = in_hand > own_bytes ? in_hand - own_bytes : 0;
	uint32_t share = limit > others ? (limit - others) / 4 : 0;

	while (layout < ORMA_SHM_LAYOUT_14 && arbiter->chunk_bytes[layout] > share)
		layout++;
	return layout;
}

struct orma_shm_event *orma_shm_arbiter_acquire(struct orma_shm_arbiter *arbiter, uint32_t layout,
						uint32_t own_bytes, uint32_t probe_max)
{
	struct orma_shm_event *chunk;
	uint32_t bytes;

	if (atomic_load_explicit(&arbiter->is_abandoned, memory_order_relaxed))
		return NULL;
	chunk = search(arbiter, fit_layout(arbiter, layout, own_bytes),
		       ORMA_MIN(probe_max, arbiter->view.page_count));
	if (!chunk)
		return NULL;
	bytes = arbiter->chunk_bytes[chunk->layout];
	chunk->next = NULL;
	atomic_fetch_add_explicit(&arbiter->in_hand_bytes, bytes, memory_order_relaxed);
	atomic_fetch_add_explicit(&arbiter->turnover_bytes, bytes, memory_order_relaxed);
	atomic_fetch_add_explicit(&arbiter->chunks_acquired, 1, memory_order_relaxed);
	return chunk;
}

void orma_shm_arbiter_complete(struct orma_shm_arbiter *arbiter, struct orma_shm_event *chunk)
{
	uint32_t bytes = arbiter->chunk_bytes[chunk->layout], pending, page_idx, chunk_idx, word;
	uint32_t in_hand;

	ORMA_ASSERT(chunk->is_owned && chunk->kind == ORMA_SHM_EVENT_CHUNK && bytes > 0);
	locate(arbiter, chunk, &page_idx, &chunk_idx);
	/* BeingWritten | 2 = Complete. Release pairs with the acquire of orma_shm_view_begin_read()
	 * and _next(). */
	word = atomic_fetch_or_explicit(&orma_shm_arbiter_page(arbiter, page_idx)->word,
					2u << 2 * chunk_idx, memory_order_release);
	/* Only the service can have changed the state, unless the memory is private. */
	if (orma_shm_word_state(word, chunk_idx) != ORMA_SHM_BEING_WRITTEN) {
		ORMA_ASSERT(!arbiter->options.is_emulated);
		atomic_fetch_add_explicit(&arbiter->violations, 1, memory_order_relaxed);
	}
	in_hand = atomic_fetch_sub_explicit(&arbiter->in_hand_bytes, bytes, memory_order_relaxed);
	ORMA_ASSERT(in_hand >= bytes);
	pending = bytes +
		  atomic_fetch_add_explicit(&arbiter->pending_bytes, bytes, memory_order_relaxed);
	if (!orma_shm_arbiter_push(arbiter, chunk)) {
		atomic_store_explicit(&chunk->is_owned, false, memory_order_release);
		return;
	}
	if (pending >= arbiter->now_bytes)
		orma_shm_arbiter_want(arbiter, ORMA_SHM_WANTED_NOW);
}

bool orma_shm_arbiter_wait(struct orma_shm_arbiter *arbiter, struct orma_shm_wait *wait)
{
	ORMA_NO_CANCEL();
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	struct timespec pause = {0};
	int saved_errno = errno;

	if (atomic_load_explicit(&arbiter->is_abandoned, memory_order_relaxed))
		return false;
	if (wait->turns++ == 0) {
		atomic_fetch_add_explicit(&arbiter->stalls, 1, memory_order_relaxed);
		wait->deadline_ns =
			now_ns +
			(wait->timeout_ms ? wait->timeout_ms : arbiter->options.stall_timeout_ms) *
				ORMA_NS_PER_MS;
		wait->sleep_ns = WAIT_NS_MIN;
	}
	if (now_ns >= wait->deadline_ns)
		return false;
	/* If nothing is queued, only the service can free chunks, and there is no need to wake the
	 * loop. */
	if (atomic_load_explicit(&arbiter->queue, memory_order_relaxed))
		orma_shm_arbiter_want(arbiter, ORMA_SHM_WANTED_NOW);
	if (orma_shm_arbiter_is_loop_thread(arbiter) && arbiter->options.commit_now &&
	    !arbiter->is_commit_out)
		arbiter->options.commit_now(arbiter->options.ctx);
	if (wait->turns <= WAIT_YIELDS) {
		sched_yield();
	} else {
		pause.tv_nsec = (long)wait->sleep_ns;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		wait->sleep_ns = ORMA_MIN(wait->sleep_ns + wait->sleep_ns / 2, WAIT_NS_MAX);
	}
	errno = saved_errno;
	return true;
}
