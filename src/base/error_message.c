/* SPDX-License-Identifier: Apache-2.0
 * error_message.c - writes the message of a struct orma_error.
 *
 * Owns nothing. A message that is too long for its fixed size is cut, and always ends in a NUL.
 * Rejected: messages on the heap, because reporting a failed allocation must not allocate. Also
 * rejected: a list with one entry per cause; a message that puts the causes before each other with
 * colons says the same.
 */
#include "base/error_message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Appends as much of the text as fits. */
static void append(char message[ORMA_ERROR_MESSAGE_BYTES], const char *text)
{
	size_t used = strlen(message);
	size_t size = ORMA_MIN(strlen(text), ORMA_ERROR_MESSAGE_BYTES - 1 - used);
	memcpy(message + used, text, size);
	message[used + size] = '\0';
}

int(orma_base_error_set)(struct orma_error *error, int code, const char *format, ...)
{
	if (!error)
		return code;
	/* Format into a copy, because an argument may be the old message. */
	char message[ORMA_ERROR_MESSAGE_BYTES];
	va_list args;
	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	error->code = code;
	memcpy(error->message, message, sizeof(message));
	return code;
}

void orma_base_error_prefix(struct orma_error *error, const char *format, ...)
{
	if (!error)
		return;
	char message[ORMA_ERROR_MESSAGE_BYTES];
	va_list args;
	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	append(message, ": ");
	append(message, error->message);
	memcpy(error->message, message, sizeof(message));
}

const char *orma_base_error_words(int error)
{
	static const struct {
		int error;
		const char *words;
	} table[] = {
		{EACCES, "permission denied"},
		{EADDRINUSE, "the address is in use"},
		{EADDRNOTAVAIL, "this machine does not have that address"},
		{EAFNOSUPPORT, "this machine does not have that kind of address"},
		{EAGAIN, "it would have to wait"},
		{EBADF, "the descriptor cannot be used for that"},
		{EBADMSG, "the bytes do not decode"},
		{EBUSY, "it is in use"},
		{ECONNREFUSED, "nobody listens there"},
		{ECONNRESET, "the connection is lost"},
		{EDQUOT, "the disk quota is used up"},
		{EEXIST, "it exists already"},
		{EFBIG, "the file has its maximum size"},
		{EHOSTUNREACH, "the machine cannot be reached"},
		{EINTR, "it was interrupted"},
		{EINVAL, "something about it is not valid"},
		{EIO, "the device reports an error"},
		{EISDIR, "it is a folder"},
		{ELOOP, "a symbolic link is not followed"},
		{EMFILE, "the process has too many open files"},
		{EMSGSIZE, "it is larger than the limit"},
		{ENAMETOOLONG, "the name is too long"},
		{ENETUNREACH, "the network cannot be reached"},
		{ENFILE, "the machine has too many open files"},
		{ENOBUFS, "a queue or a table is full"},
		{ENODATA, "there is nothing"},
		{ENODEV, "there is no such device"},
		{ENOENT, "there is no such file"},
		{ENOMEM, "there is no memory"},
		{ENOSPC, "no space left on the device"},
		{ENOSYS, "the system does not offer it"},
		{ENOTCONN, "there is no connection"},
		{ENOTDIR, "a part of the path is no folder"},
		{ENOTSUP, "it is not supported"},
		{EPERM, "it is not permitted"},
		{EPIPE, "the other side is gone"},
		{EPROTO, "the other side breaks the protocol"},
		{ERANGE, "the value is out of range"},
		{EREMOTEIO, "the service refuses"},
		{EROFS, "the file system is read-only"},
		{ESPIPE, "it cannot be read at a place"},
		{ESTALE, "it has ended"},
		{ETIMEDOUT, "there is no answer in time"},
		{ETXTBSY, "it is a program that runs"},
	};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(table); i++)
		if (table[i].error == error || table[i].error == -error)
			return table[i].words;
	return "an error that has no name here";
}
