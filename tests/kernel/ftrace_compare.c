/* SPDX-License-Identifier: Apache-2.0
 * ftrace_compare.c - compares two recordings of the same kernel events, as ftrace_text prints them.
 *
 *	ftrace_compare [--strict EVENT,...] [--ignore EVENT,...] FROM TO A B
 *
 * The recordings were made at the same time from two instances of tracefs, so that the kernel wrote each
 * event twice, with two readings of the clock. Lines are therefore compared without their times. On each
 * CPU the comparison begins after the line that contains FROM, and ends before the one that contains TO;
 * the traced program makes such events on every CPU.
 *
 * An interrupt between the two writes of an event puts the events of the interrupt before it in one
 * recording and behind it in the other. Therefore each line of A takes the first equal line of B that is
 * not taken, at most WINDOW lines away. An interrupt at a mark puts its events between the marks in one
 * recording only. These events are left out: those at most EDGE lines from a mark whose equal that is nearest
 * in time lies behind the mark in the other recording. Events named by --strict are written with interrupts
 * off: their order must be the same. Times are checked by the order of the writes: except around interrupts, both
 * writes of an event happen before both writes of the next event.
 *
 * Prints a line of figures. Exit status: 0 the recordings agree, 1 they differ, 2 usage.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 200, EDGE = 50, CPUS_MAX = 64, MAX_REPORTS = 20 };

struct event {
	uint64_t time;
	char *text; /* "PID EVENT FIELDS" */
	size_t match;
	bool is_taken, is_strict, is_left_out;
};

/* The items from `first` to `end` are between the marks. */
struct stream {
	struct event *items;
	size_t count, capacity;
	size_t first, end;
	bool has_begun, has_ended;
};

struct recording {
	const char *path;
	struct stream cpus[CPUS_MAX];
};

static const char *strict_events = "", *ignored_events = "";
static size_t compared, reports, swapped, disordered;

static void report(const char *what, size_t cpu, const struct event *event)
{
	if (reports++ < MAX_REPORTS)
		printf("cpu %zu, %s: %" PRIu64 " %s\n", cpu, what, event->time, event->text);
}

static bool is_listed(const char *list, const char *name, size_t size)
{
	const char *at;

	for (at = list; (at = strstr(at, name)) != NULL; at++) {
		if ((at == list || at[-1] == ',') && (at[size] == ',' || at[size] == '\0'))
			return true;
	}
	return false;
}

/* Copies the second word. */
static void get_name(const char *text, char *name, size_t size)
{
	const char *begin = strchr(text, ' ');

	snprintf(name, size, "%.*s", begin ? (int)strcspn(begin + 1, " ") : 0,
		 begin ? begin + 1 : "");
}

static void add_event(struct stream *stream, uint64_t time, const char *text)
{
	struct event event = {.time = time, .text = strdup(text), .match = SIZE_MAX};
	char name[128];

	get_name(text, name, sizeof(name));
	if (is_listed(ignored_events, name, strlen(name))) {
		free(event.text);
		return;
	}
	event.is_strict = is_listed(strict_events, name, strlen(name));
	if (stream->count == stream->capacity) {
		stream->capacity = stream->capacity ? stream->capacity * 2 : 4096;
		stream->items = realloc(stream->items, stream->capacity * sizeof(*stream->items));
	}
	if (!stream->items || !event.text)
		abort();
	stream->items[stream->count++] = event;
}

static void add_line(struct recording *recording, const char *line, const char *from,
		     const char *to)
{
	uint64_t cpu, time;
	struct stream *stream;
	int skipped = 0;

	if (sscanf(line, "%" SCNu64 " %" SCNu64 " %n", &cpu, &time, &skipped) != 2 ||
	    cpu >= CPUS_MAX) {
		fprintf(stderr, "ftrace_compare: %s: not a line: %s\n", recording->path, line);
		exit(2);
	}
	stream = &recording->cpus[cpu];
	line += skipped;
	if (stream->has_begun && !stream->has_ended && strstr(line, to)) {
		stream->has_ended = true;
		stream->end = stream->count;
	}
	add_event(stream, time, line);
	if (!stream->has_begun && strstr(line, from)) {
		stream->has_begun = true;
		stream->first = stream->count;
	}
}

/* Returns how far the nearest equal event from `first` to `end` is, in time, or UINT64_MAX. */
static uint64_t get_distance(const struct stream *stream, size_t first, size_t end,
			     const struct event *event)
{
	uint64_t nearest = UINT64_MAX;

	for (size_t i = first; i < end; i++) {
		const struct event *other = &stream->items[i];
		uint64_t distance = other->time > event->time ? other->time - event->time
							      : event->time - other->time;
		if (distance < nearest && strcmp(other->text, event->text) == 0)
			nearest = distance;
	}
	return nearest;
}

/* Leaves out the events at the marks that the other recording has behind its marks. */
static void leave_out(struct stream *stream, const struct stream *other)
{
	size_t before = other->first > EDGE ? other->first - EDGE : 0;
	size_t behind = other->count - other->end > EDGE ? other->end + EDGE : other->count;

	for (size_t i = stream->first; i < stream->end; i++) {
		struct event *event = &stream->items[i];
		bool is_first = i < stream->first + EDGE, is_last = i + EDGE >= stream->end;
		uint64_t inside = UINT64_MAX;

		if (is_first || is_last)
			inside = get_distance(other, other->first, other->end, event);
		event->is_left_out =
			(is_first && get_distance(other, before, other->first, event) < inside) ||
			(is_last && get_distance(other, other->end, behind, event) < inside);
	}
}

static void read_recording(struct recording *recording, const char *from, const char *to)
{
	FILE *file = fopen(recording->path, "re");
	char *line = NULL;
	size_t capacity = 0;
	ssize_t size;

	if (!file) {
		fprintf(stderr, "ftrace_compare: cannot open %s\n", recording->path);
		exit(2);
	}
	while ((size = getline(&line, &capacity, file)) > 0) {
		line[size - 1] = '\0';
		if (line[0] == '#')
			continue;
		add_line(recording, line, from, to);
	}
	free(line);
	fclose(file);
}

/* Returns the index of the first equal event that is not taken, near the one that is expected, or SIZE_MAX. */
static size_t find_event(const struct stream *stream, const char *text, size_t expected)
{
	size_t first = stream->first + WINDOW < expected ? expected - WINDOW : stream->first;
	size_t end = expected + WINDOW < stream->end ? expected + WINDOW : stream->end, i;

	for (i = first; i < end; i++) {
		if (!stream->items[i].is_taken && !stream->items[i].is_left_out &&
		    strcmp(stream->items[i].text, text) == 0)
			return i;
	}
	return SIZE_MAX;
}

static void match_streams(size_t cpu, struct stream *a, struct stream *b)
{
	size_t expected = b->first, last_strict = 0, i, j;

	for (i = a->first; i < a->end; i++) {
		struct event *event = &a->items[i];

		if (event->is_left_out)
			continue;
		event->match = j = find_event(b, event->text, expected);
		if (j == SIZE_MAX) {
			report("only in the first", cpu, event);
			continue;
		}
		b->items[j].is_taken = true;
		swapped += j != expected;
		expected = j + 1 > expected ? j + 1 : expected;
		compared++;
		if (event->is_strict && j < last_strict)
			report("earlier in the second", cpu, event);
		else if (event->is_strict)
			last_strict = j;
	}
	for (j = b->first; j < b->end; j++) {
		if (!b->items[j].is_taken && !b->items[j].is_left_out)
			report("only in the second", cpu, &b->items[j]);
	}
}

/* Counts events whose two times are not both before those of the next event. */
static void check_times(const struct stream *a, const struct stream *b)
{
	size_t i;

	for (i = a->first; i + 1 < a->end; i++) {
		const struct event *next = &a->items[i + 1];

		if (a->items[i].match == SIZE_MAX || next->match == SIZE_MAX)
			continue;
		disordered += a->items[i].time > b->items[next->match].time ||
			      b->items[a->items[i].match].time > next->time;
	}
}

static void compare_cpu(size_t cpu, struct recording *a, struct recording *b)
{
	struct stream *left = &a->cpus[cpu], *right = &b->cpus[cpu];

	if (!left->has_begun && !right->has_begun)
		return;
	if (!left->has_begun || !right->has_begun || !left->has_ended || !right->has_ended) {
		printf("cpu %zu: a mark is missing\n", cpu);
		reports++;
		return;
	}
	leave_out(left, right);
	leave_out(right, left);
	match_streams(cpu, left, right);
	check_times(left, right);
}

int main(int argc, char **argv)
{
	static struct recording a, b;
	size_t cpu;
	int i;

	for (i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--strict") == 0)
			strict_events = argv[i + 1];
		else if (strcmp(argv[i], "--ignore") == 0)
			ignored_events = argv[i + 1];
		else
			break;
	}
	if (argc - i != 4) {
		fputs("usage: ftrace_compare [--strict EVENT,...] [--ignore EVENT,...] FROM TO A "
		      "B\n",
		      stderr);
		return 2;
	}
	a.path = argv[i + 2];
	b.path = argv[i + 3];
	read_recording(&a, argv[i], argv[i + 1]);
	read_recording(&b, argv[i], argv[i + 1]);
	for (cpu = 0; cpu < CPUS_MAX; cpu++)
		compare_cpu(cpu, &a, &b);
	/* Few events are cut by an interrupt. */
	if (compared == 0 || disordered * 20 > compared) {
		printf("times or marks are wrong: %zu of %zu\n", disordered, compared);
		reports++;
	}
	printf("%zu events agree, %zu of them %s by interrupts; %zu differences\n", compared,
	       swapped, "out of order", reports);
	return reports > 0;
}
