/* SPDX-License-Identifier: Apache-2.0
 * record_app.c - starts the program that is recorded, and notices its end.
 *
 * The program is an ordinary child in our process group: it has the terminal, Ctrl-C reaches it
 * from there, and its exit status is its own. It finds the service through the environment, which
 * it inherits. posix_spawn() reports what is wrong with the program itself; fork() would need a
 * pipe for that. Rejected: a process group of its own (it would have to be given the terminal, and
 * the recorder to take it back), and PR_SET_PDEATHSIG (a recorder that is killed must not end the
 * program).
 */
#include "tool/record/record_app.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "tool/daemon/descriptor_limit.h"
#include "tool/tool.h"

extern char **environ;

static int tell_not_started(const char *name, int error)
{
	orma_tool_fail("cannot start %s: %s", name, strerror(error));
	return error == ENOENT || error == ENOTDIR ? ORMA_EXIT_NOT_FOUND : ORMA_EXIT_NOT_STARTED;
}

/* Returns 0, or why the program cannot be run. */
static int check_program(const char *path)
{
	struct stat info;

	if (stat(path, &info))
		return errno;
	return !S_ISREG(info.st_mode) || access(path, X_OK) ? EACCES : 0;
}

/* Searches PATH like posix_spawnp(). */
static int search_path(const char *name, struct orma_buf *ret_path)
{
	const char *folders = getenv("PATH");
	int r = ENOENT;

	if (!folders)
		folders = "/bin:/usr/bin";
	for (const char *at = folders, *end; at && r; at = *end ? end + 1 : NULL) {
		ORMA_AUTO(orma_base_buf_done) struct orma_buf path = {0};
		end = at + strcspn(at, ":");
		if (orma_base_buf_printf(&path, "%.*s%s%s", (int)(end - at), at,
					 end > at ? "/" : "", name) ||
		    !orma_base_buf_cstr(&path))
			return ENOMEM;
		int found = check_program(orma_base_buf_cstr(&path));
		if (found == 0 && ret_path && orma_base_buf_append(ret_path, path.data, path.size))
			return ENOMEM;
		if (found == 0 || found == EACCES)
			r = found;
	}
	return r;
}

static int find_program(const char *name, struct orma_buf *ret_path)
{
	if (!strchr(name, '/'))
		return search_path(name, ret_path);
	if (ret_path && orma_base_buf_append_str(ret_path, name))
		return ENOMEM;
	return check_program(name);
}

bool orma_record_app_exists(const char *name)
{
	return find_program(name, NULL) == 0;
}

int orma_record_app_locate(const char *name, struct orma_buf *ret_path)
{
	int error = find_program(name, ret_path);

	return error ? tell_not_started(name, error) : ORMA_EXIT_OK;
}

int orma_record_app_find(const char *name)
{
	int error = find_program(name, NULL);

	return error ? tell_not_started(name, error) : ORMA_EXIT_OK;
}

int orma_record_app_prepare(struct orma_record_app *app, char *const *argv)
{
	sigset_t children;

	*app = (struct orma_record_app){.argv = argv, .child_fd = -1};
	if (!argv)
		return 0;
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	/* If our parent ignored SIGCHLD, it would not arrive, and the exit status would be lost. */
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	sigprocmask(SIG_BLOCK, &children, &app->old_mask);
	int fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	app->child_fd = fd;
	return 0;
}

/* Ctrl-\ reaches both. It ends the program with a core, and the recording of it must not be lost. */
static void ignore_quit(struct orma_record_app *app, sigset_t *of_program)
{
	sigaction(SIGQUIT, &(struct sigaction){.sa_handler = SIG_IGN}, &app->old_quit);
	if (app->old_quit.sa_handler != SIG_IGN)
		sigaddset(of_program, SIGQUIT);
}

int orma_record_app_start(struct orma_record_app *app)
{
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int error = posix_spawnattr_init(&attributes);

	if (error)
		return tell_not_started(app->argv[0], error);
	/* Restores the signals that main() has changed. */
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	sigaddset(&defaults, SIGXFSZ);
	ignore_quit(app, &defaults);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setsigmask(&attributes, &app->old_mask);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	/* posix_spawn() sets no limits, so the program inherits ours of this moment. Descriptors above
	 * it stay open. */
	uint64_t own = app->descriptors > 0 ? orma_tool_set_descriptor_limit(app->descriptors) : 0;
	error = posix_spawnp(&app->pid, app->argv[0], NULL, &attributes, app->argv,
			     app->environment ? app->environment : environ);
	if (own > 0)
		(void)orma_tool_set_descriptor_limit(own);
	posix_spawnattr_destroy(&attributes);
	if (error == 0)
		return ORMA_EXIT_OK;
	sigaction(SIGQUIT, &app->old_quit, NULL);
	app->pid = 0;
	return tell_not_started(app->argv[0], error);
}

bool orma_record_app_is_running(const struct orma_record_app *app)
{
	return app->pid > 0;
}

void orma_record_app_reap(struct orma_record_app *app)
{
	struct signalfd_siginfo info;
	int status;

	while (read(app->child_fd, &info, sizeof(info)) == sizeof(info))
		;
	if (app->pid == 0 || waitpid(app->pid, &status, WNOHANG) != app->pid)
		return;
	app->pid = 0;
	sigaction(SIGQUIT, &app->old_quit, NULL);
	app->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void orma_record_app_forward(const struct orma_record_app *app, int signal, bool is_from_terminal)
{
	if (app->pid > 0 && !is_from_terminal)
		(void)kill(app->pid, signal);
}

void orma_record_app_done(struct orma_record_app *app)
{
	app->child_fd = orma_base_fd_close(app->child_fd);
}
