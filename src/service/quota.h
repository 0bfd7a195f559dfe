/* SPDX-License-Identifier: Apache-2.0
 * quota.h - how many sessions, or clones, a user and all users may have; see quota.c.
 */
#ifndef ORMA_SERVICE_QUOTA_H
#define ORMA_SERVICE_QUOTA_H

#include <orma/service.h>

struct orma_service_quota {
	/* The user that asks, and the limits. */
	uid_t uid;
	bool has_rights;
	uint32_t user_max, shared_max, first_max;
	/* How many exist: this user's, and those of all users but root and the service's own. */
	uint32_t user_count, shared_count;
};

/* Counts one that exists. */
void orma_service_quota_add(struct orma_service_quota *quota, uid_t uid, bool has_rights);
/* 0, or -EBUSY and a text; `what` is the plural of what is counted. */
int orma_service_quota_check(const struct orma_service_quota *quota, const char *what,
			     struct orma_error *reterr);

#endif
