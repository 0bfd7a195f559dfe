/* SPDX-License-Identifier: Apache-2.0
 * metadata.c - what the trace says about itself: a row for each name.
 */
#include <errno.h>

#include "trace/system_packets.h"

static int64_t scoped(const struct orma_metadata *metadata, enum orma_metadata_scope scope,
		      int64_t id)
{
	return metadata->scope == scope || metadata->scope == ORMA_METADATA_BOTH ? id
										 : ORMA_CELL_NULL;
}

/* The key of a piece of metadata among all. */
static uint64_t hash_of(const struct orma_system *system, const struct orma_metadata *metadata)
{
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, metadata->name.data, metadata->name.size);
	hash = orma_base_fnv1a(hash, &metadata->machine_idx, sizeof(metadata->machine_idx));
	if (metadata->scope == ORMA_METADATA_TRACE || metadata->scope == ORMA_METADATA_BOTH)
		hash = orma_base_fnv1a(hash, &system->stats.trace_file,
				       sizeof(system->stats.trace_file));
	return hash;
}

int orma_metadata_set(struct orma_system *system, const struct orma_metadata *metadata)
{
	struct orma_table *table = &system->tables->all[ORMA_TABLE_METADATA];
	uint64_t hash = hash_of(system, metadata);
	uintptr_t known =
		metadata->is_list ? 0 : (uintptr_t)orma_base_map_get(&system->metadata, hash);
	if (known) {
		int r = orma_store_column_set(&table->columns[ORMA_METADATA_INT_VALUE], known - 1,
					      metadata->number);
		return r < 0 ? r
			     : orma_store_column_set(&table->columns[ORMA_METADATA_STR_VALUE],
						     known - 1, metadata->text);
	}
	int64_t cells[ORMA_METADATA_COLUMNS] = {
		[ORMA_METADATA_NAME] = orma_system_text(system, metadata->name),
		[ORMA_METADATA_KEY_TYPE] = orma_tables_string(
			system->tables, metadata->is_list ? ORMA_STR("multi") : ORMA_STR("single")),
		[ORMA_METADATA_INT_VALUE] = metadata->number,
		[ORMA_METADATA_STR_VALUE] = metadata->text,
		[ORMA_METADATA_MACHINE_ID] =
			scoped(metadata, ORMA_METADATA_MACHINE, metadata->machine_idx),
		[ORMA_METADATA_TRACE_ID] =
			scoped(metadata, ORMA_METADATA_TRACE, system->stats.trace_file),
	};
	uint64_t row = orma_store_table_rows(table);
	int r = metadata->is_list
			? 0
			: orma_base_map_put(&system->metadata, hash, (void *)(uintptr_t)(row + 1));
	return r < 0 ? r : orma_store_table_append(table, cells);
}

int orma_metadata_number(struct orma_system *system, const char *name,
			 enum orma_metadata_scope scope, uint32_t machine_idx, int64_t number)
{
	return orma_metadata_set(system, &(struct orma_metadata){.name = orma_base_str(name),
								 .scope = scope,
								 .machine_idx = machine_idx,
								 .number = number,
								 .text = ORMA_CELL_NULL});
}

int orma_metadata_text(struct orma_system *system, const char *name, enum orma_metadata_scope scope,
		       uint32_t machine_idx, struct orma_str text)
{
	if (!text.data)
		return 0;
	return orma_metadata_set(system,
				 &(struct orma_metadata){.name = orma_base_str(name),
							 .scope = scope,
							 .machine_idx = machine_idx,
							 .number = ORMA_CELL_NULL,
							 .text = orma_system_text(system, text)});
}

/* The service of this version and later ones flushes whenever it writes to the file. */
enum { SERVICE_FLUSHES = 54 };

static void count_streaming(struct orma_system *system, uint32_t machine_idx)
{
	const struct orma_system_machine *machine = &system->machines[machine_idx];
	int64_t bytes;
	for (uint32_t i = 0; i < machine->streams; i++)
		if (orma_stats_get(&system->stats, machine_idx,
				   ORMA_STAT_traced_buf_bytes_overwritten, (int32_t)i, &bytes) &&
		    bytes > 0)
			orma_stats_set(&system->stats, machine_idx,
				       ORMA_STAT_long_trace_mode_bytes_overwritten, (int32_t)i,
				       bytes);
	if (machine->has_no_flushes && machine->service_version < SERVICE_FLUSHES)
		orma_stats_add(&system->stats, machine_idx,
			       ORMA_STAT_config_write_into_file_no_flush, 0, 1);
}

static int set_type(struct orma_system *system, uint64_t size_bytes, const char *type)
{
	int r = orma_metadata_number(system, "trace_size_bytes", ORMA_METADATA_TRACE, 0,
				     (int64_t)size_bytes);
	return r < 0 ? r
		     : orma_metadata_text(system, "trace_type", ORMA_METADATA_TRACE, 0,
					  orma_base_str(type));
}

static bool has_type(const struct orma_system *system)
{
	struct orma_metadata type = {.name = ORMA_STR("trace_type"), .scope = ORMA_METADATA_TRACE};
	return orma_base_map_get(&system->metadata, hash_of(system, &type)) != NULL;
}

static int add_file(struct orma_system *system, const struct orma_trace_file *file)
{
	int64_t cells[ORMA_TRACE_FILE_COLUMNS] = {
		[ORMA_TRACE_FILE_PARENT_ID] =
			file->parent == ORMA_TRACE_FILE_NONE ? ORMA_CELL_NULL : file->parent,
		[ORMA_TRACE_FILE_NAME] =
			orma_tables_string(system->tables, orma_base_str(file->name)),
		[ORMA_TRACE_FILE_SIZE] = (int64_t)file->size_bytes,
		[ORMA_TRACE_FILE_TRACE_TYPE] =
			orma_tables_string(system->tables, orma_base_str(file->type)),
		[ORMA_TRACE_FILE_PROCESSING_ORDER] =
			file->order == ORMA_TRACE_FILE_NONE ? ORMA_CELL_NULL : file->order,
		[ORMA_TRACE_FILE_IS_CONTAINER] = file->is_container,
	};
	return orma_store_table_append(&system->tables->all[ORMA_TABLE_TRACE_FILE], cells);
}

/* Adds the files, and what the traces among them are. A trace of packets that was converted before says itself what it was. */
static int add_files(struct orma_system *system)
{
	const struct orma_trace_files *files = system->files;
	uint32_t first = system->stats.trace_file;
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < files->count; i++) {
		const struct orma_trace_file *file = &files->items[i];
		r = add_file(system, file);
		system->stats.trace_file = i;
		if (r == 0 && !file->is_container && file->order != ORMA_TRACE_FILE_NONE &&
		    !has_type(system))
			r = set_type(system, file->size_bytes, file->type);
	}
	system->stats.trace_file = first;
	return r;
}

int orma_trace_facts(struct orma_system *system)
{
	const struct orma_trace_bytes *input = system->index->input;
	int r = orma_metadata_number(system, "trace_time_clock_id", ORMA_METADATA_GLOBAL, 0,
				     (int64_t)(system->index->clocks.trace_time & 0xff));
	if (r == 0 && system->files)
		r = add_files(system);
	else if (r == 0 && !system->is_converted)
		r = set_type(system, input->size ? input->size : input->spool_size, "proto");
	for (uint32_t i = 0; i < system->machine_count; i++)
		count_streaming(system, i);
	for (uint32_t i = 0; i < system->machine_count && r == 0; i++)
		if (system->machines[i].data_start_ns)
			r = orma_metadata_number(system, "ftrace_latest_data_start_ns",
						 ORMA_METADATA_BOTH, i,
						 system->machines[i].data_start_ns);
	return r;
}
