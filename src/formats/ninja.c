/* SPDX-License-Identifier: Apache-2.0
 * ninja.c - the log of ninja, .ninja_log: a line for each output, with the milliseconds at which its command began and
 * ended.
 *
 * The log does not say how many commands ran at once. A command goes to the worker that has been idle for the shortest time,
 * because the end of that one's last command is the likely reason why this one could begin; each worker is a thread.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "formats/event_output.h"
#include "formats/format.h"
#include "formats/text_lines.h"
#include "store/grow.h"
#include "trace/clocks.h"

enum { PID = 1, SEQUENCE = 1, WORKERS_MAX = 4096, NAME_MAX_BYTES = 64 << 10 };

struct job {
	int64_t start_ms, end_ms;
	uint64_t hash; /* the command's */
	size_t name;   /* where it begins in ninja.names */
	uint32_t name_size, order;
};

struct worker {
	int64_t busy_until_ms;
};

struct ninja {
	struct orma_packet_output *output;
	struct job *jobs;
	uint32_t job_count, job_capacity;
	struct orma_buf names;
	struct worker workers[WORKERS_MAX];
	uint32_t worker_count;
};

static bool detect(int fd, struct orma_str beginning)
{
	(void)fd;
	return orma_text_starts_with(beginning, "# ninja log");
}

/* A command with several outputs has a line for each, one after the other: they are one job. */
static int join_names(struct ninja *ninja, struct orma_str name)
{
	struct job *last = &ninja->jobs[ninja->job_count - 1];
	if (name.size + 1 > NAME_MAX_BYTES - (size_t)last->name_size)
		return 0;
	int r = orma_base_buf_append(&ninja->names, " ", 1);
	if (r == 0)
		r = orma_base_buf_append(&ninja->names, name.data, name.size);
	last->name_size += r == 0 ? (uint32_t)name.size + 1 : 0;
	return r;
}

static int add_job(struct ninja *ninja, const struct job *job, struct orma_str name)
{
	const struct job *last = ninja->job_count > 0 ? &ninja->jobs[ninja->job_count - 1] : NULL;
	if (last && last->hash == job->hash && last->start_ms == job->start_ms &&
	    last->end_ms == job->end_ms)
		return join_names(ninja, name);
	int r = orma_store_grow(&ninja->jobs, (uint64_t)ninja->job_count + 1, &ninja->job_capacity,
				sizeof(*ninja->jobs));
	if (r < 0)
		return r;
	struct job *added = &ninja->jobs[ninja->job_count];
	*added = *job;
	added->order = ninja->job_count;
	added->name = ninja->names.size;
	name.size = name.size > NAME_MAX_BYTES ? NAME_MAX_BYTES : name.size;
	added->name_size = (uint32_t)name.size;
	r = orma_base_buf_append(&ninja->names, name.data, name.size);
	ninja->job_count += r == 0;
	return r;
}

static int take_line(struct ninja *ninja, struct orma_str line)
{
	struct job job;
	struct orma_str rest = line;
	bool is_job = orma_text_read_i64(orma_text_cut(&rest, '\t'), &job.start_ms) &&
		      orma_text_read_i64(orma_text_cut(&rest, '\t'), &job.end_ms);
	orma_text_cut(&rest, '\t'); /* when the output was last changed */
	struct orma_str name = orma_text_cut(&rest, '\t');
	is_job = is_job && name.size > 0 &&
		 orma_text_read_u64(orma_text_cut(&rest, '\t'), 16, &job.hash) &&
		 job.start_ms >= 0 && job.end_ms >= job.start_ms &&
		 job.end_ms < INT64_MAX / 1000000;
	if (!is_job) {
		orma_packet_output_count(ninja->output, ORMA_STAT_ninja_parse_errors);
		return 0;
	}
	return add_job(ninja, &job, name);
}

static int compare_jobs(const void *a, const void *b)
{
	const struct job *x = a, *y = b;
	if (x->start_ms != y->start_ms)
		return x->start_ms < y->start_ms ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* Returns the number of a worker that is idle, from 1; 0 when there can be no more workers. */
static uint32_t find_worker(struct ninja *ninja, int64_t start_ms)
{
	const struct worker *found = NULL;
	for (uint32_t i = 0; i < ninja->worker_count; i++) {
		const struct worker *worker = &ninja->workers[i];
		if (worker->busy_until_ms <= start_ms &&
		    (!found || found->busy_until_ms < worker->busy_until_ms))
			found = worker;
	}
	if (found)
		return (uint32_t)(found - ninja->workers) + 1;
	if (ninja->worker_count == WORKERS_MAX)
		return 0;
	uint32_t number = ++ninja->worker_count;
	if (number == 1)
		orma_output_name_process(ninja->output, SEQUENCE, PID, ORMA_STR("Build"));
	orma_output_name_thread(ninja->output, SEQUENCE, PID, number, ORMA_STR("Worker"));
	return number;
}

static int write_job(struct ninja *ninja, const struct job *job)
{
	uint32_t worker = find_worker(ninja, job->start_ms);
	if (worker == 0) {
		orma_packet_output_count(ninja->output, ORMA_STAT_ninja_parse_errors);
		return 0;
	}
	ninja->workers[worker - 1].busy_until_ms = job->end_ms;
	struct orma_output_event slice = {
		.sequence = SEQUENCE,
		.phase = 'X',
		.ns = job->start_ms * 1000000,
		.dur_ns = (job->end_ms - job->start_ms) * 1000000,
		.pid = PID,
		.tid = worker,
		.name = {(const char *)ninja->names.data + job->name, job->name_size},
	};
	orma_output_event(ninja->output, &slice);
	return orma_packet_output_end(ninja->output);
}

/* The versions differ in the hash only. */
static int check_header(struct orma_str line, struct orma_error *reterr)
{
	static const char header[] = "# ninja log v";
	uint64_t version;
	if (orma_text_starts_with(line, header)) {
		line.data += sizeof(header) - 1;
		line.size -= sizeof(header) - 1;
		if (orma_text_read_u64(line, 10, &version) && version >= 5 && version <= 7)
			return 0;
	}
	return orma_base_error_set(reterr, -EPROTONOSUPPORT,
				   "this log of ninja is not of version 5, 6 or 7");
}

static int convert(struct orma_conversion *conversion, struct orma_error *reterr)
{
	struct ninja *ninja = orma_base_zalloc(sizeof(*ninja));
	struct orma_text_lines lines = {.input = conversion->input};
	struct orma_str line;
	if (!ninja)
		return -ENOMEM;
	ninja->output = conversion->output;
	ninja->output->clock = ORMA_CLOCK_TRACE_FILE;
	ninja->output->lacks_idle_task = true;
	int r = orma_text_lines_next(&lines, &line);
	r = r > 0 ? check_header(line, reterr) : r;
	while (r == 0 && (r = orma_text_lines_next(&lines, &line)) > 0)
		r = take_line(ninja, line);
	if (r == 0 && ninja->job_count > 0)
		qsort(ninja->jobs, ninja->job_count, sizeof(*ninja->jobs), compare_jobs);
	for (uint32_t i = 0; i < ninja->job_count && r == 0; i++)
		r = write_job(ninja, &ninja->jobs[i]);
	orma_text_lines_done(&lines);
	orma_base_free(ninja->jobs);
	orma_base_buf_done(&ninja->names);
	orma_base_free(ninja);
	return r;
}

const struct orma_format orma_format_ninja = {"ninja_log", false, false, detect, convert};
