// main.js - starts the page of `orma view`: gets the token, asks for the trace, and adds what needs the engine. The server answers
// when it has read the trace. If that takes longer than a blink, the page shows how far it is. If less than half is read when the page
// is there, it does so at once: the rest takes as long as all that somebody has waited for so far.
import { byId, errorText, h, refill, sleep } from "./dom.js";
import { attachLive } from "./live.js";
import { startPage } from "./page.js";
import { Queries } from "./queries.js";
import { HttpSource, ServerError } from "./source_http.js";
import { attachSql } from "./sql.js";
import { bytesText } from "./time.js";

/** How often the page asks how much of the trace is read. */
const PROGRESS_MS = 100;

/** Shows how much of the trace is read, until what was asked about it is answered. @param {HttpSource} source @param {Promise<any>} answer */
async function showProgress(source, answer) {
	const notice = byId("notice");
	let isOver = false;
	const end = () => {
		isOver = notice.hidden = true;
	};
	answer.then(end, end);
	for (let asked = 0; !isOver; await sleep(PROGRESS_MS)) {
		/** @type {Progress} */
		const { read_bytes, all_bytes } = await source.ask("progress");
		if (isOver) break;
		refill(
			notice,
			h("p", `Reading the trace: ${bytesText(read_bytes)} of ${bytesText(all_bytes)}`),
			h("progress", { max: 1, value: all_bytes > 0 ? read_bytes / all_bytes : 0 }),
		);
		notice.hidden = asked++ === 0 && read_bytes >= all_bytes / 2;
	}
}

/** Says why there is nothing to see. A new address that is opened in this tab keeps what the old one shows. @param {unknown} error */
function showFailure(error) {
	const isRefused = error instanceof ServerError && [401, 403].includes(error.status);
	const notice = byId("notice");
	refill(
		notice,
		h("h2", isRefused ? "This tab needs a new address" : "The trace cannot be shown"),
		isRefused
			? "An address works once. Press Enter in the terminal where orma view runs, and open the one it prints in this tab. What a link shows is kept."
			: errorText(error),
	);
	notice.hidden = false;
	const link = location.hash.slice(1);
	addEventListener("hashchange", () => {
		history.replaceState(null, "", `${location.hash}&${link}`);
		location.reload();
	});
}

async function start() {
	document.body.classList.toggle("is-embedded", new URLSearchParams(location.search).get("embed") === "1");
	const source = new HttpSource();
	await source.open();
	source.stay();
	const queries = new Queries();
	/** @type {Promise<[Meta, TrackTree]>} */
	const trace = Promise.all([source.ask("meta"), source.ask("tracks")]);
	showProgress(source, trace).catch(() => {});
	const [meta, tree] = await trace;
	const one = queries.sourceOf(meta.live ? source.at(meta.generation) : source);
	// A live trace may have grown between the two answers.
	const isSame = tree.generation === meta.generation;
	await startPage(one, meta, isSame ? tree : await one.ask("tracks"), (app, line, drawer) => {
		if (meta.live) attachLive(app, line, queries);
		return [attachSql(app, drawer, queries)];
	});
}

start().catch(showFailure);
