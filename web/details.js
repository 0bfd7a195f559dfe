// details.js - what is known of the selected event: its numbers, its rank among those of its name, where its time went, what
// is around and in it, its flows and arguments.
import { copyText, h, refill } from "./dom.js";
import { drawHistogram } from "./histogram.js";
import { colourOfState, stateText } from "./colour.js";
import { durationText, exactText, grouped, valueText } from "./time.js";

/** @typedef {(string | number | Node | null | undefined | false)[]} Content */

/** What the clocks of an answer are called. @type {Record<string, string>} */
const CLOCKS = { trace: "Trace clock", realtime: "Real time", utc: "UTC" };

/** @param {App} app @param {HTMLElement} body @param {(name: string) => void} find opens the list of a name */
export async function showDetails(app, body, find) {
	const { selection } = app;
	if (!selection)
		return refill(body, h("p.hint", "Click a slice, or drag over the tracks to select an area. ? lists the keys."));
	try {
		/** @type {Detail} */
		const detail = await app.ask("detail", { table: selection.table, id: selection.id });
		if (app.selection !== selection) return;
		if (!selection.name) selection.name = detail.name ?? "";
		refill(body, viewOf(app, selection, detail, find));
	} catch (error) {
		if (app.selection === selection) refill(body, h("p.error", String(/** @type {Error} */ (error).message)));
	}
}

/** @param {App} app @param {Chosen} selection @param {Detail} detail @param {(name: string) => void} find */
function viewOf(app, selection, detail, find) {
	const name = detail.name || selection.name || "(no name)";
	const title = h(
		"div.detail-title",
		h("h2", name),
		h("button", { onclick: () => copyText(name), title: "Copy the name" }, "Copy"),
		h("button", { onclick: () => find(name), title: "All slices of this name" }, "Find all"),
		h("button", { onclick: () => app.camera.fit(selection.start, selection.end), "data-action": "fit" }, "Zoom to it"),
	);
	const facts = section("Slice", factsOf(app, detail, selection));
	return h(
		"div.details",
		title,
		h(
			"div.cards",
			facts,
			detail.rank ? section("Rank", rankOf(detail, name, find)) : null,
			detail.time ? section("Where the time went", timeOf(detail)) : null,
			measuredOf(app),
			argsOf(detail),
			treeOf(app, detail, find),
			flowsOf(app, detail),
			detail.stack?.length ? section("Stack", h("ol.stack", ...detail.stack.map((frame) => h("li", frame)))) : null,
			detail.sql ? section("SQL", h("pre.query", detail.sql)) : null,
		),
	);
}

/** @param {string} title @param {...(Node | null | false)} children */
export function section(title, ...children) {
	return h("section.card", h("h3", title), ...children);
}

/** A list of names and values; those without a value are left out. @param {[string, string | number | Node | null | undefined, string?][]} pairs @param {string} [className] */
export function factList(pairs, className = "") {
	const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
	return h(`dl.${className}`, ...shown.flatMap(([key, value, title]) => [h("dt", key), h("dd", { title }, value)]));
}

/** @param {App} app @param {Detail} detail @param {Chosen} selection */
function factsOf(app, detail, selection) {
	const node = app.model.byLane.get(selection.lane);
	const share = detail.share_of_parent;
	const clocks = Object.entries(detail.abs ?? {}).map(
		([clock, text]) => /** @type {[string, string]} */ ([CLOCKS[clock] ?? clock, text]),
	);
	return factList([
		["Duration", detail.dur === null ? "not finished" : durationText(detail.dur), exactText(detail.dur ?? 0)],
		["Self", detail.self == null ? null : durationText(detail.self), exactText(detail.self ?? 0)],
		["CPU time", detail.thread_dur == null ? null : durationText(detail.thread_dur)],
		["Of its parent", share == null ? null : `${(100 * share).toFixed(1)} %`],
		["Value", detail.value == null ? null : valueText(detail.value, node?.unit)],
		["Change", detail.delta == null ? null : valueText(detail.delta, node?.unit)],
		["Start", app.clock.text(detail.start)],
		...clocks,
		["Category", detail.category],
		["CPU", detail.cpu],
		["Priority", detail.priority],
		["State after", detail.end_state == null ? null : stateText(detail.end_state)],
		["Blocked in", detail.blocked_function],
		["Woken by", detail.waker],
		["Thread", detail.thread],
		["Process", detail.process],
		["Track", node ? app.model.titleOf(node) : null],
		["Source", detail.source],
		// A report does not have the numbers of rows.
		["Row", detail.sql ? `${detail.table} ${detail.id}` : null],
	]);
}

/** @param {Detail} detail @param {string} name @param {(name: string) => void} find */
function rankOf(detail, name, find) {
	const { rank } = detail;
	if (!rank) return null;
	const canvas = h("canvas.histogram", {
		width: 480,
		height: 112,
		onclick: () => find(name),
		title: "Show all of this name",
	});
	drawHistogram(canvas, rank.histogram, detail.dur ?? undefined);
	const percent = rank.of > 1 ? (100 * (rank.of - rank.place)) / (rank.of - 1) : 100;
	return h(
		"div",
		h(
			"p",
			rank.place === 1 ? "The longest" : `No. ${grouped(rank.place)} by length`,
			` of ${grouped(rank.of)} `,
			h("span.muted", `(p${percent.toFixed(1)})`),
		),
		canvas,
		factList([
			["Median", durationText(rank.p50)],
			["p99", durationText(rank.p99)],
		]),
	);
}

/** @param {Detail} detail */
function timeOf(detail) {
	const { time } = detail;
	if (!time) return null;
	const parts = [
		{ text: "running", ns: time.running, state: "Running", waker: null },
		{ text: "runnable", ns: time.runnable, state: "R", waker: null },
		...time.blocked.map(({ state, ns, waker }) => ({ text: stateText(state), ns, state, waker })),
	].filter(({ ns }) => ns > 0);
	const total = parts.reduce((sum, { ns }) => sum + ns, 0) || 1;
	const bar = h(
		"div.bar",
		{ "aria-hidden": "true" },
		...parts.map(({ ns, state, text }) => {
			const part = h(`i.state-${colourOfState(state)}`, { title: text });
			part.style.flexGrow = String(ns / total);
			return part;
		}),
	);
	const rows = parts.map(({ text, ns, state, waker }) => {
		const swatch = h(`i.swatch.state-${colourOfState(state)}`);
		const woken = waker ? h("small", ` woken by ${waker}`) : null;
		return timeRow([swatch, text, woken], ns, `${((100 * ns) / total).toFixed(1)} %`);
	});
	return h("div", bar, h("table", ...rows));
}

/** @param {App} app */
function measuredOf(app) {
	const [a, b] = [app.selection, app.measured];
	if (!a || !b) return null;
	const [first, second] = a.start <= b.start ? [a, b] : [b, a];
	return section(
		"Measured",
		factList([
			["Other slice", b.name],
			["Gap", durationText(second.start - first.end), exactText(second.start - first.end)],
			["Start to start", durationText(second.start - first.start)],
			["End to end", durationText(second.end - first.end)],
		]),
	);
}

/** @param {Detail} detail */
function argsOf({ args }) {
	return args?.length ? section("Arguments", argList(args)) : null;
}

/** @param {ArgNode[]} nodes @returns {HTMLElement} */
function argList(nodes) {
	const items = nodes.map(({ key, value, children }) => {
		const shown = value === undefined ? null : h("span.value", String(value));
		return h("li", h("span.key", key), shown, children?.length ? argList(children) : null);
	});
	return h("ul.args", ...items);
}

/** @param {App} app @param {Detail} detail @param {(name: string) => void} find */
function treeOf(app, detail, find) {
	const [parents, children] = [detail.parents ?? [], detail.children ?? []];
	if (parents.length + children.length === 0) return null;
	const above = parents.map(({ id, name, start, end }) =>
		timeRow([link(name ?? "", () => app.revealId("slice", id))], end - start),
	);
	const below = children.map(({ name, count, total }) => {
		const times = h("small", count > 1 ? ` × ${grouped(count)}` : "");
		return timeRow([link(name, () => find(name)), times], total);
	});
	return section(
		"Around and inside",
		above.length ? h("table", h("caption", "Parents"), ...above) : null,
		below.length ? h("table", h("caption", "Children by total"), ...below) : null,
	);
}

/** @param {App} app @param {Detail} detail */
function flowsOf(app, detail) {
	const all = [
		...(detail.flows?.in ?? []).map((flow) => ({ flow, arrow: "← " })),
		...(detail.flows?.out ?? []).map((flow) => ({ flow, arrow: "→ " })),
	];
	if (all.length === 0) return null;
	const rows = all.map(({ flow, arrow }) => {
		const thread = flow.thread ? h("small", ` ${flow.thread}`) : null;
		return timeRow([arrow, link(flow.name ?? "", () => app.revealId("slice", flow.id)), thread], flow.latency);
	});
	return section("Flows", h("table", ...rows));
}

/** A row of a table: what, how long, and which share. @param {(Node | string | null)[]} what @param {number} ns @param {string} [share] */
function timeRow(what, ns, share) {
	const cells = [h("td", ...what), h("td.number", durationText(ns))];
	return h("tr", ...cells, share ? h("td.number.muted", share) : null);
}

/** @param {string} text @param {() => void} onclick */
function link(text, onclick) {
	return h("button.link", { onclick }, text || "(no name)");
}
