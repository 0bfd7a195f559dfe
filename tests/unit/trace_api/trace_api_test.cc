/* SPDX-License-Identifier: Apache-2.0
 * trace_api_test.cc - the public header in C++17, with all warnings.
 */
#include <memory>
#include <orma-trace/trace.h>

extern "C" int trace_api_in_cxx(const char *path);

namespace
{
struct Close {
	void operator()(orma_trace *trace) const
	{
		orma_trace_close(trace);
	}
	void operator()(orma_query *query) const
	{
		orma_query_free(query);
	}
};
} // namespace

/* Returns the time of the only slice, or a negative value. */
extern "C" int trace_api_in_cxx(const char *path)
{
	orma_trace_open_options options = {};
	orma_trace_error error = {};
	orma_trace *opened = nullptr;
	orma_query *begun = nullptr;
	options.struct_size = sizeof(options);
	error.struct_size = sizeof(error);
	if (orma_trace_open(path, &options, &opened, &error) < 0)
		return error.code;
	std::unique_ptr<orma_trace, Close> trace(opened);
	if (orma_query_new(trace.get(), "select ts from slice", 20, &begun) < 0)
		return -1;
	std::unique_ptr<orma_query, Close> query(begun);
	if (orma_query_next(query.get(), &error) != 1 ||
	    orma_query_step(query.get(), &error) != 1 ||
	    orma_query_type(query.get(), 0) != ORMA_QUERY_INT)
		return -1;
	return static_cast<int>(orma_query_int(query.get(), 0));
}
