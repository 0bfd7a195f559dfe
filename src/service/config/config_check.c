/* SPDX-License-Identifier: Apache-2.0
 * config_check.c - checks whether a consumer may have a session: every check that needs only the
 * config and the state of the service, made before anything changes.
 *
 * The checks are a table of functions, which are run in order. The first one that refuses fills the
 * error with a text that begins with the field's name. Expressions, files and memory can only be
 * judged by trying; enable.c tries them and undoes everything on failure. Rejected: checking while
 * building (upstream's way: a refused config has already locked the service or ended other
 * sessions), one function with all checks.
 */
#include "service/config/config_check.h"

#include <errno.h>
#include <string.h>

#include "base/error_message.h"
#include "base/macros.h"
#include "base/str.h"
#include "buffer/trace_buffer.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/priority_boost_config.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "service/consumer_port.h"
#include "service/output/output_compress.h"
#include "service/output/output_create.h"
#include "service/output/output_file.h"
#include "service/service_core.h"
#include "service/service_limits.h"

struct check {
	const struct orma_service *service;
	const struct orma_consumer_port *port;
	const struct orma_pb_trace_config *config;
	int file_fd;
	struct orma_error *reterr;
};

#define REFUSE(check, ...) orma_base_error_set((check)->reterr, -EINVAL, __VA_ARGS__)
#define STR_ARGS(str)      (int)ORMA_MIN((str).size, (size_t)64), (str).data ? (str).data : ""

/* This service does not have ProtoVM, a virtual machine that rewrites packets in the buffers. */
static int check_unsupported(const struct check *c)
{
	const struct orma_pb_trace_config *config = c->config;

	for (size_t i = 0; i < config->data_sources.count; i++) {
		const struct orma_pb_data_source_config *source =
			config->data_sources.items[i]->config;

		if (source && source->protovm_config)
			return orma_base_error_set(
				c->reterr, -ENOTSUP,
				"data_sources[%zu].config.protovm_config: this service has no "
				"ProtoVM",
				i);
	}
	return 0;
}

static int check_priority_boost(const struct check *c)
{
	const struct orma_pb_priority_boost_config *boost = c->config->priority_boost;
	uint32_t min, max;

	if (!boost)
		return 0;
	switch (boost->policy) {
	case ORMA_PB_PRIORITY_BOOST_CONFIG_BOOST_POLICY_POLICY_SCHED_OTHER:
		min = 0;
		max = 20;
		break;
	case ORMA_PB_PRIORITY_BOOST_CONFIG_BOOST_POLICY_POLICY_SCHED_FIFO:
		min = 1;
		max = 99;
		break;
	default:
		return REFUSE(c, "priority_boost.policy: %d is not a policy", boost->policy);
	}
	if (boost->priority < min || boost->priority > max)
		return REFUSE(c, "priority_boost.priority: %u is not between %u and %u",
			      boost->priority, min, max);
	if (!c->service->set_priority)
		return orma_base_error_set(c->reterr, -ENOTSUP,
					   "priority_boost: this service cannot change its "
					   "priority");
	return 0;
}

static int check_enums(const struct check *c)
{
	const struct orma_pb_trace_config *config = c->config;

	if (config->lockdown_mode < 0 || config->lockdown_mode > 2)
		return REFUSE(c, "lockdown_mode: %d is not a mode", config->lockdown_mode);
	if (config->write_flush_mode < 0 || config->write_flush_mode > 3)
		return REFUSE(c, "write_flush_mode: %d is not a mode", config->write_flush_mode);
	if (config->fflush_post_write < 0 || config->fflush_post_write > 2)
		return REFUSE(c, "fflush_post_write: %d is not a mode", config->fflush_post_write);
	for (size_t i = 0; i < config->buffers.count; i++) {
		const struct orma_pb_trace_config_buffer_config *buffer = config->buffers.items[i];

		if (buffer->fill_policy < 0 || buffer->fill_policy > 2)
			return REFUSE(c, "buffers[%zu].fill_policy: %d is not a policy", i,
				      buffer->fill_policy);
	}
	return 0;
}

static int check_compression(const struct check *c)
{
	const struct orma_pb_trace_config *config = c->config;
	const struct orma_pb_trace_config_compression_config *compression = config->compression;
	int level, codec = orma_service_compression_pick(c->service, config, &level);

	if (config->compression_type != 0 &&
	    config->compression_type !=
		    ORMA_PB_TRACE_CONFIG_COMPRESSION_TYPE_COMPRESSION_TYPE_DEFLATE)
		return REFUSE(c, "compression_type: %d is not a type", config->compression_type);
	if (codec == ORMA_CODEC_ZSTD &&
	    (level < ORMA_SERVICE_ZSTD_LEVEL_MIN || level > ORMA_SERVICE_ZSTD_LEVEL_MAX))
		return REFUSE(c, "compression.zstd.level: %d is not between %d and %d", level,
			      ORMA_SERVICE_ZSTD_LEVEL_MIN, ORMA_SERVICE_ZSTD_LEVEL_MAX);
	if (codec >= 0)
		return 0;
	return orma_base_error_set(c->reterr, codec, "%s: this service does not support it",
				   compression && compression->zstd      ? "compression.zstd"
				   : compression && compression->deflate ? "compression.deflate"
				   : compression                         ? "compression"
									 : "compression_type");
}

static int check_consumer(const struct check *c)
{
	if (c->port->session)
		return orma_base_error_set(
			c->reterr, -EBUSY,
			"this consumer has a session already (FreeBuffers ends it)");
	if (c->port->clone)
		return orma_base_error_set(c->reterr, -EBUSY,
					   "this consumer is cloning a session already");
	return 0;
}

static uint32_t max_duration_ms(const struct orma_pb_trace_config *config)
{
	return config->enable_extra_guardrails ? ORMA_SERVICE_GUARDED_DURATION_MS
					       : ORMA_SERVICE_DURATION_MS_MAX;
}

static int check_duration(const struct check *c)
{
	uint32_t max_ms = max_duration_ms(c->config);

	if (c->config->duration_ms > max_ms)
		return REFUSE(c, "duration_ms: %u is more than the maximum of %u",
			      c->config->duration_ms, max_ms);
	return 0;
}

static int check_trigger(const struct check *c, size_t idx)
{
	const struct orma_pb_trace_config_trigger_config *triggers = c->config->trigger_config;
	const struct orma_pb_trace_config_trigger_config_trigger *trigger =
		triggers->triggers.items[idx];

	if (trigger->name.size > ORMA_SERVICE_NAME_BYTES_MAX ||
	    memchr(trigger->name.data ? trigger->name.data : "", '\0', trigger->name.size))
		return REFUSE(c,
			      "trigger_config.triggers[%zu].name: not a name of at most %u bytes",
			      idx, ORMA_SERVICE_NAME_BYTES_MAX);
	if (!(trigger->skip_probability >= 0 && trigger->skip_probability <= 1))
		return REFUSE(c,
			      "trigger_config.triggers[%zu].skip_probability: %g is not between 0 "
			      "and 1",
			      idx, trigger->skip_probability);
	if (trigger->max_per_24_h > ORMA_SERVICE_TRIGGER_USES_PER_NAME)
		return REFUSE(c,
			      "trigger_config.triggers[%zu].max_per_24_h: %u is more than the "
			      "maximum of %u",
			      idx, trigger->max_per_24_h, ORMA_SERVICE_TRIGGER_USES_PER_NAME);
	for (size_t i = 0; i < idx; i++)
		if (orma_base_str_is_equal(trigger->name, triggers->triggers.items[i]->name))
			return REFUSE(c,
				      "trigger_config.triggers[%zu].name: \"%.*s\" is the name of "
				      "triggers[%zu] too",
				      idx, STR_ARGS(trigger->name), i);
	return 0;
}

static int check_trigger_mode(const struct check *c)
{
	const struct orma_pb_trace_config_trigger_config *triggers = c->config->trigger_config;
	uint32_t max_ms = max_duration_ms(c->config);

	switch (triggers->trigger_mode) {
	case ORMA_PB_TRACE_CONFIG_TRIGGER_CONFIG_TRIGGER_MODE_UNSPECIFIED:
		if (triggers->triggers.count)
			return REFUSE(c, "trigger_config.trigger_mode: missing, but there are "
					 "triggers");
		return 0;
	case ORMA_PB_TRACE_CONFIG_TRIGGER_CONFIG_TRIGGER_MODE_START_TRACING:
	case ORMA_PB_TRACE_CONFIG_TRIGGER_CONFIG_TRIGGER_MODE_STOP_TRACING:
	case ORMA_PB_TRACE_CONFIG_TRIGGER_CONFIG_TRIGGER_MODE_CLONE_SNAPSHOT:
		break;
	default:
		return REFUSE(c, "trigger_config.trigger_mode: %d is not a mode",
			      triggers->trigger_mode);
	}
	if (triggers->trigger_timeout_ms == 0 || triggers->trigger_timeout_ms > max_ms)
		return REFUSE(c,
			      "trigger_config.trigger_timeout_ms: %u is not between 1 and the "
			      "maximum of %u",
			      triggers->trigger_timeout_ms, max_ms);
	if (c->config->duration_ms)
		return REFUSE(c, "duration_ms: not allowed together with triggers, whose "
				 "trigger_timeout_ms ends the session");
	if (c->config->write_into_file &&
	    triggers->trigger_mode !=
		    ORMA_PB_TRACE_CONFIG_TRIGGER_CONFIG_TRIGGER_MODE_START_TRACING)
		return REFUSE(c, "write_into_file: not allowed together with STOP_TRACING and "
				 "CLONE_SNAPSHOT triggers");
	return 0;
}

static int check_triggers(const struct check *c)
{
	const struct orma_pb_trace_config_trigger_config *triggers = c->config->trigger_config;
	int r;

	if (!triggers)
		return 0;
	if (triggers->use_clone_snapshot_if_available &&
	    triggers->trigger_mode != ORMA_PB_TRACE_CONFIG_TRIGGER_CONFIG_TRIGGER_MODE_STOP_TRACING)
		return REFUSE(c, "trigger_config.use_clone_snapshot_if_available: needs "
				 "trigger_mode STOP_TRACING");
	r = check_trigger_mode(c);
	if (r == 0 && triggers->triggers.count > ORMA_SERVICE_TRIGGERS_PER_CONFIG)
		return REFUSE(c, "trigger_config.triggers: %zu are more than the maximum of %u",
			      triggers->triggers.count, ORMA_SERVICE_TRIGGERS_PER_CONFIG);
	for (size_t i = 0; i < triggers->triggers.count && r == 0; i++)
		r = check_trigger(c, i);
	return r;
}

static int check_names(const struct check *c)
{
	const struct orma_pb_trace_config *config = c->config;

	if (config->unique_session_name.size > ORMA_SERVICE_NAME_BYTES_MAX)
		return REFUSE(c, "unique_session_name: longer than %u bytes",
			      ORMA_SERVICE_NAME_BYTES_MAX);
	if (config->bugreport_filename.size > ORMA_SERVICE_NAME_BYTES_MAX)
		return REFUSE(c, "bugreport_filename: longer than %u bytes",
			      ORMA_SERVICE_NAME_BYTES_MAX);
	for (size_t i = 0; i < config->bugreport_filename.size; i++) {
		char at = config->bugreport_filename.data[i];

		if (!(at >= 'a' && at <= 'z') && !(at >= 'A' && at <= 'Z') &&
		    !(at >= '0' && at <= '9') && at != '.' && at != '_' && at != '-')
			return REFUSE(c, "bugreport_filename: only letters, digits and \".\", "
					 "\"_\", \"-\" are allowed");
	}
	return 0;
}

static int check_guardrails(const struct check *c)
{
	const struct orma_pb_trace_config *config = c->config;
	uint64_t sum_kb = 0, max_kb = ORMA_SERVICE_GUARDED_BUFFERS_KB;

	if (!config->enable_extra_guardrails)
		return 0;
	if (config->deferred_start)
		return REFUSE(c,
			      "deferred_start: not allowed together with enable_extra_guardrails");
	for (size_t i = 0; i < config->buffers.count; i++) {
		uint32_t size_kb = config->buffers.items[i]->size_kb;

		if (size_kb % 4)
			return REFUSE(c,
				      "buffers[%zu].size_kb: %u is not a multiple of 4 "
				      "(enable_extra_guardrails)",
				      i, size_kb);
		sum_kb += size_kb;
	}
	if (config->guardrail_overrides)
		max_kb = ORMA_MAX(
			max_kb, (uint64_t)config->guardrail_overrides->max_tracing_buffer_size_kb);
	if (sum_kb > max_kb)
		return REFUSE(c,
			      "buffers: %llu kB in all are more than the %llu kB of "
			      "enable_extra_guardrails",
			      (unsigned long long)sum_kb, (unsigned long long)max_kb);
	return 0;
}

static int check_buffers(const struct check *c)
{
	const struct orma_pb_trace_config *config = c->config;

	if (config->buffers.count > ORMA_SERVICE_BUFFERS_PER_SESSION)
		return REFUSE(c, "buffers: %zu are more than the maximum of %u",
			      config->buffers.count, ORMA_SERVICE_BUFFERS_PER_SESSION);
	for (size_t i = 0; i < config->buffers.count; i++) {
		const struct orma_pb_trace_config_buffer_config *buffer = config->buffers.items[i];

		if (buffer->size_kb == 0)
			return REFUSE(c, "buffers[%zu].size_kb: 0 or missing", i);
		if ((uint64_t)buffer->size_kb << 10 > ORMA_TRACE_BUFFER_SIZE_MAX_BYTES)
			return REFUSE(c,
				      "buffers[%zu].size_kb: %u is more than the maximum of %llu",
				      i, buffer->size_kb,
				      (unsigned long long)(ORMA_TRACE_BUFFER_SIZE_MAX_BYTES >> 10));
		for (size_t k = 0; k < i && buffer->name.size; k++)
			if (orma_base_str_is_equal(buffer->name, config->buffers.items[k]->name))
				return REFUSE(c,
					      "buffers[%zu].name: \"%.*s\" is the name of "
					      "buffers[%zu] too",
					      i, STR_ARGS(buffer->name), k);
	}
	return 0;
}

static int check_target(const struct check *c, size_t source_idx)
{
	const struct orma_pb_trace_config *config = c->config;
	const struct orma_pb_data_source_config *source =
		config->data_sources.items[source_idx]->config;
	uint32_t target = source ? source->target_buffer : 0;

	if (source && source->target_buffer_name.size) {
		size_t found = 0;

		while (found < config->buffers.count &&
		       !orma_base_str_is_equal(config->buffers.items[found]->name,
					       source->target_buffer_name))
			found++;
		if (found == config->buffers.count)
			return REFUSE(c,
				      "data_sources[%zu].config.target_buffer_name: no buffer is "
				      "called \"%.*s\"",
				      source_idx, STR_ARGS(source->target_buffer_name));
		if (target != 0 && target != found)
			return REFUSE(c,
				      "data_sources[%zu].config.target_buffer: %u, but "
				      "target_buffer_name says "
				      "buffers[%zu]",
				      source_idx, target, found);
		return 0;
	}
	if (target >= config->buffers.count)
		return REFUSE(c,
			      "data_sources[%zu].config.target_buffer: %u, but the number of "
			      "buffers is %zu",
			      source_idx, target, config->buffers.count);
	return 0;
}

static int check_sources(const struct check *c)
{
	const struct orma_pb_trace_config *config = c->config;
	int r = 0;

	if (config->data_sources.count > ORMA_SERVICE_SOURCES_PER_CONFIG)
		return REFUSE(c, "data_sources: %zu are more than the maximum of %u",
			      config->data_sources.count, ORMA_SERVICE_SOURCES_PER_CONFIG);
	for (size_t i = 0; i < config->data_sources.count && r == 0; i++)
		r = check_target(c, i);
	return r;
}

/* Each entry of these lists costs time whenever a producer or a session is matched with them. */
static int check_lengths(const struct check *c)
{
	const struct orma_pb_trace_config *config = c->config;
	size_t regexes = 0;

	if (config->producers.count > ORMA_SERVICE_PRODUCERS_PER_CONFIG)
		return REFUSE(c, "producers: %zu are more than the maximum of %u",
			      config->producers.count, ORMA_SERVICE_PRODUCERS_PER_CONFIG);
	if (config->session_semaphores.count > ORMA_SERVICE_SEMAPHORES_PER_CONFIG)
		return REFUSE(c, "session_semaphores: %zu are more than the maximum of %u",
			      config->session_semaphores.count, ORMA_SERVICE_SEMAPHORES_PER_CONFIG);
	for (size_t i = 0; i < config->data_sources.count; i++) {
		const struct orma_pb_trace_config_data_source *source =
			config->data_sources.items[i];

		if (source->producer_name_filter.count > ORMA_SERVICE_FILTERS_PER_SOURCE)
			return REFUSE(c,
				      "data_sources[%zu].producer_name_filter: %zu are more than "
				      "the maximum of %u",
				      i, source->producer_name_filter.count,
				      ORMA_SERVICE_FILTERS_PER_SOURCE);
		if (source->machine_name_filter.count > ORMA_SERVICE_FILTERS_PER_SOURCE)
			return REFUSE(c,
				      "data_sources[%zu].machine_name_filter: %zu are more than "
				      "the maximum of %u",
				      i, source->machine_name_filter.count,
				      ORMA_SERVICE_FILTERS_PER_SOURCE);
		regexes += source->producer_name_regex_filter.count;
	}
	if (regexes > ORMA_SERVICE_REGEXES_PER_CONFIG)
		return REFUSE(c,
			      "data_sources: %zu expressions in producer_name_regex_filter are "
			      "more than the maximum of %u",
			      regexes, ORMA_SERVICE_REGEXES_PER_CONFIG);
	return 0;
}

static int check_rivals(const struct check *c)
{
	return orma_service_config_check_rivals(c->service, c->port->uid, c->port->has_rights,
						c->config, c->reterr);
}

static int check_file_count(const struct check *c)
{
	const struct orma_pb_trace_config *config = c->config;

	if (config->max_file_count == 0)
		return 0;
	if (!config->write_into_file || !config->output_path.size || !config->max_file_size_bytes)
		return REFUSE(c, "max_file_count: needs write_into_file, output_path and "
				 "max_file_size_bytes");
	if (config->max_file_count > ORMA_SERVICE_FILES_MAX)
		return REFUSE(c, "max_file_count: %u is more than the maximum of %u",
			      config->max_file_count, ORMA_SERVICE_FILES_MAX);
	if (!c->service->files.ops.rotate)
		return orma_base_error_set(c->reterr, -ENOTSUP,
					   "max_file_count: this service does not support it");
	return 0;
}

/* The service creates the file with its own rights, which this consumer may not have. */
static int check_path_rights(const struct check *c)
{
	if (!c->config->output_path.size || c->port->has_rights ||
	    c->service->files.ops.create_for_other)
		return 0;
	return orma_service_creation_refuse(c->reterr);
}

static int check_output(const struct check *c)
{
	const struct orma_pb_trace_config *config = c->config;

	if (!config->write_into_file) {
		if (config->output_path.size)
			return REFUSE(c, "output_path: needs write_into_file");
		return 0;
	}
	if ((c->file_fd >= 0) == (config->output_path.size > 0))
		return REFUSE(c, "write_into_file: needs either a file descriptor or output_path, "
				 "and not both");
	if (config->output_path.size &&
	    (config->output_path.size >= ORMA_SERVICE_PATH_BYTES_MAX ||
	     memchr(config->output_path.data, '\0', config->output_path.size)))
		return REFUSE(c, "output_path: not a path");
	if (check_path_rights(c))
		return -EACCES;
	if (c->file_fd >= 0 && !orma_service_output_is_writable(c->file_fd))
		return REFUSE(c, "write_into_file: the file descriptor cannot be written to");
	return 0;
}

int orma_service_config_check(const struct orma_service *service,
			      const struct orma_consumer_port *port,
			      const struct orma_pb_trace_config *config, int file_fd,
			      struct orma_error *reterr)
{
	static int (*const checks[])(const struct check *c) = {
		check_consumer, check_unsupported, check_enums,          check_compression,
		check_duration, check_triggers,    check_names,          check_guardrails,
		check_buffers,  check_sources,     check_lengths,        check_rivals,
		check_output,   check_file_count,  check_priority_boost,
	};
	struct check c = {service, port, config, file_fd, reterr};
	int r = 0;

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(checks) && r == 0; i++)
		r = checks[i](&c);
	return r;
}
