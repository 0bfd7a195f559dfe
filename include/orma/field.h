/* SPDX-License-Identifier: Apache-2.0
 * orma/field.h - reading the fields of a serialized message: a data source's config, a packet.
 *
 *	static void on_setup(void *ctx, const struct orma_instance *instance, void **ret)
 *	{
 *		struct orma_field field;
 *
 *		if (orma_field_find(instance->config, instance->config_size, 1000, &field) > 0)
 *			take(field.data, field.size);
 *
 * or, for all fields in order:
 *
 *	while (orma_field_next(&data, &size, &field) > 0)
 *
 * Nested messages are fields of type BYTES; read their bytes in the same way. Packed numbers are
 * fields of type BYTES too, whose bytes are the values one after the other. The functions accept
 * bytes of any origin and never read outside of them.
 *
 * Ownership: nothing is copied; a field points into the message.
 * Threads:   plain data; the functions are MT-safe.
 */
#ifndef ORMA_FIELD_H
#define ORMA_FIELD_H

#include <orma/api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The encoding of a field; several types of .proto files share one. */
enum orma_field_type {
	ORMA_FIELD_VARINT = 0,  /* int32 to uint64, sint32, sint64, bool, enum: `value` */
	ORMA_FIELD_FIXED64 = 1, /* fixed64, sfixed64, double: `value` */
	ORMA_FIELD_BYTES = 2,   /* string, bytes, messages, packed numbers: `data` and `size` */
	ORMA_FIELD_FIXED32 = 5, /* fixed32, sfixed32, float: `value` */
};

struct orma_field {
	uint32_t id;
	uint32_t type; /* enum orma_field_type */
	/* Cast to int64_t for signed types, to int32_t for sfixed32; see orma_field_sint(). */
	uint64_t value;
	const void *data; /* not NUL-terminated */
	size_t size;
};

/**
 * orma_field_next() - read the next field of a message and advance.
 * @data: advanced past the field.
 * @size: reduced to the bytes that are left.
 * @ret:  set when 1 is returned.
 *
 * Returns 1, 0 (end of the message), -EBADMSG (the rest does not decode), -EINVAL (NULL).
 */
ORMA_API int orma_field_next(const void **data, size_t *size, struct orma_field *ret);
/**
 * orma_field_find() - find a field by number. If there are several, the last one counts.
 *
 * Returns 1, 0 (not found), -EBADMSG (the message does not decode as a whole), -EINVAL (NULL).
 */
ORMA_API int orma_field_find(const void *data, size_t size, uint32_t id, struct orma_field *ret);
/** orma_field_sint() - the value of a sint32 or sint64. */
ORMA_API int64_t orma_field_sint(const struct orma_field *field);
/** orma_field_double() - the value of a double or a float, as its type says; 0 of other types. Both
 * return 0 for NULL. */
ORMA_API double orma_field_double(const struct orma_field *field);

#ifdef __cplusplus
}
#endif
#endif
