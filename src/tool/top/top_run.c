/* SPDX-License-Identifier: Apache-2.0
 * top_run.c - `orma top`: reads the session in rounds, shows the figures of each interval, and obeys keys.
 *
 * One thread sleeps in poll() on the session, the signals and the terminal, until the next round or frame is due. Several
 * rounds may fall into an interval: when one brought more than a quarter of the buffer, the next one comes in half the time.
 * While it is paused no round begins, so that nothing wakes it but keys and signals.
 *
 * Keys change what is shown at once, but at most ten frames per second are drawn.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"
#include "tool/ask/line_keys.h"
#include "tool/print.h"
#include "tool/tool.h"
#include "tool/top/top.h"
#include "tool/top/top_batch.h"
#include "tool/top/top_open.h"
#include "tool/top/top_save.h"
#include "tool/top/top_screen.h"
#include "tool/top/top_session.h"

enum { ROUND_MIN_MS = 20, ROUND_MAX_MS = 1000, FRAME_MS = 100 };

struct top {
	const struct orma_top_options *options;
	struct orma_top_choice choice;
	struct orma_top_session session;
	struct orma_top_decoder decoder;
	struct orma_top_keep keep;
	struct orma_top_pages pages;
	struct orma_top_table table;
	struct orma_top_screen screen;
	struct orma_line_keys keys;
	struct orma_buf out;
	int signal_fd;
	bool is_batch; /* lines of text and no screen */
	bool is_frame_due, is_ending;
	uint64_t now_ns, begin_ns; /* CLOCK_MONOTONIC; of the figures since the start */
	uint64_t interval_begin_ns, interval_end_ns;
	uint64_t round_ns,
		frame_ns; /* when the next round is due, and when the last frame was drawn */
	uint64_t round_ms;
	double seconds; /* the length of the last interval */
	uint64_t shown;
};

/* The same ones as for a recorder, and those of terminals. */
static int block_signals(struct top *top)
{
	static const int all[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT};
	size_t count = top->is_batch ? 3 : ORMA_ARRAY_SIZE(all);
	sigset_t signals;
	sigemptyset(&signals);
	for (size_t i = 0; i < count; i++)
		sigaddset(&signals, all[i]);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	top->signal_fd =
		orma_base_fd_avoid_standard(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
	return top->signal_fd < 0 ? orma_tool_fail("signalfd: %s", strerror(errno)) : ORMA_EXIT_OK;
}

/* --- showing ---------------------------------------------------------------------------------- */

static struct orma_top_view view_of(const struct top *top)
{
	const struct orma_top_session *session = &top->session;
	return (struct orma_top_view){
		.decoder = &top->decoder,
		.table = &top->table,
		.choice = top->choice,
		.buffers = {session->buffer_bytes, session->waiting_bytes, session->producer_count,
			    session->has_kernel, session->recorder.embedded != NULL},
		.seconds = top->seconds,
		.total_seconds = (double)(top->interval_begin_ns - top->begin_ns) / 1e9,
		.unix_ns = (int64_t)orma_base_clock_ns(CLOCK_REALTIME),
		.histogram_name = top->options->histogram_name,
	};
}

static int print(struct top *top, const struct orma_top_view *view)
{
	int r = top->options->is_json ? orma_top_batch_append_json(view, &top->out)
				      : orma_top_batch_append_text(view, &top->out);
	if (r == 0)
		r = orma_tool_write_raw(stdout, top->out.data, top->out.size);
	return r == 0 && fflush(stdout) != 0 ? -errno : r;
}

static int draw(struct top *top, const struct orma_top_view *view)
{
	int r = orma_top_screen_compose(&top->screen, view, &top->out);
	return r < 0 ? r : orma_top_terminal_show(top->out.data, top->out.size);
}

static int show(struct top *top)
{
	struct orma_top_view view = view_of(top);
	int r = orma_top_table_make(&top->table, &top->decoder, &top->choice,
				    top->choice.is_total ? view.total_seconds : view.seconds);
	top->out.size = 0;
	top->is_frame_due = false;
	top->frame_ns = top->now_ns;
	if (r < 0)
		return r;
	return top->is_batch ? print(top, &view) : draw(top, &view);
}

/* --- intervals and rounds --------------------------------------------------------------------- */

static uint64_t interval_ns(const struct top *top)
{
	return (uint64_t)top->options->interval_ms * ORMA_NS_PER_MS;
}

static void begin_interval(struct top *top)
{
	top->interval_begin_ns = top->now_ns;
	top->interval_end_ns += interval_ns(top);
	/* An interval that was missed is not made up for. */
	if (top->interval_end_ns <= top->now_ns)
		top->interval_end_ns = top->now_ns + interval_ns(top);
}

static void end_interval(struct top *top)
{
	top->seconds = (double)(top->now_ns - top->interval_begin_ns) / 1e9;
	orma_top_decoder_end_interval(&top->decoder);
	top->session.asks_state = true;
	begin_interval(top);
	top->is_frame_due = true;
	/* Between intervals nothing is to be drawn twice as often. */
	top->frame_ns = 0;
	top->shown++;
	top->is_ending |= top->shown == top->options->limit;
}

static void end_round(struct top *top)
{
	uint64_t size = (uint64_t)ORMA_TOP_BUFFER_KB * 1024, bytes = top->session.read_bytes;
	if (!top->is_batch)
		orma_top_keep_end_round(&top->keep, top->now_ns);
	if (bytes > size / 4)
		top->round_ms = ORMA_MAX(top->round_ms / 2, (uint64_t)ROUND_MIN_MS);
	else if (bytes < size / 16)
		top->round_ms = ORMA_MIN(top->round_ms * 2, (uint64_t)ROUND_MAX_MS);
	if (top->now_ns >= top->interval_end_ns)
		end_interval(top);
	top->round_ns =
		ORMA_MIN(top->now_ns + top->round_ms * ORMA_NS_PER_MS, top->interval_end_ns);
}

static void begin(struct top *top)
{
	top->begin_ns = top->interval_begin_ns = top->now_ns;
	top->interval_end_ns = top->now_ns + interval_ns(top);
	top->round_ms = FRAME_MS;
	top->round_ns = top->now_ns + top->round_ms * ORMA_NS_PER_MS;
	top->seconds = 0;
	top->is_frame_due = !top->is_batch;
}

/* --- keys and signals ------------------------------------------------------------------------- */

static void zero(struct top *top)
{
	orma_top_decoder_zero(&top->decoder);
	top->begin_ns = top->interval_begin_ns = top->now_ns;
	top->interval_end_ns = top->now_ns + interval_ns(top);
}

/* Rows of another kind begin, and if they need scheduling events or need them no longer, another session. */
static int change_rows(struct top *top)
{
	bool was_kernel = top->decoder.by == ORMA_TOP_BY_CPU;
	bool is_kernel = top->choice.by == ORMA_TOP_BY_CPU;
	int r = orma_top_decoder_set_by(&top->decoder, top->choice.by);
	if (r == 0 && was_kernel != is_kernel) {
		orma_top_keep_clear(&top->keep);
		r = orma_top_session_restart(&top->session);
	}
	top->screen.selected[0] = '\0';
	top->screen.page = ORMA_TOP_PAGE_TABLE;
	zero(top);
	return r;
}

static int suspend(struct top *top)
{
	int r = orma_top_terminal_suspend(&top->screen.terminal);
	top->is_frame_due = true;
	return r;
}

static int clear(struct top *top)
{
	orma_top_terminal_measure(&top->screen.terminal);
	top->is_frame_due = true;
	return orma_top_terminal_show("\x1b[2J", 4);
}

static int act(struct top *top, enum orma_top_action action)
{
	char path[ORMA_TOP_PATH_BYTES];
	switch (action) {
	case ORMA_TOP_ACTION_QUIT:
		top->is_ending = true;
		return 0;
	case ORMA_TOP_ACTION_ZERO:
		zero(top);
		return 0;
	case ORMA_TOP_ACTION_SAVE:
	case ORMA_TOP_ACTION_OPEN:
		if (orma_top_save(&top->keep, path, top->screen.message) &&
		    action == ORMA_TOP_ACTION_OPEN)
			orma_top_open(&top->pages, path, top->screen.message);
		return 0;
	case ORMA_TOP_ACTION_BY:
		return change_rows(top);
	case ORMA_TOP_ACTION_CLEAR:
		return clear(top);
	case ORMA_TOP_ACTION_SUSPEND:
		return suspend(top);
	default:
		return 0;
	}
}

/* When the pause ends, the time of the pause is no part of an interval. */
static void end_pause(struct top *top)
{
	top->interval_begin_ns = top->now_ns;
	top->interval_end_ns = top->now_ns + interval_ns(top);
	top->round_ns = top->now_ns;
}

static int take_keys(struct top *top)
{
	int r = 0;
	do {
		bool was_paused = top->screen.is_paused;
		int key = orma_line_keys_read(&top->keys);
		if (key == ORMA_KEY_GONE)
			return -EPIPE;
		if (key == ORMA_KEY_NONE)
			continue;
		struct orma_str character = {top->keys.bytes, top->keys.size};
		r = act(top, orma_top_screen_key(&top->screen, &top->choice, &top->table, key,
						 character));
		top->is_frame_due = true;
		if (was_paused && !top->screen.is_paused)
			end_pause(top);
	} while (r == 0 && top->keys.at < top->keys.end);
	return r;
}

static int take_signals(struct top *top)
{
	struct signalfd_siginfo info;
	int r = 0;
	while (r == 0 && read(top->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		int number = (int)info.ssi_signo;
		if (number == SIGTSTP)
			r = suspend(top);
		else if (number == SIGWINCH || number == SIGCONT)
			r = clear(top);
		else
			top->is_ending = true;
	}
	return r;
}

/* --- the loop --------------------------------------------------------------------------------- */

static int wait_ms(const struct top *top)
{
	uint64_t due_ns = UINT64_MAX;
	if (!top->session.is_busy && !top->screen.is_paused)
		due_ns = top->round_ns;
	if (top->is_frame_due)
		due_ns = ORMA_MIN(due_ns, top->frame_ns + FRAME_MS * ORMA_NS_PER_MS);
	if (due_ns == UINT64_MAX)
		return -1;
	return due_ns > top->now_ns ? (int)((due_ns - top->now_ns) / ORMA_NS_PER_MS + 1) : 0;
}

static int take_session(struct top *top, bool is_ready)
{
	bool was_busy = top->session.is_busy;
	int r = is_ready ? orma_top_session_dispatch(&top->session) : 0;
	if (r == 0 && was_busy && !top->session.is_busy)
		end_round(top);
	else if (r == 0 && !top->session.is_busy && !top->screen.is_paused &&
		 top->now_ns >= top->round_ns)
		r = orma_top_session_begin_round(&top->session);
	return r;
}

static int turn(struct top *top)
{
	struct pollfd fds[] = {{orma_top_session_fd(&top->session), POLLIN, 0},
			       {top->signal_fd, POLLIN, 0},
			       {top->is_batch ? -1 : STDIN_FILENO, POLLIN, 0}};
	int ready = poll(fds, ORMA_ARRAY_SIZE(fds), wait_ms(top));
	if (ready < 0 && errno != EINTR)
		return -errno;
	top->now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	int r = ready > 0 && fds[1].revents ? take_signals(top) : 0;
	if (r == 0)
		r = take_session(top, ready > 0 && fds[0].revents);
	if (r == 0 && ready > 0 && fds[2].revents)
		r = take_keys(top);
	if (r == 0 && top->is_frame_due &&
	    (top->now_ns >= top->frame_ns + FRAME_MS * ORMA_NS_PER_MS || top->is_ending))
		r = show(top);
	return r;
}

static int loop(struct top *top)
{
	int r = 0;
	top->now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	begin(top);
	while (r == 0 && !top->is_ending)
		r = turn(top);
	return r;
}

static int report(const struct top *top, int r)
{
	const char *error = top->session.recorder.error;
	if (r == 0 || r == -EPIPE)
		return ORMA_EXIT_OK;
	return orma_tool_fail("%s", error[0] ? error : strerror(-r));
}

static int run(struct top *top)
{
	struct orma_top_screen *screen = &top->screen;
	int r = top->is_batch ? 0 : orma_top_terminal_enter(&screen->terminal);
	if (r == 0)
		r = loop(top);
	orma_top_terminal_leave();
	/* While others use the service of this process, Ctrl-C ends the wait, and a new size of the window does not. */
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	(void)signalfd(top->signal_fd, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return report(top, r);
}

static int prepare(struct top *top)
{
	const struct orma_top_options *options = top->options;
	const char *name = options->histogram_name;
	uint64_t seed = 0;
	(void)!getrandom(&seed, sizeof(seed), GRND_NONBLOCK);
	if (name && !top->is_batch) {
		snprintf(top->screen.selected, sizeof(top->screen.selected), "%s", name);
		top->screen.page = ORMA_TOP_PAGE_HISTOGRAM;
	}
	int status = block_signals(top);
	if (status == ORMA_EXIT_OK &&
	    orma_top_decoder_init(&top->decoder, options->choice.by, seed) < 0)
		status = orma_tool_fail("%s", strerror(ENOMEM));
	return status;
}

int orma_top_run(const struct orma_top_options *options)
{
	static struct top top;
	top = (struct top){.options = options,
			   .choice = options->choice,
			   .keep.period_ns = options->keep_ms * ORMA_NS_PER_MS,
			   .keys.fd = STDIN_FILENO,
			   .signal_fd = -1,
			   .is_batch = options->is_batch || !orma_top_terminal_works()};
	int status = prepare(&top);
	if (status == ORMA_EXIT_OK)
		status = orma_top_session_open(&top.session, &top.decoder,
					       top.is_batch ? NULL : &top.keep, top.signal_fd);
	if (status == ORMA_EXIT_OK)
		status = run(&top);
	orma_top_session_close(&top.session);
	orma_top_decoder_done(&top.decoder);
	orma_top_keep_done(&top.keep);
	orma_top_pages_done(&top.pages);
	orma_top_table_done(&top.table);
	orma_base_buf_done(&top.out);
	orma_base_fd_close(top.signal_fd);
	return status;
}
