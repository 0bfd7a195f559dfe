/* SPDX-License-Identifier: Apache-2.0
 * orma-trace/trace.h - load a trace, and ask it with SQL.
 *
 * The library is liborma-trace, of its own: programs that only emit events do not need it. It reads what `orma sql` reads,
 * with the same tables; `man orma-sql` describes them.
 *
 *	orma_trace_open -> orma_query_new -> next -> step, step, ... -> next -> ... -> orma_query_free -> orma_trace_close
 *
 * Threads:   a trace and its queries belong to one thread at a time. Different traces are independent: the library has no
 *            state beside them. Any thread, and a signal handler, may call orma_trace_interrupt().
 * Blocking:  loading takes a second per some hundred megabytes, and a query as long as it takes; both can be stopped.
 * Memory:    options.memory_bytes bounds what the tables take. The rest lies in a file below TMPDIR or /var/tmp, which has no
 *            name and goes with the process.
 * Queries:   cannot write files, nor open others.
 * Ownership: arguments are borrowed for the call. Values of a query are valid until it moves to another row.
 * Errors:    functions that can fail return a negative errno value, and set the last argument, which may be NULL. -ENOMEM
 *            may come from all of them. -EINVAL means NULL where a value is required, if nothing else is said.
 */
#ifndef ORMA_TRACE_TRACE_H
#define ORMA_TRACE_TRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORMA_TRACE_API __attribute__((visibility("default")))

/* --- errors ----------------------------------------------------------------------------------- */

#define ORMA_TRACE_MESSAGE_BYTES 508

/* Set struct_size to sizeof(struct orma_trace_error), and all else to 0. */
struct orma_trace_error {
	size_t struct_size;
	int code; /* the negative errno value that was returned */
	/* The place in the text of the queries, counting from 1; 0 = the error has none. */
	uint32_t line, column;
	/* One or more lines of text, NUL-terminated. The message about a query has the place and the line. */
	char message[ORMA_TRACE_MESSAGE_BYTES];
};

/* --- traces ----------------------------------------------------------------------------------- */

struct orma_trace; /* a trace that is loaded */

/* Set struct_size to sizeof(struct orma_trace_open_options); 0 and NULL are the defaults. */
struct orma_trace_open_options {
	size_t struct_size;
	/* The budget of tables and rows; 0 = a quarter of what the machine or the container has. */
	uint64_t memory_bytes;
	/*
	 * Called during the loading, on the thread that loads, with how many bytes were read so far, about, and how many there
	 * are; 0 = unknown. A negative value ends the loading, which returns it.
	 */
	int (*progress)(void *ctx, uint64_t read_bytes, uint64_t all_bytes);
	void *ctx;
	uint32_t
		without_ftrace_events; /* not 0: the kernel's events get no rows of ftrace_event, which saves memory */
};

/**
 * orma_trace_open() - load a trace from a file.
 * @path:    the file; not a folder.
 * @options: may be NULL.
 * @ret:     set when a trace was loaded, else NULL; see orma_trace_close().
 *
 * Returns 0. -EBADMSG means that the trace is damaged; when *ret is set, what comes before the damage can be asked.
 * -EPROTONOSUPPORT (not a trace), -ECANCELED or another value of options->progress, -ENOSPC (the memory's file), -EISDIR, and
 * errors of open(2) and read(2). Unknown options that are not 0 are -EINVAL.
 */
ORMA_TRACE_API int orma_trace_open(const char *path, const struct orma_trace_open_options *options,
				   struct orma_trace **ret, struct orma_trace_error *reterr);
/**
 * orma_trace_open_fd() - load a trace from a descriptor: a file, a pipe, a socket.
 * @fd: stays the caller's, who may close it after the call. The file must not be changed while the trace is open.
 *
 * The rest is as for orma_trace_open().  Returns 0 or -EBADMSG, and the errors of orma_trace_open().
 */
ORMA_TRACE_API int orma_trace_open_fd(int fd, const struct orma_trace_open_options *options,
				      struct orma_trace **ret, struct orma_trace_error *reterr);
/**
 * orma_trace_close() - free a trace. Its queries must be freed before. NULL is ignored.
 */
ORMA_TRACE_API void orma_trace_close(struct orma_trace *trace);
/**
 * orma_trace_interrupt() - stop the query that runs, which returns -ECANCELED. Other queries of the trace that are not freed
 * are stopped, too.
 *
 * Without one, the call has no effect: a query that begins later runs. Any thread may call it while the trace is open, and
 * a signal handler.
 */
ORMA_TRACE_API void orma_trace_interrupt(struct orma_trace *trace);
/**
 * orma_trace_add_module() - let `include perfetto module NAME` find a text of SQL.
 * @name: words between dots, like "mine.reports".
 * @size: of the text, in bytes.
 *
 * Returns 0, -EEXIST (there is a module or a package of the library with this name) or -EINVAL (not such a name).
 */
ORMA_TRACE_API int orma_trace_add_module(struct orma_trace *trace, const char *name,
					 const char *text, size_t size);

/* --- queries ---------------------------------------------------------------------------------- */

struct orma_query; /* a text of statements, and where it is in it */

enum orma_query_type {
	ORMA_QUERY_NULL = 0,
	ORMA_QUERY_INT = 1,
	ORMA_QUERY_DOUBLE = 2,
	ORMA_QUERY_TEXT = 3,
	ORMA_QUERY_BLOB = 4,
};

/**
 * orma_query_new() - prepare a text of statements, separated by semicolons.
 * @size: of the text, in bytes.
 *
 * Nothing is run yet; a mistake is found by orma_query_next(). A trace may have several queries, whose rows are read in any
 * order.
 * Returns 0.
 */
ORMA_TRACE_API int orma_query_new(struct orma_trace *trace, const char *text, size_t size,
				  struct orma_query **ret);
/**
 * orma_query_free() - end a query. NULL is ignored.
 */
ORMA_TRACE_API void orma_query_free(struct orma_query *query);
/* The largest number of a parameter. */
#define ORMA_QUERY_VALUES_MAX 999

/**
 * orma_query_set_null() - let the parameter ?1, ?2 and so on of the statements be NULL, as it is without a value.
 * @number: the parameter's, from 1 to ORMA_QUERY_VALUES_MAX.
 *
 * This and the next four functions give values to the statements that orma_query_next() runs from now on; the current one keeps its
 * own. A value is not read as SQL, so it may come from anywhere. Statements of PerfettoSQL, such as CREATE PERFETTO TABLE, use
 * the values in their queries.
 * Returns 0, or -EINVAL for another number.
 */
ORMA_TRACE_API int orma_query_set_null(struct orma_query *query, uint32_t number);
/**
 * orma_query_set_int() - give an integer to a parameter, as orma_query_set_null() does.
 *
 * Returns 0 or -EINVAL.
 */
ORMA_TRACE_API int orma_query_set_int(struct orma_query *query, uint32_t number, int64_t value);
/**
 * orma_query_set_double() - give a double to a parameter, as orma_query_set_null() does. NaN is NULL.
 *
 * Returns 0 or -EINVAL.
 */
ORMA_TRACE_API int orma_query_set_double(struct orma_query *query, uint32_t number, double value);
/**
 * orma_query_set_text() - give a text to a parameter, as orma_query_set_null() does. It is copied.
 * @size: of the text, in bytes.
 *
 * Returns 0 or -EINVAL.
 */
ORMA_TRACE_API int orma_query_set_text(struct orma_query *query, uint32_t number, const char *text,
				       size_t size);
/**
 * orma_query_set_blob() - give bytes to a parameter, as orma_query_set_null() does. They are copied.
 * @size: how many.
 *
 * Returns 0 or -EINVAL.
 */
ORMA_TRACE_API int orma_query_set_blob(struct orma_query *query, uint32_t number, const void *bytes,
				       size_t size);
/**
 * orma_query_next() - run statements up to the next one that has columns; orma_query_step() goes to its first row.
 *
 * Statements that return nothing are carried out on the way. Rows of the current statement that were not read are left out.
 * Returns 1, 0 at the end of the text, -ECANCELED, -EMSGSIZE (a value is too large), or -EINVAL with the place in the error. After
 * an error, the query is at its end.
 */
ORMA_TRACE_API int orma_query_next(struct orma_query *query, struct orma_trace_error *reterr);
/**
 * orma_query_step() - go to the next row of the current statement.
 *
 * Returns 1, 0 behind the last row, and errors as orma_query_next(): -EINVAL, -EMSGSIZE or -ECANCELED.
 */
ORMA_TRACE_API int orma_query_step(struct orma_query *query, struct orma_trace_error *reterr);

/**
 * orma_query_column_count() - the number of columns of the current statement; 0 without one.
 */
ORMA_TRACE_API size_t orma_query_column_count(const struct orma_query *query);
/**
 * orma_query_column_name() - the name of a column, from 0; NULL when there is none. Valid until the next statement.
 */
ORMA_TRACE_API const char *orma_query_column_name(const struct orma_query *query, size_t column);
/**
 * orma_query_type() - the type of a value of the current row, enum orma_query_type. NULL is the type where there is no row
 * or no such column.
 */
ORMA_TRACE_API int orma_query_type(const struct orma_query *query, size_t column);
/**
 * orma_query_int() - a value as an integer: texts are read as numbers, NULL is 0.
 */
ORMA_TRACE_API int64_t orma_query_int(const struct orma_query *query, size_t column);
/**
 * orma_query_double() - a value as a double: texts are read as numbers, NULL is 0.
 */
ORMA_TRACE_API double orma_query_double(const struct orma_query *query, size_t column);
/**
 * orma_query_text() - a value as a text with a NUL behind; numbers are written out. NULL for NULL.
 * @ret_size: without the NUL; may be NULL. A text may contain NULs of its own.
 */
ORMA_TRACE_API const char *orma_query_text(const struct orma_query *query, size_t column,
					   size_t *ret_size);
/**
 * orma_query_blob() - a value as bytes; NULL when there are none.
 * @ret_size: how many; may be NULL.
 */
ORMA_TRACE_API const void *orma_query_blob(const struct orma_query *query, size_t column,
					   size_t *ret_size);

#ifdef __cplusplus
}
#endif
#endif
