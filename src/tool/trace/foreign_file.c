/* SPDX-License-Identifier: Apache-2.0
 * foreign_file.c - recognises files that users mistake for traces, by their first bytes.
 *
 * It is asked only after a file failed to decode. Protobuf can begin with any of these bytes, and a
 * trace that is damaged near its beginning must not be called something else, so the kinds are few
 * and their marks long. Rejected: libmagic (a dependency, and it does not say what to do next).
 */
#include "tool/trace/foreign_file.h"

#include "base/macros.h"
#include "base/utf8.h"

#define UI_OPENS_IT "; https://ui.perfetto.dev opens it, and orma does not read it"

#define PROBABLY_CONFIG                                                                            \
	"this is text, probably a config; `orma doctor FILE` examines it, and `orma record -c "    \
	"FILE` records with it"

/* The static binary reads packets only. */
#ifdef ORMA_HAVE_FORMATS
#define READ_OR(words, otherwise) words
#else
#define READ_OR(words, otherwise) otherwise
#endif

#define CHROME_CONVERTS                                                                            \
	"this is JSON; a trace of Chrome is a list of events or has one as traceEvents, "          \
	"and " READ_OR("`orma cat` converts it", "https://ui.perfetto.dev opens it")

enum { UTF8_BYTES_MAX = 4 };

struct kind {
	const char *mark;
	size_t size;
	const char *words;
};
#define KIND(mark, words)                                                                          \
	{                                                                                          \
		(mark), sizeof(mark) - 1, (words)                                                  \
	}

static const struct kind kinds[] = {
	KIND("\x1f\x8b\x08",
	     "this is compressed with gzip; " READ_OR("`orma cat` unpacks it, as does gunzip",
						      "unpack it with gunzip first")),
	KIND("\x28\xb5\x2f\xfd",
	     "this is compressed with zstd; " READ_OR("`orma cat` unpacks it, as does unzstd",
						      "unpack it with unzstd first")),
	KIND("\xfd"
	     "7zXZ\0",
	     "this is compressed with xz; unpack it with unxz first"),
	KIND("BZh", "this is compressed with bzip2; unpack it with bunzip2 first"),
	KIND("PK\x03\x04", "this is a zip archive; " READ_OR(
				   "`orma cat` makes its traces one, and unzip unpacks it",
				   "unpack it with unzip, and name the trace in it")),
	KIND("\x10\x00\x04\x46\x78\x54\x16\x00", "this is a trace of Fuchsia" UI_OPENS_IT),
	KIND("\xc1\x1f\xfc\xc1", "this is a trace in CTF, LTTng's format; " READ_OR(
					 "`orma cat` converts the folder that it is in, and ",
					 "") "babeltrace2 prints it"),
	KIND("PERFILE2", "this is a recording of perf; " READ_OR("`orma summary` reads it, and ",
								 "") "`perf script` prints it"),
	KIND("\x7f"
	     "ELF",
	     "this is a program; name the trace that it wrote"),
};

/* The beginnings of texts, after blanks. */
static const struct kind texts[] = {
	KIND("{", CHROME_CONVERTS),
	KIND("[", CHROME_CONVERTS),
	KIND("<", "this is a web page; if systrace made it, https://ui.perfetto.dev opens it"),
	KIND("packet {", "this is the text of a trace, as `orma dump` prints it; name the trace"),
};

/* The beginnings of configs, after blanks: comments, and the usual first fields. */
static const struct kind configs[] = {
	KIND("#", PROBABLY_CONFIG),
	KIND("buffers", PROBABLY_CONFIG),
	KIND("data_sources", PROBABLY_CONFIG),
	KIND("duration_ms", PROBABLY_CONFIG),
	KIND("unique_session_name", PROBABLY_CONFIG),
	KIND("write_into_file", PROBABLY_CONFIG),
	KIND("", "this is text of no format that orma reads; `man orma-sql` lists them"),
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The last character may be cut. */
static bool is_text(struct orma_str beginning)
{
	while (beginning.size > 0) {
		size_t size =
			is_blank(beginning.data[0]) ? 1 : orma_base_utf8_visible_size(beginning);

		if (size == 0)
			return beginning.size < UTF8_BYTES_MAX && (beginning.data[0] & 0x80);
		beginning.data += size;
		beginning.size -= size;
	}
	return true;
}

static const char *find(const struct kind *list, size_t count, struct orma_str beginning)
{
	for (size_t i = 0; i < count; i++)
		if (beginning.size >= list[i].size &&
		    memcmp(beginning.data, list[i].mark, list[i].size) == 0)
			return list[i].words;
	return NULL;
}

static struct orma_str skip_blanks(struct orma_str text)
{
	while (text.size > 0 && is_blank(text.data[0])) {
		text.data++;
		text.size--;
	}
	return text;
}

const char *orma_tool_foreign_file_words(struct orma_str beginning)
{
	const char *words = find(kinds, ORMA_ARRAY_SIZE(kinds), beginning);

	if (words || !is_text(beginning))
		return words;
	beginning = skip_blanks(beginning);
	/* A line feed alone may also be the first byte of a trace. */
	if (beginning.size == 0)
		return NULL;
	words = find(texts, ORMA_ARRAY_SIZE(texts), beginning);
	return words ? words : find(configs, ORMA_ARRAY_SIZE(configs), beginning);
}

bool orma_tool_may_be_config(struct orma_str beginning)
{
	return beginning.size > 0 && !find(kinds, ORMA_ARRAY_SIZE(kinds), beginning) &&
	       is_text(beginning) && !find(texts, ORMA_ARRAY_SIZE(texts), skip_blanks(beginning));
}
