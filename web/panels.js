// panels.js - the tabs of the panel: what is selected, an area, a name, the trace itself.
import { openers } from "./actions.js";
import { showDetails } from "./details.js";
import { announce, h, refill } from "./dom.js";
import { Flame } from "./flame.js";
import { drawHistogram } from "./histogram.js";
import { measureText, plainText, tableOf } from "./table.js";
import { durationText, grouped, valueText } from "./time.js";

/** @param {App} app @param {Drawer} drawer @param {Tab[]} more tabs that are always there */
export function attachPanels(app, drawer, more) {
	const find = (/** @type {string} */ name) => showName(app, drawer, name);
	const details = {
		id: "details",
		title: "Selection",
		show: (/** @type {HTMLElement} */ body) => void showDetails(app, body, find),
	};
	drawer.fixed = [...more, { id: "trace", title: "Trace", show: (body) => showTrace(app, body) }];
	drawer.setTabs([details], "details");
	openers.drawer = () => drawer.toggle();
	app.on("selection", () => {
		drawer.setTabs([details], app.selection ? "details" : undefined);
		if (app.selection) {
			drawer.toggle(true);
			announce(`Selected ${app.selection.name}, ${durationText(app.selection.end - app.selection.start)}`);
		}
	});
	app.on("clock", () => drawer.current === "details" && drawer.open("details"));
	/** @type {AbortController | null} */
	let asked = null;
	app.on("area", async () => {
		asked?.abort();
		if (!app.area) return void (app.selection || drawer.setTabs([details]));
		asked = new AbortController();
		drawer.toggle(true);
		await showArea(app, drawer, app.area, asked.signal, find);
	});
}

/** @param {App} app @param {Drawer} drawer @param {Area} area @param {AbortSignal} signal @param {(name: string) => void} find */
async function showArea(app, drawer, area, signal, find) {
	const question = { start: area.start, end: area.end, nodes: area.nodes, by: "name" };
	const range = durationText(area.end - area.start);
	announce(`Selected ${range}`);
	/** @type {AreaAnswer} */
	let answer;
	try {
		answer = await app.ask("area", question, signal);
	} catch (error) {
		if (signal.aborted) return;
		const text = String(/** @type {Error} */ (error).message);
		drawer.setTabs([{ id: "area", title: "Area", show: (body) => body.append(h("p", { class: "error" }, text)) }], "area");
		return;
	}
	if (app.area !== area) return;
	const onrow = (/** @type {(string | number | null)[]} */ row) => find(String(row[0]));
	/** @type {Tab[]} */
	const tabs = [];
	const add = (
		/** @type {string} */ id,
		/** @type {string} */ title,
		/** @type {AnswerTable | undefined} */ table,
		/** @type {TableOptions} */ options,
	) => {
		if (table && table.rows.length > 0)
			tabs.push({ id, title, show: (body) => body.append(tableOf(table, { name: title, ...options })) });
	};
	add("slices", "Slices", answer.slices, { format: measureText, onrow, rowHint: "Show all of this name" });
	add("cpu", "CPU time", answer.cpu, { format: measureText });
	add("states", "States", answer.states, { format: measureText });
	add("counters", "Counters", answer.counters, { format: counterText });
	if (tabs.some(({ id }) => id === "slices"))
		tabs.push({ id: "flame", title: "Flame graph", show: (body) => void showFlame(app, body, area, "slices") });
	if (answer.samples)
		tabs.push({ id: "samples", title: "Samples", show: (body) => void showFlame(app, body, area, "samples") });
	if (tabs.length === 0)
		tabs.push({
			id: "area",
			title: "Area",
			show: (body) => body.append(h("p", { class: "hint" }, "Nothing happened here on these tracks.")),
		});
	const open = tabs.some(({ id }) => id === drawer.current) ? drawer.current : tabs[0].id;
	drawer.setTabs(tabs, open);
}

/** @param {string | number | null} value */
function counterText(value) {
	return typeof value === "number" ? valueText(value, "") : plainText(value);
}

/** @param {App} app @param {HTMLElement} body @param {Area} area @param {string} source */
async function showFlame(app, body, area, source) {
	const place = h("div", { class: "flamebox" });
	body.append(place);
	try {
		/** @type {FlameAnswer} */
		const answer = await app.ask("flame", { source, start: area.start, end: area.end, nodes: area.nodes });
		if (place.isConnected) new Flame(app, place, answer);
	} catch (error) {
		refill(place, h("p", { class: "error" }, String(/** @type {Error} */ (error).message)));
	}
}

/** All slices of one name: how long they take, and the longest of them. @param {App} app @param {Drawer} drawer @param {string} name */
async function showName(app, drawer, name) {
	/** @type {FindAnswer} */
	const answer = await app.ask("find", { name }).catch(() => null);
	if (!answer) return;
	const show = (/** @type {HTMLElement} */ body) => {
		const canvas = h("canvas", { class: "histogram wide", width: 720, height: 160 });
		drawHistogram(canvas, answer.histogram);
		const facts = [
			["Count", grouped(answer.count)],
			["Total", durationText(answer.sum)],
			["Mean", durationText(answer.sum / Math.max(1, answer.count))],
			["Median", durationText(answer.p50)],
			["p90", durationText(answer.p90)],
			["p99", durationText(answer.p99)],
		].flatMap(([key, value]) => [h("dt", {}, key), h("dd", {}, value)]);
		const head = h("div", { class: "find-head" }, h("h2", {}, name), h("dl", { class: "inline" }, ...facts), canvas);
		body.append(
			h(
				"div",
				{ class: "find" },
				head,
				tableOf(topOf(answer), {
					name: `The longest of ${name}`,
					format: (value, column) =>
						column === "start" && typeof value === "number" ? app.clock.text(value) : measureText(value, column),
					onrow: (row) => void app.revealId("slice", Number(row[0])),
					rowHint: "Show it in the tracks",
				}),
			),
		);
	};
	const tabs = drawer.tabs.filter(({ id }) => id !== "find" && !drawer.fixed.some((tab) => tab.id === id));
	drawer.setTabs([...tabs, { id: "find", title: `“${name.slice(0, 40)}”`, show }], "find");
}

/** The longest ones as a table. @param {FindAnswer} answer @returns {AnswerTable} */
function topOf({ top, sql }) {
	const columns = ["id", "start", "duration", "thread"];
	return { columns, rows: top.map(({ id, start, end, thread }) => [id, start, end - start, thread ?? null]), sql };
}

/** What the file says about itself, and what was lost. @param {App} app @param {HTMLElement} body */
function showTrace(app, body) {
	const { meta } = app;
	const pairs = [["File", meta.title], ["Duration", durationText(meta.end)], ...Object.entries(meta.host ?? {})];
	const facts = pairs.flatMap(([key, value]) => [h("dt", {}, String(key)), h("dd", {}, String(value))]);
	const counts = Object.entries(meta.counts ?? {}).flatMap(([key, value]) => [
		h("dt", {}, key.replace(/_/g, " ")),
		h("dd", { class: "number" }, grouped(value)),
	]);
	const losses = meta.losses.map(({ what, count, severity, stat }) =>
		h("li", { class: severity, title: stat }, h("b", {}, grouped(count)), ` ${what}`),
	);
	body.append(
		h(
			"div",
			{ class: "cards" },
			h("section", { class: "card" }, h("h3", {}, "Trace"), h("dl", {}, ...facts)),
			h("section", { class: "card" }, h("h3", {}, "Events"), h("dl", {}, ...counts)),
			h(
				"section",
				{ class: "card wide" },
				h("h3", {}, "Losses"),
				losses.length
					? h("ul", { class: "losses" }, ...losses)
					: h(
							"p",
							{ class: "muted" },
							meta.gaps.length ? "Bands in the tracks show when data were lost." : "Nothing was lost.",
						),
			),
		),
	);
}
