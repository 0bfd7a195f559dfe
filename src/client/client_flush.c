/* SPDX-License-Identifier: Apache-2.0
 * client_flush.c - which instances a requested flush still waits for.
 *
 * The loop thread adds and takes flushes. The application completes postponed ones on any thread, which
 * clears bits under the mutex; the loop thread then acknowledges the flush (link_commit.c).
 */
#include "client/client_flush.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "client/client_instance.h"
#include "client/client_source.h"
#include "client/engine.h"

static uint8_t bit_of(const struct orma_client_instance *instance)
{
	return (uint8_t)(1u << orma_client_instance_idx(instance));
}

static uint8_t *waiting_of(struct orma_client_flush *flush,
			   const struct orma_client_instance *instance)
{
	return &flush->waiting[orma_client_source_idx(instance->source)];
}

static struct orma_client_flush *first_of(struct orma_list *flushes)
{
	return ORMA_LIST_ENTRY(flushes->next, struct orma_client_flush, item);
}

/* A service that requests flush after flush without waiting loses the oldest answers. */
struct orma_client_flush *orma_client_flush_add(struct orma_list *flushes, uint64_t request_id)
{
	struct orma_client_flush *flush = orma_base_zalloc(sizeof(*flush)), *oldest = NULL, *other;
	size_t count = 0;

	if (!flush)
		return NULL;
	flush->request_id = request_id;
	flush->is_running = true;
	pthread_mutex_lock(&orma_client.mutex);
	ORMA_LIST_FOR_EACH (other, flushes, item)
		count++;
	ORMA_ASSERT(count <= ORMA_CLIENT_FLUSHES_MAX);
	if (count == ORMA_CLIENT_FLUSHES_MAX) {
		oldest = first_of(flushes);
		orma_base_list_remove(&oldest->item);
	}
	flush->seq = orma_client_stamp_locked();
	orma_base_list_append(flushes, &flush->item);
	pthread_mutex_unlock(&orma_client.mutex);
	orma_base_free(oldest);
	return flush;
}

struct orma_client_flush *orma_client_flush_take_finished(struct orma_list *flushes)
{
	static const uint8_t nobody[ORMA_DATA_SOURCES_MAX];
	struct orma_client_flush *flush = NULL;

	pthread_mutex_lock(&orma_client.mutex);
	if (!orma_base_list_is_empty(flushes)) {
		flush = first_of(flushes);
		if (flush->is_running || memcmp(flush->waiting, nobody, sizeof(nobody)) != 0)
			flush = NULL;
		else
			orma_base_list_remove(&flush->item);
	}
	pthread_mutex_unlock(&orma_client.mutex);
	return flush;
}

void orma_client_flush_postpone(struct orma_client_flush *flush,
				const struct orma_client_instance *instance)
{
	pthread_mutex_lock(&orma_client.mutex);
	*waiting_of(flush, instance) |= bit_of(instance);
	pthread_mutex_unlock(&orma_client.mutex);
}

void orma_client_flush_complete(struct orma_client_flush *flush,
				const struct orma_client_instance *instance)
{
	pthread_mutex_lock(&orma_client.mutex);
	*waiting_of(flush, instance) &= (uint8_t)~bit_of(instance);
	pthread_mutex_unlock(&orma_client.mutex);
}

bool orma_client_flush_complete_locked(uint64_t seq, const struct orma_client_instance *instance)
{
	struct orma_client_flush *flush;

	for (size_t i = 0; i < orma_client.link_count; i++) {
		ORMA_LIST_FOR_EACH (flush, &orma_client.links[i].flushes, item) {
			if (flush->seq != seq)
				continue;
			*waiting_of(flush, instance) &= (uint8_t)~bit_of(instance);
			return true;
		}
	}
	return false;
}

void orma_client_flushes_forget_locked(const struct orma_client_instance *instance)
{
	struct orma_client_flush *flush;

	for (size_t i = 0; i < orma_client.link_count; i++)
		ORMA_LIST_FOR_EACH (flush, &orma_client.links[i].flushes, item)
			*waiting_of(flush, instance) &= (uint8_t)~bit_of(instance);
}

void orma_client_flushes_drop(struct orma_list *flushes)
{
	struct orma_client_flush *flush;

	do {
		flush = NULL;
		pthread_mutex_lock(&orma_client.mutex);
		if (!orma_base_list_is_empty(flushes)) {
			flush = first_of(flushes);
			orma_base_list_remove(&flush->item);
		}
		pthread_mutex_unlock(&orma_client.mutex);
		orma_base_free(flush);
	} while (flush);
}
