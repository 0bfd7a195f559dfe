/* SPDX-License-Identifier: Apache-2.0
 * syscall_filter.c - names of system calls to the kernel's filter on raw_syscalls.
 *
 * Owns nothing. The kernel's two events have the number of the call, and no name. The table of names is made when orma is
 * built, from the headers of the machine that it is built for. The filter of a buffer is the union of its sessions: one
 * that records raw_syscalls without a list wants all of them.
 *
 * INVARIANT: an unknown name never widens a filter. A session whose names are all unknown does not enable raw_syscalls
 * (ftrace_select.c), so its empty set does not become "no filter".
 *
 * Runs of numbers are written as ranges. A filter has at most 4,095 bytes (the kernel's page): the longest is every other
 * number, about 230 x 12 bytes.
 */
#include <errno.h>
#include <syscall_names.h> /* cmake/syscall_names.cmake writes it */

#include "base/macros.h"
#include "probes/ftrace/ftrace_session.h"
#include "probes/probe_text.h"

static const struct {
	const char *name;
	uint32_t number;
} names[] = {ORMA_SYSCALL_NAMES};

static bool find(struct orma_str name, uint32_t *ret)
{
	if (orma_probes_text_has_prefix(name, "sys_")) {
		name.data += 4;
		name.size -= 4;
	}
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(names); i++)
		if (orma_base_str_is(name, names[i].name) &&
		    names[i].number < ORMA_FTRACE_SYSCALLS_MAX) {
			*ret = names[i].number;
			return true;
		}
	return false;
}

void orma_ftrace_syscalls_resolve(const struct orma_pb_ftrace_config *wanted,
				  struct orma_ftrace_report *report,
				  struct orma_ftrace_syscalls *ret)
{
	*ret = (struct orma_ftrace_syscalls){.has_all = wanted->syscall_events.count == 0};
	for (size_t i = 0; i < wanted->syscall_events.count; i++) {
		struct orma_str name = wanted->syscall_events.items[i];
		uint32_t number;

		if (find(name, &number))
			ret->words[number / 64] |= UINT64_C(1) << number % 64;
		else
			orma_ftrace_report_problem(
				report, "syscall_events: this machine has no system call \"%.*s\"",
				(int)ORMA_MIN(name.size, (size_t)64), name.data);
	}
}

bool orma_ftrace_syscalls_are_empty(const struct orma_ftrace_syscalls *syscalls)
{
	uint64_t any = 0;

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(syscalls->words); i++)
		any |= syscalls->words[i];
	return !syscalls->has_all && any == 0;
}

static bool has(const struct orma_ftrace_syscalls *syscalls, uint32_t number)
{
	return number < ORMA_FTRACE_SYSCALLS_MAX && syscalls->words[number / 64] >> number % 64 & 1;
}

/* "0" is no filter. 0 or -ENOMEM. */
static int print_filter(const struct orma_ftrace_syscalls *syscalls, struct orma_buf *ret)
{
	int r = 0;

	ret->size = 0;
	if (syscalls->has_all || orma_ftrace_syscalls_are_empty(syscalls))
		return orma_base_buf_append_str(ret, "0");
	for (uint32_t first = 0; first < ORMA_FTRACE_SYSCALLS_MAX && r >= 0; first++) {
		uint32_t end = first;
		const char *separator = ret->size > 0 ? " || " : "";

		while (has(syscalls, end))
			end++;
		if (end - first > 2)
			r = orma_base_buf_printf(ret, "%s(id >= %u && id <= %u)", separator, first,
						 end - 1);
		else if (end > first)
			r = orma_base_buf_printf(ret, "%sid == %u", separator, first);
		if (end - first > 2)
			first = end;
	}
	return r < 0 ? r : 0;
}

int orma_ftrace_syscalls_apply(struct orma_ftrace_buffer *buffer)
{
	static const char *const files[] = {"events/raw_syscalls/sys_enter/filter",
					    "events/raw_syscalls/sys_exit/filter"};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	struct orma_ftrace_syscalls all = {0};
	const struct orma_ftrace_session *session;
	bool is_wanted = false;

	ORMA_LIST_FOR_EACH (session, &buffer->sessions, link) {
		if (!session->syscalls.is_used)
			continue;
		is_wanted = true;
		all.has_all = all.has_all || session->syscalls.has_all;
		for (size_t i = 0; i < ORMA_ARRAY_SIZE(all.words); i++)
			all.words[i] |= session->syscalls.words[i];
	}
	if (!is_wanted)
		return 0;
	int r = print_filter(&all, &text);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(files) && r == 0; i++)
		r = orma_tracefs_journal_set(&buffer->journal, files[i],
					     (struct orma_str){(const char *)text.data, text.size});
	return r;
}
