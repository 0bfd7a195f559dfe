/* SPDX-License-Identifier: Apache-2.0
 * work.h - work that other threads hand to the loop thread.
 */
#ifndef ORMA_CLIENT_WORK_H
#define ORMA_CLIENT_WORK_H

#include "base/list.h"

/* Embedded in its owner. `fn` frees it or makes it ready for reuse. */
struct orma_client_work {
	struct orma_list item;
	void (*fn)(struct orma_client_work *work);
};

/* 0 or -ENOTCONN. On success `fn` runs once, possibly before this returns. */
int orma_client_post(struct orma_client_work *work);
/* Runs `fn` on the loop thread and waits for its end; on the loop thread, and with caller_drives, calls
 * it. 0 or -ENOTCONN. */
int orma_client_post_and_wait(void (*fn)(void *ctx), void *ctx);
/* Takes the oldest work; NULL = none. Loop thread only. */
struct orma_client_work *orma_client_work_take(void);

#endif
