// panels.js - the tabs of the panel: what is selected, an area, a name, the trace itself.
import { factList, section, showDetails } from "./details.js";
import { announce, errorText, h } from "./dom.js";
import { showFlame } from "./flame.js";
import { drawHistogram } from "./histogram.js";
import { measureText, plainText, tableOf } from "./table.js";
import { durationText, grouped, valueText } from "./time.js";

/** The tables of an area, with the titles of their tabs. @type {[keyof AreaAnswer, string][]} */
const AREA_TABLES = [
	["slices", "Slices"],
	["cpu", "CPU time"],
	["states", "States"],
	["counters", "Counters"],
];

/** @param {App} app @param {Drawer} drawer @param {Tab[]} more tabs that are always there */
export function attachPanels(app, drawer, more) {
	const find = (/** @type {string} */ name) => void showName(app, drawer, name);
	/** @type {Tab} */
	const details = { id: "details", title: "Selection", show: (body) => showDetails(app, body, find) };
	/** @type {Tab} */
	const trace = { id: "trace", title: "Trace", show: (body) => showTrace(app, body) };
	const profiles = profilesOf(app.meta);
	const whole = { start: 0, end: app.meta.end + 1, nodes: [] };
	drawer.fixed = [...(profiles.length > 0 ? [flameTab(app, "profiles", "Profiles", whole, profiles)] : []), ...more, trace];
	drawer.setTabs([details], "details");
	// A trace of samples only has nothing to click on.
	if (profiles.length > 0 && !app.meta.counts.slices) {
		drawer.open("profiles");
		drawer.toggle(true);
	}
	app.on("drawer", () => drawer.toggle());
	app.on("selection", () => {
		drawer.setTabs([details], app.selection ? "details" : undefined);
		if (!app.selection) return;
		drawer.toggle(true);
		const { name, start, end, lane } = app.selection;
		const node = app.model.byLane.get(lane);
		announce(`Selected ${name}, ${durationText(end - start)}${node ? `, of ${app.model.titleOf(node)}` : ""}`);
	});
	app.on("clock", () => drawer.current === "details" && drawer.open("details"));
	/** @type {AbortController | null} */
	let asked = null;
	const show = async (/** @type {"name" | "thread"} */ by) => {
		asked?.abort();
		if (!app.area) return void (app.selection || drawer.setTabs([details]));
		asked = new AbortController();
		drawer.toggle(true);
		const onclick = () => show(by === "name" ? "thread" : "name");
		const other = h("button", { "aria-pressed": by === "thread", onclick }, "Per thread");
		await showArea(app, drawer, app.area, by, asked.signal, find, other);
	};
	app.on("area", () => show("name"));
}

/** @param {App} app @param {string} id @param {string} title @param {Area} area @param {{ source: string, title: string }[]} sources @returns {Tab} */
function flameTab(app, id, title, area, sources) {
	return { id, title, show: (body) => showFlame(app, body, area, sources) };
}

/** @param {App} app @param {Drawer} drawer @param {Area} area @param {string} by @param {AbortSignal} signal @param {(name: string) => void} find @param {Node} other a button that asks for the other kind of rows */
async function showArea(app, drawer, area, by, signal, find, other) {
	announce(`Selected ${durationText(area.end - area.start)}`);
	const tell = (/** @type {Node} */ text) =>
		drawer.setTabs([{ id: "area", title: "Area", show: (body) => body.append(text) }], "area");
	/** @type {AreaAnswer} */
	let answer;
	try {
		answer = await app.ask("area", { ...area, by }, signal);
	} catch (error) {
		return signal.aborted || tell(errorText(error));
	}
	if (app.area !== area) return;
	/** @type {Tab[]} */
	const tabs = AREA_TABLES.flatMap(([id, title]) => {
		const table = answer[id];
		if (!table?.rows.length) return [];
		/** @type {TableOptions} */
		const options = { name: title, format: id === "counters" ? counterText : measureText };
		if (id === "slices") {
			options.onrow = ([name]) => find(String(name));
			options.rowHint = "Show all of this name";
			// A report, which has no queries, does not know the threads.
			options.tool = table.sql ? other : null;
		}
		return [{ id, title, show: (/** @type {HTMLElement} */ body) => body.append(tableOf(table, options)) }];
	});
	const sources = profilesOf(app.meta);
	if (answer.slices?.rows.length) sources.unshift({ source: "slices", title: "Slices" });
	if (sources.length > 0) tabs.push(flameTab(app, "flame", "Flame graph", area, sources));
	if (tabs.length === 0) return tell(h("p.hint", "Nothing happened here on these tracks."));
	drawer.setTabs(tabs, (tabs.find(({ id }) => id === drawer.current) ?? tabs[0]).id);
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
	const { count, sum, p50, p90, p99, top, sql } = answer;
	const table = {
		columns: ["id", "start", "duration", "thread"],
		rows: top.map(({ id, start, end, thread }) => [id, start, end - start, thread ?? null]),
		sql,
	};
	const show = (/** @type {HTMLElement} */ body) => {
		const canvas = h("canvas.histogram.wide", { width: 720, height: 160 });
		drawHistogram(app.theme, canvas, answer.histogram);
		const facts = factList(
			[
				["Count", grouped(count)],
				["Total", durationText(sum)],
				["Mean", durationText(sum / Math.max(1, count))],
				["Median", durationText(p50)],
				["p90", durationText(p90)],
				["p99", durationText(p99)],
			],
			"inline",
		);
		const longest = tableOf(table, {
			name: `The longest of ${name}`,
			format: (value, column) => (column === "start" ? app.clock.text(Number(value)) : measureText(value, column)),
			onrow: ([id]) => void app.revealId("slice", Number(id)),
			rowHint: "Show it in the tracks",
		});
		body.append(h("div.find", h("div.find-head", h("h2", name), facts, canvas), longest));
	};
	const tabs = drawer.tabs.filter((tab) => tab.id !== "find" && !drawer.fixed.includes(tab));
	drawer.setTabs([...tabs, { id: "find", title: `“${name.slice(0, 40)}”`, show }], "find");
}

/** What the file says about itself, and what was lost. @param {App} app @param {HTMLElement} body */
function showTrace({ meta }, body) {
	const losses = meta.losses.map(({ what, count, severity, stat }) =>
		h(`li.${severity}`, { title: stat }, h("b", grouped(count)), ` ${what}`),
	);
	const none = meta.gaps.length ? "Bands in the tracks show when data were lost." : "Nothing was lost.";
	const counts = Object.entries(meta.counts);
	body.append(
		h(
			"div.cards",
			section(
				"Trace",
				factList([["File", meta.title], ["Duration", durationText(meta.end)], ...Object.entries(meta.host ?? {})]),
			),
			section("Events", factList(counts.map(([key, value]) => [key.replace(/_/g, " "), grouped(value)]))),
			section("Losses", losses.length ? h("ul", ...losses) : h("p.muted", none)),
		),
	);
}
