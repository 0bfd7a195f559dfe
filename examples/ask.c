/* SPDX-License-Identifier: Apache-2.0
 * ask.c - prints what SQL says about a trace.
 *
 *	cc ask.c -o ask $(pkg-config --cflags --libs orma-trace)
 *	./ask trace.pftrace 'select name, dur from slice order by dur desc limit 10'
 */
#include <orma-trace/trace.h>
#include <stdio.h>
#include <string.h>

static int on_progress(void *ctx, uint64_t read_bytes, uint64_t all_bytes)
{
	(void)ctx;
	if (all_bytes > 0)
		fprintf(stderr, "\rloading: %3.0f %%",
			(double)read_bytes / (double)all_bytes * 100);
	return 0; /* a negative value would end the loading */
}

static void print_row(const struct orma_query *query)
{
	for (size_t i = 0; i < orma_query_column_count(query); i++) {
		const char *text = orma_query_text(query, i, NULL);
		printf("%s%s=%s", i > 0 ? " " : "", orma_query_column_name(query, i),
		       text ? text : "NULL");
	}
	printf("\n");
}

static int print_answers(struct orma_trace *trace, const char *text, struct orma_trace_error *error)
{
	struct orma_query *query;
	int r = orma_query_new(trace, text, strlen(text), &query);
	if (r < 0)
		return r;
	while ((r = orma_query_next(query, error)) > 0) {
		while ((r = orma_query_step(query, error)) > 0)
			print_row(query);
		if (r < 0)
			break;
	}
	orma_query_free(query);
	return r;
}

int main(int argc, char **argv)
{
	struct orma_trace_open_options options = {
		.struct_size = sizeof(options), .memory_bytes = 512 << 20, .progress = on_progress};
	struct orma_trace_error error = {.struct_size = sizeof(error)};
	struct orma_trace *trace;
	if (argc != 3)
		return fprintf(stderr, "Usage: ask TRACE QUERIES\n"), 2;
	int r = orma_trace_open(argv[1], &options, &trace, &error);
	fprintf(stderr, "\n");
	if (r < 0)
		fprintf(stderr, "%s: %s\n", argv[1], error.message);
	if (!trace)
		return 1;
	r = print_answers(trace, argv[2], &error);
	if (r < 0)
		fprintf(stderr, "%s\n", error.message);
	orma_trace_close(trace);
	return r < 0;
}
