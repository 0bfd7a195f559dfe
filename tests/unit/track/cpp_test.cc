/* SPDX-License-Identifier: Apache-2.0
 * cpp_test.cc - events from C++, which cpp_test.c reads back. Compiled with more warnings than the
 * library, as a program might be.
 */
#include <orma/orma.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "unit/track/cpp_test.h"

ORMA_CATEGORY_DEFINE(cpp, "cpp", "Events of C++");

namespace
{

enum class Color { red = -1, green = 7 };
enum class Size : std::uint64_t { all = UINT64_MAX };
enum class Answer : bool { no, yes };
enum plain { zero, one };

/* Has no NUL at its end: more follows in the same array. */
constexpr char letters[] = "abcdefghijkl";
constexpr std::string_view middle = std::string_view(letters).substr(2, 3);

} // namespace

void cpp_emit_views(void)
{
	const std::string owned = "owned";

	ORMA_INSTANT(cpp, "views", "view", middle, "empty", std::string_view(), "string", owned,
		     "made", owned + "!", middle, 5, "list", ORMA_ARRAY(middle, owned), "long",
		     std::string_view(cpp_long_text, CPP_LONG_BYTES));
	ORMA_STATE(cpp, "gear", middle);
}

void cpp_emit_enums(void)
{
	ORMA_INSTANT(cpp, "enums", "red", Color::red, "all", Size::all, "yes", Answer::yes, "plain",
		     one, "list", ORMA_ARRAY(Color::green));
	ORMA_COUNTER(cpp, "color", Color::green);
}

void cpp_emit_names(void)
{
	const std::string name(middle);

	ORMA_BEGIN(cpp, ORMA_DYNAMIC(name), ORMA_CORRELATION_TEXT(name + "2"));
	ORMA_END(cpp);
}

/* The bodies of the if are declarations of scopes. */
void cpp_emit_if(bool is_first)
{
	if (is_first)
		ORMA_SCOPE(cpp, "first");
	else
		ORMA_SCOPE(cpp, "second", "view", middle);
	ORMA_INSTANT(cpp, "behind");
}

/* The else belongs to the if. */
bool cpp_loops_else(bool enters)
{
	bool is_else = false;

	if (enters)
		ORMA_FOR_EACH_INSTANCE(nullptr, idx)
	ORMA_COUNTER(cpp, "instance", idx);
	else is_else = true;
	return is_else;
}
