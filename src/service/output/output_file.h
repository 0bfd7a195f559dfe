/* SPDX-License-Identifier: Apache-2.0
 * output_file.h - the file of a session: open, write, close; see output_file.c.
 */
#ifndef ORMA_SERVICE_OUTPUT_FILE_H
#define ORMA_SERVICE_OUTPUT_FILE_H

#include <orma/service.h>
#include <sys/uio.h>

struct orma_service_session;

extern const struct orma_service_file_ops orma_service_file_ops_sync; /* output_sync.c */

int orma_service_output_open(struct orma_service_session *session, int file_fd,
			     struct orma_error *reterr);
/* The output of a clone: what `source` has written, then all that is left to read. Takes the
 * descriptor over and sets it to -1, even when it fails after that. */
int orma_service_output_open_copy(struct orma_service_session *session, int *file_fd,
				  struct orma_service_session *source);
/* True when a consumer's descriptor is open for writing. */
bool orma_service_output_is_writable(int fd);
/* Writes "what: words", which say what an error means for a file. */
void orma_service_output_explain(char *text, size_t size, const char *what, int error);
/* Writes the data, or keeps them when the file is not ready. */
int orma_service_output_put(struct orma_service_session *session, const struct iovec *iov,
			    int iov_count);
/* Writes the data that the file has refused. */
int orma_service_output_put_refused(struct orma_service_session *session);
void orma_service_output_close(struct orma_service_session *session, bool sync);
/* Closes the file if there is one. */
void orma_service_output_done(struct orma_service_session *session);

#endif
