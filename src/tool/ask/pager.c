/* SPDX-License-Identifier: Apache-2.0
 * pager.c - the program of $PAGER, or less, gets the output through a pipe once it is longer than the terminal.
 */
#include "tool/ask/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "tool/print.h"

extern char **environ;

enum { USUAL_ROWS = 24, USUAL_COLUMNS = 80 };

/* less: leave short output on the screen, show escapes as they are, cut long lines. */
static char script[] = "LESS=${LESS-FRSX}; export LESS; eval \"${PAGER-less}\"";

/* Starts the program with a pipe as its standard input. 0 or -errno. */
static int start(struct orma_pager *pager)
{
	int ends[2];
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t pipe_signal;
	char shell[] = "sh", option[] = "-c", *const argv[] = {shell, option, script, NULL};
	const char *command = getenv("PAGER");
	if ((command && !*command) || pipe2(ends, O_CLOEXEC) < 0)
		return -ENOENT;
	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &pipe_signal);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
	int error = posix_spawnp(&pager->pid, "sh", &actions, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	orma_base_fd_close(ends[0]);
	pager->fd = ends[1];
	if (error) {
		pager->pid = 0;
		orma_base_fd_close(ends[1]);
	}
	return -error;
}

static bool is_longer_than_terminal(struct orma_pager *pager, const char *data, size_t size)
{
	struct winsize window;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) < 0 || window.ws_row == 0)
		window = (struct winsize){.ws_row = USUAL_ROWS, .ws_col = USUAL_COLUMNS};
	for (size_t i = 0; i < size; i++)
		pager->rows += data[i] == '\n';
	return pager->rows + 1 >= window.ws_row;
}

int orma_pager_write(void *ctx, const void *data, size_t size)
{
	struct orma_pager *pager = ctx;
	if (pager->pid)
		return orma_base_fd_write_all(pager->fd, data, size);
	if (pager->is_off || pager->is_direct)
		return orma_tool_write_raw(stdout, data, size);
	int r = orma_base_buf_append(&pager->waiting, data, size);
	if (r < 0 || !is_longer_than_terminal(pager, data, size))
		return r;
	r = start(pager) == 0
		    ? orma_base_fd_write_all(pager->fd, pager->waiting.data, pager->waiting.size)
		    : orma_tool_write_raw(stdout, pager->waiting.data, pager->waiting.size);
	pager->is_direct = !pager->pid;
	pager->waiting.size = 0;
	return r;
}

void orma_pager_finish(struct orma_pager *pager)
{
	if (pager->waiting.size > 0)
		(void)orma_tool_write_raw(stdout, pager->waiting.data, pager->waiting.size);
	fflush(stdout);
	if (pager->pid) {
		orma_base_fd_close(pager->fd);
		while (waitpid(pager->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	orma_base_buf_done(&pager->waiting);
	*pager = (struct orma_pager){.is_off = pager->is_off};
}
