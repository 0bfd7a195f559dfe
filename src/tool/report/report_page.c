/* SPDX-License-Identifier: Apache-2.0
 * report_page.c - takes the page apart that the binary has for `orma view`, and puts it into a report.
 *
 * A report has the body of that page as a template, which a browser does not show, and its style sheet switched off: without
 * JavaScript only the tables are there. The script is packed, which saves 58 KB of 112; a small one unpacks it. The policy allows
 * these two, by their hashes, so that no text of a trace can become one. Rejected: a nonce, which markup in the file could repeat.
 */
#include "tool/report/report_page.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "codec/compression.h"
#include "trace/base64.h"
#include "view/view_assets.h"

enum { ASSET_BYTES_MAX = 4 << 20 };

int orma_report_page_append_policy(struct orma_buf *html)
{
	const struct orma_str hash = {(const char *)orma_view_report_hash,
				      sizeof(orma_view_report_hash)};
	const struct orma_str loader = {(const char *)orma_view_loader_hash,
					sizeof(orma_view_loader_hash)};
	int r = orma_base_buf_append_str(
		html, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		      "script-src 'sha256-");
	if (r == 0)
		r = orma_base64_append(html, hash);
	if (r == 0 && orma_view_report.is_packed)
		r = orma_base_buf_append_str(html, "' 'sha256-");
	if (r == 0 && orma_view_report.is_packed)
		r = orma_base64_append(html, loader);
	return r ? r
		 : orma_base_buf_append_str(html, "'; style-src 'unsafe-inline'; base-uri 'none'; "
						  "form-action 'none'\">\n");
}

/* Unpacks a file of the page. The binary has it, so its content is known to be right. */
static int read_asset(const struct orma_view_asset *asset, struct orma_buf *ret)
{
	return asset->is_packed ? orma_tool_gunzip(asset->data, asset->size, ASSET_BYTES_MAX, ret)
				: orma_base_buf_append(ret, asset->data, asset->size);
}

static int read_file(const char *path, struct orma_buf *ret)
{
	const struct orma_view_asset *asset = orma_view_assets;
	while (asset->path && strcmp(asset->path, path) != 0)
		asset++;
	return asset->path ? read_asset(asset, ret) : -ENOENT;
}

/* Appends what is between the tags of the document's body. */
static int append_body(struct orma_buf *html)
{
	static const char begin[] = "<body>", end[] = "</body>";
	ORMA_AUTO(orma_base_buf_done) struct orma_buf document = {0};
	int r = read_file("/", &document);
	if (r < 0)
		return r;
	const char *text = (const char *)document.data;
	const char *from = memmem(text, document.size, begin, strlen(begin));
	const char *to = memmem(text, document.size, end, strlen(end));
	if (!from || !to || to < from)
		return -ENOENT;
	from += strlen(begin);
	return orma_base_buf_append(html, from, (size_t)(to - from));
}

static int append_file(struct orma_buf *html, const char *path)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	int r = read_file(path, &text);
	return r ? r : orma_base_buf_append(html, text.data, text.size);
}

int orma_report_page_append_script(struct orma_buf *html)
{
	static const char packed[] =
		"<script type=\"application/octet-stream\" id=\"orma-script\">",
			  module[] = "<script type=\"module\">", end[] = "</script>\n";
	const struct orma_str script = {(const char *)orma_view_report.data, orma_view_report.size};
	int r = 0;
	if (orma_view_report.is_packed) {
		r = orma_base_buf_append_str(html, packed);
		if (r == 0)
			r = orma_base64_append(html, script);
		if (r == 0)
			r = orma_base_buf_append_str(html, end);
	}
	if (r == 0)
		r = orma_base_buf_append_str(html, module);
	if (r == 0)
		r = orma_view_report.is_packed
			    ? orma_base_buf_append_str(html, orma_view_loader)
			    : orma_base_buf_append(html, script.data, script.size);
	return r ? r : orma_base_buf_append_str(html, end);
}

int orma_report_page_append(struct orma_buf *html)
{
	int r = orma_base_buf_append_str(html, "<style id=\"view-style\" media=\"not all\">\n");
	if (r == 0)
		r = append_file(html, "/style.css");
	if (r == 0)
		r = orma_base_buf_append_str(html, "</style>\n<template id=\"orma-page\">");
	if (r == 0)
		r = append_body(html);
	if (r == 0)
		r = orma_base_buf_append_str(html, "</template>\n");
	return r ? r : orma_report_page_append_script(html);
}
