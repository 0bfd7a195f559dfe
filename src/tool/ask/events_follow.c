/* SPDX-License-Identifier: Apache-2.0
 * events_follow.c - prints the events of a trace while it is written to a pipe.
 *
 * A recorder hands out the data of one thread after the other, so events arrive out of order. Each event waits for 0.4
 * seconds after it arrived; what is earlier and arrives meanwhile is printed first. An event that arrives later is
 * printed at once, behind events that happened after it, and the first column shows it.
 *
 * A slice that ends while it waits is one line, like in a file. Otherwise there is a line for its begin, when that has
 * waited, and another one for its end.
 *
 * Memory holds what waits, at most WAITING_MAX events (more push the oldest out early), and the slices that are open.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/macros.h"
#include "base/map.h"
#include "codec/unpack.h"
#include "tool/ask/arg_text.h"
#include "tool/ask/event_line.h"
#include "tool/print.h"
#include "tool/tool.h"
#include "tool/trace/trace_input.h"
#include "trace/live_import.h"

enum {
	WAITING_MS = 400,
	WAITING_MAX = 200000,
	OPEN_MAX = 100000, /* slices; the ends of more are not told */
	READ_BYTES = 256 << 10,
	PACKET_MAX_BYTES = 256 << 20,
};

/* An event that waits, or a slice that is open, or both. */
struct waiting {
	struct orma_event_row event;
	uint64_t number; /* the order of arrival */
	uint64_t arrived_ms;
	const char *word; /* "end"; NULL = a whole event, or a begin */
	char *args;       /* NULL = none */
	/* The event's texts that pass; NULL = they are cells that stay. */
	char *name, *text;
	bool is_waiting, is_open;
};

struct follow {
	const struct orma_events_options *options;
	struct orma_live_import live;
	struct orma_event_lines lines;
	struct waiting **heap; /* the earliest first */
	size_t heap_count, heap_capacity;
	struct orma_map open; /* struct waiting by row + 1 */
	uint64_t numbers, printed, now_ms;
	int64_t last_ns; /* the last line's */
	bool has_start;
	struct orma_buf in, out, args;
	int error; /* in a function that cannot return one */
};

/* --- the heap --------------------------------------------------------------------------------- */

static bool is_before(const struct waiting *a, const struct waiting *b)
{
	return a->event.ts != b->event.ts ? a->event.ts < b->event.ts : a->number < b->number;
}

static int push(struct follow *follow, struct waiting *item)
{
	if (follow->heap_count == follow->heap_capacity) {
		size_t capacity = ORMA_MAX(follow->heap_capacity * 2, (size_t)256);
		struct waiting **heap =
			orma_base_realloc_array(follow->heap, capacity, sizeof(struct waiting *));
		if (!heap)
			return -ENOMEM;
		follow->heap = heap;
		follow->heap_capacity = capacity;
	}
	size_t place = follow->heap_count++;
	for (; place > 0 && is_before(item, follow->heap[(place - 1) / 2]); place = (place - 1) / 2)
		follow->heap[place] = follow->heap[(place - 1) / 2];
	follow->heap[place] = item;
	item->is_waiting = true;
	return 0;
}

static struct waiting *pop(struct follow *follow)
{
	struct waiting *first = follow->heap[0], *last = follow->heap[--follow->heap_count];
	size_t place = 0;
	for (;;) {
		size_t child = place * 2 + 1;
		if (child + 1 < follow->heap_count &&
		    is_before(follow->heap[child + 1], follow->heap[child]))
			child++;
		if (child >= follow->heap_count || !is_before(follow->heap[child], last))
			break;
		follow->heap[place] = follow->heap[child];
		place = child;
	}
	follow->heap[place] = last;
	first->is_waiting = false;
	return first;
}

/* --- lines ------------------------------------------------------------------------------------ */

static void free_item(struct waiting *item)
{
	if (!item->is_waiting && !item->is_open) {
		orma_base_free(item->args);
		orma_base_free(item->name);
		orma_base_free(item->text);
		orma_base_free(item);
	}
}

/* The event with cells for the texts that were copied. */
static struct orma_event_row event_of(struct follow *follow, const struct waiting *item)
{
	struct orma_event_row event = item->event;
	struct orma_tables *tables = &follow->live.tables;
	if (item->name)
		event.name = orma_tables_passing_string(tables, orma_base_str(item->name));
	if (item->text)
		event.text = orma_tables_passing_string(tables, orma_base_str(item->text));
	return event;
}

static int print_item(struct follow *follow, const struct waiting *item)
{
	struct orma_event_lines *lines = &follow->lines;
	const struct orma_event_row event = event_of(follow, item);
	bool is_begin = event.kind == ORMA_KIND_SLICE && event.dur < 0;
	const char *word = item->word ? item->word : is_begin ? "begin" : NULL;
	if (event.kind == ORMA_KIND_STATE)
		word = "";
	if (!orma_event_is_chosen(lines, &event) || follow->printed == follow->options->limit)
		return 0;
	if (!follow->has_start)
		lines->start_ns = event.ts;
	follow->has_start = true;
	follow->last_ns = ORMA_MAX(follow->last_ns, event.ts);
	follow->printed++;
	return orma_event_line_append(lines, &event, orma_base_str(item->args ? item->args : ""),
				      word, &follow->out);
}

/* Prints what has waited long enough, or all. */
static int print_waiting(struct follow *follow, bool is_all)
{
	int r = 0;
	while (r == 0 && follow->heap_count > 0) {
		const struct waiting *first = follow->heap[0];
		bool is_due = is_all || follow->heap_count > WAITING_MAX ||
			      first->event.ts < follow->last_ns ||
			      follow->now_ms - first->arrived_ms >= WAITING_MS;
		if (!is_due)
			break;
		struct waiting *item = pop(follow);
		r = print_item(follow, item);
		free_item(item);
	}
	if (r == 0 && follow->out.size > 0) {
		r = orma_tool_write_raw(stdout, follow->out.data, follow->out.size);
		follow->out.size = 0;
		if (r == 0 && fflush(stdout) != 0)
			r = -errno;
	}
	return r;
}

static struct waiting *new_item(struct follow *follow, const struct orma_event_row *event)
{
	struct waiting *item = orma_base_zalloc(sizeof(*item));
	if (!item)
		return NULL;
	item->event = *event;
	item->number = follow->numbers++;
	item->arrived_ms = follow->now_ms;
	return item;
}

/* Copies a text that is forgotten before the event is printed. */
static int take_text(const struct follow *follow, int64_t cell, char **ret)
{
	if (cell == ORMA_CELL_NULL || !(cell & ORMA_STRING_PASSES))
		return 0;
	*ret = orma_base_str_dup(orma_tables_text(&follow->live.tables, cell));
	return *ret ? 0 : -ENOMEM;
}

static int take_args(struct follow *follow, const struct orma_arg_list *list, char **ret)
{
	follow->args.size = 0;
	if (list->count == 0 || follow->options->has_no_args)
		return 0;
	int r = follow->options->is_json ? orma_args_append_json(list, &follow->args)
					 : orma_args_append_text(list, &follow->args);
	if (r == 0 && !orma_base_buf_cstr(&follow->args))
		r = -ENOMEM;
	*ret = r == 0 ? orma_base_strdup((const char *)follow->args.data) : NULL;
	return r == 0 && !*ret ? -ENOMEM : r;
}

static int on_row(void *ctx, enum orma_table_id table, uint64_t row,
		  const struct orma_arg_list *args)
{
	struct follow *follow = ctx;
	struct orma_event_row event;
	orma_event_row_read(&follow->live.tables, table, row, &event);
	bool is_open = event.kind == ORMA_KIND_SLICE && event.dur < 0;
	/* The length of an open slice is not known, so that cannot leave it out. */
	if (!is_open && !orma_event_is_chosen(&follow->lines, &event))
		return 0;
	struct waiting *item = new_item(follow, &event);
	int r = item ? take_text(follow, event.name, &item->name) : -ENOMEM;
	if (r == 0)
		r = take_text(follow, event.text, &item->text);
	if (r == 0)
		r = take_args(follow, args, &item->args);
	if (r == 0 && is_open && follow->open.count < OPEN_MAX)
		item->is_open = (r = orma_base_map_put(&follow->open, row + 1, item)) == 0;
	if (r == 0)
		r = push(follow, item);
	if (r < 0 && item && !item->is_open)
		free_item(item);
	return r;
}

static void on_end(void *ctx, int64_t row, int64_t dur)
{
	struct follow *follow = ctx;
	struct waiting *item = orma_base_map_remove(&follow->open, (uint64_t)row + 1), *end;
	struct orma_event_row event;
	if (!item)
		return;
	item->is_open = false;
	if (item->is_waiting) {
		item->event.dur = dur;
		item->event.kind = dur == 0 ? ORMA_KIND_INSTANT : ORMA_KIND_SLICE;
		return;
	}
	event = item->event;
	event.dur = dur;
	if (__builtin_add_overflow(event.ts, dur, &event.ts))
		event.ts = INT64_MAX;
	end = new_item(follow, &event);
	if (end) {
		end->word = "end";
		end->name = ORMA_TAKE(item->name);
		end->text = ORMA_TAKE(item->text);
	}
	if (!end || push(follow, end) < 0)
		follow->error = -ENOMEM;
	free_item(item);
}

/* --- input ------------------------------------------------------------------------------------ */

/* Imports the whole packets that have arrived. */
static int take_packets(struct follow *follow)
{
	size_t at = 0;
	int r = 0;
	while (r >= 0 && at < follow->in.size) {
		struct orma_str packet;
		uint64_t size;
		r = orma_trace_entry_read(follow->in.data + at, follow->in.size - at, &packet,
					  &size);
		if (r == -EAGAIN && size <= PACKET_MAX_BYTES) {
			r = 0;
			break;
		}
		if (r == -EAGAIN)
			r = -EBADMSG;
		if (r > 0)
			r = orma_live_import_packet(&follow->live, packet);
		if (r >= 0)
			at += (size_t)size;
		if (follow->error < 0)
			r = follow->error;
	}
	orma_base_buf_consume(&follow->in, at);
	return ORMA_MIN(r, 0);
}

/* Reads what is there. 1, 0 at the end of the input, or -errno. */
static int read_some(struct follow *follow, int fd)
{
	int r = orma_base_buf_reserve(&follow->in, READ_BYTES);
	if (r < 0)
		return r;
	ssize_t size = read(fd, follow->in.data + follow->in.size, READ_BYTES);
	if (size < 0)
		return errno == EINTR || errno == EAGAIN ? 1 : -errno;
	follow->in.size += (size_t)size;
	return size > 0;
}

static void read_clock(struct follow *follow)
{
	follow->now_ms = orma_base_clock_ns(CLOCK_MONOTONIC) / ORMA_NS_PER_MS;
}

static int run(struct follow *follow, int fd)
{
	int r = 1;
	while (r > 0 && follow->printed < follow->options->limit) {
		struct pollfd input = {.fd = fd, .events = POLLIN};
		/* Look a few times at what waits. */
		int ready = poll(&input, 1, follow->heap_count > 0 ? WAITING_MS / 10 : -1);
		if (ready < 0 && errno != EINTR)
			return -errno;
		read_clock(follow);
		if (ready > 0)
			r = read_some(follow, fd);
		int taken = r > 0 ? take_packets(follow) : 0;
		if (taken == 0)
			taken = print_waiting(follow, r <= 0);
		if (taken < 0)
			return taken;
	}
	return r < 0 ? r : 0;
}

static void done(struct follow *follow)
{
	struct orma_map_slot *slot;
	size_t position = 0;
	while (follow->heap_count > 0)
		free_item(pop(follow));
	while ((slot = orma_base_map_next(&follow->open, &position))) {
		struct waiting *item = slot->value;
		item->is_open = false;
		free_item(item);
	}
	orma_base_map_done(&follow->open);
	orma_base_free(follow->heap);
	orma_base_buf_done(&follow->in);
	orma_base_buf_done(&follow->out);
	orma_base_buf_done(&follow->args);
	orma_event_lines_done(&follow->lines);
	orma_live_import_done(&follow->live);
}

int orma_events_follow(const struct orma_events_options *options, const char *path)
{
	static struct follow follow;
	uint64_t seed = 0;
	int fd = orma_trace_input_open(path);
	if (fd < 0)
		return orma_trace_input_fail(path, fd);
	(void)!getrandom(&seed, sizeof(seed), GRND_NONBLOCK);
	follow = (struct follow){.options = options,
				 .last_ns = INT64_MIN,
				 .live = {.on_row = on_row,
					  .on_end = on_end,
					  .ctx = &follow,
					  .unpack = orma_codec_unpack,
					  .seed = seed},
				 .lines = {.options = options,
					   .tables = &follow.live.tables,
					   .clocks = &follow.live.importer.index.clocks}};
	int r = orma_live_import_init(&follow.live);
	if (r == 0)
		r = run(&follow, fd);
	if (r == -EBADMSG)
		(void)print_waiting(&follow, true);
	bool has_packets = follow.live.importer.index.sequence_count > 0;
	done(&follow);
	orma_trace_input_close(fd);
	if (r == -EBADMSG)
		return orma_tool_fail(has_packets ? "%s: the trace is damaged"
						  : "%s: this is no trace of packets, and --follow "
						    "reads no other format",
				      orma_trace_input_name(path));
	return r < 0 && r != -EPIPE
		       ? orma_tool_fail("%s: %s", orma_trace_input_name(path), strerror(-r))
		       : ORMA_EXIT_OK;
}
