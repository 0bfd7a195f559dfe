/* SPDX-License-Identifier: Apache-2.0
 * text_session.c - starts a session, and waits until its producers have started.
 */
#include "text_session.h"

#include <string.h>

enum { START_MS = 5000 };

struct orma_session *bench_text_session_start(const struct bench_daemon *daemon, const char *config)
{
	const struct orma_session_options options = {.struct_size = sizeof(options),
						     .consumer_socket = daemon->consumer_socket};
	struct orma_session *session;

	if (orma_session_new(&options, &session, NULL) < 0)
		return NULL;
	if (orma_session_enable_text(session, "bench", config, strlen(config), -1, NULL) == 0 &&
	    orma_session_wait_started(session, START_MS) == 0)
		return session;
	orma_session_free(session);
	return NULL;
}
