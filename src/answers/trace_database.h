/* SPDX-License-Identifier: Apache-2.0
 * trace_database.h - a trace that answers SQL.
 */
#ifndef ORMA_ANSWERS_TRACE_DATABASE_H
#define ORMA_ANSWERS_TRACE_DATABASE_H

#include "answers/modules.h"
#include "formats/formats.h"
#include "sql/relation.h"
#include "sql/sql_engine.h"
#include "store/keyed_sum.h"
#include "trace/event_args.h"
#include "trace/importer.h"
#include "trace/kernel_args.h"

struct orma_trace_options {
	size_t memory_bytes; /* the budget of tables and rows; 0 = a quarter of what the machine or the container has */
	orma_unpack_fn *unpack; /* NULL = packets that are compressed are not read */
	uint64_t seed;          /* a secret number, when strangers wrote the trace */
	bool has_no_raw_events; /* the kernel's events get no rows of ftrace_event */
	/* Only trace_processor_shell has these: */
	bool crops_events;     /* track events before the range of interest are left out */
	bool analyzes_content; /* the bytes of each field fill the tables experimental_proto_* */
	bool checks_views;     /* the types of the values of views are checked */
	/*
	 * Called during the loading with how much was read so far, about; all_bytes is 0 when it is not known. A negative value
	 * ends the loading with it. May be NULL.
	 */
	int (*progress)(void *ctx, uint64_t read_bytes, uint64_t all_bytes);
	void *progress_ctx;
	/* The user's modules, which become the database's when it is opened; empty then. May be NULL. */
	struct orma_module_list *modules;
};

/* A file that keeps the tables of a trace; see trace_index.c. */
struct orma_trace_index {
	int fd;
	/* Only who has the key can make an index that is taken. */
	uint8_t key[ORMA_SUM_KEY_BYTES];
};

struct orma_trace_database {
	struct orma_trace_options options;
	uint64_t read_bytes; /* during the loading */
	struct orma_tables tables;
	struct orma_trace_files files;
	struct orma_trace_bytes input;
	struct orma_importer importer;
	struct orma_event_args event_args;
	struct orma_kernel_args kernel_args;
	struct orma_arg_list args;            /* the arguments of the set that was asked for last */
	int64_t args_set;                     /* its id; ORMA_CELL_NULL = none */
	struct orma_arg_column *arg_columns;  /* see arg_columns.c */
	struct orma_derived_columns *derived; /* NULL until derived_columns.c adds them */
	struct orma_module_list modules;      /* the user's */
	struct orma_sql *sql;
	uint64_t trace_bytes, trace_ns; /* size and time of the only trace before it was read */
	uint32_t *main_threads;         /* by upid: the utid + 1, or 0; see task_names.c */
	uint64_t main_thread_count;
	void *mapped; /* the index that the tables are in; NULL = none */
	size_t mapped_bytes;
	int64_t start_ns, end_ns; /* the time that the events cover, on the trace's clock */
};

/*
 * Reads a whole trace from a descriptor, which stays the caller's and open as long as the database. `options` may be NULL.
 * 0 or a negative errno value; for -EBADMSG with a database in *ret the trace is damaged, and what came before the damage
 * can be asked.
 */
int orma_trace_database_open(int fd, const struct orma_trace_options *options,
			     struct orma_trace_database **ret, struct orma_error *reterr);
/* The same for one trace or several, which share the tables; see orma_formats_open_all(). */
int orma_trace_database_open_all(const struct orma_formats_source *sources, size_t count,
				 const struct orma_trace_options *options,
				 struct orma_trace_database **ret, struct orma_error *reterr);
/*
 * Opens an index instead of reading the trace, which is a file and is only read for arguments. All of `index` is borrowed
 * for the call. 0; -ESTALE: it is not of this trace as it is now, of this version of orma or of this key; -EBADMSG: it is
 * damaged; or another negative errno value.
 */
int orma_trace_database_open_index(int fd, const struct orma_trace_index *index,
				   const struct orma_trace_options *options,
				   struct orma_trace_database **ret, struct orma_error *reterr);
/*
 * Writes an index of a trace, a file, that was read without damage. 0; -ESTALE: the file was changed since its reading began;
 * or another negative errno value.
 */
int orma_trace_database_write_index(struct orma_trace_database *database, int fd,
				    const struct orma_trace_index *index);
void orma_trace_database_free(struct orma_trace_database *database);

/* Finds the arguments of a set, which are valid until the next call. 0 or a negative errno value; an unknown set is empty. */
int orma_trace_database_args(struct orma_trace_database *database, int64_t set,
			     const struct orma_arg_list **ret);

/* Converts a time of the trace into nanoseconds since 1970. False when its clocks do not lead there. */
bool orma_trace_database_realtime(const struct orma_trace_database *database, int64_t ns,
				  int64_t *ret);
/* Returns the text of a cell of strings; .data = NULL for NULL. */
static inline struct orma_str orma_trace_database_text(const struct orma_trace_database *database,
						       int64_t cell)
{
	return cell == ORMA_CELL_NULL
		       ? (struct orma_str){NULL, 0}
		       : orma_store_pool_get(&database->tables.strings, (uint32_t)cell);
}
/* Returns a cell of a table. */
static inline int64_t orma_trace_database_cell(const struct orma_trace_database *database,
					       enum orma_table_id table, size_t column,
					       uint64_t row)
{
	return orma_store_column_get(&database->tables.all[table].columns[column], row);
}
/* True when a slice has arguments that are read from the trace. `columns` are those of the table of slices. */
bool orma_slice_has_args(const struct orma_column *columns, uint64_t row);

/* Parts of the database, for its own files. 0 or a negative errno value. */
int orma_trace_index_note_file(struct orma_trace_database *database, int fd);
int orma_trace_index_restore(struct orma_trace_database *database, int fd,
			     const struct orma_trace_index *index);
int orma_main_threads_find(struct orma_trace_database *database);
int orma_trace_relations_add(struct orma_trace_database *database);
int orma_args_table_add(struct orma_trace_database *database);
int orma_trace_functions_add(struct orma_trace_database *database);
int orma_ftrace_text_add(struct orma_trace_database *database);
int orma_args_json_add(struct orma_trace_database *database);
int orma_lane_function_add(struct orma_trace_database *database);
int orma_time_functions_add(struct orma_trace_database *database);
int orma_operators_add(struct orma_trace_database *database);
int orma_flame_table_add(struct orma_trace_database *database);
int orma_derived_columns_add(struct orma_trace_database *database);
/* The options of SQL take it. */
int orma_empty_table_define(void *ctx, struct orma_sql *sql, const char *name,
			    struct orma_error *reterr);
/* Protects the views that it makes. 0 or -ENOMEM. */
int orma_empty_tables_protect(struct orma_sql *sql);
/* The names that it knows; NULL behind the last. */
const char *orma_empty_table_name(size_t idx);
/* For the relation of slices; see orma_relation.call. */
int orma_arg_column_find(void *ctx, struct orma_str key, struct orma_relation_column *ret);
void orma_arg_columns_free(struct orma_arg_column *column);
void orma_derived_columns_free(struct orma_derived_columns *columns);

#endif
