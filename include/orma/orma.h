/* SPDX-License-Identifier: Apache-2.0
 * orma/orma.h - all of orma's public interface.
 */
#ifndef ORMA_ORMA_H
#define ORMA_ORMA_H

#include <orma/category.h>
#include <orma/data_source.h>
#include <orma/error.h>
#include <orma/event_item.h>
#include <orma/init.h>
#include <orma/log.h>
#include <orma/packet.h>
#include <orma/service.h>
#include <orma/session.h>
#include <orma/state.h>
#include <orma/stats.h>
#include <orma/track.h>
#include <orma/track_event.h>
#include <orma/transport.h>

#endif
