/* SPDX-License-Identifier: Apache-2.0
 * trace_events.c - prints the track events of one process, one per line, as text that does not
 * depend on how and when they were recorded, so that two recordings of a program can be compared.
 *
 *	trace_events FILE PID
 *
 * Names are resolved, tracks are printed as paths of names, ids of flows are numbered, differences
 * are added up. Times are left out unless the program gave the event a time. Lines are sorted by
 * thread and keep their order within a thread; the tracks follow. Invariant: an event depends only
 * on earlier packets of its sequence, and on track descriptors anywhere. The product's reader is not
 * used; trace_packet.h gives the reason.
 */
#include "trace_packet.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MAX_SEQUENCES = 64,
	MAX_TRACKS = 1024,
	MAX_TEXTS = 4096,
	MAX_FLOWS = 64,
	MAX_LINES = 4096,
	LINE_BYTES = 4096,
	PATH_PARENTS_MAX = 16,
	LEVELS_MAX = 8,
};

enum {
	TEXT_CATEGORY = 1,
	TEXT_NAME = 2,
	TEXT_KEY = 3,
	TEXT_LOCATION = 4,
	TEXT_VALUE = 29,
	TEXT_CORRELATION = 43
};

struct text {
	uint32_t kind;
	uint64_t iid;
	struct wire_span bytes; /* a text, or a message: the source location */
};

struct total {
	uint64_t track, integer;
	double real;
};

struct sequence {
	uint64_t id, default_track;
	struct wire_span default_extras; /* the event's defaults */
	struct text texts[MAX_TEXTS];
	size_t text_count;
	struct total totals[MAX_TRACKS];
	size_t total_count;
};

struct track {
	uint64_t uuid;
	struct wire_span descriptor; /* the last one */
};

struct line {
	char *text;
	size_t order;
};

static struct sequence sequences[MAX_SEQUENCES];
static size_t sequence_count;
static struct track tracks[MAX_TRACKS];
static size_t track_count;
static uint64_t flows[MAX_FLOWS];
static size_t flow_count;
static struct line lines[MAX_LINES];
static size_t line_count;
static char line[LINE_BYTES];
static size_t line_size;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "trace_events: %s\n", what);
	exit(1);
}

/* --- the line --------------------------------------------------------------------------------- */

static void put(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void put(const char *format, ...)
{
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf(line + line_size, sizeof(line) - line_size, format, args);
	va_end(args);
	if (size < 0 || line_size + (size_t)size >= sizeof(line))
		die("a line is too long");
	line_size += (size_t)size;
}

/* Prints a text; a long one as its size and last characters. */
static void put_text(struct wire_span text)
{
	size_t size = (size_t)(text.end - text.at);

	if (size > 200)
		put("(%zu bytes)", size);
	for (const uint8_t *at = size > 200 ? text.end - 8 : text.at; at < text.end; at++)
		put(*at >= ' ' && *at != '"' ? "%c" : "\\x%02x", *at);
}

static void end_line(void)
{
	if (line_count == MAX_LINES)
		die("too many lines");
	lines[line_count] = (struct line){strdup(line), line_count};
	line_count++;
	line_size = 0;
	line[0] = '\0';
}

/* --- sequences, names and texts --------------------------------------------------------------- */

static struct sequence *get_sequence(uint64_t id)
{
	for (size_t i = 0; i < sequence_count; i++)
		if (sequences[i].id == id)
			return &sequences[i];
	if (sequence_count == MAX_SEQUENCES)
		die("too many sequences");
	sequences[sequence_count].id = id;
	return &sequences[sequence_count++];
}

static struct track *get_track(uint64_t uuid)
{
	for (size_t i = 0; i < track_count; i++)
		if (tracks[i].uuid == uuid)
			return &tracks[i];
	return NULL;
}

static void learn_track(struct wire_span descriptor)
{
	uint64_t uuid = wire_get(descriptor, 1, 0);
	struct track *track = get_track(uuid);

	if (!track) {
		if (track_count == MAX_TRACKS)
			die("too many tracks");
		track = &tracks[track_count++];
		track->uuid = uuid;
	}
	track->descriptor = descriptor;
}

static void learn_texts(struct sequence *sequence, struct wire_span interned)
{
	struct wire_field field;

	while (wire_next(&interned, &field) > 0) {
		struct text text = {.kind = field.id};

		if (field.type != WIRE_BYTES)
			continue;
		text.iid = wire_get(field.bytes, 1, 0);
		if (field.id == TEXT_LOCATION)
			text.bytes = field.bytes;
		else if (!wire_get_bytes(field.bytes, 2, &text.bytes))
			continue;
		if (sequence->text_count == MAX_TEXTS)
			die("too many names");
		sequence->texts[sequence->text_count++] = text;
	}
}

static struct wire_span find_text(const struct sequence *sequence, uint32_t kind, uint64_t iid)
{
	static const uint8_t unknown[] = "(unknown)";

	for (size_t i = sequence->text_count; i-- > 0;)
		if (sequence->texts[i].kind == kind && sequence->texts[i].iid == iid)
			return sequence->texts[i].bytes;
	return (struct wire_span){unknown, unknown + sizeof(unknown) - 1};
}

static void forget(struct sequence *sequence)
{
	sequence->text_count = sequence->total_count = 0;
	sequence->default_track = 0;
	sequence->default_extras = (struct wire_span){0};
}

/* --- tracks ----------------------------------------------------------------------------------- */

static void put_track_name(const struct track *track)
{
	struct wire_span part, name;

	if (wire_get_bytes(track->descriptor, 3, &part)) {
		put("process");
	} else if (wire_get_bytes(track->descriptor, 4, &part)) {
		put("thread");
		if (wire_get_bytes(part, 5, &name)) {
			put(":");
			put_text(name);
		}
	} else if (wire_get_bytes(track->descriptor, 2, &name) ||
		   wire_get_bytes(track->descriptor, 10, &name)) {
		put_text(name);
	} else {
		put("(nameless)");
	}
}

static void put_path(uint64_t uuid)
{
	const struct track *path[PATH_PARENTS_MAX];
	size_t count = 0;
	bool is_whole = false;

	if (uuid == 0)
		put("root");
	while (uuid != 0 && count < PATH_PARENTS_MAX) {
		path[count] = get_track(uuid);
		is_whole = path[count] != NULL;
		if (!is_whole)
			break;
		/* The parent of a thread is its process, whether its descriptor names one or not. */
		uuid = wire_get(path[count]->descriptor, 5, 0);
		count++;
	}
	if (!is_whole && uuid != 0)
		put("(undescribed)");
	while (count-- > 0) {
		put("/");
		put_track_name(path[count]);
	}
}

static bool is_incremental(uint64_t uuid)
{
	const struct track *track = get_track(uuid);
	struct wire_span counter;

	return track && wire_get_bytes(track->descriptor, 8, &counter) && wire_get(counter, 5, 0);
}

static struct total *get_total(struct sequence *sequence, uint64_t track)
{
	for (size_t i = 0; i < sequence->total_count; i++)
		if (sequence->totals[i].track == track)
			return &sequence->totals[i];
	if (sequence->total_count == MAX_TRACKS)
		die("too many counters");
	sequence->totals[sequence->total_count] = (struct total){.track = track};
	return &sequence->totals[sequence->total_count++];
}

/* --- messages --------------------------------------------------------------------------------- */

static double as_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static void put_argument_value(const struct sequence *sequence, const struct wire_field *field)
{
	switch (field->id) {
	case 2:
		put("%s", field->value ? "true" : "false");
		break;
	case 3:
		put("%" PRIu64 "u", field->value);
		break;
	case 4:
		put("%" PRId64, (int64_t)field->value);
		break;
	case 5:
		put("%.17g", as_double(field->value));
		break;
	case 6:
		put("\"");
		put_text(field->bytes);
		put("\"");
		break;
	case 7:
		put("*%" PRIx64, field->value);
		break;
	case 17:
		put("\"");
		put_text(find_text(sequence, TEXT_VALUE, field->value));
		put("\"");
		break;
	default:
		put("?%" PRIu32, field->id);
		break;
	}
}

/* Prints a debug annotation and those that it contains. */
static void put_argument(const struct sequence *sequence, struct wire_span argument)
{
	struct wire_span stack[LEVELS_MAX] = {argument};
	const char *ends[LEVELS_MAX] = {""};
	struct wire_field field;
	int level = 0;

	while (level >= 0) {
		if (wire_next(&stack[level], &field) <= 0) {
			put("%s", ends[level]);
			level--;
		} else if (field.id == 1) {
			put_text(find_text(sequence, TEXT_KEY, field.value));
			put("=");
		} else if (field.id == 10) {
			put_text(field.bytes);
			put("=");
		} else if (field.id == 11 || field.id == 12) {
			if (level + 1 == LEVELS_MAX)
				die("arguments are nested too deep");
			put(field.id == 11 ? "{" : "[");
			stack[++level] = field.bytes;
			ends[level] = field.id == 11 ? "}" : "]";
		} else {
			put_argument_value(sequence, &field);
		}
	}
}

static void put_flow(const char *what, uint64_t id)
{
	size_t i = 0;

	while (i < flow_count && flows[i] != id)
		i++;
	if (i == MAX_FLOWS)
		die("too many flows");
	if (i == flow_count)
		flows[flow_count++] = id;
	put(" %s=#%zu", what, i + 1);
}

static void put_location(struct wire_span location)
{
	struct wire_span text;

	put(" at=");
	if (wire_get_bytes(location, 2, &text)) {
		/* Leave out the folders, which depend on the build. */
		for (const uint8_t *at = text.at; at < text.end; at++)
			if (*at == '/')
				text.at = at + 1;
		put_text(text);
	}
	/* The number of the line changes with every edit. */
	put(wire_get(location, 4, 0) > 0 ? ":line:" : ":no line:");
	if (wire_get_bytes(location, 3, &text))
		put_text(text);
}

/* Prints a field of unknown meaning. */
static void put_unknown(const struct wire_field *field)
{
	put(" %" PRIu32 "=", field->id);
	if (field->type != WIRE_BYTES) {
		put("%" PRIu64, field->value);
		return;
	}
	for (const uint8_t *at = field->bytes.at; at < field->bytes.end; at++)
		put("%02x", *at);
}

static void put_field(struct sequence *sequence, const struct wire_field *field, uint64_t track)
{
	switch (field->id) {
	case 3:
		put(" in=");
		put_text(find_text(sequence, TEXT_CATEGORY, field->value));
		break;
	case 22:
		put(" in=");
		put_text(field->bytes);
		break;
	case 10:
		put(" name=");
		put_text(find_text(sequence, TEXT_NAME, field->value));
		break;
	case 23:
		put(" name=");
		put_text(field->bytes);
		break;
	case 4:
		put(" ");
		put_argument(sequence, field->bytes);
		break;
	case 30:
		if (is_incremental(track))
			put(" value=%" PRId64,
			    (int64_t)(get_total(sequence, track)->integer += field->value));
		else
			put(" value=%" PRId64, (int64_t)field->value);
		break;
	case 44:
		if (is_incremental(track))
			put(" value=%.12g",
			    get_total(sequence, track)->real += as_double(field->value));
		else
			put(" value=%.17g", as_double(field->value));
		break;
	case 36:
	case 47:
		put_flow("flow", field->value);
		break;
	case 42:
	case 48:
		put_flow("last", field->value);
		break;
	case 34:
		put_location(find_text(sequence, TEXT_LOCATION, field->value));
		break;
	case 33:
		put_location(field->bytes);
		break;
	case 53:
		put(" with=");
		put_text(field->bytes);
		break;
	case 54:
		put(" with=");
		put_text(find_text(sequence, TEXT_CORRELATION, field->value));
		break;
	case 9:
	case 11:
		break;
	case 12:
		/* The thread's time differs in each run; print only that it exists. */
		put(" time");
		break;
	default:
		put_unknown(field);
		break;
	}
}

/* Prints the fields in the order of their numbers. Fields with the same number keep their order. */
static void put_fields(struct sequence *sequence, struct wire_span event, uint64_t track)
{
	uint32_t id = 0, next;

	do {
		struct wire_span rest = event;
		struct wire_field field;

		next = UINT32_MAX;
		while (wire_next(&rest, &field) > 0) {
			if (field.id == id)
				put_field(sequence, &field, track);
			else if (field.id > id && field.id < next)
				next = field.id;
		}
		id = next;
	} while (next != UINT32_MAX);
}

static void put_event(const struct packet *packet, struct wire_span event)
{
	static const char *const types[] = {"none", "BEGIN", "END", "INSTANT", "COUNTER", "STATE"};
	struct sequence *sequence = get_sequence(packet->sequence_id);
	uint64_t type = wire_get(event, 9, 0), track = wire_get(event, 11, sequence->default_track);

	put_path(sequence->default_track);
	put(" | %s", type < 6 ? types[type] : "?");
	if (track != sequence->default_track) {
		put(" on=");
		put_path(track);
	}
	if (packet->has_clock && packet->clock < 64)
		put(" clock=%" PRIu64 " ts=%" PRIu64, packet->clock, packet->timestamp);
	put_fields(sequence, event, track);
	end_line();
}

static void put_track(struct track *track)
{
	struct wire_span rest = track->descriptor, counter;
	struct wire_field field;

	put_path(track->uuid);
	put(" :");
	while (wire_next(&rest, &field) > 0) {
		switch (field.id) {
		case 1:
		case 2:
		case 3:
		case 4:
		case 5:
			break;
		case 8:
			put(" counter{");
			counter = field.bytes;
			while (wire_next(&counter, &field) > 0)
				put_unknown(&field);
			put(" }");
			break;
		default:
			put_unknown(&field);
			break;
		}
	}
	end_line();
}

/* --- the trace -------------------------------------------------------------------------------- */

static void learn(const struct packet *packet)
{
	struct sequence *sequence = get_sequence(packet->sequence_id);
	struct wire_span event;

	if (packet->flags & SEQUENCE_STATE_CLEARED)
		forget(sequence);
	if (packet->defaults.at && wire_get_bytes(packet->defaults, 11, &event)) {
		sequence->default_extras = event;
		sequence->default_track = wire_get(event, 11, 0);
	}
	if (packet->interned.at)
		learn_texts(sequence, packet->interned);
}

static void each_packet(struct wire_span trace, int64_t pid, bool is_first)
{
	struct wire_span event, descriptor;
	struct wire_field field;
	struct packet packet;

	while (wire_next(&trace, &field) > 0) {
		if (field.id != 1 || field.type != WIRE_BYTES ||
		    packet_decode(field.bytes, &packet) < 0)
			die("not a trace");
		if (packet.pid != pid)
			continue;
		if (is_first) {
			if (wire_get_bytes(packet.body, PACKET_TRACK_DESCRIPTOR, &descriptor))
				learn_track(descriptor);
			continue;
		}
		learn(&packet);
		if (wire_get_bytes(packet.body, PACKET_TRACK_EVENT, &event))
			put_event(&packet, event);
	}
}

static int compare(const void *a, const void *b)
{
	const struct line *first = a, *second = b;
	size_t first_size = strcspn(first->text, "|"), second_size = strcspn(second->text, "|");
	int r = strncmp(first->text, second->text,
			first_size < second_size ? first_size : second_size);

	if (r == 0 && first_size != second_size)
		r = first_size < second_size ? -1 : 1;
	return r != 0 ? r : first->order < second->order ? -1 : 1;
}

static void print_lines(int (*by)(const void *, const void *))
{
	qsort(lines, line_count, sizeof(lines[0]), by);
	for (size_t i = 0, same = 1; i < line_count; i++, same++) {
		if (i + 1 < line_count && strcmp(lines[i].text, lines[i + 1].text) == 0)
			continue;
		printf("%s", lines[i].text);
		printf(same > 1 ? " (%zu times)\n" : "\n", same);
		same = 0;
	}
	for (size_t i = 0; i < line_count; i++)
		free(lines[i].text);
	line_count = 0;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

int main(int argc, char **argv)
{
	struct stat status;
	struct wire_span trace;
	int64_t pid;
	int fd;

	if (argc != 3)
		die("usage: trace_events FILE PID");
	pid = strtoll(argv[2], NULL, 10);
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) < 0 || status.st_size == 0)
		die("cannot read the file");
	trace.at = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (trace.at == MAP_FAILED)
		die("cannot map the file");
	trace.end = trace.at + status.st_size;
	each_packet(trace, pid, true);
	each_packet(trace, pid, false);
	print_lines(compare);
	for (size_t i = 0; i < track_count; i++)
		put_track(&tracks[i]);
	print_lines(compare_texts);
	return 0;
}
