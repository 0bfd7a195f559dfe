/* SPDX-License-Identifier: Apache-2.0
 * ask.c - binds the engine to the binary: codecs for compressed packets, and rows as text.
 */
#include "tool/ask/ask.h"

#include <errno.h>

#ifdef ORMA_HAVE_SQL

#include "answers/trace_database.h"
#include "schema/gen/trace_packet.pb.h"
#include "sql/result_writer.h"
#include "tool/trace/compression.h"

/* So much text waits before it is passed on. */
enum { WAITING_BYTES = 64 << 10 };

struct ask_output {
	struct orma_result_writer writer;
	struct orma_buf text;
	int (*write)(void *ctx, const void *data, size_t size);
	void *ctx;
};

static int unpack(uint32_t field_id, const void *data_untrusted, size_t size, size_t max_bytes,
		  struct orma_buf *ret)
{
	bool is_deflate = field_id == ORMA_PB_TRACE_PACKET_COMPRESSED_PACKETS;
	return orma_tool_decompress(is_deflate ? ORMA_CODEC_DEFLATE : ORMA_CODEC_ZSTD,
				    data_untrusted, size, max_bytes, ret);
}

/* The trace is all that there is to ask. */
static struct orma_trace_database *database_of(struct orma_ask *ask)
{
	return (struct orma_trace_database *)ask;
}

int orma_ask_open(int fd, size_t memory_bytes, struct orma_ask **ret, struct orma_error *reterr)
{
	struct orma_trace_database *database;
	int r = orma_trace_database_open(fd, memory_bytes, unpack, &database, reterr);
	*ret = (struct orma_ask *)database;
	return r;
}

void orma_ask_free(struct orma_ask *ask)
{
	orma_trace_database_free(database_of(ask));
}

void orma_ask_interrupt(struct orma_ask *ask)
{
	orma_sql_interrupt(database_of(ask)->sql);
}

static int pass_on(struct ask_output *output, size_t at_least)
{
	if (output->text.size < at_least)
		return 0;
	int r = output->text.size > 0
			? output->write(output->ctx, output->text.data, output->text.size)
			: 0;
	output->text.size = 0;
	return r;
}

static int begin_rows(void *ctx, const char *const *names, size_t column_count)
{
	struct ask_output *output = ctx;
	return orma_sql_writer_begin(&output->writer, names, column_count);
}

static int add_row(void *ctx, const struct orma_value *values, size_t column_count)
{
	struct ask_output *output = ctx;
	int r = orma_sql_writer_row(&output->writer, values, column_count);
	return r < 0 ? r : pass_on(output, WAITING_BYTES);
}

static int end_rows(void *ctx)
{
	struct ask_output *output = ctx;
	int r = orma_sql_writer_end(&output->writer);
	return r < 0 ? r : pass_on(output, 0);
}

int orma_ask_run(struct orma_ask *ask, struct orma_str queries, enum orma_ask_format format,
		 int (*write)(void *ctx, const void *data, size_t size), void *ctx,
		 struct orma_error *reterr)
{
	static const enum orma_result_format formats[] = {[ORMA_ASK_CSV] = ORMA_RESULT_CSV,
							  [ORMA_ASK_TABLE] = ORMA_RESULT_TABLE,
							  [ORMA_ASK_JSON] = ORMA_RESULT_JSON,
							  [ORMA_ASK_MARKDOWN] =
								  ORMA_RESULT_MARKDOWN};
	struct ask_output output = {.write = write, .ctx = ctx};
	struct orma_result_sink sink = {&output, begin_rows, add_row, end_rows};
	output.writer = (struct orma_result_writer){.format = formats[format], .out = &output.text};
	int r = orma_sql_run(database_of(ask)->sql, queries, &sink, reterr);
	/* Rows that were found before an error are an answer too. */
	int last = pass_on(&output, 0);
	orma_sql_writer_done(&output.writer);
	orma_base_buf_done(&output.text);
	return r < 0 ? r : last;
}

#else

int orma_ask_open(int fd, size_t memory_bytes, struct orma_ask **ret, struct orma_error *reterr)
{
	(void)fd;
	(void)memory_bytes;
	(void)reterr;
	*ret = NULL;
	return -ENOTSUP;
}

void orma_ask_free(struct orma_ask *ask)
{
	(void)ask;
}

void orma_ask_interrupt(struct orma_ask *ask)
{
	(void)ask;
}

int orma_ask_run(struct orma_ask *ask, struct orma_str queries, enum orma_ask_format format,
		 int (*write)(void *ctx, const void *data, size_t size), void *ctx,
		 struct orma_error *reterr)
{
	(void)ask;
	(void)queries;
	(void)format;
	(void)write;
	(void)ctx;
	(void)reterr;
	return -ENOTSUP;
}

#endif
