// panels.js - the tabs of the panel: what is selected, an area, a name, the trace itself.
import { factList, section, showDetails } from "./details.js";
import { announce, h } from "./dom.js";
import { showFlame } from "./flame.js";
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
	if (app.meta.profiles?.length)
		drawer.fixed.unshift({
			id: "profiles",
			title: "Profiles",
			show: (body) => showFlame(app, body, { start: 0, end: app.meta.end + 1, nodes: [] }, profilesOf(app.meta)),
		});
	drawer.setTabs([details], "details");
	// A trace of samples only has nothing to click on.
	if (app.meta.profiles?.length && !app.meta.counts?.slices) {
		drawer.open("profiles");
		drawer.toggle(true);
	}
	app.on("drawer", () => drawer.toggle());
	app.on("selection", () => {
		drawer.setTabs([details], app.selection ? "details" : undefined);
		if (app.selection) {
			drawer.toggle(true);
			const { name, start, end, lane } = app.selection;
			const node = app.model.byLane.get(lane);
			announce(`Selected ${name}, ${durationText(end - start)}${node ? `, of ${app.model.titleOf(node)}` : ""}`);
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
		drawer.setTabs([{ id: "area", title: "Area", show: (body) => body.append(h("p.error", text)) }], "area");
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
	const hasSlices = tabs.some(({ id }) => id === "slices");
	const sources = [...(hasSlices ? [{ source: "slices", title: "Slices" }] : []), ...profilesOf(app.meta)];
	if (sources.length > 0)
		tabs.push({
			id: "flame",
			title: "Flame graph",
			show: (body) => showFlame(app, body, area, sources),
		});
	if (tabs.length === 0)
		tabs.push({
			id: "area",
			title: "Area",
			show: (body) => body.append(h("p.hint", "Nothing happened here on these tracks.")),
		});
	const open = tabs.some(({ id }) => id === drawer.current) ? drawer.current : tabs[0].id;
	drawer.setTabs(tabs, open);
}

/** @param {string | number | null} value */
function counterText(value) {
	return typeof value === "number" ? valueText(value, "") : plainText(value);
}

/** The profiles of the trace, as sources of flame graphs. @param {Meta} meta */
function profilesOf({ profiles = [] }) {
	return profiles.map(({ source, name, measure }) => ({ source, title: `${name}: ${measure}` }));
}

/** All slices of one name: how long they take, and the longest of them. @param {App} app @param {Drawer} drawer @param {string} name */
async function showName(app, drawer, name) {
	/** @type {FindAnswer} */
	const answer = await app.tryAsk("find", { name });
	if (!answer) return;
	const show = (/** @type {HTMLElement} */ body) => {
		const canvas = h("canvas.histogram.wide", { width: 720, height: 160 });
		drawHistogram(canvas, answer.histogram);
		const facts = factList(
			[
				["Count", grouped(answer.count)],
				["Total", durationText(answer.sum)],
				["Mean", durationText(answer.sum / Math.max(1, answer.count))],
				["Median", durationText(answer.p50)],
				["p90", durationText(answer.p90)],
				["p99", durationText(answer.p99)],
			],
			"inline",
		);
		const head = h("div.find-head", h("h2", name), facts, canvas);
		body.append(
			h(
				"div.find",
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
	const losses = meta.losses.map(({ what, count, severity, stat }) =>
		h(`li.${severity}`, { title: stat }, h("b", grouped(count)), ` ${what}`),
	);
	const none = meta.gaps.length ? "Bands in the tracks show when data were lost." : "Nothing was lost.";
	body.append(
		h(
			"div.cards",
			section(
				"Trace",
				factList([["File", meta.title], ["Duration", durationText(meta.end)], ...Object.entries(meta.host ?? {})]),
			),
			section(
				"Events",
				factList(Object.entries(meta.counts ?? {}).map(([key, value]) => [key.replace(/_/g, " "), grouped(value)])),
			),
			section("Losses", losses.length ? h("ul.losses", ...losses) : h("p.muted", none)),
		),
	);
}
