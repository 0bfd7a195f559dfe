/* SPDX-License-Identifier: Apache-2.0
 * radix_sort.h - sorts row numbers by keys, in linear time.
 */
#ifndef ORMA_SQL_RADIX_SORT_H
#define ORMA_SQL_RADIX_SORT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Sorts both arrays by key. Rows with equal keys keep their order. 0 or -ENOMEM; then the arrays may hold their items
 * in any order.
 */
int orma_sql_radix_sort(uint64_t *keys, uint32_t *rows, size_t count);

#endif
