/* SPDX-License-Identifier: Apache-2.0
 * view_browser.h - opens the page in a browser, or says how to reach it over ssh.
 */
#ifndef ORMA_TOOL_VIEW_BROWSER_H
#define ORMA_TOOL_VIEW_BROWSER_H

#include <stdint.h>

/* Starts $BROWSER, or xdg-open, if this is a desktop: standard output is a terminal of it. Failures do not matter, because
 * the address was printed. */
void orma_view_open_browser(const char *url);
/* Over ssh, prints the command that makes the port reachable from the user's machine. */
void orma_view_print_forwarding(uint16_t port);

#endif
