/* SPDX-License-Identifier: Apache-2.0
 * signals.h - keeps signal handlers from running on this thread for a while.
 *
 * A handler that leaves the function which it has interrupted, with siglongjmp(), would leave locked what is locked there.
 */
#ifndef ORMA_BASE_SIGNALS_H
#define ORMA_BASE_SIGNALS_H

#include <pthread.h>
#include <signal.h>

static inline void orma_base_signals_block(sigset_t *ret_before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, ret_before);
}

static inline void orma_base_signals_restore(const sigset_t *before)
{
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

#endif
