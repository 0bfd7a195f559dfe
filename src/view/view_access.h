/* SPDX-License-Identifier: Apache-2.0
 * view_access.h - who may ask: the checks of a request, the ticket in the URL, and the token of the page.
 */
#ifndef ORMA_VIEW_VIEW_ACCESS_H
#define ORMA_VIEW_VIEW_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "view/http_parse.h"

enum { ORMA_VIEW_SECRET_BYTES = 16, ORMA_VIEW_SECRET_CHARS = 2 * ORMA_VIEW_SECRET_BYTES };

/* Everything is 32 hexadecimal digits with a NUL behind. */
struct orma_view_access {
	char token[ORMA_VIEW_SECRET_CHARS + 1];
	char ticket[ORMA_VIEW_SECRET_CHARS + 1]; /* the newest one */
	uint64_t ticket_end_ns;
	bool is_ticket_used;
	const char *
		address; /* another name by which the server is reached, from --bind; NULL = none */
};

enum orma_view_ticket {
	ORMA_VIEW_TICKET_OK,
	ORMA_VIEW_TICKET_WRONG,
	ORMA_VIEW_TICKET_USED,
	ORMA_VIEW_TICKET_LATE,
};

/* Makes the token; there is no ticket yet. `address` is borrowed. 0 or a negative errno value. */
int orma_view_access_init(struct orma_view_access *access, const char *address);
/* Makes a ticket, instead of the one before. 0 or a negative errno value. */
int orma_view_access_renew(struct orma_view_access *access, uint64_t now_ns);
/* Takes a ticket, which can be taken once. */
enum orma_view_ticket orma_view_access_take(struct orma_view_access *access, struct orma_str ticket,
					    uint64_t now_ns);
/* True when the request has the token. The time does not depend on how much of it is right. */
bool orma_view_access_has_token(const struct orma_view_access *access,
				const struct orma_http_request *request);

/* Returns NULL, or why a request cannot be from a page of ours: a sentence. */
const char *orma_view_access_check(const struct orma_view_access *access,
				   const struct orma_http_request *request);
/* True when the page may be shown in a frame of another page on this machine. */
bool orma_view_access_is_embedded(const struct orma_http_request *request);

#endif
