/* SPDX-License-Identifier: Apache-2.0
 * process_fixture.h - made-up trees of /proc, and the texts of what linux.process_stats writes about them.
 */
#ifndef ORMA_TESTS_PROCESS_FIXTURE_H
#define ORMA_TESTS_PROCESS_FIXTURE_H

#include "fake_api.h"
#include "probes/process_stats/process_stats.h"
#include "schema/gen/process_stats.pb.h"
#include "schema/gen/process_tree.pb.h"

#define CONFIG(text) "name: 'linux.process_stats' process_stats_config { " text " }"

/* The files of a process; NULL = no such file. */
struct person {
	uint32_t pid;
	const char *name, *cmdline, *memory, *adjustment;
	size_t cmdline_size;
	const char *nspid; /* after the root's */
	uint32_t thread_of;
};

static inline void put_file(const char *folder, const char *name, const char *data, size_t size)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fake_put_bytes(path, data, size);
}

static inline void put_status(const char *folder, const struct person *person)
{
	char text[1024];
	int size = snprintf(text, sizeof(text),
			    "Name:\t%s\nState:\tS (sleeping)\nTgid:\t%u\nPid:\t%u\nPPid:\t1\n"
			    "Uid:\t1000\t1000\t1000\t1000\nNSpid:\t%u%s\n%s",
			    person->name, person->thread_of ? person->thread_of : person->pid,
			    person->pid, person->pid, person->nspid ? person->nspid : "",
			    person->memory ? person->memory : "");
	put_file(folder, "status", text, (size_t)size);
}

static inline void put_person(const struct person *person)
{
	char folder[128], text[256];
	snprintf(folder, sizeof(folder), "proc/%u", person->pid);
	put_status(folder, person);
	put_file(folder, "cmdline", person->cmdline ? person->cmdline : "", person->cmdline_size);
	if (person->adjustment)
		put_file(folder, "oom_score_adj", person->adjustment, strlen(person->adjustment));
	int size = snprintf(text, sizeof(text),
			    "%u (%s) S 1 1 1 0 -1 4194304 99 0 0 0 150 25 0 0 20 0 1 0 1234 0 0\n",
			    person->pid, person->name);
	put_file(folder, "stat", text, (size_t)size);
	snprintf(folder, sizeof(folder), "proc/%u/task/%u", person->pid, person->pid);
	put_status(folder, person);
}

static inline void put_thread(uint32_t pid, uint32_t tid, const char *name, const char *nspid)
{
	char folder[128], text[128];
	struct person thread = {.pid = tid, .name = name, .nspid = nspid, .thread_of = pid};
	snprintf(folder, sizeof(folder), "proc/%u/task/%u", pid, tid);
	put_status(folder, &thread);
	int size = snprintf(text, sizeof(text), "%s\n", name);
	put_file(folder, "comm", text, (size_t)size);
}

static const struct person cat = {
	.pid = 10,
	.name = "cat",
	.cmdline = "/bin/cat\0-n\0\0x y",
	.cmdline_size = 17,
	.memory = "VmSize:\t100 kB\nVmRSS:\t50 kB\n",
	.adjustment = "-17\n",
};

static const struct person kernel_thread = {.pid = 2, .name = "kthreadd"};

static inline struct orma_probes_process_instance *instance(uint32_t idx)
{
	return fake_source.instance_ctx[idx];
}

/* Polls at once, in one turn of the loop. */
static inline void poll(uint32_t idx)
{
	instance(idx)->base.turn_end_ns = UINT64_MAX;
	fake_probe->ops->run(&instance(idx)->base);
}

static inline const char *tree_text(size_t at)
{
	struct orma_pb_trace_packet *packet = fake_packet(at);
	CHECK(packet->process_tree != NULL);
	CHECK(packet->timestamp > 0);
	CHECK(packet->process_tree->collection_end_timestamp >= packet->timestamp);
	packet->process_tree->has[0] = 0;
	return fake_text(packet->process_tree);
}

static inline const char *stats_text(size_t at)
{
	struct orma_pb_trace_packet *packet = fake_packet(at);
	CHECK(packet->process_stats != NULL);
	CHECK(packet->timestamp > 0);
	CHECK(packet->process_stats->collection_end_timestamp >= packet->timestamp);
	packet->process_stats->has[0] = 0;
	return fake_text(packet->process_stats);
}

/* Starts, does the first poll, and forgets its packets. */
static inline void start_polling(const char *config)
{
	fake_start(0, config);
	fake_flush(0);
	orma_base_timer_disarm(&instance(0)->base.timer);
	fake_forget_packets();
}

static inline void put_many_fds(int count)
{
	char path[600];

	fake_put("proc/10/fd/keep", "");
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/proc/10/fd/%d", fake_root, i);
		CHECK_INT(symlink("/a/path/that/is/about/as/long/as/they/are", path), 0);
	}
}

static inline struct orma_probes_process *process_of(uint32_t pid)
{
	return orma_base_map_get(&instance(0)->processes, pid);
}

/* Replaces the memory in status, and nothing else. */
static inline void put_memory(const char *memory)
{
	struct person person = cat;
	person.memory = memory;
	put_status("proc/10", &person);
}

static inline enum orma_completion flush(uint64_t completion)
{
	struct orma_instance made = fake_instance(0);
	made.completion = completion;
	return fake_source.options.on_flush(fake_source.options.ctx, &made);
}

static inline void put_crowd(void)
{
	struct person person = cat;
	for (person.pid = 100; person.pid < 150; person.pid++)
		put_person(&person);
	for (uint32_t tid = 200; tid < 250; tid++)
		put_thread(120, tid, "worker", "");
}

#endif
