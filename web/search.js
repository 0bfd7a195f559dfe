// search.js - the search over all names: boxes that do not match are dimmed at once, the hits come from the server, and Enter
// goes from one to the next.
import { announce, byId, onClick, sleep } from "./dom.js";
import { matcherOf } from "./model.js";
import { grouped } from "./time.js";

const WAIT_MS = 180;
const MOST_HITS = 1000;

/** Searches as if somebody had typed the text. @param {string} text */
export function searchFor(text) {
	const input = /** @type {HTMLInputElement} */ (byId("search"));
	input.value = text;
	input.dispatchEvent(new Event("input"));
	input.focus();
}

/** @param {App} app @param {Timeline} line */
export function attachSearch(app, line) {
	const input = /** @type {HTMLInputElement} */ (byId("search"));
	const output = byId("hits");
	/** @type {AbortController | null} */
	let abort = null;
	const show = () => {
		const place = app.hitIndex < 0 ? "" : `${grouped(app.hitIndex + 1)} of `;
		output.textContent = app.hits && place + grouped(app.hits.total || "none");
	};
	const ask = async () => {
		abort?.abort();
		// With a colon, it is SQL.
		const text = input.value.replace(/^:.*/s, "").trim();
		app.light(text);
		app.hitIndex = -1;
		app.hits = null;
		if (matcherOf(text)) {
			abort = new AbortController();
			const { signal } = abort;
			const hits = await app.tryAsk("search", { text, after: 0, limit: MOST_HITS }, signal);
			if (signal.aborted) return;
			app.hits = hits;
			// Names do not tell these.
			if (hits?.in === "arguments") app.light("");
			if (hits) announce(`${hits.total} hits`);
		}
		show();
		app.emit("hits");
	};
	const go = (/** @type {number} */ by) => {
		const hits = app.hits?.hits ?? [];
		if (hits.length === 0) return;
		// The first step goes to the first hit that is on screen or later.
		if (app.hitIndex < 0) {
			const from = hits.findIndex(({ start }) => start >= app.camera.target.start);
			app.hitIndex = by > 0 ? Math.max(0, from) : (from <= 0 ? hits.length : from) - 1;
		} else app.hitIndex = (app.hitIndex + by + hits.length) % hits.length;
		const hit = hits[app.hitIndex];
		app.reveal({ ...hit });
		line.scrollTo(hit.lane);
		show();
	};
	/** Pins the track of the hit that is shown. */
	const pinHit = () => {
		if (app.hitIndex < 0) go(1);
		const row = app.model.rowOfLane(app.hits?.hits[app.hitIndex]?.lane ?? -1);
		if (row && !app.model.pins.includes(row.node.id)) app.pin(row.node.id);
	};
	let typed = 0;
	const askLater = async (/** @type {number} */ mine) => {
		await sleep(WAIT_MS);
		if (mine === typed) await ask();
	};
	input.oninput = () => {
		app.during(askLater(++typed));
		if (input.value !== ">") return;
		searchFor("");
		input.blur();
		app.emit("help");
	};
	input.onkeydown = (event) => {
		const isPinned = event.ctrlKey || event.metaKey;
		if (event.key === "Enter" && input.value[0] === ":") app.askSql(input.value.slice(1), isPinned);
		else if (event.key === "Enter" && isPinned) pinHit();
		else if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
		if (event.key === "Escape") {
			input.value = "";
			ask();
		}
	};
	onClick("hit-next", () => go(1));
	onClick("hit-previous", () => go(-1));
	const filter = /** @type {HTMLInputElement} */ (byId("filter"));
	filter.oninput = () => {
		app.model.setFilter(filter.value);
		app.emit("rows");
	};
	app.on("rows", () => {
		if (filter.value !== app.model.filter && document.activeElement !== filter) filter.value = app.model.filter;
	});
}
