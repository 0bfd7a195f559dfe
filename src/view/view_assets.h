/* SPDX-License-Identifier: Apache-2.0
 * view_assets.h - the files of the page, which tools/web-join joins, packs and writes as C when the binary is built.
 */
#ifndef ORMA_VIEW_VIEW_ASSETS_H
#define ORMA_VIEW_VIEW_ASSETS_H

#include <stdbool.h>
#include <stddef.h>

struct orma_view_asset {
	const char *path; /* "/app.js" */
	const char *type; /* "text/javascript; charset=utf-8" */
	const unsigned char *data;
	size_t size;
	bool is_packed; /* with gzip */
};

/* The page's files, and those of reports. The page has shared.js and app.js; a report has shared.js and report.js. The server answers
 * no request for the latter, because paths of requests begin with a slash. An asset without a path ends the table. */
extern const struct orma_view_asset orma_view_assets[];

/* The SHA-256 of both scripts of a report, one behind the other. */
extern const unsigned char orma_view_report_hash[32];
/* The script that unpacks them, if they are packed: they are base64 in elements whose ids begin with orma-script. */
extern const char orma_view_loader[];
extern const unsigned char orma_view_loader_hash[32];

#endif
