/* SPDX-License-Identifier: Apache-2.0
 * record_app.h - the program of `orma record -- PROGRAM ARGUMENTS`.
 */
#ifndef ORMA_TOOL_RECORD_APP_H
#define ORMA_TOOL_RECORD_APP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { ORMA_EXIT_NOT_STARTED = 126, ORMA_EXIT_NOT_FOUND = 127 };

struct orma_buf;

struct orma_record_app {
	char *const *argv;         /* NULL = there is none */
	char *const *environment;  /* NULL = that of this process */
	uint64_t descriptors;      /* its soft limit; 0 = that of this process */
	pid_t pid;                 /* 0 = not started, or ended */
	int status;                /* once it has ended: exit status, or 128 + signal */
	int child_fd;              /* readable when a child has ended; -1 = not prepared */
	sigset_t old_mask;         /* the signal mask that the program gets */
	struct sigaction old_quit; /* SIGQUIT is ignored while the program runs */
};

/* Returns ORMA_EXIT_OK, or reports why the program cannot be found and returns the exit status for
 * that. */
int orma_record_app_find(const char *name);
/* Appends its path, as PATH has it. Returns the same. */
int orma_record_app_locate(const char *name, struct orma_buf *ret_path);
/* Returns true when that function finds it. */
bool orma_record_app_exists(const char *name);
/* Called before any thread starts, and before other signals are blocked. 0 or -errno. */
int orma_record_app_prepare(struct orma_record_app *app, char *const *argv);
/* Returns ORMA_EXIT_OK, or reports what is wrong and returns the exit status for it. */
int orma_record_app_start(struct orma_record_app *app);
bool orma_record_app_is_running(const struct orma_record_app *app);
/* To be called when child_fd is readable. */
void orma_record_app_reap(struct orma_record_app *app);
/* Passes a signal on. A signal that the terminal sent has reached the program by itself. */
void orma_record_app_forward(const struct orma_record_app *app, int signal, bool is_from_terminal);
void orma_record_app_done(struct orma_record_app *app);

#endif
