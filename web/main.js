// main.js - starts the page of `orma view`: gets the token, waits until the trace is read, and adds what needs the engine.
import { byId, h, refill, sleep } from "./dom.js";
import { attachLive } from "./live.js";
import { startPage } from "./page.js";
import { Queries } from "./queries.js";
import { HttpSource, ServerError } from "./source_http.js";
import { attachSql } from "./sql.js";
import { bytesText } from "./time.js";

/** How long the page waits before it asks again whether the trace is read: a part of the time that has passed, and at most this. */
const PROGRESS_MS = 120;
const PROGRESS_PART = 0.1;

/** @param {Source} source */
async function waitForTrace(source) {
	const notice = byId("notice");
	const begun = performance.now();
	for (;;) {
		const progress = await source.progress();
		if (progress.error) throw new Error(progress.error);
		if (!progress.loading) {
			notice.hidden = true;
			return progress;
		}
		const share = progress.all_bytes > 0 ? progress.read_bytes / progress.all_bytes : 0;
		const bar = h("progress", { max: 1, value: share });
		refill(notice, h("p", `Reading the trace: ${bytesText(progress.read_bytes)} of ${bytesText(progress.all_bytes)}`), bar);
		notice.hidden = false;
		const wait = Math.min(PROGRESS_MS, PROGRESS_PART * (performance.now() - begun));
		await sleep(wait);
	}
}

/** Says why there is nothing to see. @param {unknown} error */
function showFailure(error) {
	const isRefused = error instanceof ServerError && (error.status === 403 || error.status === 401);
	const notice = byId("notice");
	refill(
		notice,
		h("h2", isRefused ? "This address cannot be used again" : "The trace cannot be shown"),
		h(
			"p",
			isRefused
				? "An address with a ticket works once. Press Enter in the terminal where orma view runs; it prints a new one."
				: String(error instanceof Error ? error.message : error),
		),
	);
	notice.hidden = false;
}

async function start() {
	document.body.classList.toggle("is-embedded", new URLSearchParams(location.search).get("embed") === "1");
	const source = new HttpSource();
	await source.open();
	source.stay();
	const { live } = await waitForTrace(source);
	const queries = new Queries();
	// A whole trace is asked for both at once; the tracks of a live one are those of the state that the answer names.
	const early = live ? null : source.tracks();
	const meta = await source.meta();
	const one = queries.sourceOf(live ? source.at(meta.generation) : source);
	await startPage(one, meta, await (early ?? one.tracks()), (app, line, drawer) => {
		if (live) attachLive(app, line, queries);
		return [attachSql(app, drawer, queries)];
	});
}

start().catch(showFailure);
