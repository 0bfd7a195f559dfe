/* SPDX-License-Identifier: Apache-2.0
 * view_live.c - loads a growing trace again and again.
 *
 *	recorder --pipe--> live_input's thread --wake--> loop --load()--> worker: a copy becomes tables --> loop: pages are told
 *
 * The tables are made anew from all packets that are held, which takes a quarter of a second for 30 MB. So the next loading begins
 * when there are new packets, the last has ended, and as much time has passed as it took: loading takes half of one CPU at
 * most. Pages keep asking about the old tables meanwhile.
 *
 * The recorder is this program as another process, `orma record --stream`: what it records, and how it is told, is the same as
 * without a page, and a page that fails does not lose the recording's end. It ends with the page's server.
 */
#include "tool/view/view_live.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/error_message.h"
#include "base/fd.h"
#include "base/macros.h"
#include "tool/ask/ask.h"
#include "tool/tool.h"
#include "tool/view/live_input.h"
#include "view/view_server.h"

#define KEEP_NS     (60 * ORMA_NS_PER_SEC)
#define KEEP_BYTES  (32u << 20)
#define PAUSE_NS    (50 * ORMA_NS_PER_MS) /* between two loadings, at least */
#define PROC_FD_MAX 40
/* Where a recorder finds the pipe that it writes into. */
#define RECORDER_FD   3
#define RECORDER_PIPE "/dev/fd/3"

extern char **environ;

struct orma_view_live {
	struct orma_loop *loop;
	struct orma_view_server *server;
	struct orma_live_input *input;
	int input_fd;
	bool owns_fd;
	pid_t recorder; /* 0 = none */
	struct orma_timer timer;
	struct orma_task task;
	uint64_t shown_bytes, began_ns; /* when the last loading began, and with what */
	bool is_loading, is_shown_whole, has_told;
};

/* --- loading ---------------------------------------------------------------------------------- */

static void look(struct orma_view_live *live);

static void on_timer(struct orma_timer *timer)
{
	look(ORMA_CONTAINER_OF(timer, struct orma_view_live, timer));
}

static void tell_end(struct orma_view_live *live, const struct orma_live_state *state)
{
	if (live->has_told)
		return;
	live->has_told = true;
	if (state->result == -EBADMSG)
		orma_tool_warn("what came is not a trace, or it is damaged");
	else if (state->result < 0)
		orma_tool_warn("the recording cannot be read any more: %s",
			       orma_base_error_words(state->result));
}

/* Begins to load when there is more than what is shown. */
static void look(struct orma_view_live *live)
{
	struct orma_live_state state = orma_live_input_state(live->input);
	bool is_behind = state.received_bytes != live->shown_bytes || live->began_ns == 0;

	if (live->is_loading || live->timer.is_armed)
		return;
	if (!is_behind) {
		orma_view_server_set_live(live->server, state.has_ended, state.has_cut);
		if (state.has_ended)
			tell_end(live, &state);
		return;
	}
	live->shown_bytes = state.received_bytes;
	live->began_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	orma_view_server_set_live(live->server, false, state.has_cut);
	live->is_loading = orma_view_server_load(live->server) == 0;
}

void orma_view_live_loaded(struct orma_view_live *live)
{
	uint64_t took_ns = orma_base_clock_ns(CLOCK_MONOTONIC) - live->began_ns;

	live->is_loading = false;
	if (orma_base_loop_arm_in(live->loop, &live->timer, ORMA_MAX(took_ns, PAUSE_NS), on_timer) <
	    0)
		look(live);
}

struct orma_ask *orma_view_live_load(struct orma_view_live *live,
				     const struct orma_ask_options *options)
{
	char path[PROC_FD_MAX];
	struct orma_ask *ask;
	int fd = orma_live_input_snapshot(live->input);

	if (fd < 0) {
		orma_tool_fail("%s", orma_base_error_words(fd));
		return NULL;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ask = orma_ask_load(path, options);
	close(fd);
	return ask;
}

/* --- news from the thread that reads ----------------------------------------------------------- */

static void on_wake(void *ctx)
{
	look(ctx);
}

static void on_news(void *ctx)
{
	struct orma_view_live *live = ctx;

	orma_base_loop_wake(live->loop);
}

/* --- the recorder ------------------------------------------------------------------------------ */

/*
 * Runs `orma record` with its packets going into a pipe. Returns the pipe's end or -errno. The pipe is not its standard output,
 * which is for the program that it records. That program inherits the pipe as well, and the stream ends when both have ended.
 */
static int start_recorder(struct orma_view_live *live, char **arguments)
{
	static char *const fixed[] = {(char *)"orma",     (char *)"record", (char *)"--quiet",
				      (char *)"--stream", (char *)"-o",     (char *)RECORDER_PIPE,
				      (char *)"-t",       (char *)"0"};
	char *all[ORMA_ARRAY_SIZE(fixed) + ORMA_VIEW_RECORDER_MAX + 1];
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	size_t count = ORMA_ARRAY_SIZE(fixed);
	int fds[2], r = 0;

	memcpy(all, fixed, sizeof(fixed));
	while (*arguments && count < ORMA_ARRAY_SIZE(all) - 1)
		all[count++] = *arguments++;
	all[count] = NULL;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], RECORDER_FD);
	posix_spawnattr_init(&attributes);
	/* The server takes signals through a descriptor, and has blocked them. */
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	r = posix_spawn(&live->recorder, "/proc/self/exe", &actions, &attributes, all, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (r) {
		live->recorder = 0;
		close(fds[0]);
		return -r;
	}
	return fds[0];
}

/* --- all of it --------------------------------------------------------------------------------- */

int orma_view_live_new(struct orma_loop *loop, struct orma_view_server *server,
		       const struct orma_view_options *options, struct orma_view_live **ret)
{
	struct orma_view_live *live = orma_base_zalloc(sizeof(*live));
	struct orma_live_input_options input = {
		.keep_ns = options->live_keep_ns ? options->live_keep_ns : KEEP_NS,
		.max_bytes = KEEP_BYTES,
		.news = on_news,
		.ctx = live};
	int r;

	if (!live)
		return -ENOMEM;
	live->loop = loop;
	live->server = server;
	live->owns_fd = options->recorder != NULL;
	live->input_fd = live->owns_fd ? start_recorder(live, options->recorder) : STDIN_FILENO;
	r = ORMA_MIN(live->input_fd, 0);
	input.fd = live->input_fd;
	orma_base_loop_set_wake_handler(loop, on_wake, live);
	if (r == 0)
		r = orma_live_input_new(&input, &live->input);
	if (r < 0) {
		orma_view_live_free(live);
		return r;
	}
	*ret = live;
	look(live);
	return 0;
}

void orma_view_live_free(struct orma_view_live *live)
{
	if (!live)
		return;
	if (live->recorder > 0)
		kill(live->recorder, SIGINT);
	orma_live_input_free(live->input);
	/* A recorder that still writes ends when nobody reads. */
	if (live->owns_fd && live->input_fd >= 0)
		close(live->input_fd);
	if (live->recorder > 0)
		while (waitpid(live->recorder, NULL, 0) < 0 && errno == EINTR)
			;
	orma_base_timer_disarm(&live->timer);
	orma_base_free(live);
}
