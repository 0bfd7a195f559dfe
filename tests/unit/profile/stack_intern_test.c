/* SPDX-License-Identifier: Apache-2.0
 * stack_intern_test.c - ids of call stacks, what is written about them, and symbols at the end.
 */
#include <sys/mman.h>

#include "../probes/fake_api.h"
#include "profile/module_symbols.h"
#include "profile/stack_intern.h"
#include "profile/stack_keys.h"
#include "symbols/symbol_table.h"

static struct orma_stack_intern *intern;

/* The interned data that a packet gets now, as text. */
static const char *news(size_t limit_bytes, bool is_all)
{
	fake_source.started = 1;
	struct orma_packet *packet = orma_packet_begin(&fake_source, 0);
	CHECK(packet);
	CHECK_INT(orma_stack_intern_write(intern, packet, limit_bytes), is_all);
	orma_packet_end(packet);
	struct orma_pb_trace_packet *decoded = fake_packet(fake_packet_count - 1);
	return decoded->interned_data ? fake_text(decoded->interned_data) : "";
}

static struct orma_stack_frame named(const char *name)
{
	return (struct orma_stack_frame){.name = orma_base_str(name), .kind = ORMA_STACK_FRAME_JIT};
}

ORMA_TEST(what_is_new_is_written_once)
{
	const struct orma_unwind_mapping mapping = {
		.id = 7,
		.start = 0x1000,
		.end = 0x3000,
		.offset = 0x200,
		.load_bias = 0x10,
		.path = ORMA_STR("/lib/a"),
		.build_id = (const uint8_t *)"ID",
		.build_id_size = 2,
	};
	struct orma_stack_frame frames[] = {
		{.mapping = &mapping, .rel_pc = 0x345, .kind = ORMA_STACK_FRAME_NATIVE},
		named("outer"),
		{.name = ORMA_STR("do_idle"), .kind = ORMA_STACK_FRAME_KERNEL},
	};

	CHECK_INT(orma_stack_intern_new(&intern), 0);
	CHECK(orma_stack_intern_has_news(intern));
	CHECK_INT(orma_stack_intern_add(intern, frames, 2), 1);
	CHECK_STR(news(0, true),
		  "function_names { iid: 0 str: \"\" } function_names { iid: 1 str: \"outer\" } "
		  "frames { iid: 1 mapping_id: 1 rel_pc: 837 } "
		  "frames { iid: 2 function_name_id: 1 rel_pc: 0 kind: KIND_JIT } "
		  "callstacks { iid: 1 frame_ids: 2 frame_ids: 1 } "
		  "build_ids { iid: 0 str: \"\" } build_ids { iid: 1 str: \"ID\" } "
		  "mapping_paths { iid: 0 str: \"\" } mapping_paths { iid: 1 str: \"/lib/a\" } "
		  "mappings { iid: 1 build_id: 1 start_offset: 512 start: 4096 end: 12288 "
		  "load_bias: 16 path_string_ids: 1 exact_offset: 512 }");
	CHECK(!orma_stack_intern_has_news(intern));
	CHECK_INT(orma_stack_intern_add(intern, frames, 2), 1);
	CHECK_STR(news(0, true), "");
	CHECK_INT(orma_stack_intern_add(intern, frames, 3), 2);
	CHECK_STR(news(0, true),
		  "function_names { iid: 2 str: \"do_idle\" } "
		  "frames { iid: 3 function_name_id: 2 mapping_id: 2 rel_pc: 0 } "
		  "callstacks { iid: 2 frame_ids: 3 frame_ids: 2 frame_ids: 1 } "
		  "mapping_paths { iid: 2 str: \"kernel\" } "
		  "mappings { iid: 2 build_id: 0 start_offset: 0 start: 0 end: 0 load_bias: 0 "
		  "path_string_ids: 2 exact_offset: 0 }");
	CHECK_INT(orma_stack_intern_add(intern, frames, 0), 0);
	/* The reader has forgotten. */
	orma_stack_intern_clear(intern);
	CHECK_INT(orma_stack_intern_add(intern, frames + 1, 1), 1);
	CHECK_STR(news(0, true),
		  "function_names { iid: 0 str: \"\" } function_names { iid: 1 str: \"outer\" } "
		  "frames { iid: 1 function_name_id: 1 rel_pc: 0 kind: KIND_JIT } "
		  "callstacks { iid: 1 frame_ids: 1 } build_ids { iid: 0 str: \"\" } "
		  "mapping_paths { iid: 0 str: \"\" }");
	orma_stack_intern_free(intern);
}

ORMA_TEST(much_is_written_in_parts)
{
	size_t parts = 1;

	CHECK_INT(orma_stack_intern_new(&intern), 0);
	for (int i = 0; i < 100; i++) {
		char name[64];

		snprintf(name, sizeof(name), "a function with a long name, number %d", i);
		struct orma_stack_frame frame = named(name);
		CHECK_INT(orma_stack_intern_add(intern, &frame, 1), i + 1);
	}
	for (; orma_stack_intern_has_news(intern) && parts < 100; parts++) {
		struct orma_packet *packet;

		fake_source.started = 1;
		packet = orma_packet_begin(&fake_source, 0);
		orma_stack_intern_write(intern, packet, 1000);
		orma_packet_end(packet);
	}
	CHECK(parts > 5 && parts < 20);
	orma_stack_intern_free(intern);
}

ORMA_TEST(a_stack_is_remembered_by_its_addresses)
{
	const uint64_t addresses[] = {1, 2, 3};
	struct orma_stack_keys keys;

	CHECK_INT(orma_stack_keys_init(&keys), 0);
	struct orma_stack_key key = orma_stack_key_begin(&keys, 1), other = key;
	orma_stack_key_add(&key, addresses, 3);
	CHECK_INT(orma_stack_keys_find(&keys, key), 0);
	orma_stack_keys_remember(&keys, key, 9);
	CHECK_INT(orma_stack_keys_find(&keys, key), 9);
	/* Another split, or another generation, is another stack. */
	orma_stack_key_add(&other, addresses, 2);
	orma_stack_key_add(&other, addresses + 2, 1);
	CHECK_INT(orma_stack_keys_find(&keys, other), 0);
	other = orma_stack_key_begin(&keys, 2);
	orma_stack_key_add(&other, addresses, 3);
	CHECK_INT(orma_stack_keys_find(&keys, other), 0);
	/* More than there are places. */
	for (uint64_t i = 0; i < 70000; i++) {
		other = orma_stack_key_begin(&keys, 3);
		orma_stack_key_add(&other, &i, 1);
		orma_stack_keys_remember(&keys, other, i + 1);
		CHECK_INT(orma_stack_keys_find(&keys, other), i + 1);
	}
	CHECK_INT(orma_stack_keys_find(&keys, key), 0);
	orma_stack_keys_done(&keys);
}

ORMA_TEST(processes_with_addresses_of_their_own_share_the_frames_of_a_file)
{
	struct orma_unwind_mapping first = {
		.id = 1,
		.start = 0x1000,
		.end = 0x3000,
		.path = ORMA_STR("/lib/a"),
		.build_id = (const uint8_t *)"ID",
		.build_id_size = 2,
	};
	struct orma_unwind_mapping second = first, memory = {.id = 4, .start = 0x1000};
	struct orma_stack_frame frame = {.rel_pc = 5, .kind = ORMA_STACK_FRAME_NATIVE};

	second.id = 2;
	second.start = 0x5000;
	second.end = 0x7000;
	CHECK_INT(orma_stack_intern_new(&intern), 0);
	frame.mapping = &first;
	CHECK_INT(orma_stack_intern_add(intern, &frame, 1), 1);
	frame.mapping = &second;
	CHECK_INT(orma_stack_intern_add(intern, &frame, 1), 1);
	/* Another part of the file is another mapping. */
	second.id = 3;
	second.offset = 0x1000;
	CHECK_INT(orma_stack_intern_add(intern, &frame, 1), 2);
	/* Memory without a file is each process's own. */
	frame.mapping = &memory;
	CHECK_INT(orma_stack_intern_add(intern, &frame, 1), 3);
	memory.id = 5;
	memory.start = 0x2000;
	CHECK_INT(orma_stack_intern_add(intern, &frame, 1), 4);
	const char *text = news(0, true);
	CHECK(strstr(text,
		     "mappings { iid: 1 build_id: 1 start_offset: 0 start: 4096 end: 12288 "));
	CHECK(strstr(text, "mappings { iid: 4 ") && !strstr(text, "mappings { iid: 5 "));
	orma_stack_intern_free(intern);
}

ORMA_TEST(stacks_are_added_without_memory)
{
	struct orma_unwind_mapping mapping = {.id = 1, .path = ORMA_STR("/lib/a")};
	struct orma_stack_frame frames[] = {{.mapping = &mapping}, named("outer")};
	uint64_t iid = 0;

	for (uint64_t nth = 1; iid == 0; nth++) {
		orma_base_alloc_fail_nth(nth);
		if (orma_stack_intern_new(&intern) < 0) {
			CHECK(orma_base_alloc_has_failed());
			continue;
		}
		iid = orma_stack_intern_add(intern, frames, 2);
		CHECK(iid > 0 || orma_base_alloc_has_failed());
		orma_stack_intern_free(intern);
	}
	orma_base_alloc_fail_nth(0);
}

/* --- samples of this process ------------------------------------------------------------------ */

__attribute__((noinline)) static uint64_t address_here(void)
{
	return (uint64_t)(uintptr_t)__builtin_return_address(0) - 1;
}

ORMA_TEST(a_sample_gets_its_frames_and_its_names)
{
	struct orma_unwind_files *files;
	struct orma_unwind_process *process;
	struct orma_module_symbols *symbols;
	struct orma_kallsyms *kallsyms;
	uint64_t user[] = {address_here(), 1}, kernel[] = {0xffffffff81000010};

	CHECK_INT(orma_unwind_files_new(NULL, &files), 0);
	CHECK_INT(orma_unwind_process_new(files, getpid(), &process), 0);
	CHECK_INT(orma_unwind_process_read_maps(process), 0);
	CHECK_INT(orma_stack_intern_new(&intern), 0);
	CHECK_INT(orma_module_symbols_new(&symbols), 0);
	CHECK_INT(orma_kallsyms_parse(ORMA_STR("ffffffff81000000 T do_work\n"), &kallsyms), 0);
	struct orma_stack_sample sample = {
		.process = process,
		.user = user,
		.user_count = 2,
		.kallsyms = kallsyms,
		.kernel = kernel,
		.kernel_count = 1,
		.error = "ERROR 3",
	};
	CHECK_INT(orma_stack_intern_sample(intern, &sample, symbols), 1);
	CHECK_INT(orma_stack_intern_sample(intern, &sample, symbols), 1);
	sample.error = NULL;
	CHECK_INT(orma_stack_intern_sample(intern, &sample, symbols), 2);
	const char *text = news(0, true);
	CHECK(strstr(text, "str: \"do_work\"") && strstr(text, "str: \"ERROR 3\""));
	CHECK(strstr(text, "str: \"[unknown]\"") && strstr(text, "str: \"kernel\""));
	CHECK(strstr(text, "unit_profile_stack_intern_test"));
	CHECK(strstr(text,
		     "callstacks { iid: 1 frame_ids: 4 frame_ids: 3 frame_ids: 2 frame_ids: 1 }"));
	CHECK(strstr(text, "callstacks { iid: 2 frame_ids: 3 frame_ids: 2 frame_ids: 1 }"));
	struct orma_unwind_mapping *mapping =
		orma_unwind_mapping_ref(orma_unwind_process_find(process, user[0]));
	uint64_t rel_pc = orma_unwind_mapping_rel_pc(mapping, user[0]);
	orma_unwind_process_free(process);

	/* The process is gone, the names are not. */
	size_t before = fake_packet_count;
	fake_source.started = 1;
	struct orma_module_symbols_facts facts =
		orma_module_symbols_write(symbols, &fake_source, 0, UINT64_MAX);
	CHECK_INT(facts.module_count, 1);
	CHECK_INT(facts.address_count, 1);
	CHECK_INT(facts.named_count, 1);
	CHECK_INT(fake_packet_count, before + 1);
	text = fake_text(fake_packet(before)->module_symbols);
	CHECK(strstr(text, "a_sample_gets_its_frames_and_its_names"));
	/* Names that are not to be seen. */
	const struct orma_str prefixes[] = {{"other", 5}, {"a_sample_gets_", 14}};
	orma_module_symbols_skip(symbols, prefixes, 2);
	CHECK_INT(orma_module_symbols_add(symbols, mapping, rel_pc), 0);
	CHECK_INT(orma_module_symbols_write(symbols, &fake_source, 0, UINT64_MAX).named_count, 1);
	text = fake_text(fake_packet(before + 1)->module_symbols);
	CHECK(strstr(text, "FILTERED") && !strstr(text, "a_sample_gets_its"));
	/* There is no time for anything. */
	CHECK_INT(orma_module_symbols_write(symbols, &fake_source, 0, 0).module_count, 0);
	orma_unwind_mapping_unref(mapping);
	orma_module_symbols_free(symbols);
	orma_stack_intern_free(intern);
	orma_kallsyms_free(kallsyms);
	orma_unwind_files_free(files);
}

/* The names are those of /tmp/perf-PID.map, which this process writes as a JIT compiler does. */
ORMA_TEST(python_is_interpreted_and_other_code_in_memory_is_compiled)
{
	struct orma_unwind_files *files;
	struct orma_unwind_process *process;
	char path[64];
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t start = (uint64_t)(uintptr_t)code;
	uint64_t user[] = {start + 0x18, start + 0x8, start + 0x28, start + 0x38};

	CHECK(code != MAP_FAILED);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	FILE *map = fopen(path, "we");
	CHECK(map != NULL);
	fprintf(map, "%llx 10 py::main:/srv/app.py\n%llx 10 LazyCompile:~add\n%llx 10 py::\n",
		(unsigned long long)start, (unsigned long long)start + 0x10,
		(unsigned long long)start + 0x20);
	CHECK_INT(fclose(map), 0);
	CHECK_INT(orma_unwind_files_new(NULL, &files), 0);
	CHECK_INT(orma_unwind_process_new(files, getpid(), &process), 0);
	CHECK_INT(orma_unwind_process_read_maps(process), 0);
	CHECK_INT(orma_stack_intern_new(&intern), 0);
	struct orma_stack_sample sample = {
		.process = process, .user = user, .user_count = 4, .now_ns = 1};
	uint64_t iid = orma_stack_intern_sample(intern, &sample, NULL);
	unlink(path);
	CHECK_INT(iid, 1);
	const char *text = news(0, true);
	CHECK(strstr(text, "function_names { iid: 1 str: \"LazyCompile:~add\" } "
			   "function_names { iid: 2 str: \"py::main:/srv/app.py\" } "
			   "function_names { iid: 3 str: \"py::\" } frames"));
	CHECK(strstr(text, "function_name_id: 1 rel_pc: 0 kind: KIND_JIT }"));
	CHECK(strstr(text, "function_name_id: 2 rel_pc: 0 kind: KIND_INTERPRETED }"));
	/* It has no name behind the prefix. */
	CHECK(strstr(text, "function_name_id: 3 rel_pc: 0 kind: KIND_JIT }"));
	/* The last address has no line, and stays a place in memory. */
	CHECK(strstr(text, "frames { iid: 4 mapping_id: 1 rel_pc: "));
	orma_stack_intern_free(intern);
	orma_unwind_process_free(process);
	orma_unwind_files_free(files);
	CHECK_INT(munmap(code, 4096), 0);
}
