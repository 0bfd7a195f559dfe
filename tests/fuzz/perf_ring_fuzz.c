/* SPDX-License-Identifier: Apache-2.0
 * perf_ring_fuzz.c - any bytes as a ring of perf events: nothing outside of the ring is read, and the
 * lives of processes, their mappings, stacks and waits may be any.
 *
 * The first bytes choose the layout of the records and where the ring begins. No process has the ids
 * that are used, so no file of this machine is opened.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <unistd.h>

#include "probes/perf/perf_parse.h"
#include "probes/perf/perf_ring.h"
#include "probes/perf/perf_waits.h"

#define RING_BYTES 1024u
#define CHOICES    4u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Volatile, so that the bytes are read although nothing needs their sum. */
static volatile uint64_t touched;

static uint64_t sum(const void *bytes, size_t size)
{
	uint64_t result = 0;

	for (size_t i = 0; i < size; i++)
		result += ((const uint8_t *)bytes)[i];
	return result;
}

/* Touches everything that a record points to, so that AddressSanitizer sees it. */
static uint64_t touch(const struct orma_perf_record *record)
{
	switch (record->type) {
	case PERF_RECORD_SAMPLE:
		return sum(record->sample.counts.bytes, record->sample.counts.count * 8) +
		       sum(record->sample.chain.bytes, record->sample.chain.count * 8) +
		       sum(record->sample.regs.bytes, record->sample.regs.count * 8) +
		       sum(record->sample.stack, record->sample.stack_size);
	case PERF_RECORD_MMAP2:
		return sum(record->mapping.path.data, record->mapping.path.size);
	case PERF_RECORD_COMM:
		return sum(record->comm.data, record->comm.size);
	default:
		return record->time;
	}
}

/* ---- the processes ---- */

#define NO_PROCESS UINT32_C(0x40000000) /* above all ids that Linux gives */

struct machine {
	struct orma_perf_config config;
	struct orma_perf_scope scope;
	struct orma_perf_processes processes;
	struct orma_perf_stacks stacks;
	struct orma_perf_waits waits;
};

static void init_machine(struct machine *machine, uint8_t choice)
{
	static struct orma_unwind_files *files;
	static int proc_fd = -1;

	if (!files && orma_unwind_files_new(NULL, &files) < 0)
		abort();
	if (proc_fd < 0)
		proc_fd = open("/proc", O_PATH | O_CLOEXEC);
	if (!machine->stacks.intern && orma_perf_stacks_init(&machine->stacks) < 0)
		abort();
	machine->config.user_frames = choice & 2 ? ORMA_PERF_USER_FP : ORMA_PERF_USER_DWARF;
	orma_perf_scope_init(&machine->scope, &machine->config.scope, 0);
	machine->processes = (struct orma_perf_processes){.scope = &machine->scope,
							  .files = files,
							  .proc_fd = proc_fd,
							  .follows_children = choice & 4};
	machine->waits = (struct orma_perf_waits){0};
	machine->stacks.config = &machine->config;
	machine->stacks.processes = &machine->processes;
	orma_perf_stacks_clear(&machine->stacks);
}

static void end_machine(struct machine *machine)
{
	orma_perf_waits_done(&machine->waits);
	orma_perf_processes_done(&machine->processes);
	orma_perf_scope_done(&machine->scope);
}

static void take_sample(struct machine *machine, const struct orma_perf_record *record)
{
	struct orma_perf_process *process =
		orma_perf_processes_get(&machine->processes, record->pid);
	struct orma_perf_fact fact = {.pid = record->pid, .tid = record->tid, .time = record->time};
	struct orma_perf_stack stack;

	if (!process || !process->is_in_scope)
		return;
	orma_perf_stacks_walk(&machine->stacks, process, record, &stack);
	orma_perf_waits_begin(&machine->waits, &fact, &stack, &machine->stacks);
	(void)orma_perf_stacks_number(&machine->stacks, &stack);
}

static void play(struct machine *machine, struct orma_perf_record *record)
{
	record->pid |= NO_PROCESS;
	if (record->type == PERF_RECORD_FORK || record->type == PERF_RECORD_EXIT)
		record->parent.pid |= NO_PROCESS;
	if (record->type == PERF_RECORD_SAMPLE)
		take_sample(machine, record);
	else
		orma_perf_processes_take(&machine->processes, record);
	if (record->type == PERF_RECORD_EXIT)
		orma_perf_waits_forget(&machine->waits, record->tid);
}

/* ---- the ring ---- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct machine machine;
	static const uint64_t parts[] = {PERF_SAMPLE_IP,        PERF_SAMPLE_TID,
					 PERF_SAMPLE_TIME,      PERF_SAMPLE_CPU,
					 PERF_SAMPLE_READ,      PERF_SAMPLE_CALLCHAIN,
					 PERF_SAMPLE_REGS_USER, PERF_SAMPLE_STACK_USER};
	size_t page_size = (size_t)getpagesize();
	struct orma_perf_layout layout = {.user_regs = 7};
	struct orma_perf_record record;
	struct orma_perf_ring ring;
	size_t record_size;
	void *memory = NULL;

	if (size < CHOICES || posix_memalign(&memory, page_size, page_size + RING_BYTES) != 0)
		return 0;
	for (size_t i = 0; i < 8; i++)
		layout.sample_type |= data[0] >> i & 1 ? parts[i] : 0;
	layout.is_group = data[1] & 1;
	struct perf_event_mmap_page *page = memory;
	memset(page, 0, sizeof(*page));
	size = size - CHOICES < RING_BYTES ? size - CHOICES : RING_BYTES;
	page->data_tail = (uint64_t)data[2] * 8;
	page->data_head = page->data_tail + (data[3] & 1 ? size : size & ~(size_t)7);
	for (size_t i = 0; i < RING_BYTES; i++)
		((uint8_t *)memory)[page_size + (page->data_tail + i) % RING_BYTES] =
			i < size ? data[CHOICES + i] : 0;
	orma_perf_ring_init(&ring, memory, page_size, RING_BYTES);
	orma_perf_ring_refresh(&ring);
	init_machine(&machine, data[1]);
	for (const void *bytes; (bytes = orma_perf_ring_peek(&ring, &record_size));) {
		/* A copy of its own, so that a read behind the record is seen. */
		void *copy = malloc(record_size);
		uint64_t time;
		if (!copy)
			abort();
		memcpy(copy, bytes, record_size);
		touched += orma_perf_ring_record_time(&layout, copy, record_size, &time);
		if (orma_perf_ring_record_parse(&layout, copy, record_size, &record) == 0) {
			touched += touch(&record);
			play(&machine, &record);
		}
		free(copy);
		orma_perf_ring_advance(&ring, record_size);
	}
	orma_perf_ring_release(&ring);
	end_machine(&machine);
	if (page->data_tail != page->data_head)
		abort();
	orma_perf_ring_done(&ring);
	free(memory);
	return 0;
}
