/* SPDX-License-Identifier: Apache-2.0
 * many_items_test.c - events with more arguments than a macro takes.
 */
#include <orma/track_event.h>

#include "schema/gen/track_event.pb.h"
#include "unit/client/fixture.h"

ORMA_CATEGORY_DEFINE(work, "work", "Of the test");

#define CONFIG "buffers { size_kb: 16384 } data_sources { config { name: \"track_event\" } }"

#define FOUR(i)    "a" #i, i, "b" #i, i, "c" #i, i, "d" #i, i
#define SIXTEEN(i) FOUR(i##0), FOUR(i##1)

/* A macro takes 64 items. */
#define SIXTY_FOUR SIXTEEN(1), SIXTEEN(2), SIXTEEN(3), SIXTEEN(4)

#define MANY 3000

static size_t count_arguments(struct orma_session *session, size_t *ret_events)
{
	struct packets packets = {0};
	size_t most = 0;

	session_finish(session, &packets);
	*ret_events = 0;
	for (size_t i = 0; i < packets.list.count; i++) {
		const struct orma_pb_track_event *event = packets.list.items[i]->track_event;

		if (!event)
			continue;
		++*ret_events;
		most = ORMA_MAX(most, event->debug_annotations.count);
	}
	packets_done(&packets);
	return most;
}

ORMA_TEST(a_macro_takes_sixty_four_items)
{
	struct orma_session *session;
	size_t events;

	init_in_process();
	session = session_start(CONFIG);
	for (int i = 0; i < 2; i++) {
		ORMA_INSTANT(work, "many", SIXTY_FOUR);
		ORMA_SCOPE(work, "many too", SIXTY_FOUR);
	}
	CHECK_INT(count_arguments(session, &events), 32);
	CHECK_INT(events, 6);
	orma_shutdown();
}

/* Each argument has a key of its own. Together they are larger than a page of the shared memory. */
ORMA_TEST(an_event_made_by_hand_takes_thousands)
{
	static struct orma_call_site site = {
		.category = &orma_category_work, .name = "thousands", .type = ORMA_EVENT_INSTANT};
	static struct orma_item items[2 * MANY];
	static char keys[MANY][16];
	struct orma_session *session;
	size_t events;

	for (int i = 0; i < MANY; i++) {
		snprintf(keys[i], sizeof(keys[i]), "key %d", i);
		items[2 * i] = orma_item_text(keys[i], false);
		items[2 * i + 1] = orma_item_int(i, false);
	}
	init_in_process();
	session = session_start(CONFIG);
	for (int i = 0; i < 3; i++)
		orma_event_emit_items(&site, items, ORMA_ARRAY_SIZE(items));
	CHECK_INT(count_arguments(session, &events), MANY);
	CHECK_INT(events, 3);
	orma_shutdown();
}
