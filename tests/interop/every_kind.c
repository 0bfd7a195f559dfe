/* SPDX-License-Identifier: Apache-2.0
 * every_kind.c - emits track events of every kind, once and always the same, when a session asks
 * for them.
 *
 *	every_kind SECONDS
 *
 * Waits for a session that wants the category "kinds", emits, and waits for its end; afterwards for
 * the next, until SECONDS have passed. What it emits depends on nothing that differs between two
 * runs but addresses, times and thread ids, which trace_events does not print.
 */
#include <orma/orma.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

ORMA_CATEGORY_DEFINE(kinds, "kinds", "Of every kind one");
ORMA_CATEGORY_DEFINE_TAGGED(tagged, "kinds.tagged", NULL, "first,second,third,fourth");
ORMA_CATEGORY_DEFINE_TAGGED(slow, "kinds.slow", "Never asked for", "slow");

static const struct orma_track plain = {.name = "plain"};
static const struct orma_track child = {
	.name = "child", .id = 3, .parent = &plain, .is_name_static = true, .rank = 2};
static const struct orma_track ordered = {.name = "ordered",
					  .child_order = ORMA_TRACK_ORDER_EXPLICIT,
					  .description = "Its children have ranks"};
static const struct orma_track above = {.name = "above", .parent = &ordered, .rank = -1};
static const struct orma_track merged = {
	.name = "merged", .merge = ORMA_TRACK_MERGE_BY_KEY, .merge_key = "one line"};
static const struct orma_track apart = {.name = "merged", .id = 1, .merge = ORMA_TRACK_MERGE_NEVER};
static const struct orma_track numbered = {
	.name = "numbered", .merge = ORMA_TRACK_MERGE_BY_KEY, .merge_key_id = 77};
static const struct orma_track of_thread = {.name = "of thread", .root = ORMA_TRACK_OF_THREAD};
static const struct orma_track global = {.name = "global", .root = ORMA_TRACK_OF_NOBODY};
static const struct orma_track process = {.kind = ORMA_TRACK_PROCESS};
static const struct orma_track nameless = {.id = 99};
static const struct orma_track heat = {.kind = ORMA_TRACK_COUNTER,
				       .name = "heat",
				       .unit_name = "degrees",
				       .unit_multiplier = 10,
				       .y_axis_share_key = "share"};
static const struct orma_track bytes = {.kind = ORMA_TRACK_COUNTER,
					.name = "bytes",
					.unit = ORMA_TRACK_UNIT_BYTES,
					.parent = &plain};
static const struct orma_track sums = {
	.kind = ORMA_TRACK_COUNTER, .name = "sums", .is_incremental = true};
static const struct orma_track fractions = {.kind = ORMA_TRACK_COUNTER,
					    .name = "fractions",
					    .is_incremental = true,
					    .unit = ORMA_TRACK_UNIT_COUNT};
static const struct orma_track mode = {.kind = ORMA_TRACK_STATE, .name = "mode"};
static struct orma_track root = {.kind = ORMA_TRACK_GLOBAL, .is_thread_order_explicit = true};

static void slices(const char *dynamic)
{
	ORMA_BEGIN(kinds, "slice");
	ORMA_BEGIN(kinds, "inner", "depth", 2);
	ORMA_END(kinds);
	ORMA_END(kinds, "result", -1);
	{
		ORMA_SCOPE(kinds, "scope", "why", "block");
		ORMA_INSTANT(kinds, "instant");
	}
	ORMA_INSTANT(tagged, "of a tagged category");
	ORMA_INSTANT(slow, "never");
	ORMA_INSTANT(kinds, ORMA_DYNAMIC(dynamic));
	ORMA_INSTANT(kinds, "not interned", ORMA_NO_INTERN);
	ORMA_INSTANT(dynamic, "of a category of its own", ORMA_CATEGORY("kinds.dynamic"));
	ORMA_INSTANT(kinds, "here", ORMA_HERE);
	ORMA_INSTANT(kinds, "at", ORMA_AT_CLOCK(123456789, 6));
}

static void arguments(const char *dynamic)
{
	ORMA_INSTANT(kinds, "numbers", "true", (bool)1, "small", (signed char)-3, "min", INT64_MIN,
		     "max", UINT64_MAX, "float", 1.5f, "double", -1e300, "pointer",
		     (const void *)0x1234);
	ORMA_INSTANT(kinds, "texts", "literal", "text", "text", dynamic, "empty", "", "utf",
		     "gr\xc3\xbc\xc3\x9f", "broken",
		     "a\xff"
		     "b",
		     "null", (const char *)NULL);
	ORMA_INSTANT(kinds, "nested", "dict", ORMA_DICT("x", 1, "in", ORMA_DICT("y", 2.5)), "array",
		     ORMA_ARRAY(1, "two", 3.0, ORMA_ARRAY(true)));
	ORMA_INSTANT(kinds, "raw fields", ORMA_FIELD_VARINT(1000, 5),
		     ORMA_FIELD_STRING(1001, "text"), ORMA_FIELD_FIXED64(1002, 6),
		     ORMA_FIELD_FIXED32(1003, 7), ORMA_FIELD_BYTES(1004, "\x01\x02", 2),
		     ORMA_FIELD_NESTED(1005, ORMA_FIELD_VARINT(1, 8),
				       ORMA_FIELD_NESTED(2, ORMA_FIELD_STRING(3, "deep"))));
}

static void flows_and_counters(void)
{
	ORMA_INSTANT(kinds, "flow begins", ORMA_FLOW(7));
	ORMA_INSTANT(kinds, "flow goes on", ORMA_FLOW(7), ORMA_FLOW_GLOBAL(8));
	ORMA_INSTANT(kinds, "flow ends", ORMA_TERMINATING_FLOW(7), ORMA_TERMINATING_FLOW_GLOBAL(8));
	ORMA_INSTANT(kinds, "correlated", ORMA_CORRELATION(42));
	ORMA_INSTANT(kinds, "correlated by text", ORMA_CORRELATION_TEXT("frame 7"));
	ORMA_COUNTER(kinds, "by name", 5);
	ORMA_COUNTER(kinds, "by name", -6);
	ORMA_COUNTER(kinds, "real", 59.94);
	ORMA_COUNTER(kinds, "", 21, ORMA_ON(&heat));
	ORMA_COUNTER(kinds, "", INT64_MAX, ORMA_ON(&bytes));
	for (int i = 1; i < 4; i++) {
		ORMA_COUNTER(kinds, "", i * 1000, ORMA_ON(&sums));
		ORMA_COUNTER(kinds, "", 4 - i * 0.25, ORMA_ON(&fractions));
	}
	ORMA_STATE(kinds, "mode", "idle", ORMA_ON(&mode));
	ORMA_STATE(kinds, "mode", "busy", ORMA_ON(&mode));
	ORMA_STATE(kinds, "power", "on");
	ORMA_STATE(kinds, "power", NULL);
}

static void on_tracks(void)
{
	static const struct orma_track *const tracks[] = {&plain,   &child,    &above,     &merged,
							  &apart,   &numbered, &of_thread, &global,
							  &process, &nameless};
	struct orma_track request = {.name = "request", .parent = &plain}, *copy;

	for (size_t i = 0; i < sizeof(tracks) / sizeof(tracks[0]); i++) {
		ORMA_BEGIN(kinds, "on a track", ORMA_ON(tracks[i]), "number", (int)i);
		ORMA_END(kinds, ORMA_ON(tracks[i]));
	}
	for (request.id = 1; request.id < 40; request.id++)
		ORMA_INSTANT(kinds, "request", ORMA_ON(&request));
	if (orma_track_new(&child, &copy) == 0) {
		ORMA_INSTANT(kinds, "on a registered track", ORMA_ON(copy));
		orma_track_free(copy);
	}
	orma_track_announce(&(struct orma_track){.name = "without events"});
}

static void *other_thread(void *ctx)
{
	prctl(PR_SET_NAME, "other");
	ORMA_INSTANT(kinds, "of another thread");
	orma_thread_set_name("renamed");
	ORMA_INSTANT(kinds, "of a renamed thread");
	return ctx;
}

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	pthread_t thread;

	orma_track_register(&root);
	orma_thread_set_name("every kind");
	orma_thread_set_rank(4);
	orma_process_set_name("every kind of event");
	if (orma_init(NULL) < 0 || orma_track_event_register() < 0)
		return 1;
	while (time(NULL) < end) {
		while (!ORMA_IS_ENABLED(kinds) && time(NULL) < end)
			nap();
		slices("dynamic name");
		arguments("dynamic text");
		flows_and_counters();
		on_tracks();
		if (pthread_create(&thread, NULL, other_thread, NULL) != 0)
			return 1;
		pthread_join(thread, NULL);
		while (ORMA_IS_ENABLED(kinds) && time(NULL) < end)
			nap();
	}
	orma_shutdown();
	return 0;
}
