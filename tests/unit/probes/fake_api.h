/* SPDX-License-Identifier: Apache-2.0
 * fake_api.h - the part of the public API that probes use, implemented in memory. Packets are
 * kept, function calls start sessions, and only the test advances the time.
 *
 * It also makes trees of /proc and /sys in the test's temporary folder. Include it in one file
 * per program.
 */
#ifndef ORMA_TESTS_FAKE_API_H
#define ORMA_TESTS_FAKE_API_H

#include <fcntl.h>
#include <orma/data_source.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/log_message.h"
#include "base/loop.h"
#include "harness.h"
#include "probes/probe.h"
#include "probes/sightings.h"
#include "proto/codec.h"
#include "proto/writer.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/trace_packet.pb.h"

enum { FAKE_PACKETS_MAX = 4096 };

struct orma_packet {
	struct orma_proto_heap_writer heap;
	struct orma_buf buf;
	uint32_t idx;
	bool is_open;
};

struct orma_data_source {
	struct orma_data_source_options options;
	void *instance_ctx[ORMA_INSTANCES_MAX];
	struct orma_buf config[ORMA_INSTANCES_MAX];
	uint32_t started;
	uint32_t needs_state; /* bit per instance */
	unsigned flushed;     /* calls of orma_data_source_flush_thread() */
};

static struct orma_data_source fake_source;
static struct orma_packet fake_packets[FAKE_PACKETS_MAX];
static size_t fake_packet_count;
static int fake_register_result;
static struct orma_buf fake_log;
static struct orma_arena fake_arena;
static const char *fake_root;

/* ---- the API ---- */

int orma_data_source_register(const struct orma_data_source_options *options,
			      struct orma_data_source **ret)
{
	if (fake_register_result < 0)
		return fake_register_result;
	fake_source.options = *options;
	*ret = &fake_source;
	return 0;
}

void orma_data_source_unregister(struct orma_data_source *source)
{
	CHECK(source == &fake_source);
}

uint32_t orma_data_source_started(const struct orma_data_source *source)
{
	return source->started;
}

/* The last start, flush or stop that was completed later. */
static uint64_t fake_completed;
static const uint64_t fake_start_number = 1000;
/* Whether the last start was complete at once. */
static enum orma_completion fake_start_completion;

void orma_data_source_complete(struct orma_data_source *source, uint64_t completion)
{
	CHECK(source == &fake_source);
	fake_completed = completion;
}

void orma_data_source_flush_thread(struct orma_data_source *source, uint32_t idx)
{
	CHECK(idx < ORMA_INSTANCES_MAX);
	source->flushed++;
}

struct orma_packet *orma_packet_begin(struct orma_data_source *source, uint32_t idx)
{
	if (!(source->started >> idx & 1))
		return NULL;
	CHECK(fake_packet_count < FAKE_PACKETS_MAX);
	CHECK(fake_packet_count == 0 || !fake_packets[fake_packet_count - 1].is_open);
	struct orma_packet *packet = &fake_packets[fake_packet_count++];
	packet->idx = idx;
	packet->is_open = true;
	orma_proto_heap_writer_init(&packet->heap, &packet->buf);
	return packet;
}

void orma_packet_end(struct orma_packet *packet)
{
	CHECK(packet->is_open);
	CHECK(!packet->heap.writer.open);
	CHECK_INT(orma_proto_heap_writer_finish(&packet->heap), 0);
	packet->is_open = false;
}

bool orma_packet_take_needs_state(struct orma_packet *packet)
{
	bool result = fake_source.needs_state >> packet->idx & 1;
	fake_source.needs_state &= ~(1u << packet->idx);
	return result;
}

void orma_packet_varint(struct orma_packet *packet, uint32_t field_id, uint64_t value)
{
	orma_proto_write_varint(&packet->heap.writer, field_id, value);
}

void orma_packet_int(struct orma_packet *packet, uint32_t field_id, int64_t value)
{
	orma_proto_write_int(&packet->heap.writer, field_id, value);
}

void orma_packet_bool(struct orma_packet *packet, uint32_t field_id, bool value)
{
	orma_proto_write_bool(&packet->heap.writer, field_id, value);
}

void orma_packet_float(struct orma_packet *packet, uint32_t field_id, float value)
{
	orma_proto_write_float(&packet->heap.writer, field_id, value);
}

void orma_packet_double(struct orma_packet *packet, uint32_t field_id, double value)
{
	orma_proto_write_double(&packet->heap.writer, field_id, value);
}

void orma_packet_string(struct orma_packet *packet, uint32_t field_id, const char *text)
{
	orma_proto_write_string(&packet->heap.writer, field_id, text);
}

void orma_packet_bytes(struct orma_packet *packet, uint32_t field_id, const void *data, size_t size)
{
	orma_proto_write_bytes(&packet->heap.writer, field_id, data, size);
}

void orma_packet_raw(struct orma_packet *packet, const void *data, size_t size)
{
	orma_proto_write_raw(&packet->heap.writer, data, size);
}

_Static_assert(sizeof(struct orma_proto_nested) <= sizeof(struct orma_nested), "fits");

void orma_packet_nested_begin(struct orma_packet *packet, struct orma_nested *nested,
			      uint32_t field_id)
{
	orma_proto_nested_begin(&packet->heap.writer, (struct orma_proto_nested *)(void *)nested,
				field_id);
}

void orma_packet_nested_end(struct orma_packet *packet, struct orma_nested *nested)
{
	orma_proto_nested_end(&packet->heap.writer, (struct orma_proto_nested *)(void *)nested);
}

/* ---- packets ---- */

__attribute__((unused)) static void fake_forget_packets(void)
{
	for (size_t i = 0; i < fake_packet_count; i++) {
		CHECK(!fake_packets[i].is_open);
		orma_base_buf_done(&fake_packets[i].buf);
	}
	fake_packet_count = 0;
}

__attribute__((unused)) static struct orma_pb_trace_packet *fake_packet(size_t at)
{
	struct orma_pb_trace_packet *packet;
	CHECK(at < fake_packet_count);
	const struct orma_buf *buf = &fake_packets[at].buf;
	CHECK_INT(orma_pb_trace_packet_decode(buf->data, buf->size, &fake_arena, &packet), 0);
	/* The schema knows every field that was written. */
	CHECK(!packet->base.unknown);
	return packet;
}

/* Prints a message as text on one line, into the arena. */
__attribute__((unused)) static const char *fake_text(const void *message)
{
	struct orma_buf buf = {0};
	CHECK_INT(orma_proto_text_print(message, 0, &buf), 0);
	char *text = orma_base_arena_alloc(&fake_arena, buf.size + 1);
	size_t size = 0;
	for (size_t i = 0; i < buf.size; i++) {
		char c = buf.data[i] == '\n' ? ' ' : (char)buf.data[i];
		if (c != ' ' || (size > 0 && text[size - 1] != ' '))
			text[size++] = c;
	}
	while (size > 0 && text[size - 1] == ' ')
		size--;
	text[size] = '\0';
	orma_base_buf_done(&buf);
	return text;
}

/* ---- sessions ---- */

static void fake_sink(void *ctx, enum orma_log_level level, const char *message)
{
	(void)ctx;
	orma_base_buf_printf(&fake_log, "%c: %s\n", "DIWE"[level], message);
}

__attribute__((unused)) static bool fake_log_has(const char *text)
{
	const char *all = orma_base_buf_cstr(&fake_log);
	return all && strstr(all, text) != NULL;
}

__attribute__((unused)) static void fake_capture_log(void)
{
	orma_log_set_sink(fake_sink, NULL);
}

static struct orma_instance fake_instance(uint32_t idx)
{
	return (struct orma_instance){
		.struct_size = sizeof(struct orma_instance),
		.source = &fake_source,
		.idx = idx,
		.instance_ctx = fake_source.instance_ctx[idx],
		.config = fake_source.config[idx].data,
		.config_size = fake_source.config[idx].size,
	};
}

/* Encodes a DataSourceConfig from text form. */
__attribute__((unused)) static struct orma_buf fake_config(const char *text)
{
	struct orma_arena arena = {0};
	struct orma_pb_data_source_config *config;
	struct orma_error error = {0};
	struct orma_buf buf = {0};
	if (orma_proto_text_parse(&orma_pb_data_source_config_desc, "config", text, strlen(text), 0,
				  &arena, &config, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK_INT(orma_proto_encode(config, &buf), 0);
	orma_base_arena_done(&arena);
	return buf;
}

__attribute__((unused)) static void fake_setup_bytes(uint32_t idx, const void *data, size_t size)
{
	CHECK_INT(orma_base_buf_append(&fake_source.config[idx], data, size), 0);
	struct orma_instance instance = fake_instance(idx);
	fake_source.options.on_setup(fake_source.options.ctx, &instance,
				     &fake_source.instance_ctx[idx]);
}

__attribute__((unused)) static void fake_start(uint32_t idx, const char *config)
{
	struct orma_buf buf = fake_config(config);
	fake_setup_bytes(idx, buf.data, buf.size);
	orma_base_buf_done(&buf);
	fake_source.started |= 1u << idx;
	fake_source.needs_state |= 1u << idx;
	struct orma_instance instance = fake_instance(idx);
	instance.completion = fake_start_number;
	fake_start_completion =
		fake_source.options.on_start_postponable(fake_source.options.ctx, &instance);
}

__attribute__((unused)) static void fake_flush(uint32_t idx)
{
	struct orma_instance instance = fake_instance(idx);
	CHECK_INT(fake_source.options.on_flush(fake_source.options.ctx, &instance), ORMA_COMPLETE);
}

__attribute__((unused)) static void fake_clear(uint32_t idx)
{
	struct orma_instance instance = fake_instance(idx);
	fake_source.needs_state |= 1u << idx;
	if (fake_source.options.on_clear_incremental_state)
		fake_source.options.on_clear_incremental_state(fake_source.options.ctx, &instance);
}

__attribute__((unused)) static void fake_stop(uint32_t idx)
{
	struct orma_instance instance = fake_instance(idx);
	CHECK_INT(fake_source.options.on_stop(fake_source.options.ctx, &instance), ORMA_COMPLETE);
	fake_source.started &= ~(1u << idx);
	fake_source.options.on_destroy(fake_source.options.ctx, &instance);
	fake_source.instance_ctx[idx] = NULL;
	orma_base_buf_done(&fake_source.config[idx]);
	fake_source.config[idx] = (struct orma_buf){0};
}

/* ---- trees ---- */

/* Writes a file below the temporary folder, and makes its folders. */
__attribute__((unused)) static void fake_put_bytes(const char *name, const void *data, size_t size)
{
	char path[512];
	if (!fake_root)
		fake_root = orma_test_tmpdir();
	snprintf(path, sizeof(path), "%s/%s", fake_root, name);
	for (char *at = path + strlen(fake_root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		CHECK(mkdir(path, 0755) == 0 || errno == EEXIST);
		*at = '/';
	}
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, data, size), size);
	close(fd);
}

__attribute__((unused)) static void fake_put(const char *name, const char *text)
{
	fake_put_bytes(name, text, strlen(text));
}

__attribute__((unused)) static void fake_remove(const char *name)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", fake_root, name);
	CHECK_INT(unlink(path), 0);
}

typedef int fake_probe_fn(const struct orma_probe_env *env, struct orma_probe **ret);

static struct orma_loop *fake_loop;
static struct orma_probe *fake_probe;
static struct orma_sightings_list *fake_sightings;
static struct orma_probe_env fake_env; /* set further members before fake_open() */
static char fake_proc_path[512], fake_sys_path[512];

__attribute__((unused)) static void fake_open(fake_probe_fn *probe_new)
{
	fake_put("proc/version", "");
	fake_put("sys/devices/system/cpu/online", "0\n");
	snprintf(fake_proc_path, sizeof(fake_proc_path), "%s/proc", fake_root);
	snprintf(fake_sys_path, sizeof(fake_sys_path), "%s/sys", fake_root);
	CHECK_INT(orma_base_loop_new(&fake_loop), 0);
	CHECK_INT(orma_sightings_list_new(&fake_sightings), 0);
	fake_env.loop = fake_loop;
	fake_env.proc_path = fake_proc_path;
	fake_env.sys_path = fake_sys_path;
	fake_env.sightings = fake_sightings;
	if (fake_env.turn_ns == 0)
		fake_env.turn_ns = UINT64_C(1) << 62; /* a run is one turn, on a slow machine too */
	CHECK_INT(probe_new(&fake_env, &fake_probe), 0);
}

/* Frees everything, so that leaks and open descriptors are detected. */
__attribute__((unused)) static void fake_close(void)
{
	for (uint32_t idx = 0; idx < ORMA_INSTANCES_MAX; idx++)
		if (fake_source.started >> idx & 1)
			fake_stop(idx);
	orma_probe_free(fake_probe);
	orma_sightings_list_free(fake_sightings);
	orma_base_loop_free(fake_loop);
	fake_forget_packets();
	orma_base_arena_done(&fake_arena);
	orma_base_buf_done(&fake_log);
}

/* Does the next periodic work of instance 0 at once. */
__attribute__((unused)) static void fake_run(void)
{
	struct orma_probe_instance *instance = fake_source.instance_ctx[0];
	instance->turn_end_ns = UINT64_MAX;
	fake_probe->ops->run(instance);
}

/* Runs the loop until there are this many packets. */
__attribute__((unused)) static void fake_run_until(size_t packet_count)
{
	while (fake_packet_count < packet_count)
		CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
}

#endif
