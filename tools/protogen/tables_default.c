/* SPDX-License-Identifier: Apache-2.0
 * tables_default.c - the default of a field: from the literal in the .proto file to its bits.
 */
#include <errno.h>

#include "tables.h"

static int fail(struct orma_tool_proto_file *file, const struct orma_tool_proto_field *field)
{
	return orma_proto_lexer_fail_at(&file->lexer, field->default_value,
					"this default is not a value of the field's type");
}

/* The largest absolute value of an integer of this kind. */
static uint64_t integer_max(enum orma_proto_kind kind, bool is_negative)
{
	switch (kind) {
	case ORMA_PROTO_KIND_UINT32:
	case ORMA_PROTO_KIND_FIXED32:
		return is_negative ? 0 : UINT32_MAX;
	case ORMA_PROTO_KIND_UINT64:
	case ORMA_PROTO_KIND_FIXED64:
		return is_negative ? 0 : UINT64_MAX;
	case ORMA_PROTO_KIND_INT64:
	case ORMA_PROTO_KIND_SINT64:
	case ORMA_PROTO_KIND_SFIXED64:
		return (uint64_t)INT64_MAX + is_negative;
	default:
		return (uint64_t)INT32_MAX + is_negative;
	}
}

static int integer_bits(struct orma_tool_proto_file *file,
			const struct orma_tool_proto_field *field, uint64_t *ret)
{
	bool is_negative = field->is_default_negative;
	uint64_t value;

	if (!orma_proto_text_to_u64(field->default_value, &value) ||
	    value > integer_max(field->kind, is_negative))
		return fail(file, field);
	*ret = is_negative ? 0 - value : value;
	return 0;
}

static int real_bits(struct orma_tool_proto_file *file, const struct orma_tool_proto_field *field,
		     uint64_t *ret)
{
	uint32_t narrow_bits;
	double wide;
	float narrow;

	if (!orma_proto_text_to_double(field->default_value, &wide))
		return fail(file, field);
	if (field->is_default_negative)
		wide = -wide;
	if (field->kind == ORMA_PROTO_KIND_DOUBLE) {
		memcpy(ret, &wide, sizeof(*ret));
		return 0;
	}
	narrow = (float)wide;
	memcpy(&narrow_bits, &narrow, sizeof(narrow_bits));
	*ret = narrow_bits;
	return 0;
}

static int enum_bits(struct orma_tool_proto_file *file, const struct orma_tool_proto_field *field,
		     uint64_t *ret)
{
	for (const struct orma_tool_proto_value *value = field->type->values; value;
	     value = value->next) {
		if (!field->is_default_negative &&
		    orma_base_str_is_equal(value->name, field->default_value)) {
			*ret = (uint32_t)value->number;
			return 0;
		}
	}
	return fail(file, field);
}

static int bool_bits(struct orma_tool_proto_file *file, const struct orma_tool_proto_field *field,
		     uint64_t *ret)
{
	bool is_true = orma_base_str_is(field->default_value, "true");

	if (field->is_default_negative ||
	    (!is_true && !orma_base_str_is(field->default_value, "false")))
		return fail(file, field);
	*ret = is_true;
	return 0;
}

int pg_default_bits(struct orma_tool_proto_file *file, const struct orma_tool_proto_field *field,
		    uint64_t *ret)
{
	if (field->kind >= ORMA_PROTO_KIND_STRING || field->is_repeated)
		return orma_proto_lexer_fail_at(&file->lexer, field->default_value,
						"a default is supported for single numbers, enums "
						"and bools only");
	switch (field->kind) {
	case ORMA_PROTO_KIND_BOOL:
		return bool_bits(file, field, ret);
	case ORMA_PROTO_KIND_FLOAT:
	case ORMA_PROTO_KIND_DOUBLE:
		return real_bits(file, field, ret);
	case ORMA_PROTO_KIND_ENUM:
		return enum_bits(file, field, ret);
	default:
		return integer_bits(file, field, ret);
	}
}
