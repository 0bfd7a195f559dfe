/* SPDX-License-Identifier: Apache-2.0
 * places.c - how many sessions, or clones, there may be at once, and of which users.
 *
 *   the user                         | has a place
 *   root, the service's own user     | always, up to the limit of one user
 *   any other user                   | while these others together have fewer than `shared_max`
 *   one of them that has none yet    | also when they have, up to `first_max` more
 *
 * So a few users that take all they may get leave a place for each further one, and neither they nor
 * many users together keep the administrator out. Rejected: one limit for all (three users with
 * five sessions each refused root the sixteenth), fewer sessions per user (upstream's numbers are
 * what recorders count on).
 */
#include <errno.h>

#include "base/error_message.h"
#include "service/state.h"

void orma_service_places_add(struct orma_service_places *places, uid_t uid, bool has_rights)
{
	places->of_user += uid == places->uid && has_rights == places->has_rights;
	places->of_others += !has_rights;
}

int orma_service_places_check(const struct orma_service_places *places, const char *what,
			      struct orma_error *reterr)
{
	uint32_t max = places->shared_max + (places->of_user == 0 ? places->first_max : 0);

	if (places->of_user >= places->user_max)
		return orma_base_error_set(reterr, -EBUSY,
					   "too many %s: user %u has %u, the maximum", what,
					   (unsigned)places->uid, places->of_user);
	if (!places->has_rights && places->of_others >= max)
		return orma_base_error_set(
			reterr, -EBUSY, "too many %s: the service has %u, the maximum for users %s",
			what, places->of_others,
			places->of_user == 0 ? "that have none" : "that have one");
	return 0;
}
