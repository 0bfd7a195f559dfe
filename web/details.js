// details.js - what is known of the selected event: its numbers, its rank among those of its name, where its time went, what
// is around and in it, its flows and arguments.
import { colourOfState, stateText } from "./colour.js";
import { copyText, errorText, h, refill } from "./dom.js";
import { drawHistogram } from "./histogram.js";
import { searchFor } from "./search.js";
import { queryOf } from "./table.js";
import { durationText, exactText, grouped, percentText, valueText } from "./time.js";

/** @typedef {(name: string) => void} Find opens the list of a name */
/** @typedef {import("./dom.js").Child} Child */

/** What the clocks of an answer are called. @type {Record<string, string>} */
const CLOCKS = { trace: "Trace clock", realtime: "Real time", utc: "UTC" };

/** @param {App} app @param {HTMLElement} body @param {Find} find */
export async function showDetails(app, body, find) {
	const { selection } = app;
	if (!selection)
		return refill(body, h("p.hint", "Click a slice, or drag over the tracks to select an area. ? lists the keys."));
	try {
		/** @type {Detail} */
		const detail = await app.ask("detail", { table: selection.table, id: selection.id });
		if (app.selection !== selection) return;
		selection.name ||= detail.name ?? "";
		refill(body, viewOf(app, selection, detail, find));
	} catch (error) {
		if (app.selection === selection) refill(body, errorText(error));
	}
}

/** @param {App} app @param {Chosen} selection @param {Detail} detail @param {Find} find */
function viewOf(app, selection, detail, find) {
	const name = detail.name || selection.name || "(no name)";
	const button = (/** @type {string} */ text, /** @type {string} */ title, /** @type {() => void} */ onclick) =>
		h("button", { onclick, title }, text);
	const { queries } = detail;
	/** @type {[string, Child, string?][]} */
	const parts = [
		["Slice", factsOf(app, detail, selection)],
		["Rank", rankOf(app, detail, () => find(name))],
		["Where the time went", timeOf(detail), queries?.time],
		["Measured", measuredOf(app)],
		["Arguments", detail.args?.length ? argList(app, detail.args, detail) : null],
		["Parents", parentsOf(app, detail), queries?.parents],
		["Children by total", childrenOf(detail, find), queries?.children],
		["Flows", flowsOf(app, detail), queries?.flows],
		["Stack", detail.stack?.length ? h("ol.stack", ...detail.stack.map((frame) => h("li", frame))) : null],
		["SQL", detail.sql && h("pre.query", detail.sql)],
	];
	return h(
		"div.details",
		h(
			"div.detail-title",
			h("h2", name),
			button("Copy", "Copy the name", () => copyText(name)),
			button("Find all", "All slices of this name", () => find(name)),
			button("Zoom to it", "Show it in the middle (F)", () => app.camera.fit(selection.start, selection.end)),
		),
		h("div.cards", ...parts.map(([title, content, sql]) => content && section(title, content, ...queryOf(sql)))),
	);
}

/** @param {string} title @param {...Child} children */
export function section(title, ...children) {
	return h("section.card", h("h3", title), ...children);
}

/** A list of names and values; those without a value are left out. @param {[string, Child, string?][]} pairs @param {string} [className] */
export function factList(pairs, className = "") {
	const shown = pairs.filter(([, value]) => value || value === 0);
	return h(`dl.${className}`, ...shown.flatMap(([key, value, title]) => [h("dt", key), h("dd", { title }, value)]));
}

/** What a text says of a value, if there is one. @template T @param {T | null | undefined} value @param {(value: T) => string} text */
function given(value, text) {
	return value == null ? null : text(value);
}

/** @param {App} app @param {Detail} detail @param {Chosen} selection */
function factsOf(app, detail, selection) {
	const node = app.model.byLane.get(selection.lane);
	const lost = node ? app.gaps.lostIn({ node }, detail.start, detail.end) : 0;
	const counterText = (/** @type {number} */ value) => valueText(value, node?.unit);
	return factList([
		["Duration", detail.dur === null ? "not finished" : durationText(detail.dur), exactText(detail.dur ?? 0)],
		["Self", given(detail.self, durationText), exactText(detail.self ?? 0)],
		["CPU time", given(detail.thread_dur, durationText)],
		["Of its parent", given(detail.share_of_parent, percentText)],
		["Data lost in it", lost > 0 && h("span.error", durationText(lost))],
		["Value", given(detail.value, counterText)],
		["Change", given(detail.delta, counterText)],
		["Start", app.clock.text(detail.start)],
		...Object.entries(detail.abs ?? {}).map(
			([clock, text]) =>
				/** @type {[string, string]} */ ([CLOCKS[clock] ?? clock, /^\d+$/.test(text) ? `${grouped(text)} ns` : text]),
		),
		["Category", detail.category],
		["CPU", detail.cpu],
		["Priority", detail.priority],
		["State after", given(detail.end_state, stateText)],
		["Blocked in", detail.blocked_function],
		["Woken by", detail.waker],
		["Thread", detail.thread],
		["Process", detail.process],
		["Track", node && app.model.titleOf(node)],
		["Source", detail.source],
		// A report does not have the numbers of rows.
		["Row", detail.sql && `${detail.table} ${detail.id}`],
	]);
}

/** @param {App} app @param {Detail} detail @param {() => void} onclick */
function rankOf(app, { rank, dur }, onclick) {
	if (!rank) return null;
	const canvas = h("canvas.histogram", { width: 480, height: 112, onclick, title: "Show all of this name" });
	drawHistogram(app.theme, canvas, rank.histogram, dur ?? undefined);
	const share = rank.of > 1 ? (rank.of - rank.place) / (rank.of - 1) : 1;
	const place = rank.place === 1 ? "The longest" : `No. ${grouped(rank.place)} by length`;
	return h(
		"div",
		h("p", `${place} of ${grouped(rank.of)} `, h("small", `(p${(100 * share).toFixed(1)})`)),
		canvas,
		factList([
			["Median", durationText(rank.p50)],
			["p99", durationText(rank.p99)],
		]),
	);
}

/** @param {Detail} detail */
function timeOf({ time }) {
	if (!time) return null;
	const parts = [
		{ state: "Running", ns: time.running, waker: null },
		{ state: "R", ns: time.runnable, waker: null },
		...time.blocked,
	].filter(({ ns }) => ns > 0);
	const total = parts.reduce((sum, { ns }) => sum + ns, 0) || 1;
	const bar = parts.map(({ ns, state }) =>
		h(`i.state-${colourOfState(state)}`, { title: stateText(state), style: `flex-grow: ${ns / total}` }),
	);
	const rows = parts.map(({ ns, state, waker }) => {
		const woken = waker && h("small", ` woken by ${waker}`);
		return timeRow([h(`i.swatch.state-${colourOfState(state)}`), stateText(state), woken], ns, percentText(ns / total));
	});
	return h("div", h("div.bar", { "aria-hidden": "true" }, ...bar), h("table", ...rows));
}

/** @param {App} app */
function measuredOf({ selection, measured }) {
	if (!selection || !measured) return null;
	const [first, second] = [selection, measured].sort((a, b) => a.start - b.start);
	const gap = second.start - first.end;
	return factList([
		["Other slice", measured.name],
		["Gap", durationText(gap), exactText(gap)],
		["Start to start", durationText(second.start - first.start)],
		["End to end", durationText(second.end - first.end)],
	]);
}

/** @param {App} app @param {ArgNode[]} nodes @param {Detail} detail @returns {HTMLElement} */
function argList(app, nodes, detail) {
	const items = nodes.map(({ key, value, children }) => {
		const text = String(value);
		const isColour = value !== undefined && detail.table === "slice" && key[0] !== "[";
		const colour = { title: "Colour slices by this argument", onclick: () => app.colourBy(`.${key}`) };
		// A report has no search for arguments.
		const find = () => link(text, () => searchFor(`${key}=${text}`), "Find slices with this argument");
		return h(
			"li",
			isColour ? h("button.link.key", colour, key) : h("span.key", key),
			value !== undefined && (detail.sql ? find() : h("span.value", text)),
			children?.length ? argList(app, children, detail) : null,
		);
	});
	return h("ul.args", ...items);
}

/** @param {App} app @param {Detail} detail */
function parentsOf(app, { parents = [] }) {
	return rowTable(parents.map((slice) => timeRow([sliceLink(app, slice)], slice.end - slice.start)));
}

/** @param {Detail} detail @param {Find} find */
function childrenOf({ children = [] }, find) {
	return rowTable(
		children.map(({ name, count, total }) =>
			timeRow([link(name, () => find(name)), count > 1 && h("small", ` × ${grouped(count)}`)], total),
		),
	);
}

/** @param {App} app @param {Detail} detail */
function flowsOf(app, { flows }) {
	const rowsOf = (/** @type {DetailFlow[] | undefined} */ list = [], /** @type {string} */ arrow) =>
		list.map((slice) =>
			timeRow([arrow, sliceLink(app, slice), slice.thread && h("small", ` ${slice.thread}`)], slice.latency),
		);
	return rowTable([...rowsOf(flows?.in, "← "), ...rowsOf(flows?.out, "→ ")]);
}

/** @param {HTMLElement[]} rows */
function rowTable(rows) {
	return rows.length > 0 && h("table", ...rows);
}

/** A row of a table: what, how long, and which share. @param {Child[]} what @param {number} ns @param {string} [share] */
function timeRow(what, ns, share) {
	return h("tr", h("td", ...what), h("td.number", durationText(ns)), share && h("td.number.muted", share));
}

/** @param {string | null | undefined} text @param {() => void} onclick @param {string} [title] */
function link(text, onclick, title) {
	return h("button.link", { onclick, title }, text || "(no name)");
}

/** @param {App} app @param {FlowEnd} slice */
function sliceLink(app, { id, name }) {
	return link(name, () => app.revealId("slice", id));
}
