/* SPDX-License-Identifier: Apache-2.0
 * every_kind.c - emits the same track events of every kind for each session that asks for them.
 *
 *	every_kind SECONDS [CATEGORIES]
 *
 * CATEGORIES is a number of additional categories, of which the first emits too.
 *
 * The program waits for a session that enables the category "kinds", emits, waits for the end of the
 * session and then for the next one, until SECONDS have passed. Two runs differ in addresses, times
 * and thread ids only, which trace_events does not print.
 */
#include <orma/orma.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

ORMA_CATEGORY_DEFINE(kinds, "kinds", "Of every kind one");
ORMA_CATEGORY_DEFINE_TAGGED(tagged, "kinds.tagged", NULL, "first,second,third,fourth");
ORMA_CATEGORY_DEFINE_TAGGED(slow, "kinds.slow", "Never asked for", "slow");
ORMA_CATEGORY_DEFINE(group, "kinds,other", "Of two categories");
ORMA_CATEGORY_DEFINE(large_group, "kinds.a,kinds.b,kinds.c,kinds.d", NULL);
ORMA_CATEGORY_DEFINE(strangers, "kinds.slow,other", "Never asked for either");

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
static const struct orma_track rich = {.kind = ORMA_TRACK_COUNTER,
				       .name = "rich",
				       .description = "All that a counter may have",
				       .categories = "one,two",
				       .unit = ORMA_TRACK_UNIT_NS,
				       .unit_multiplier = 1000,
				       .parent = &ordered,
				       .rank = 7,
				       .fields = "\x98\x7d\x05", /* field 2003 */
				       .fields_size = 3};
static const struct orma_track lexical = {.name = "lexical",
					  .child_order = ORMA_TRACK_ORDER_LEXICOGRAPHIC};
static const struct orma_track timely = {.name = "timely",
					 .parent = &lexical,
					 .child_order = ORMA_TRACK_ORDER_CHRONOLOGICAL,
					 .merge = ORMA_TRACK_MERGE_BY_NAME};
static const struct orma_track raw = {.name = "raw", .uuid = 4711};
static const struct orma_track as_cpp = {.name = "as in C++", .id = ORMA_TRACK_ID_CPP_NAMED};
static const struct orma_track itself = {.kind = ORMA_TRACK_THREAD};
static const struct orma_track mood = {.kind = ORMA_TRACK_STATE,
				       .name = "mood",
				       .root = ORMA_TRACK_OF_THREAD,
				       .description = "Of a thread"};
static const struct orma_track fuel = {
	.kind = ORMA_TRACK_COUNTER, .name = "fuel", .root = ORMA_TRACK_OF_THREAD};
static struct orma_track root = {.kind = ORMA_TRACK_GLOBAL,
				 .is_process_order_explicit = true,
				 .is_thread_order_explicit = true};

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

static void categories_and_names(const char *dynamic)
{
	static const struct orma_category unadded = {.name = "kinds.unadded", .tags = "second"},
					  unwanted = {.name = "kinds.no", .tags = "slow"};

	for (int i = 0; i < 2; i++) {
		ORMA_INSTANT(group, "of a group");
		ORMA_INSTANT(large_group, "of a large group", "i", i);
		ORMA_INSTANT(strangers, "never");
		ORMA_INSTANT(dynamic, "of a group of its own", ORMA_CATEGORY("other,kinds.x"));
		ORMA_INSTANT(dynamic, "never", ORMA_CATEGORY("other"));
		ORMA_INSTANT(dynamic, "with tags", ORMA_CATEGORY_OF(&unadded));
		ORMA_INSTANT(dynamic, "never", ORMA_CATEGORY_OF(&unwanted));
		ORMA_INSTANT(kinds, ORMA_DYNAMIC(dynamic), ORMA_NO_INTERN);
		ORMA_BEGIN(kinds, ORMA_DYNAMIC(dynamic), "i", i);
		ORMA_END(kinds, ORMA_HERE, ORMA_FLOW(9), ORMA_CORRELATION(1));
		{
			ORMA_SCOPE(kinds, ORMA_DYNAMIC("a scope with a dynamic name"), ORMA_HERE);
		}
		ORMA_INSTANT(kinds, "in the trace's time", ORMA_AT(987654321));
		ORMA_BEGIN(kinds, "long ago", ORMA_ON(&plain), ORMA_AT(1000));
		ORMA_END(kinds, ORMA_ON(&plain), ORMA_AT(2000));
	}
	ORMA_INSTANT(kinds, "");
}

static void integers(void)
{
	/* Emit each event twice: on the slow path, then on the fast path. */
	for (int i = 0; i < 2; i++) {
		ORMA_INSTANT(kinds, "signed", "char", (char)'c', "schar", (signed char)INT8_MIN,
			     "short", (short)INT16_MIN, "int", INT32_MIN, "long", -1L, "long long",
			     INT64_MIN);
		ORMA_INSTANT(kinds, "unsigned", "uchar", (unsigned char)UINT8_MAX, "ushort",
			     (unsigned short)UINT16_MAX, "unsigned", UINT32_MAX, "ulong", 1UL,
			     "ulong long", UINT64_MAX);
		ORMA_INSTANT(kinds, "varints", "7", 127, "8", 128, "14", 16383, "15", 16384, "21",
			     2097151, "22", 2097152, "28", 268435455, "29", 268435456);
		ORMA_INSTANT(kinds, "booleans", "item", ORMA_BOOL(true), "no", ORMA_BOOL(0), "cast",
			     (bool)1, "int", true);
		ORMA_INSTANT(kinds, "reals", "zero", -0.0, "small", 5e-324, "large",
			     1.7976931348623157e308, "long", 2.5L, "float", 1e-45f, "infinite",
			     __builtin_inf());
		ORMA_INSTANT(kinds, "pointers", "null", (void *)0, "all",
			     (const volatile int *)UINTPTR_MAX);
	}
}

static void odd_arguments(const char *dynamic)
{
	static char large[5000];

	memset(large, 'l', sizeof(large) - 1);
	for (int i = 0; i < 2; i++) {
		ORMA_INSTANT(kinds, "odd", "a key alone", ORMA_FLOW(1), 5, "after a stray value",
			     6);
		ORMA_INSTANT(kinds, "dynamic key", dynamic, i);
		ORMA_INSTANT(kinds, "large", "text", large);
		ORMA_INSTANT(kinds, "lists of lists", "d",
			     ORMA_DICT("a", ORMA_ARRAY(ORMA_DICT("b", dynamic), ORMA_BOOL(1)), "p",
				       (void *)0x10, "u", 5u));
		ORMA_INSTANT(kinds, "real fields", ORMA_FIELD_DOUBLE(1006, 2.5),
			     ORMA_FIELD_FLOAT(1007, -0.5f), ORMA_FIELD_VARINT(1008, -1),
			     ORMA_FIELD_NESTED(1009, ORMA_FIELD_FIXED64(1, 2),
					       ORMA_FIELD_FIXED32(2, 3),
					       ORMA_FIELD_BYTES(3, "\0\1", 2)));
	}
}

static void more_counters(const char *dynamic)
{
	for (int i = 0; i < 2; i++) {
		ORMA_COUNTER(kinds, "float", 0.1f);
		ORMA_COUNTER(kinds, "unsigned", UINT32_MAX);
		ORMA_COUNTER(kinds, "true", (bool)i);
		ORMA_COUNTER(kinds, "min", INT64_MIN);
		ORMA_COUNTER(kinds, ORMA_DYNAMIC("named by the day"), i);
		ORMA_COUNTER(kinds, "", 5, ORMA_ON(&rich), "why", dynamic);
		ORMA_COUNTER(kinds, "", -5, ORMA_ON(&fuel));
		ORMA_COUNTER(kinds, "then", 12, ORMA_AT(3000));
		ORMA_STATE(kinds, "", dynamic, ORMA_ON(&mood), "i", i);
		ORMA_STATE(kinds, ORMA_DYNAMIC("nameless day"), "sunny");
		ORMA_STATE(kinds, "", NULL, ORMA_ON(&mood));
	}
}

static void more_tracks(void)
{
	static const struct orma_track *const tracks[] = {&lexical, &timely, &raw, &as_cpp,
							  &itself};
	struct orma_track numbered_one = orma_track_numbered("numbered one", 5),
			  below = orma_track_under(&timely, orma_track_named("below"));

	for (size_t i = 0; i < sizeof(tracks) / sizeof(tracks[0]); i++)
		ORMA_INSTANT(kinds, "on another track", ORMA_ON(tracks[i]), "i", (int)i);
	for (int i = 0; i < 2; i++) {
		ORMA_BEGIN(kinds, "async", ORMA_ON(&numbered_one), ORMA_FLOW(i));
		ORMA_BEGIN(kinds, "deeper", ORMA_ON(&below), ORMA_HERE);
		ORMA_END(kinds, ORMA_ON(&below), "result", "deep");
		ORMA_END(kinds, ORMA_ON(&numbered_one), ORMA_TERMINATING_FLOW(i));
	}
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

/* Adds the categories crowd.0 and so on. Returns the first. */
static struct orma_category *gather_crowd(int count)
{
	struct orma_category *crowd = calloc((size_t)count, sizeof(*crowd));
	char(*names)[24] = calloc((size_t)count, sizeof(*names));

	for (int i = 0; crowd && names && i < count; i++) {
		snprintf(names[i], sizeof(names[i]), "crowd.%d", i);
		crowd[i].name = names[i];
		crowd[i].description = "One of many";
		orma_category_add(&crowd[i]);
	}
	return crowd;
}

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	struct orma_category *crowd = argc > 2 ? gather_crowd(atoi(argv[2])) : NULL;
	struct orma_call_site of_crowd = {
		.category = crowd, .name = "of the crowd", .type = ORMA_EVENT_INSTANT};
	pthread_t thread;

	orma_track_register(&root);
	orma_thread_set_name("every kind");
	orma_thread_set_rank(4);
	orma_process_set_name("every kind of event");
	orma_process_set_rank(-3);
	if (orma_init(NULL) < 0 || orma_track_event_register() < 0)
		return 1;
	while (time(NULL) < end) {
		while (!ORMA_IS_ENABLED(kinds) && time(NULL) < end)
			nap();
		slices("dynamic name");
		arguments("dynamic text");
		flows_and_counters();
		on_tracks();
		categories_and_names("another dynamic name");
		integers();
		odd_arguments("a dynamic key");
		more_counters("dynamic state");
		more_tracks();
		if (crowd && crowd->enabled)
			orma_event_emit(&of_crowd);
		if (pthread_create(&thread, NULL, other_thread, NULL) != 0)
			return 1;
		pthread_join(thread, NULL);
		while (ORMA_IS_ENABLED(kinds) && time(NULL) < end)
			nap();
	}
	orma_shutdown();
	return 0;
}
