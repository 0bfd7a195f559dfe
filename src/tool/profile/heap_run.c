/* SPDX-License-Identifier: Apache-2.0
 * heap_run.c - `orma heap`: records android.heapprofd, and writes the result and the summary from the trace.
 *
 * The recorder (tool/record) runs its own service in a private folder, so no daemon is needed and none is disturbed. The program
 * finds the profiler by ORMA_HEAP_SOCK. The only other change of its environment is LD_PRELOAD. A process that runs already connects
 * to the default socket, or to the one in its own environment. If the profiler of a daemon listens there, the daemon records.
 *
 * The summary and the report are made from the trace, so they agree with `orma summary`. Rejected: a summary from the probe's own
 * totals, because it would need a second way to name functions and to add up.
 */
#include <errno.h>
#include <fcntl.h>
#include <orma/session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/macros.h"
#include "ipc/address.h"
#include "probes/heap/heap_service.h"
#include "profile/stop_time.h"
#include "proto/text_lexer.h"
#include "tool/daemon/private_folder.h"
#include "tool/profile/heap.h"
#include "tool/profile/profile.h"
#include "tool/record/old_file.h"
#include "tool/record/record.h"
#include "tool/report/report.h"
#include "tool/tool.h"

#define BUFFER_KB (256u << 10)
/* With an interval of 1, every allocation is recorded. This needs more memory, and the program waits while it is full. */
#define DENSE_INTERVAL  64u
#define DENSE_SHM_BYTES (32u << 20)
/* A program waits so long at most for a profiler that gets no processor, because a machine of many jobs may run none of it for a second. */
#define STALL_US          (10u * 1000 * 1000)
#define ENVIRON_BYTES_MAX (1u << 20)
#define MAPS_BYTES_MAX    (16u << 20)
#define REPORT_ROWS       20u
#define REPORT_KB         (10u << 10)
#define COPY_BYTES        (64u << 10)

extern char **environ;

struct heap_run {
	const struct orma_heap_options *options;
	struct orma_private_folder folder;
	struct orma_buf library;
	char **environment;
	char producers[ORMA_IPC_ADDRESS_TEXT_BYTES], profiler[ORMA_IPC_ADDRESS_TEXT_BYTES];
	struct orma_record_places places;
	bool has_places;  /* no daemon records */
	char *trace_path; /* owned */
	struct orma_old_file old;
};

/* --- the environment of the program ----------------------------------------------------------- */

static bool is_ours(const char *variable)
{
	static const char *const names[] = {
		"LD_PRELOAD=",       "ORMA_HEAP_SOCK=", "ORMA_HEAP_WAIT=",
		"ORMA_HEAP_FOLLOW=", "ORMA_HEAP_EXEC=", "ORMA_HEAP_RELEASE=",
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(names); i++)
		if (strncmp(variable, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static char *make_variable(const char *name, const char *value, const char *rest)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};

	if (orma_base_buf_printf(&text, "%s=%s%s%s", name, value, rest[0] ? ":" : "", rest) < 0 ||
	    !orma_base_buf_cstr(&text))
		return NULL;
	return orma_base_strdup(orma_base_buf_cstr(&text));
}

/* Copies the current environment, and adds the variables of liborma-heap. */
static int make_environment(struct heap_run *run, const char *socket)
{
	const char *preload = getenv("LD_PRELOAD");
	const char *library = orma_base_buf_cstr(&run->library);
	size_t count = 0, used = 0;

	while (environ[count])
		count++;
	run->environment = orma_base_alloc_array(count + 7, sizeof(*run->environment));
	if (!run->environment || !library)
		return -ENOMEM;
	const struct orma_heap_options *options = run->options;
	char *own[] = {
		make_variable("LD_PRELOAD", library, preload ? preload : ""),
		make_variable("ORMA_HEAP_SOCK", socket, ""),
		make_variable("ORMA_HEAP_WAIT", "1", ""),
		options->follows_children ? make_variable("ORMA_HEAP_FOLLOW", "1", "")
					  : make_variable("ORMA_HEAP_EXEC", "0", ""),
		options->fails_on_leak ? make_variable("ORMA_HEAP_RELEASE", "1", "") : NULL,
	};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(own); i++)
		if (own[i])
			run->environment[used++] = own[i];
	bool is_whole = used == 4u + options->fails_on_leak;
	for (size_t i = 0; i < count && is_whole; i++) {
		if (is_ours(environ[i]))
			continue;
		run->environment[used] = orma_base_strdup(environ[i]);
		is_whole = run->environment[used++] != NULL;
	}
	return is_whole ? 0 : -ENOMEM;
}

static void free_environment(struct heap_run *run)
{
	for (size_t i = 0; run->environment && run->environment[i]; i++)
		orma_base_free(run->environment[i]);
	orma_base_free(run->environment);
}

/* --- the profiler's sockets ------------------------------------------------------------------- */

/* Makes a link to the library if its path has a space or a colon, because those separate the paths in LD_PRELOAD. */
static int make_preloadable(struct heap_run *run)
{
	static const char separators[] = " :";
	const char *library = orma_base_buf_cstr(&run->library);

	if (!library || !strpbrk(library, separators))
		return ORMA_EXIT_OK;
	if (strpbrk(run->folder.path, separators))
		return orma_tool_fail("cannot preload %s: its path has a space or a colon, and so "
				      "has that of TMPDIR; name a copy elsewhere with --library",
				      library);
	if (symlinkat(library, run->folder.fd, ORMA_PRIVATE_FOLDER_LIBRARY) < 0)
		return orma_tool_fail("cannot make a link in %s: %s", run->folder.path,
				      strerror(errno));
	run->library.size = 0;
	if (orma_base_buf_printf(&run->library, "%s/" ORMA_PRIVATE_FOLDER_LIBRARY,
				 run->folder.path) < 0)
		return orma_tool_fail("no memory");
	return ORMA_EXIT_OK;
}

/* Makes the private folder, unless it exists. */
static int make_folder(struct heap_run *run)
{
	struct orma_error error = {0};

	if (!run->folder.path[0] &&
	    orma_private_folder_make(orma_private_folder_parent(getenv("TMPDIR")), &run->folder,
				     &error) < 0)
		return orma_tool_fail("%s", error.message);
	return ORMA_EXIT_OK;
}

/* Puts the sockets of the recorder's service and profiler into the private folder. */
static int use_private_sockets(struct heap_run *run)
{
	int status = make_folder(run);

	if (status != ORMA_EXIT_OK)
		return status;
	if (mkdirat(run->folder.fd, ORMA_PRIVATE_FOLDER_INNER, 0700) < 0)
		return orma_tool_fail("cannot make a folder in %s: %s", run->folder.path,
				      strerror(errno));
	snprintf(run->producers, sizeof(run->producers), "%s/" ORMA_PRIVATE_FOLDER_PRODUCERS,
		 run->folder.path);
	run->places.producers = run->producers;
	run->has_places = true;
	/* A process that runs already has chosen the place itself. */
	if (run->options->pid)
		return ORMA_EXIT_OK;
	snprintf(run->profiler, sizeof(run->profiler), "%s/" ORMA_PRIVATE_FOLDER_PROFILER,
		 run->folder.path);
	status = make_preloadable(run);
	if (status == ORMA_EXIT_OK && make_environment(run, run->profiler) < 0)
		return orma_tool_fail("no memory");
	return status;
}

/* True if a process listens at the socket. */
static bool has_listener(const char *path)
{
	struct orma_ipc_address address;
	bool is_pending;

	if (orma_ipc_address_parse(path, &address) < 0)
		return false;
	ORMA_AUTO(orma_base_fd_closep) int fd = orma_ipc_connect(&address, &is_pending);
	return fd >= 0;
}

/* Finds the socket that a process connects to: the one in its environment, or the default. */
static void find_socket_of(struct heap_run *run)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	static const char name[] = "ORMA_HEAP_SOCK=";
	char path[64];

	snprintf(run->profiler, sizeof(run->profiler), "%s", orma_heap_socket());
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)run->options->pid);
	if (orma_base_file_read(AT_FDCWD, path, ENVIRON_BYTES_MAX, &text) < 0 ||
	    !orma_base_buf_cstr(&text))
		return;
	for (size_t at = 0; at < text.size;) {
		const char *variable = (const char *)text.data + at;
		if (strncmp(variable, name, sizeof(name) - 1) == 0)
			snprintf(run->profiler, sizeof(run->profiler), "%s",
				 variable + sizeof(name) - 1);
		at += strlen(variable) + 1;
	}
}

static int check_process(pid_t pid)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf maps = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	int r = orma_base_file_read(AT_FDCWD, path, MAPS_BYTES_MAX, &maps);
	if (r == -ENOENT || r == -ESRCH)
		return orma_tool_fail("there is no process %d", (int)pid);
	if (r < 0)
		return orma_tool_fail("cannot profile process %d: %s; profile it as its user or as "
				      "root",
				      (int)pid, strerror(-r));
	if (!memmem(maps.data, maps.size, "liborma-heap", strlen("liborma-heap")))
		orma_tool_warn("process %d has not loaded liborma-heap.so; unless liborma-heap.a "
			       "is linked into it, the profile will be empty; start it with `orma "
			       "heap -- PROGRAM`, or with LD_PRELOAD",
			       (int)pid);
	return ORMA_EXIT_OK;
}

static int prepare_places(struct heap_run *run)
{
	const struct orma_heap_options *options = run->options;

	if (options->pid) {
		int status = check_process(options->pid);
		if (status)
			return status;
		find_socket_of(run);
		/* The profiler of a daemon is there, so the daemon records. */
		return has_listener(run->profiler) ? ORMA_EXIT_OK : use_private_sockets(run);
	}
	int status = orma_heap_find_library(options->library, &run->library);
	if (status == ORMA_EXIT_OK)
		status = orma_heap_check_program(options->app_argv[0],
						 orma_base_buf_cstr(&run->library));
	return status ? status : use_private_sockets(run);
}

/* --- the recording ---------------------------------------------------------------------------- */

static int append_heaps(const struct orma_heap_options *options, struct orma_buf *text)
{
	int r = 0;

	for (size_t i = 0; i < options->heap_count && r == 0; i++) {
		r = orma_base_buf_append_str(text, " heaps: ");
		if (r == 0)
			r = orma_proto_text_put_string(text, orma_base_str(options->heaps[i]),
						       false);
	}
	return r;
}

static int append_config(const struct orma_heap_options *options, struct orma_buf *text)
{
	uint64_t interval = options->interval_bytes;
	int r = orma_base_buf_printf(
		text,
		"buffers { size_kb: %u fill_policy: DISCARD } data_source_stop_timeout_ms: %u "
		"data_sources { config { name: "
		"'android.heapprofd' heapprofd_config { sampling_interval_bytes: %llu "
		"block_client: true block_client_timeout_us: %u",
		BUFFER_KB, ORMA_PROFILE_STOP_MS, (unsigned long long)interval, STALL_US);

	if (r == 0 && interval < DENSE_INTERVAL)
		r = orma_base_buf_printf(text, " shmem_size_bytes: %u", DENSE_SHM_BYTES);
	/* Only the program and its children know the socket in the private folder. */
	if (r == 0)
		r = options->pid ? orma_base_buf_printf(text, " pid: %d", (int)options->pid)
				 : orma_base_buf_append_str(text, " all: true");
	if (r == 0 && options->has_all_heaps)
		r = orma_base_buf_append_str(text, " all_heaps: true");
	if (r == 0 && options->dumps_at_max)
		r = orma_base_buf_append_str(text, " dump_at_max: true");
	if (r == 0 && options->dump_interval_ms)
		r = orma_base_buf_printf(text, " continuous_dump_config { dump_interval_ms: %u }",
					 options->dump_interval_ms);
	if (r == 0)
		r = append_heaps(options, text);
	if (r == 0)
		r = orma_base_buf_append_str(text, " } } }");
	if (r == 0 && options->duration_ms)
		r = orma_base_buf_printf(text, " duration_ms: %u", options->duration_ms);
	return r;
}

static int record(struct heap_run *run)
{
	const struct orma_heap_options *options = run->options;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	const uint32_t target = (uint32_t)options->pid;
	struct orma_record_config config = {
		.has_buffers = true, .has_sources = true, .duration_ms = options->duration_ms};
	struct orma_record_options record = {
		.config = &config,
		.places = run->has_places ? &run->places : NULL,
		.out_path = run->trace_path,
		.may_serve = true,
		.is_quiet = true,
		.tells_waiting = true,
		.tells_interrupt = options->pid && options->duration_ms == 0,
		.ready_fd = -1,
		.app_argv = options->app_argv,
		.app_environment = run->environment,
		.target_pids = &target,
		.target_count = options->pid != 0,
	};
	struct orma_error error = {0};
	void *bytes;
	size_t size;

	if (append_config(options, &text) < 0)
		return orma_tool_fail("no memory");
	if (orma_config_parse("heap", (const char *)text.data, text.size, &bytes, &size, &error) <
	    0)
		return orma_tool_fail("%s", error.message);
	config.bytes = (struct orma_buf){.data = bytes, .size = size, .capacity = size};
	int status = orma_record_run(&record);
	orma_config_free(bytes);
	return status;
}

/* --- the result ------------------------------------------------------------------------------- */

static bool is_report(const char *path)
{
	size_t size = path ? strlen(path) : 0;

	return size > 5 && strcmp(path + size - 5, ".html") == 0;
}

/* True for standard output, a device or a pipe, because the summary cannot read the trace from those. */
static bool is_output(const char *path)
{
	struct stat info;

	return path &&
	       (strcmp(path, "-") == 0 || (stat(path, &info) == 0 && !S_ISREG(info.st_mode)));
}

/* Without -o the trace is in the private folder, which the next recorder removes if this one is killed. */
static int choose_trace(struct heap_run *run)
{
	const char *wanted = run->options->out_path;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf path = {0};

	if (wanted && !is_report(wanted) && !is_output(wanted)) {
		orma_old_file_find(&run->old, wanted);
		run->trace_path = orma_base_strdup(run->old.part[0] ? run->old.part : wanted);
		return run->trace_path ? ORMA_EXIT_OK : orma_tool_fail("no memory");
	}
	int status = make_folder(run);
	if (status != ORMA_EXIT_OK)
		return status;
	if (orma_base_buf_printf(&path, "%s/" ORMA_PRIVATE_FOLDER_TRACE, run->folder.path) < 0 ||
	    !orma_base_buf_cstr(&path) ||
	    !(run->trace_path = orma_base_strdup(orma_base_buf_cstr(&path))))
		return orma_tool_fail("no memory");
	return ORMA_EXIT_OK;
}

static int write_report(const struct heap_run *run)
{
	struct orma_report_run_options report = {
		.path = run->options->out_path,
		.title = run->options->app_argv ? run->options->app_argv[0] : NULL,
		.top = REPORT_ROWS,
		.max_kb = REPORT_KB,
	};
	const char *path = run->trace_path;

	return orma_report_run(&report, &path, 1);
}

/* The trace was written to a file first, because the sums are read from it. */
static int write_output(const struct heap_run *run)
{
	uint8_t bytes[COPY_BYTES];
	const char *path = run->options->out_path;
	ssize_t count = 0;
	ORMA_AUTO(orma_base_fd_closep) int fd = open(run->trace_path, O_RDONLY | O_CLOEXEC);
	ORMA_AUTO(orma_base_fd_closep)
	int out = strcmp(path, "-") == 0 ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
					 : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	int r = fd < 0 || out < 0 ? -errno : 0;

	while (r == 0 && (count = read(fd, bytes, sizeof(bytes))) > 0)
		r = orma_base_fd_write_all(out, bytes, (size_t)count);
	if (r == 0 && count < 0)
		r = -errno;
	return r < 0 ? orma_tool_fail("cannot write to %s: %s",
				      strcmp(path, "-") == 0 ? "standard output" : path,
				      strerror(-r))
		     : ORMA_EXIT_OK;
}

static int check_leak(const struct orma_heap_options *options, const struct orma_heap_result *sums)
{
	if (!options->fails_on_leak)
		return ORMA_EXIT_OK;
	/* An allocator in the program itself takes precedence over a preloaded one. */
	if (sums->count == 0 && options->interval_bytes == 1)
		return orma_tool_fail("--fail-on-leak cannot say that all was freed, because no "
				      "allocation was seen");
	if (sums->live_bytes <= 0 || (uint64_t)sums->live_bytes <= options->leak_bytes) {
		if (!sums->is_incomplete)
			return ORMA_EXIT_OK;
		return orma_tool_fail("--fail-on-leak cannot say that all was freed, because the "
				      "profile is incomplete");
	}
	orma_tool_warn("%lld %s in %lld %s were not freed, more than the %llu that "
		       "--fail-on-leak allows",
		       (long long)sums->live_bytes, sums->live_bytes == 1 ? "byte" : "bytes",
		       (long long)sums->live_count, sums->live_count == 1 ? "block" : "blocks",
		       (unsigned long long)options->leak_bytes);
	return ORMA_EXIT_LEAK;
}

/* `status` is that of the recording, or of the program. */
static int finish(struct heap_run *run, int status)
{
	struct orma_heap_result sums = {0};
	struct stat info;

	/* A program that fails has a profile too. */
	if (stat(run->trace_path, &info) < 0 || info.st_size == 0)
		return status ? status : ORMA_EXIT_FAILURE;
	struct orma_heap_options shown = *run->options;
	shown.is_quiet |= is_output(shown.out_path);
	int result = orma_heap_summarize(run->trace_path, &shown, &sums);
	if (result == ORMA_EXIT_OK && is_report(shown.out_path))
		result = write_report(run);
	else if (result == ORMA_EXIT_OK && is_output(shown.out_path))
		result = write_output(run);
	if (!sums.has_no_data && orma_old_file_replace(&run->old))
		result = ORMA_EXIT_FAILURE;
	if (result == ORMA_EXIT_OK)
		result = check_leak(run->options, &sums);
	return status ? status : result;
}

int orma_heap_run(const struct orma_heap_options *options)
{
	struct heap_run run = {.options = options};

	run.places.profiler = run.profiler;
	int status = prepare_places(&run);

	if (status == ORMA_EXIT_OK && options->out_path)
		status = orma_profile_check_output(options->out_path);
	if (status == ORMA_EXIT_OK)
		status = choose_trace(&run);
	if (status == ORMA_EXIT_OK)
		status = finish(&run, record(&run));
	orma_old_file_keep(&run.old);
	orma_private_folder_remove(&run.folder);
	free_environment(&run);
	orma_base_buf_done(&run.library);
	orma_base_free(run.trace_path);
	return status;
}
