/* SPDX-License-Identifier: Apache-2.0
 * demangle.h - the names of functions as the source has them.
 */
#ifndef ORMA_SYMBOLS_DEMANGLE_H
#define ORMA_SYMBOLS_DEMANGLE_H

#include "base/buf.h"

/*
 * Appends the name in the source of a function of C++ or Rust. 1; 0 and nothing is appended: the name is not
 * mangled, or nothing here understands it, so it is shown as it is; or -ENOMEM. Any thread.
 */
int orma_demangle(const char *name, struct orma_buf *buf);

/* The parts of it, with the same results: names of Rust, and those of C++ in the Itanium ABI. */
int orma_demangle_rust_v0(const char *name, struct orma_buf *buf);
int orma_demangle_cxx(const char *name, struct orma_buf *buf);
int orma_demangle_rust_legacy(const char *name, struct orma_buf *buf);

#endif
