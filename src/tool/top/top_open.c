/* SPDX-License-Identifier: Apache-2.0
 * top_open.c - starts `orma view` in a session of its own, and reads the address that it prints.
 *
 * The server lives as long as the table, so that no process is left that nobody knows of: it is ended with us, and the kernel ends it
 * if we are killed. It is in another session, because Ctrl-C on our terminal is a key here.
 */
#include "tool/top/top_open.h"

#include <stdio.h>

#ifdef ORMA_HAVE_SQL
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "tool/view/view_browser.h"

/* The address is printed before the trace is read. */
enum { ADDRESS_WAIT_MS = 2000, OUTPUT_BYTES = 512 };

/* Becomes the server. */
static _Noreturn void become(const char *path, int out)
{
	sigset_t none;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	setsid();
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(null, STDERR_FILENO) < 0)
		_exit(1);
	execl("/proc/self/exe", "orma", "view", "--no-open", path, (char *)NULL);
	_exit(1);
}

static void end(struct orma_top_pages *pages, size_t place)
{
	kill(pages->items[place].pid, SIGTERM);
	while (waitpid(pages->items[place].pid, NULL, 0) < 0 && errno == EINTR)
		;
	orma_base_fd_close(pages->items[place].fd);
	pages->count--;
	memmove(&pages->items[place], &pages->items[place + 1],
		(pages->count - place) * sizeof(pages->items[0]));
}

static int start(struct orma_top_pages *pages, const char *path)
{
	int ends[2];
	if (pages->count == ORMA_TOP_PAGES_MAX)
		end(pages, 0);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid_t child = fork();
	if (child == 0)
		become(path, ends[1]);
	int r = child < 0 ? -errno : 0;
	orma_base_fd_close(ends[1]);
	if (r < 0) {
		orma_base_fd_close(ends[0]);
		return r;
	}
	pages->items[pages->count].pid = child;
	pages->items[pages->count++].fd = ends[0];
	return 0;
}

static int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads up to the end of the address. False when there is none in time. */
static bool read_address(int fd, char url[OUTPUT_BYTES])
{
	int64_t until = now_ms() + ADDRESS_WAIT_MS, left;
	size_t size = 0;
	while (size < OUTPUT_BYTES - 1 && (left = until - now_ms()) > 0) {
		struct pollfd input = {.fd = fd, .events = POLLIN};
		if (poll(&input, 1, (int)left) <= 0)
			continue;
		ssize_t got = read(fd, url + size, OUTPUT_BYTES - 1 - size);
		if (got <= 0)
			return false;
		size += (size_t)got;
		url[size] = '\0';
		char *begin = strstr(url, "http://"),
		     *line_end = begin ? strchr(begin, '\n') : NULL;
		if (!line_end)
			continue;
		*line_end = '\0';
		memmove(url, begin, strlen(begin) + 1);
		return true;
	}
	return false;
}

static bool show(struct orma_top_pages *pages, const char *path, char message[ORMA_TOP_TEXT_BYTES])
{
	char url[OUTPUT_BYTES] = "";
	if (start(pages, path) < 0)
		return false;
	if (!read_address(pages->items[pages->count - 1].fd, url)) {
		end(pages, pages->count - 1);
		return false;
	}
	snprintf(message, ORMA_TOP_TEXT_BYTES, "look at it until you quit: %.*s",
		 ORMA_TOP_TEXT_BYTES - 40, url);
	orma_view_open_browser(url);
	return true;
}

void orma_top_pages_done(struct orma_top_pages *pages)
{
	while (pages->count > 0)
		end(pages, pages->count - 1);
}
#else
static bool show(struct orma_top_pages *pages, const char *path, char message[ORMA_TOP_TEXT_BYTES])
{
	(void)pages, (void)path, (void)message;
	return false;
}

void orma_top_pages_done(struct orma_top_pages *pages)
{
	(void)pages;
}
#endif

void orma_top_open(struct orma_top_pages *pages, const char *path,
		   char message[ORMA_TOP_TEXT_BYTES])
{
	if (!show(pages, path, message))
		snprintf(message, ORMA_TOP_TEXT_BYTES, "saved; look at it with: orma view %s",
			 path);
}
