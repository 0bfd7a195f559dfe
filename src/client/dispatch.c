/* SPDX-License-Identifier: Apache-2.0
 * dispatch.c - the loop, driven by the caller (caller_drives).
 */
#include <errno.h>
#include <orma/init.h>

#include "base/cancel.h"
#include "client/engine.h"

int orma_poll_fd(void)
{
	int fd = -1;

	if (!orma_client_lock())
		return -1;
	if (orma_client.options.caller_drives)
		fd = orma_client.poll_fd;
	pthread_mutex_unlock(&orma_client.mutex);
	return fd;
}

/* Another thread dispatches now and is the loop thread, so its writers commit by themselves when they
 * stall. */
static void change_driver(void)
{
	orma_client.driver = pthread_self();
	for (size_t i = 0; i < orma_client.link_count; i++)
		if (orma_client.links[i].memory)
			orma_shm_arbiter_set_loop_thread(orma_client.links[i].memory->arbiter);
}

int orma_dispatch(void)
{
	ORMA_NO_CANCEL();
	bool is_driven;

	if (!orma_client_lock())
		return -ENOTCONN;
	is_driven = orma_client.options.caller_drives;
	pthread_mutex_unlock(&orma_client.mutex);
	if (!is_driven)
		return -ENOTCONN;
	if (!pthread_equal(orma_client.driver, pthread_self()))
		change_driver();
	return orma_base_loop_turn(orma_client.loop, 0) == -EBADF ? -ENOTCONN : 0;
}
