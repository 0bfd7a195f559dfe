/* SPDX-License-Identifier: Apache-2.0
 * guest.c - a library that traces by itself, in a program that knows nothing of tracing; built with
 * the shared liborma, twice, and with the archive inside.
 */
#include <orma/orma.h>
#include <stdio.h>

ORMA_CATEGORY_DEFINE(guest, "guest", "Of a library");

int guest_begin(void);
void guest_emit(void);

/* The result of orma_init(). */
__attribute__((visibility("default"))) int guest_begin(void)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .backends = ORMA_BACKEND_IN_PROCESS};
	int r = orma_init(&options);

	orma_track_event_register();
	orma_sync(20000);
	return r;
}

__attribute__((visibility("default"))) void guest_emit(void)
{
	ORMA_SCOPE(guest, "work");
	ORMA_INSTANT(guest, "event");
}
