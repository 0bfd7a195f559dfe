/* SPDX-License-Identifier: Apache-2.0
 * record_config.c - the config of a recording: read from a file in text or binary form, or made
 * from options.
 *
 * A config that is made is text first, so that `--print-config` can show what a recording stands
 * for, as a start for a config of one's own.
 */
#include <errno.h>
#include <orma/session.h>
#include <string.h>

#include "base/arena.h"
#include "base/error_message.h"
#include "proto/codec.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/trace_attributes.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "schema/gen/track_event_config.pb.h"
#include "tool/record/record.h"
#include "tool/tool.h"

static bool looks_like_text(const struct orma_buf *content)
{
	for (size_t i = 0; i < content->size; i++) {
		uint8_t c = content->data[i];
		if ((c < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7f)
			return false;
	}
	return content->size > 0;
}

static int parse_config(const struct orma_record_wish *wish, const char *name,
			const struct orma_buf *content, struct orma_arena *arena,
			struct orma_pb_trace_config **ret, struct orma_error *reterr)
{
	bool is_text = wish->format == ORMA_CONFIG_TEXT || wish->format == ORMA_CONFIG_TEXT_LOSSY ||
		       (wish->format == ORMA_CONFIG_GUESS && looks_like_text(content));
	const struct orma_proto_text_options options = {
		.extension = &orma_tool_config_extension,
		.flags = wish->format == ORMA_CONFIG_TEXT_LOSSY ? ORMA_PROTO_TEXT_LOSSY : 0,
	};
	if (is_text)
		return orma_proto_text_parse_extended(&orma_pb_trace_config_desc, &options, name,
						      (const char *)content->data, content->size,
						      arena, ret, reterr);
	int r = orma_proto_decode_copy(&orma_pb_trace_config_desc, content->data, content->size,
				       arena, ret);
	if (r == -EBADMSG)
		orma_base_error_set(reterr, r, "%s is not a binary TraceConfig%s", name,
				    looks_like_text(content) ? "; if it is text, add --txt" : "");
	return r;
}

static int compress(struct orma_pb_trace_config *config, bool uses_zstd, struct orma_arena *arena)
{
	struct orma_pb_trace_config_compression_config *compression =
		orma_proto_new(&orma_pb_trace_config_compression_config_desc, arena);

	if (!compression)
		return -ENOMEM;
	config->compression = compression;
	compression->deflate =
		orma_proto_new(&orma_pb_trace_config_compression_config_deflate_desc, arena);
	if (uses_zstd)
		compression->zstd =
			orma_proto_new(&orma_pb_trace_config_compression_config_zstd_desc, arena);
	return compression->deflate && (compression->zstd || !uses_zstd) ? 0 : -ENOMEM;
}

/* Applies options that override a config file. */
static int apply_overrides(const struct orma_record_wish *wish, struct orma_arena *arena,
			   struct orma_pb_trace_config *config)
{
	if (wish->config_path && (wish->duration_ms || wish->is_endless))
		orma_pb_trace_config_set_duration_ms(config, wish->duration_ms);
	if (wish->config_path && wish->buffer_kb)
		for (size_t i = 0; i < config->buffers.count; i++)
			orma_pb_trace_config_buffer_config_set_size_kb(config->buffers.items[i],
								       (uint32_t)wish->buffer_kb);
	if (wish->config_path && (wish->is_streaming || wish->file_limit_kb))
		orma_pb_trace_config_set_write_into_file(config, true);
	if (wish->config_path && wish->file_limit_kb)
		orma_pb_trace_config_set_max_file_size_bytes(config, wish->file_limit_kb * 1024);
	if (wish->config_path && wish->file_count) {
		orma_pb_trace_config_set_max_file_count(config, wish->file_count);
		orma_pb_trace_config_set_output_path(config, orma_base_str(wish->output_path));
	}
	if (wish->config_path && wish->compresses && compress(config, wish->uses_zstd, arena))
		return -ENOMEM;
	if (wish->is_deferred)
		orma_pb_trace_config_set_deferred_start(config, true);
	if (wish->attribute_count == 0)
		return 0;
	if (!config->trace_attributes &&
	    !(config->trace_attributes = orma_proto_new(&orma_pb_trace_attributes_desc, arena)))
		return -ENOMEM;
	for (int i = 0; i < wish->attribute_count; i++) {
		const char *text = wish->attributes[i];
		size_t key_size = strcspn(text, "=");
		struct orma_pb_trace_attributes_attribute *attribute =
			orma_proto_new(&orma_pb_trace_attributes_attribute_desc, arena);
		struct orma_pb_trace_attributes_attribute **slot = orma_proto_repeated_add(
			(struct orma_proto_repeated *)&config->trace_attributes->attribute,
			sizeof(*slot), arena);
		if (!attribute || !slot)
			return -ENOMEM;
		orma_pb_trace_attributes_attribute_set_key(attribute,
							   (struct orma_str){text, key_size});
		orma_pb_trace_attributes_attribute_set_string_value(
			attribute,
			orma_base_str(text[key_size] ? text + key_size + 1 : text + key_size));
		*slot = attribute;
	}
	return 0;
}

static int read_config(const struct orma_record_wish *wish, struct orma_buf *content,
		       struct orma_error *reterr)
{
	int r = wish->config_path ? orma_tool_read_file(wish->config_path, content)
				  : orma_record_config_text(wish, content);
	if (r == -EFBIG)
		return orma_base_error_set(reterr, r, "%s: a config has at most 16 MiB",
					   wish->config_path);
	if (r)
		return orma_base_error_set(reterr, r, "%s: %s",
					   wish->config_path ? wish->config_path : "config",
					   strerror(-r));
	if (content->size == 0)
		return orma_base_error_set(reterr, -EINVAL, "%s: the config is empty",
					   wish->config_path);
	return 0;
}

static bool makes_snapshots(const struct orma_pb_trace_config *config)
{
	const struct orma_pb_trace_config_trigger_config *triggers = config->trigger_config;
	return triggers &&
	       (triggers->use_clone_snapshot_if_available ||
		triggers->trigger_mode ==
			ORMA_PB_TRACE_CONFIG_TRIGGER_CONFIG_TRIGGER_MODE_CLONE_SNAPSHOT);
}

static int take_start_delay(const struct orma_pb_trace_config *config,
			    struct orma_record_config *ret, struct orma_error *reterr)
{
	const struct orma_pb_trace_config_cmd_trace_start_delay *delay =
		config->cmd_trace_start_delay;
	if (!delay)
		return 0;
	if (!orma_pb_trace_config_cmd_trace_start_delay_has_min_delay_ms(delay) ||
	    !orma_pb_trace_config_cmd_trace_start_delay_has_max_delay_ms(delay) ||
	    delay->min_delay_ms > delay->max_delay_ms)
		return orma_base_error_set(reterr, -EINVAL,
					   "cmd_trace_start_delay: needs min_delay_ms and a "
					   "max_delay_ms that is not smaller");
	ret->start_delay_min_ms = delay->min_delay_ms;
	ret->start_delay_max_ms = delay->max_delay_ms;
	return 0;
}

static int take_triggers(const struct orma_pb_trace_config *config, struct orma_record_config *ret)
{
	size_t count = config->activate_triggers.count;
	if (count == 0)
		return 0;
	ret->triggers = orma_base_arena_alloc(&ret->arena, count * sizeof(*ret->triggers));
	for (size_t i = 0; ret->triggers && i < count; i++) {
		ret->triggers[i] =
			orma_base_arena_strdup(&ret->arena, config->activate_triggers.items[i]);
		if (!ret->triggers[i])
			return -ENOMEM;
		ret->trigger_count++;
	}
	return ret->triggers ? 0 : -ENOMEM;
}

static bool names_categories(const struct orma_pb_trace_config *config)
{
	for (size_t i = 0; i < config->data_sources.count; i++) {
		const struct orma_pb_data_source_config *source =
			config->data_sources.items[i]->config;

		if (source && source->track_event_config &&
		    source->track_event_config->enabled_categories.count > 0 &&
		    !orma_base_str_is(source->track_event_config->enabled_categories.items[0], "*"))
			return true;
	}
	return false;
}

static int make_config(const struct orma_record_wish *wish, struct orma_arena *arena,
		       struct orma_buf *content, struct orma_record_config *ret,
		       struct orma_error *reterr)
{
	struct orma_pb_trace_config *config;
	struct orma_record_wish given = *wish;
	const char *name = !wish->config_path                    ? "made from the options"
			   : strcmp(wish->config_path, "-") == 0 ? "standard input"
								 : wish->config_path;
	if (!wish->config_path)
		given.format = ORMA_CONFIG_TEXT;
	int r = read_config(wish, content, reterr);
	if (r == 0)
		r = parse_config(&given, name, content, arena, &config, reterr);
	if (r == 0)
		r = apply_overrides(wish, arena, config);
	if (r == 0)
		r = orma_proto_encode(config, &ret->bytes);
	if (r)
		return r;
	ret->duration_ms = config->duration_ms;
	ret->writes_into_file = config->write_into_file;
	ret->max_file_count = config->max_file_count;
	ret->max_file_bytes = config->max_file_size_bytes;
	ret->counts_suspend = config->prefer_suspend_clock_for_duration;
	if (config->output_path.size > 0) {
		ret->output_path = orma_base_arena_strdup(&ret->arena, config->output_path);
		if (!ret->output_path)
			return -ENOMEM;
	}
	ret->has_buffers = config->buffers.count > 0;
	ret->has_sources = config->data_sources.count > 0;
	ret->names_categories = names_categories(config);
	ret->has_triggers = config->trigger_config != NULL;
	ret->makes_snapshots = makes_snapshots(config);
	r = take_start_delay(config, ret, reterr);
	return r ? r : take_triggers(config, ret);
}

int orma_record_config_make(const struct orma_record_wish *wish, struct orma_record_config *ret,
			    struct orma_error *reterr)
{
	struct orma_arena arena = {0};
	struct orma_buf content = {0};
	*ret = (struct orma_record_config){0};
	int r = make_config(wish, &arena, &content, ret, reterr);
	if (r && reterr->code == 0)
		orma_base_error_set(reterr, r, "the config: %s", strerror(-r));
	if (r)
		orma_record_config_done(ret);
	orma_base_arena_done(&arena);
	orma_base_buf_done(&content);
	return r;
}

int orma_record_config_drop_source(struct orma_record_config *config, const char *name)
{
	struct orma_arena arena = {0};
	struct orma_buf bytes = {0};
	struct orma_pb_trace_config *decoded;
	size_t kept = 0;
	int r = orma_proto_decode_copy(&orma_pb_trace_config_desc, config->bytes.data,
				       config->bytes.size, &arena, &decoded);

	for (size_t i = 0; r == 0 && i < decoded->data_sources.count; i++) {
		struct orma_pb_trace_config_data_source *source = decoded->data_sources.items[i];

		if (!source->config || !orma_base_str_is(source->config->name, name))
			decoded->data_sources.items[kept++] = source;
	}
	if (r == 0) {
		decoded->data_sources.count = kept;
		r = orma_proto_encode(decoded, &bytes);
	}
	if (r == 0) {
		orma_base_buf_done(&config->bytes);
		config->bytes = bytes;
	} else {
		orma_base_buf_done(&bytes);
	}
	orma_base_arena_done(&arena);
	return r;
}

void orma_record_config_done(struct orma_record_config *config)
{
	orma_base_buf_done(&config->bytes);
	orma_base_arena_done(&config->arena);
}
