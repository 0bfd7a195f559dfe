/* SPDX-License-Identifier: Apache-2.0
 * view_run.c - serves the page: sockets, address, browser, and the end.
 *
 * The main thread has the loop, and takes SIGINT and SIGTERM through a descriptor. The trace is loaded by the server's
 * worker; the address is printed before, so that the page can show how far it is.
 */
#include "tool/view/view_run.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/error_message.h"
#include "base/fd.h"
#include "base/macros.h"
#include "tool/print.h"
#include "tool/tool.h"
#include "tool/trace/trace_input.h"
#include "tool/view/view_browser.h"
#include "tool/view/view_listen.h"
#include "tool/view/view_live.h"
#include "view/view_server.h"

#define IDLE_NS       (120 * ORMA_NS_PER_SEC)
#define IDLE_CHECK_NS (5 * ORMA_NS_PER_SEC)

enum { TITLE_BYTES = 256, HOST_BYTES = INET6_ADDRSTRLEN + 2, URL_BYTES = 160 };

struct view_run {
	const struct orma_view_options *options;
	const char *const *paths;
	size_t path_count;
	struct orma_loop *loop;
	struct orma_view_server *server;
	struct orma_view_live *live; /* NULL = the trace is whole */
	struct orma_watch signals, terminal;
	struct orma_timer idle;
	char title[TITLE_BYTES], host[HOST_BYTES]; /* the host as it stands in the address */
	uint16_t port;
	int status;
};

/* --- the address ------------------------------------------------------------------------------ */

/* Prints a new address, which is also `ret_url`. 0 or -errno. */
static int print_address(struct view_run *run, char ret_url[URL_BYTES])
{
	const char *ticket;
	int r = orma_view_server_renew(run->server, &ticket);
	if (r < 0)
		return r;
	snprintf(ret_url, URL_BYTES, "http://%s:%u/#k=%s", run->host, run->port, ticket);
	orma_tool_print_line(stdout, "%s", ret_url);
	return fflush(stdout) == 0 ? 0 : -errno;
}

/* Enter on the terminal asks for a new address. */
static void take_line(struct orma_watch *watch, unsigned ready)
{
	struct view_run *run = ORMA_CONTAINER_OF(watch, struct view_run, terminal);
	char text[256], url[URL_BYTES];
	(void)ready;
	/* In the background, the terminal's input is for others. */
	if (tcgetpgrp(STDIN_FILENO) != getpgrp())
		return;
	ssize_t size = read(STDIN_FILENO, text, sizeof(text));
	if (size > 0 && memchr(text, '\n', (size_t)size))
		(void)print_address(run, url);
	else if (size <= 0)
		orma_base_watch_remove(watch);
}

static void print_hints(const struct view_run *run)
{
	orma_view_print_forwarding(run->port);
	if (isatty(STDERR_FILENO))
		orma_tool_print_line(
			stderr, "The address can be used once, within a minute. Press Enter for a "
				"new one, and Ctrl-C to end.");
}

/* --- the loading ------------------------------------------------------------------------------ */

/* Runs on the worker's thread. */
static int load(void *ctx, int (*progress)(void *ctx, uint64_t read_bytes, uint64_t all_bytes),
		void *progress_ctx, struct orma_view_trace *ret)
{
	struct view_run *run = ctx;
	struct orma_ask_options options = run->options->ask;
	struct orma_ask *ask;
	options.progress = progress;
	options.progress_ctx = progress_ctx;
	ask = run->live ? orma_view_live_load(run->live, &options)
			: orma_ask_load_all(run->paths, run->path_count, &options);
	if (!ask)
		return -EBADMSG; /* a message has said why */
	*ret = (struct orma_view_trace){orma_ask_database(ask), ask};
	return 0;
}

static void unload(void *ctx, void *owner)
{
	(void)ctx;
	orma_ask_free(owner);
}

static void loaded(void *ctx, int result)
{
	struct view_run *run = ctx;
	if (run->live)
		orma_view_live_loaded(run->live);
	if (result == 0 || result == -ECANCELED)
		return;
	if (result != -EBADMSG)
		orma_tool_fail("%s", orma_base_error_words(result));
	run->status = ORMA_EXIT_FAILURE;
	orma_base_loop_stop(run->loop);
}

static void warn(void *ctx, const char *text)
{
	(void)ctx;
	orma_tool_warn("%s", text);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void take_signal(struct orma_watch *watch, unsigned ready)
{
	struct view_run *run = ORMA_CONTAINER_OF(watch, struct view_run, signals);
	sigset_t signals;
	(void)ready;
	/* A second one ends the program at once, whatever the worker does. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	struct signalfd_siginfo info;
	(void)!read(watch->fd, &info, sizeof(info));
	sigprocmask(SIG_UNBLOCK, &signals, NULL);
	orma_base_loop_stop(run->loop);
}

static void check_idle(struct orma_timer *timer)
{
	struct view_run *run = ORMA_CONTAINER_OF(timer, struct view_run, idle);
	uint64_t last_use_ns = orma_view_server_last_use_ns(run->server);
	bool is_idle =
		last_use_ns > 0 && orma_base_clock_ns(CLOCK_MONOTONIC) - last_use_ns > IDLE_NS;
	if (is_idle || orma_base_loop_arm_in(run->loop, timer, IDLE_CHECK_NS, check_idle) < 0)
		orma_base_loop_stop(run->loop);
}

/* Takes signals from now on through the loop. 0 or -errno. */
static int watch_signals(struct view_run *run)
{
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	/* Before the worker's thread begins, which would take them otherwise. */
	sigprocmask(SIG_BLOCK, &signals, NULL);
	int fd = orma_base_fd_avoid_standard(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
	int r = fd < 0 ? -errno
		       : orma_base_loop_watch(run->loop, &run->signals, fd, ORMA_LOOP_READ,
					      take_signal);
	if (r < 0)
		orma_base_fd_close(fd);
	return r;
}

static int watch_terminal(struct view_run *run)
{
	/* The recorded program may read from the terminal. */
	if (!isatty(STDIN_FILENO) || run->options->recorder)
		return 0;
	for (size_t i = 0; i < run->path_count; i++)
		if (strcmp(run->paths[i], "-") == 0)
			return 0;
	return orma_base_loop_watch(run->loop, &run->terminal, STDIN_FILENO, ORMA_LOOP_READ,
				    take_line);
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Finds out whether the traces are there, before an address is printed. Returns 0 or the exit status. */
static int check_paths(const char *const *paths, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int fd = orma_trace_input_open(paths[i]);
		if (fd < 0)
			return orma_trace_input_fail(paths[i], fd);
		if (fd != STDIN_FILENO)
			orma_trace_input_close(fd);
	}
	return 0;
}

static void set_names(struct view_run *run)
{
	const char *address = run->options->address;
	const char *path =
		run->options->recorder ? "recording" : orma_trace_input_name(run->paths[0]);
	const char *slash = strrchr(path, '/');
	const char *name = slash && slash[1] ? slash + 1 : path;
	if (run->path_count > 1)
		snprintf(run->title, sizeof(run->title), "%.200s and %zu more", name,
			 run->path_count - 1);
	else
		snprintf(run->title, sizeof(run->title), "%.200s", name);
	bool is_v6 = address && strchr(address, ':');
	snprintf(run->host, sizeof(run->host), "%s%s%s", is_v6 ? "[" : "",
		 address ? address : "127.0.0.1", is_v6 ? "]" : "");
}

/* Makes the server. 0 or -errno. */
static int make_server(struct view_run *run)
{
	struct orma_view_server_options options = {.title = run->title,
						   .address =
							   run->options->address ? run->host : NULL,
						   .program = "orma " ORMA_VERSION_STRING,
						   .assets = orma_view_assets,
						   .ctx = run,
						   .is_live = run->options->is_live,
						   .load = load,
						   .unload = unload,
						   .loaded = loaded,
						   .warn = warn};
	int r = orma_base_loop_new(&run->loop);
	if (r == 0)
		r = watch_signals(run);
	if (r == 0)
		r = watch_terminal(run);
	if (r == 0)
		r = orma_view_server_new(run->loop, &options, &run->server);
	if (r == 0 && run->options->ends_when_idle)
		r = orma_base_loop_arm_in(run->loop, &run->idle, IDLE_CHECK_NS, check_idle);
	return r;
}

/* Listens. Returns 0 or the exit status. */
static int listen_for_pages(struct view_run *run)
{
	struct orma_view_sockets sockets;
	int r = orma_view_listen(run->options->address, run->options->port, &sockets);
	if (r == -EADDRINUSE)
		return orma_tool_fail("port %u is in use; choose another one with --port, or none",
				      run->options->port);
	if (r < 0)
		return orma_tool_fail("cannot listen on %s: %s", run->host,
				      orma_base_error_words(r));
	run->port = sockets.port;
	for (size_t i = 0; i < sockets.count; i++) {
		int added = r == 0 ? orma_view_server_listen(run->server, sockets.fds[i]) : r;
		if (added < 0)
			orma_base_fd_close(sockets.fds[i]);
		r = added;
	}
	return r < 0 ? orma_tool_fail("%s", orma_base_error_words(r)) : 0;
}

static int serve(struct view_run *run)
{
	char url[URL_BYTES];
	int r = print_address(run, url);
	if (r == 0)
		r = run->options->is_live
			    ? orma_view_live_new(run->loop, run->server, run->options, &run->live)
			    : orma_view_server_load(run->server);
	if (r == 0) {
		print_hints(run);
		if (!run->options->opens_no_browser)
			orma_view_open_browser(url);
		r = orma_base_loop_run(run->loop);
	}
	return r < 0 ? orma_tool_fail("%s", orma_base_error_words(r)) : run->status;
}

static void end(struct view_run *run)
{
	orma_view_server_free(run->server);
	int fd = run->signals.loop ? run->signals.fd : -1;
	orma_base_watch_remove(&run->signals);
	orma_base_fd_close(fd);
	orma_base_watch_remove(&run->terminal);
	orma_base_timer_disarm(&run->idle);
	orma_view_live_free(run->live);
	orma_base_loop_free(run->loop);
}

int orma_view_run(const struct orma_view_options *options, const char *const *paths, size_t count)
{
	struct view_run run = {.options = options, .paths = paths, .path_count = count};
	int status = check_paths(paths, count);
	if (status)
		return status;
	set_names(&run);
	int r = make_server(&run);
	status = r < 0 ? orma_tool_fail("%s", orma_base_error_words(r)) : listen_for_pages(&run);
	if (status == 0)
		status = serve(&run);
	end(&run);
	return status;
}
