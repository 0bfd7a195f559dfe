/* SPDX-License-Identifier: Apache-2.0
 * ctf_output.h - Perfetto packets that are made of a trace in the Common Trace Format.
 */
#ifndef ORMA_FORMATS_CTF_OUTPUT_H
#define ORMA_FORMATS_CTF_OUTPUT_H

#include "formats/ctf_stream.h"
#include "proto/writer.h"

/* Takes whole packets, each with its tag. 0, or a negative errno value, which ends the conversion. */
typedef int orma_ctf_write_fn(void *ctx, const void *data, size_t size);

/* A thread that events were recorded of. */
struct orma_ctf_thread {
	int64_t pid, tid;
	uint64_t uuid; /* its track's */
	uint32_t name_size;
	char name[64];
};

/* {.write, .ctx} is empty. */
struct orma_ctf_output {
	orma_ctf_write_fn *write;
	void *ctx;
	struct orma_buf bytes; /* packets that were not passed on yet */
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested packet;
	uint32_t last_sequence;
	uint32_t clock;          /* number of the clock of all times */
	bool has_realtime_only;  /* the offset is part of the times */
	struct orma_map threads; /* struct orma_ctf_thread by pid and tid */
	struct orma_arena arena;
};

void orma_ctf_output_done(struct orma_ctf_output *output);
/* Passes the packets on. 0 or a negative errno value. */
int orma_ctf_output_flush(struct orma_ctf_output *output);

/* A packet has its fields between these two. The writer is `output->heap.writer`. */
void orma_ctf_packet_begin(struct orma_ctf_output *output, uint32_t sequence);
/* 0 or a negative errno value. */
int orma_ctf_packet_end(struct orma_ctf_output *output);

/* Nanoseconds on the clock of the output. */
uint64_t orma_ctf_output_time(const struct orma_ctf_output *output,
			      const struct orma_ctf_clock *clock, uint64_t cycles);

/* How the events of one trace become track events. {0} is empty; its memory is the trace's. */
struct orma_ctf_tracks {
	struct orma_ctf_output *output;
	const struct orma_ctf_trace *trace;
	struct orma_ctf_track_class *classes; /* by the number of the event */
	uint32_t context_name, cpu_name, level_name;
	int64_t pid; /* the whole trace's; -1 = each event has its own */
	/* The stream that is being written. */
	uint32_t sequence, generation;
	bool is_cleared;                      /* the next packet clears the state of the sequence */
	uint64_t stream_track, process_track; /* 0 = none yet */
	struct orma_ctf_thread *last_thread;
	const char *stream_name;
};

/* Begins with a trace. 0 or -ENOMEM. */
int orma_ctf_tracks_init(struct orma_ctf_tracks *tracks, struct orma_ctf_output *output,
			 struct orma_ctf_trace *trace);
/* Begins a stream, whose name is used when its events have no thread. */
void orma_ctf_tracks_begin_stream(struct orma_ctf_tracks *tracks, const char *name);
/* Writes the event that the stream is at. 0 or a negative errno value. */
int orma_ctf_tracks_write(struct orma_ctf_tracks *tracks, const struct orma_ctf_stream *stream);

/* How the events of one kernel become kernel events. {0} is empty; its memory is the trace's. */
struct orma_ctf_kernel {
	struct orma_ctf_output *output;
	const struct orma_ctf_trace *trace;
	struct orma_ctf_kernel_class *classes; /* by the number of the event */
	bool is_arm64;                         /* the numbers of its system calls are used */
	/* The CPU that is being written. */
	uint32_t sequence, cpu;
	int64_t tid;  /* the thread that runs; -1 = unknown */
	bool is_open; /* a bundle is */
	bool is_first;
	struct orma_proto_nested bundle;
	struct orma_buf text;
};

/* Begins with a trace, and writes what is known of its system. 0 or a negative errno value. */
int orma_ctf_kernel_init(struct orma_ctf_kernel *kernel, struct orma_ctf_output *output,
			 struct orma_ctf_trace *trace);
void orma_ctf_kernel_done(struct orma_ctf_kernel *kernel);
/* Begins a CPU, on which a thread runs; -1 = unknown. */
void orma_ctf_kernel_begin_cpu(struct orma_ctf_kernel *kernel, uint32_t cpu, int64_t tid);
/* Writes the event that the stream is at. Events of a CPU are written in the order of time. 0 or a negative errno value. */
int orma_ctf_kernel_write(struct orma_ctf_kernel *kernel, const struct orma_ctf_stream *stream);
int orma_ctf_kernel_end_cpu(struct orma_ctf_kernel *kernel);
/* Whether the event is a switch of threads; then also from which. */
bool orma_ctf_kernel_is_switch(const struct orma_ctf_kernel *kernel,
			       const struct orma_ctf_stream *stream, int64_t *ret_tid);

#endif
