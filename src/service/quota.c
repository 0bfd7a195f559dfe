/* SPDX-License-Identifier: Apache-2.0
 * quota.c - limits how many sessions, or clones, exist at once, per user and in all.
 *
 *   the user                         | may have one more
 *   root, the service's own user     | always, up to the limit of one user
 *   any other user                   | while these others together have fewer than `shared_max`
 *   one of them that has none yet    | also beyond that, up to `first_max` more
 *
 * So a few users that take all they can still leave room for the first session of each further
 * user. Neither they nor many users together keep the administrator out. Rejected: one limit for
 * all (three users with five sessions each refused root the sixteenth), fewer sessions per user
 * (recorders rely on upstream's numbers).
 */
#include "service/quota.h"

#include <errno.h>

#include "base/error_message.h"

void orma_service_quota_add(struct orma_service_quota *quota, uid_t uid, bool has_rights)
{
	quota->user_count += uid == quota->uid && has_rights == quota->has_rights;
	quota->shared_count += !has_rights;
}

int orma_service_quota_check(const struct orma_service_quota *quota, const char *what,
			     struct orma_error *reterr)
{
	uint32_t max = quota->shared_max + (quota->user_count == 0 ? quota->first_max : 0);

	if (quota->user_count >= quota->user_max)
		return orma_base_error_set(reterr, -EBUSY,
					   "too many %s: user %u has %u, the maximum", what,
					   (unsigned)quota->uid, quota->user_count);
	if (!quota->has_rights && quota->shared_count >= max)
		return orma_base_error_set(
			reterr, -EBUSY, "too many %s: the service has %u, the maximum for users %s",
			what, quota->shared_count,
			quota->user_count == 0 ? "that have none" : "that have one");
	return 0;
}
