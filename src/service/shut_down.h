/* SPDX-License-Identifier: Apache-2.0
 * shut_down.h - how far an orderly end (orma_service_shut_down()) is.
 */
#ifndef ORMA_SERVICE_SHUT_DOWN_H
#define ORMA_SERVICE_SHUT_DOWN_H

#include <stddef.h>
#include <stdint.h>

struct orma_service;

/* Returns how many sessions only their consumers can save, because they have no file.
 * *ret_read_bytes grows while consumers read them. */
uint32_t orma_service_count_readers(const struct orma_service *service, uint64_t *ret_read_bytes);
size_t orma_service_count_consumers(const struct orma_service *service);

#endif
