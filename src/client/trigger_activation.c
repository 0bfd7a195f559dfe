/* SPDX-License-Identifier: Apache-2.0
 * trigger_activation.c - activating the triggers that sessions wait for.
 *
 * A connected service gets the triggers at once. Another service gets them when it connects, unless
 * they have expired by then. Each service gets them once. The caller's names are copied into one
 * block of memory, which the loop thread keeps in a list until it has sent them to every service.
 * No timer drops expired triggers: they are dropped when the next ones come, or at the end.
 */
#include "client/trigger_activation.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "client/engine.h"
#include "client/work.h"

struct triggers {
	struct orma_client_work work;
	struct orma_list item; /* in orma_client.triggers */
	uint64_t deadline_ns;
	uint32_t untold; /* bit = link whose service does not know the triggers yet */
	size_t count;
	const char *names[]; /* into the same memory */
};

static void triggers_free(struct triggers *triggers)
{
	orma_base_list_remove(&triggers->item);
	orma_base_free(triggers);
}

static void tell(struct triggers *triggers, struct orma_client_link *link)
{
	uint32_t bit = UINT32_C(1) << (link - orma_client.links);

	if (!link->is_up || !(triggers->untold & bit))
		return;
	orma_client_endpoint_activate_triggers(link->endpoint, triggers->names, triggers->count);
	triggers->untold &= ~bit;
}

static void drop_old(void)
{
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	struct triggers *triggers, *next;

	ORMA_LIST_FOR_EACH_SAFE (triggers, next, &orma_client.triggers, item)
		if (triggers->untold == 0 || triggers->deadline_ns <= now_ns)
			triggers_free(triggers);
}

static void activate(struct orma_client_work *work)
{
	struct triggers *triggers = ORMA_CONTAINER_OF(work, struct triggers, work), *one;
	size_t count = 0;

	for (size_t i = 0; i < orma_client.link_count; i++) {
		triggers->untold |= UINT32_C(1) << i;
		tell(triggers, &orma_client.links[i]);
	}
	orma_base_list_append(&orma_client.triggers, &triggers->item);
	drop_old();
	ORMA_LIST_FOR_EACH (one, &orma_client.triggers, item)
		count++;
	if (count > ORMA_CLIENT_TRIGGERS_MAX)
		triggers_free(ORMA_LIST_ENTRY(orma_client.triggers.next, struct triggers, item));
}

void orma_client_triggers_send(struct orma_client_link *link)
{
	struct triggers *triggers;

	drop_old();
	ORMA_LIST_FOR_EACH (triggers, &orma_client.triggers, item)
		tell(triggers, link);
	drop_old();
}

void orma_client_triggers_end(void)
{
	while (!orma_base_list_is_empty(&orma_client.triggers))
		triggers_free(ORMA_LIST_ENTRY(orma_client.triggers.next, struct triggers, item));
}

static int triggers_new(const char *const *names, size_t count, struct triggers **ret)
{
	size_t bytes = sizeof(struct triggers) + count * sizeof(*names), text_bytes = 0;
	struct triggers *triggers;
	char *at;

	for (size_t i = 0; i < count; i++) {
		if (!names[i] || !*names[i])
			return -EINVAL;
		text_bytes += strnlen(names[i], ORMA_CLIENT_TRIGGER_BYTES_MAX) + 1;
		if (text_bytes > ORMA_CLIENT_TRIGGER_BYTES_MAX)
			return -EMSGSIZE;
	}
	triggers = orma_base_zalloc(bytes + text_bytes);
	if (!triggers)
		return -ENOMEM;
	at = (char *)triggers + bytes;
	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(names[i]) + 1;

		triggers->names[i] = memcpy(at, names[i], size);
		at += size;
	}
	triggers->count = count;
	*ret = triggers;
	return 0;
}

int orma_activate_triggers(const char *const *names, size_t count, uint32_t ttl_ms)
{
	struct triggers *triggers;
	int r;

	if (!names || count == 0)
		return -EINVAL;
	if (count > ORMA_CLIENT_TRIGGER_BYTES_MAX)
		return -EMSGSIZE;
	r = triggers_new(names, count, &triggers);
	if (r < 0)
		return r;
	triggers->deadline_ns = orma_base_clock_ns(CLOCK_MONOTONIC) + ttl_ms * ORMA_NS_PER_MS;
	triggers->work.fn = activate;
	r = orma_client_post(&triggers->work);
	if (r < 0)
		orma_base_free(triggers);
	return r;
}
