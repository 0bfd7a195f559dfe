/* SPDX-License-Identifier: Apache-2.0
 * view_browser.c - a browser is started by a process that ends at once, so that it is nobody's child here.
 */
#include "tool/view/view_browser.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"
#include "tool/print.h"

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);
	return value && *value;
}

static bool is_desktop(void)
{
	return isatty(STDOUT_FILENO) && (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")) &&
	       !is_set("SSH_CONNECTION");
}

/* Becomes the browser. Threads of the program may hold any lock, so that only system calls follow the fork. */
static void become(const char *browser, const char *url)
{
	char *const argv[] = {(char *)(uintptr_t)browser, (char *)(uintptr_t)url, NULL};
	sigset_t none;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	setsid();
	execvp(browser, argv);
	_exit(1);
}

void orma_view_open_browser(const char *url)
{
	char browser[256] = "xdg-open";
	const char *chosen = getenv("BROWSER");
	/* It may be a list. */
	size_t size = chosen ? strcspn(chosen, ":") : 0;
	if (!is_desktop() || size >= sizeof(browser))
		return;
	if (size > 0)
		snprintf(browser, sizeof(browser), "%.*s", (int)size, chosen);
	pid_t child = fork();
	if (child == 0) {
		if (fork() == 0)
			become(browser, url);
		_exit(0);
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

void orma_view_print_forwarding(uint16_t port)
{
	char connection[256], *rest = connection;
	const char *words[4];
	const char *value = getenv("SSH_CONNECTION"), *user = getenv("USER");
	if (!value || strlen(value) >= sizeof(connection))
		return;
	snprintf(connection, sizeof(connection), "%s", value);
	/* The addresses and ports of the client and of this machine. */
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(words); i++)
		if (!(words[i] = strsep(&rest, " ")) || !*words[i])
			return;
	bool is_usual_port = strcmp(words[3], "22") == 0;
	orma_tool_print_line(stderr, "Run this on your own machine, and open the address there:");
	orma_tool_print_line(stderr, "  ssh -L %u:127.0.0.1:%u %s%s%s%s%s%s", port, port,
			     is_usual_port ? "" : "-p ", is_usual_port ? "" : words[3],
			     is_usual_port ? "" : " ", user ? user : "", user ? "@" : "", words[2]);
}
