/* SPDX-License-Identifier: Apache-2.0
 * local_consumer.c - connecting a session to the service of this process.
 *
 * A session speaks ConsumerPort over a socket wherever the service is; here the other end of a
 * socket pair is handed to the loop thread, whose host serves it. Rejected: a path in the file
 * system, which other processes could reach.
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "client/client_session.h"
#include "client/endpoint.h"
#include "client/engine.h"
#include "client/work.h"

struct consumer_work {
	struct orma_client_work work;
	int fd;
};

static void add_consumer(struct orma_client_work *work)
{
	struct consumer_work *consumer = ORMA_CONTAINER_OF(work, struct consumer_work, work);

	orma_client_local_add_consumer(orma_client.local, consumer->fd);
	orma_base_free(consumer);
}

int orma_client_local_consumer_open(int *ret_fd)
{
	struct consumer_work *consumer;
	int fds[2], r;

	if (!orma_client_lock())
		return -ENOTCONN;
	pthread_mutex_unlock(&orma_client.mutex);
	if (!orma_client.local)
		return -ENOTCONN;
	consumer = orma_base_zalloc(sizeof(*consumer));
	if (!consumer)
		return -ENOMEM;
	r = orma_base_socketpair(fds);
	if (r < 0) {
		orma_base_free(consumer);
		return r;
	}
	consumer->work.fn = add_consumer;
	consumer->fd = fds[1];
	orma_base_fd_set_close_on_fork(fds[1]);
	r = orma_client_post(&consumer->work);
	if (r < 0) {
		orma_base_fd_close(fds[0]);
		orma_base_fd_close(fds[1]);
		orma_base_free(consumer);
		return r;
	}
	*ret_fd = fds[0];
	return 0;
}
