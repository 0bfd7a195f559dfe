/* SPDX-License-Identifier: Apache-2.0
 * pin.h - keeping the module that contains the library loaded.
 */
#ifndef ORMA_CLIENT_PIN_H
#define ORMA_CLIENT_PIN_H

/* The module that this code is in stays loaded from now on. */
void orma_client_pin(void);

#endif
