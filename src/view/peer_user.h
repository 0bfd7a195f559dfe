/* SPDX-License-Identifier: Apache-2.0
 * peer_user.h - which user of this machine has connected.
 */
#ifndef ORMA_VIEW_PEER_USER_H
#define ORMA_VIEW_PEER_USER_H

#include <stdbool.h>

/*
 * False when the other end of a connection over loopback belongs to a user that may not ask: not ours, not root, and not
 * the one who has become root with sudo. True also when the kernel does not tell, because the token protects by itself.
 */
bool orma_view_peer_is_welcome(int fd);

#endif
