/* SPDX-License-Identifier: Apache-2.0
 * service_check.h - what holds between calls of the service; see service_check.c.
 */
#ifndef ORMA_SERVICE_CHECK_H
#define ORMA_SERVICE_CHECK_H

#include <orma/service.h>

/* Asserts all of it. Does nothing in builds without assertions. */
void orma_service_check(const struct orma_service *service);

#endif
