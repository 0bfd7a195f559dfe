/* SPDX-License-Identifier: Apache-2.0
 * process_parse.c - parsers of status, smaps_rollup and stat.
 *
 * The files status and smaps_rollup are lines of "Key:\tvalue". One pass over each extracts the
 * wanted values by a table of keys. The table has the kernel's order of keys, and the search begins
 * behind the last key that was found, so a wanted line usually costs one comparison. The process
 * can choose its name, which the kernel writes into status (escaped: backslash and newline only)
 * and into stat (raw, in parentheses). In status, keys are found at the beginning of lines, which
 * an escaped name cannot fake. In stat, parsing begins behind the last closing parenthesis, where
 * there are only numbers and a state letter. Rejected: scanning stat by words, which a name with a
 * space breaks; 32-bit values, which overflow with the 20 TiB of address space of a process with a
 * sanitizer.
 */
#include "probes/process_stats/process_parse.h"

#include <errno.h>

#include "base/macros.h"
#include "probes/probe_text.h"
#include "schema/gen/process_stats.pb.h"

const uint8_t orma_probes_process_value_fields[ORMA_PROCESS_VALUE_COUNT] = {
	[ORMA_PROCESS_VM_SIZE] = ORMA_PB_PROCESS_STATS_PROCESS_VM_SIZE_KB,
	[ORMA_PROCESS_VM_RSS] = ORMA_PB_PROCESS_STATS_PROCESS_VM_RSS_KB,
	[ORMA_PROCESS_RSS_ANON] = ORMA_PB_PROCESS_STATS_PROCESS_RSS_ANON_KB,
	[ORMA_PROCESS_RSS_FILE] = ORMA_PB_PROCESS_STATS_PROCESS_RSS_FILE_KB,
	[ORMA_PROCESS_RSS_SHMEM] = ORMA_PB_PROCESS_STATS_PROCESS_RSS_SHMEM_KB,
	[ORMA_PROCESS_VM_SWAP] = ORMA_PB_PROCESS_STATS_PROCESS_VM_SWAP_KB,
	[ORMA_PROCESS_VM_LOCKED] = ORMA_PB_PROCESS_STATS_PROCESS_VM_LOCKED_KB,
	[ORMA_PROCESS_VM_HWM] = ORMA_PB_PROCESS_STATS_PROCESS_VM_HWM_KB,
	[ORMA_PROCESS_OOM_SCORE_ADJ] = ORMA_PB_PROCESS_STATS_PROCESS_OOM_SCORE_ADJ,
	[ORMA_PROCESS_SMR_RSS] = ORMA_PB_PROCESS_STATS_PROCESS_SMR_RSS_KB,
	[ORMA_PROCESS_SMR_PSS] = ORMA_PB_PROCESS_STATS_PROCESS_SMR_PSS_KB,
	[ORMA_PROCESS_SMR_PSS_ANON] = ORMA_PB_PROCESS_STATS_PROCESS_SMR_PSS_ANON_KB,
	[ORMA_PROCESS_SMR_PSS_FILE] = ORMA_PB_PROCESS_STATS_PROCESS_SMR_PSS_FILE_KB,
	[ORMA_PROCESS_SMR_PSS_SHMEM] = ORMA_PB_PROCESS_STATS_PROCESS_SMR_PSS_SHMEM_KB,
	[ORMA_PROCESS_SMR_SWAP_PSS] = ORMA_PB_PROCESS_STATS_PROCESS_SMR_SWAP_PSS_KB,
	[ORMA_PROCESS_RUNTIME_USER] = ORMA_PB_PROCESS_STATS_PROCESS_RUNTIME_USER_MODE,
	[ORMA_PROCESS_RUNTIME_KERNEL] = ORMA_PB_PROCESS_STATS_PROCESS_RUNTIME_KERNEL_MODE,
	[ORMA_PROCESS_DMABUF_RSS] = ORMA_PB_PROCESS_STATS_PROCESS_DMABUF_RSS_KB,
};

/* Keys of status that are not values. */
enum {
	KEY_NAME = ORMA_PROCESS_VALUE_COUNT,
	KEY_TGID,
	KEY_PID,
	KEY_PPID,
	KEY_UID,
	KEY_NSPID,
	KEY_KTHREAD
};

struct key {
	struct orma_str text;
	uint8_t id;
};

/* The order is the kernel's. */
static const struct key status_keys[] = {
	{{"Name", 4}, KEY_NAME},
	{{"Tgid", 4}, KEY_TGID},
	{{"Pid", 3}, KEY_PID},
	{{"PPid", 4}, KEY_PPID},
	{{"Uid", 3}, KEY_UID},
	{{"NSpid", 5}, KEY_NSPID},
	{{"Kthread", 7}, KEY_KTHREAD},
	{{"VmSize", 6}, ORMA_PROCESS_VM_SIZE},
	{{"VmLck", 5}, ORMA_PROCESS_VM_LOCKED},
	{{"VmHWM", 5}, ORMA_PROCESS_VM_HWM},
	{{"VmRSS", 5}, ORMA_PROCESS_VM_RSS},
	{{"RssAnon", 7}, ORMA_PROCESS_RSS_ANON},
	{{"RssFile", 7}, ORMA_PROCESS_RSS_FILE},
	{{"RssShmem", 8}, ORMA_PROCESS_RSS_SHMEM},
	{{"VmSwap", 6}, ORMA_PROCESS_VM_SWAP},
};

static const struct key smaps_keys[] = {
	{{"Rss", 3}, ORMA_PROCESS_SMR_RSS},
	{{"Pss", 3}, ORMA_PROCESS_SMR_PSS},
	{{"Pss_Anon", 8}, ORMA_PROCESS_SMR_PSS_ANON},
	{{"Pss_File", 8}, ORMA_PROCESS_SMR_PSS_FILE},
	{{"Pss_Shmem", 9}, ORMA_PROCESS_SMR_PSS_SHMEM},
	{{"SwapPss", 7}, ORMA_PROCESS_SMR_SWAP_PSS},
};

struct key_search {
	const struct key *keys;
	size_t count, next; /* where the next hit is expected */
};

/* Finds the next line with a key of the table; `value` is the text after the colon and a tab.
 * Returns the key's id, or -1 at the end. */
static int next_key(struct key_search *search, struct orma_str *rest, struct orma_str *value)
{
	struct orma_str line, name;
	while (orma_probes_text_line(rest, &line)) {
		if (!orma_probes_text_until(&line, ':', &name))
			continue;
		for (size_t i = 0; i < search->count; i++) {
			size_t at = (search->next + i) % search->count;
			if (!orma_base_str_is_equal(search->keys[at].text, name))
				continue;
			search->next = at + 1;
			if (orma_probes_text_has_prefix(line, "\t"))
				line = (struct orma_str){line.data + 1, line.size - 1};
			*value = line;
			return search->keys[at].id;
		}
	}
	return -1;
}

/* Returns the first word as a number, -1 without one: "1000\t1000" is 1000, "12 kB" is 12. */
static int64_t first_number(struct orma_str value)
{
	uint64_t number;
	if (!orma_probes_text_next_u64(&value, &number) || number > INT64_MAX)
		return -1;
	return (int64_t)number;
}

static void set_sample(struct orma_probes_process_sample *sample, int key, struct orma_str value)
{
	uint64_t number;
	if (sample && orma_probes_text_next_u64(&value, &number))
		orma_probes_process_sample_set(sample, (enum orma_probes_process_value)key, number);
}

void orma_probes_process_status_parse(struct orma_str text, struct orma_probes_process_status *ret,
				      struct orma_probes_process_sample *sample)
{
	struct key_search search = {status_keys, ORMA_ARRAY_SIZE(status_keys), 0};
	struct orma_str value, first;
	*ret = (struct orma_probes_process_status){
		.tgid = -1, .pid = -1, .ppid = -1, .uid = -1, .kthread = -1};
	for (int key; (key = next_key(&search, &text, &value)) >= 0;) {
		switch (key) {
		case KEY_NAME:
			ret->name = value;
			break;
		case KEY_TGID:
			ret->tgid = first_number(value);
			break;
		case KEY_PID:
			ret->pid = first_number(value);
			break;
		case KEY_PPID:
			ret->ppid = first_number(value);
			break;
		case KEY_UID:
			ret->uid = first_number(value);
			break;
		case KEY_NSPID:
			if (orma_probes_text_word(&value, &first))
				ret->nspid = orma_probes_text_trim(value);
			break;
		case KEY_KTHREAD:
			ret->kthread = first_number(value) == 0   ? 0
				       : first_number(value) == 1 ? 1
								  : -1;
			break;
		default:
			set_sample(sample, key, value);
		}
	}
}

void orma_probes_process_smaps_parse(struct orma_str text,
				     struct orma_probes_process_sample *sample)
{
	struct key_search search = {smaps_keys, ORMA_ARRAY_SIZE(smaps_keys), 0};
	struct orma_str value;
	for (int key; (key = next_key(&search, &text, &value)) >= 0;)
		set_sample(sample, key, value);
}

int orma_probes_process_stat_parse(struct orma_str text, struct orma_probes_process_times *ret)
{
	/* Indices of words after the name: the state is word 0 and field 3 of proc(5). */
	enum { USER = 14 - 3, KERNEL = 15 - 3, THREADS = 20 - 3, START = 22 - 3 };
	struct orma_str line, word;
	struct orma_probes_process_times times = {0};
	if (!orma_probes_text_skip_name(&text) || !orma_probes_text_line(&text, &line))
		return -EBADMSG;
	for (int i = 0; i <= START; i++) {
		uint64_t *to = i == USER      ? &times.user_ticks
			       : i == KERNEL  ? &times.kernel_ticks
			       : i == THREADS ? &times.thread_count
			       : i == START   ? &times.start_ticks
					      : NULL;
		if (!orma_probes_text_word(&line, &word) || (to && !orma_probes_text_u64(word, to)))
			return -EBADMSG;
	}
	*ret = times;
	return 0;
}

struct orma_str orma_probes_process_unescape(struct orma_str name, char buf[ORMA_PROBES_COMM_BYTES])
{
	if (name.size == 0 || !memchr(name.data, '\\', name.size)) {
		name.size = ORMA_MIN(name.size, (size_t)ORMA_PROBES_COMM_BYTES);
		return name;
	}
	size_t size = 0;
	for (size_t i = 0; i < name.size && size < ORMA_PROBES_COMM_BYTES; i++) {
		char c = name.data[i];
		char next = '\0';
		if (i + 1 < name.size)
			next = name.data[i + 1];
		if (c == '\\' && (next == 'n' || next == '\\')) {
			c = '\\';
			if (next == 'n')
				c = '\n';
			i++;
		}
		buf[size++] = c;
	}
	return (struct orma_str){buf, size};
}
