/* SPDX-License-Identifier: Apache-2.0
 * cancel.h - keeps pthread_cancel() from ending a thread in the middle of the library.
 *
 * A thread that is cancelled while it waits inside the library would never release the client's
 * mutex, its slot or a call on its stack. Therefore the library has no cancellation points. The
 * thread ends at its next cancellation point outside of the library.
 */
#ifndef ORMA_BASE_CANCEL_H
#define ORMA_BASE_CANCEL_H

#include <pthread.h>

#include "base/macros.h"

static inline int orma_base_cancel_disable(void)
{
	int before = PTHREAD_CANCEL_ENABLE;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void orma_base_cancel_restore(const int *before)
{
	pthread_setcancelstate(*before, NULL);
}

/* Disables cancellation until the end of the block. */
#define ORMA_NO_CANCEL()                                                                           \
	ORMA_AUTO(orma_base_cancel_restore)                                                        \
	const int orma_cancel_before_ __attribute__((unused)) = orma_base_cancel_disable()

#endif
