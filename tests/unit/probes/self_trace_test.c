/* SPDX-License-Identifier: Apache-2.0
 * self_trace_test.c - the data sources orma.self and perfetto.metatrace.
 */
#include "fake_api.h"
#include "probes/self_trace/self_trace.h"
#include "schema/gen/counter_descriptor.pb.h"
#include "schema/gen/perfetto_metatrace.pb.h"
#include "schema/gen/process_descriptor.pb.h"
#include "schema/gen/thread_descriptor.pb.h"
#include "schema/gen/track_descriptor.pb.h"
#include "schema/gen/track_event.pb.h"

static struct orma_self_trace self;

static void begin(fake_probe_fn *probe_new, const char *name)
{
	char config[64];
	snprintf(config, sizeof(config), "name: '%s'", name);
	fake_env.self = &self;
	fake_open(probe_new);
	fake_put("proc/self/statm", "100 7 3 1 0 8 0\n");
	/* Nobody listens yet. */
	CHECK_INT(orma_self_begin(&self), 0);
	orma_self_counter(&self, "early", 1);
	fake_start(0, config);
	CHECK(orma_self_begin(&self) > 0);
}

static void end(void)
{
	fake_close();
	CHECK(self.first == NULL);
}

static const char *metatrace_text(size_t at)
{
	CHECK(fake_packet(at)->perfetto_metatrace != NULL);
	CHECK(fake_packet(at)->perfetto_metatrace->thread_id > 0);
	fake_packet(at);
	return fake_text(fake_packet(at)->perfetto_metatrace);
}

ORMA_TEST(spans_and_counters_reach_perfettos_form)
{
	char expected[128];
	begin(orma_probe_metatrace_new, "perfetto.metatrace");
	uint64_t begin_ns = orma_self_begin(&self);
	orma_self_end(&self, "dispatch", begin_ns);
	orma_self_end(&self, "drain ftrace", begin_ns);
	orma_self_counter(&self, "ftrace pages", 12);
	orma_self_counter(&self, "other", INT64_MAX);
	CHECK_INT(fake_packet_count, 4);
	CHECK(fake_packet(0)->timestamp == begin_ns);
	struct orma_pb_perfetto_metatrace *record = fake_packet(0)->perfetto_metatrace;
	CHECK(orma_base_str_is(record->event_name, "dispatch"));
	CHECK(record->event_duration_ns < ORMA_NS_PER_SEC * 60);
	CHECK_INT(fake_packet(1)->perfetto_metatrace->event_id, 18);
	snprintf(expected, sizeof(expected), "counter_id: 1 counter_value: 12 thread_id: %d",
		 (int)gettid());
	CHECK_STR(metatrace_text(2), expected);
	snprintf(expected, sizeof(expected),
		 "counter_value: 2147483647 thread_id: %d counter_name: \"other\"", (int)gettid());
	CHECK_STR(metatrace_text(3), expected);
	CHECK(fake_packet(3)->timestamp >= begin_ns);
	end();
}

/* Writes packet `at` as "name < kind" of tracks and events. */
static const char *kind_of(size_t at)
{
	struct orma_pb_trace_packet *packet = fake_packet(at);
	struct orma_pb_track_descriptor *track = packet->track_descriptor;
	CHECK(packet->timestamp > 0);
	if (track)
		return track->process ? "process" : track->thread ? "thread" : "counter";
	CHECK(packet->track_event != NULL);
	return packet->track_event->type == 1   ? "begin"
	       : packet->track_event->type == 2 ? "end"
						: "value";
}

ORMA_TEST(spans_are_slices_of_the_probes_thread)
{
	begin(orma_probe_self_new, "orma.self");
	uint64_t begin_ns = orma_self_begin(&self);
	orma_self_end(&self, "linux.sys_stats", begin_ns);
	CHECK_INT(fake_packet_count, 4);
	CHECK_STR(kind_of(0), "process");
	CHECK_STR(kind_of(1), "thread");
	CHECK_STR(kind_of(2), "begin");
	CHECK_STR(kind_of(3), "end");
	CHECK_INT(fake_packet(0)->sequence_flags, 1);
	CHECK_INT(fake_packet(0)->track_descriptor->process->pid, getpid());
	CHECK_INT(fake_packet(1)->track_descriptor->thread->tid, gettid());
	uint64_t thread = fake_packet(1)->track_descriptor->uuid;
	CHECK(thread != fake_packet(0)->track_descriptor->uuid);
	CHECK(fake_packet(2)->track_event->track_uuid == thread);
	CHECK(fake_packet(3)->track_event->track_uuid == thread);
	CHECK(orma_base_str_is(fake_packet(2)->track_event->name, "linux.sys_stats"));
	CHECK(fake_packet(2)->timestamp == begin_ns);
	CHECK(fake_packet(3)->timestamp >= begin_ns);
	/* Tracks are described once, and again after a clearing. */
	orma_self_end(&self, "linux.sys_stats", begin_ns);
	CHECK_INT(fake_packet_count, 6);
	fake_clear(0);
	orma_self_end(&self, "linux.sys_stats", begin_ns);
	CHECK_INT(fake_packet_count, 10);
	CHECK_STR(kind_of(6), "process");
	end();
}

ORMA_TEST(polls_record_memory_and_cpu_time)
{
	begin(orma_probe_self_new, "orma.self");
	fake_flush(0);
	/* The poll itself is a span. */
	static const char *const kinds[] = {"process", "thread", "counter",
					    "value",   "begin",  "end"};
	CHECK_INT(fake_packet_count, ORMA_ARRAY_SIZE(kinds));
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(kinds); i++)
		CHECK_STR(kind_of(i), kinds[i]);
	CHECK(orma_base_str_is(fake_packet(2)->track_descriptor->name, "memory"));
	CHECK(fake_packet(2)->track_descriptor->parent_uuid ==
	      fake_packet(0)->track_descriptor->uuid);
	CHECK_INT(fake_packet(3)->track_event->counter_value, 7 * sysconf(_SC_PAGESIZE));
	CHECK(fake_packet(3)->track_event->track_uuid == fake_packet(2)->track_descriptor->uuid);
	CHECK(orma_base_str_is(fake_packet(4)->track_event->name, "orma.self"));
	uint64_t first_ns = fake_packet(3)->timestamp;
	fake_run();
	CHECK(orma_base_str_is(fake_packet(6)->track_descriptor->name, "CPU"));
	CHECK(fake_packet(7)->timestamp <= first_ns); /* the rate holds since the first poll */
	CHECK(fake_packet(7)->track_event->counter_value >= 0);
	end();
}

ORMA_TEST(polls_record_the_turns_of_the_loop)
{
	begin(orma_probe_self_new, "orma.self");
	fake_flush(0);
	struct orma_probe_instance *instance = fake_source.instance_ctx[0];
	orma_base_timer_disarm(&instance->timer);
	for (int i = 0; i < 3; i++)
		CHECK(orma_base_loop_turn(fake_loop, 0) >= 0);
	uint64_t first_ns = fake_packet(3)->timestamp;
	fake_run();
	/* 6 and 7 are CPU. */
	CHECK(orma_base_str_is(fake_packet(8)->track_descriptor->name, "turns of the loop"));
	CHECK(fake_packet(9)->track_event->counter_value >= 3);
	CHECK(fake_packet(9)->timestamp <= first_ns);
	CHECK(orma_base_str_is(fake_packet(10)->track_descriptor->name, "longest turn"));
	CHECK_INT(fake_packet(10)->track_descriptor->counter->unit, 1);
	CHECK(fake_packet(11)->track_event->counter_value > 0);
	/* Each poll begins anew. */
	CHECK(orma_base_loop_turn(fake_loop, 0) >= 0);
	size_t at = fake_packet_count;
	fake_run();
	CHECK(fake_packet(at + 1)->track_event->counter_value > 0);
	end();
}

ORMA_TEST(names_of_counters_are_limited)
{
	static char names[40][16];
	begin(orma_probe_self_new, "orma.self");
	for (int i = 0; i < 40; i++) {
		snprintf(names[i], sizeof(names[i]), "c%d", i);
		orma_self_counter(&self, names[i], i);
	}
	CHECK_INT(fake_packet_count, 2 + 32 * 2);
	orma_self_counter(&self, names[3], 7);
	CHECK_INT(fake_packet_count, 2 + 32 * 2 + 1);
	end();
}

ORMA_TEST(without_an_object_every_function_does_nothing)
{
	struct orma_self_listener listener = {0};
	CHECK_INT(orma_self_begin(NULL), 0);
	orma_self_end(NULL, "x", 0);
	orma_self_counter(NULL, "x", 1);
	orma_self_listen(NULL, &listener);
	orma_self_unlisten(NULL, &listener);
	orma_self_unlisten(&self, &listener);
}
