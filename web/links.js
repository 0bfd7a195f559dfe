// links.js - what is shown, as the fragment of the address: links lead to it, and Back goes back. Small movements replace the
// entry of the history, a new selection or a jump to elsewhere makes one. Tracks are called by the keys of the model, and what is
// selected by its track and begin, because all numbers may be others in a longer trace. There the times may be since another begin as
// well, so a link to a recording says since when.
import { delayed } from "./dom.js";
import { rowIndexAt } from "./model.js";

const WRITE_AFTER_MS = 250;
const MOST_TRACKS = 100;

/** What is shown, as a fragment. @param {App} app @param {Timeline} line */
export function linkTo(app, line) {
	const { camera, selection, area, model, colouring, meta, clock, notes } = app;
	const { keys, rows, nodes, pins } = model;
	const { start, end } = camera.target;
	const { scrollTop } = line.tracks.element;
	const keyOf = (/** @type {number} */ id) => keys[id] ?? "";
	const top = rows[rowIndexAt(rows, scrollTop)];
	const node = selection && selection.table !== "query" && model.byLane.get(selection.lane);
	const parts = new URLSearchParams();
	const add = (/** @type {string} */ name, /** @type {(number | string)[]} */ ...values) => {
		const text = values.map((value) => (typeof value === "number" ? Math.round(value) : value)).join("-");
		if (text) parts.append(name, text);
	};
	add("t", start, end);
	if (meta.live) add("b", meta.start_ns);
	if (node) add("s", keyOf(node.id), selection.depth, selection.start);
	else if (selection) add("s", `${selection.table}.${selection.id}`);
	if (area) add("a", area.start, area.end, ...area.nodes.slice(0, MOST_TRACKS).map(keyOf));
	add("p", ...pins.map(keyOf));
	add("g", ...model.folds.slice(0, MOST_TRACKS).map(keyOf));
	add("f", model.filter);
	if (colouring !== "name") add("c", colouring);
	if (clock.mode !== "start") add("w", clock.mode);
	for (const [id, mode] of model.modes) if (mode !== "value") add("v", keyOf(id), mode);
	for (const [id, before] of model.order) add("o", keyOf(id), keyOf(before));
	if (top && scrollTop > 0) add("y", keyOf(top.node.id), scrollTop - top.y);
	for (const id of pins) if (nodes[id].sql) add("q", nodes[id].kind, nodes[id].sql ?? "");
	for (const { time, text, kept } of notes) if (kept) add("n", time, text);
	return `#${parts}`;
}

/** Shows what a link says; nonsense in it is ignored. @param {App} app @param {Timeline} line @param {string} fragment */
export async function followLink(app, line, fragment) {
	const { model, meta, clock, camera } = app;
	const { element } = line.tracks;
	const parts = new URLSearchParams(fragment);
	const text = (/** @type {string} */ name) => parts.get(name) ?? "";
	const words = (/** @type {string} */ name) => text(name).match(/\w+/g) ?? [];
	/** Words with something behind each. @param {string} name @returns {[string, any][]} */
	const pairs = (name) =>
		parts.getAll(name).flatMap((part) => (/^\w+-/.test(part) ? [[part.split("-")[0], part.replace(/^\w+-/, "")]] : []));
	const idOf = (/** @type {string | undefined} */ key = "") => model.idsOf([key])[0] ?? -1;
	const shift = /^\d+$/.test(text("b")) ? Number(BigInt(text("b")) - BigInt(meta.start_ns)) : 0;
	for (const [kind, sql] of pairs("q")) {
		const isKnown = model.nodes.some((node) => node.sql === sql && node.kind === kind);
		if (!isKnown && /^(slices|counter)$/.test(kind)) await app.showSql(sql, /** @type {any} */ (kind));
	}
	model.folds = model.idsOf(words("g"));
	model.pins = model.idsOf(words("p"));
	model.filter = text("f");
	model.modes = new Map(pairs("v").map(([key, mode]) => [idOf(key), mode]));
	// The order lays out the rows.
	model.order = pairs("o").map(([key, before]) => [idOf(key), idOf(before)]);
	app.notes = pairs("n").map(([time, note], i) => ({
		time: (Number(time) || 0) + shift,
		text: note,
		colour: i % 24,
		kept: true,
	}));
	clock.mode = /** @type {any} */ (text("w") || "start");
	app.colourBy(/** @type {any} */ (text("c") || "name"));
	app.emit("rows", "notes", "clock");

	const [row, first] = text("s").split(".");
	const [key, depth, time] = words("s");
	const [from, to, ...nodes] = words("a");
	const lane = model.nodes[idOf(key)]?.lane;
	const found = lane != null && (await app.eventAt(lane, Number(depth), Number(time) + shift));
	if (first) await app.revealId(row, Number(first));
	else if (found) app.reveal(found);
	else if (Number(to) > Number(from))
		app.setArea({ start: Number(from) + shift, end: Number(to) + shift, nodes: model.idsOf(nodes) });
	else app.select(null);
	const [start, end] = text("t")
		.split(/(?<=\d)-/)
		.map((time) => Number(time) + shift);
	if (end > start) camera.go(start, end);
	else camera.go(0, meta.end);
	const [top, pixels] = words("y");
	const at = model.rows.find(({ node }) => node.id === idOf(top));
	const scroll = () => (element.scrollTop = at ? at.y + Number(pixels) : 0);
	scroll();
	// When the details have made the tracks less high, the selection is scrolled to, unless the link says where to be.
	if (at) requestAnimationFrame(() => requestAnimationFrame(scroll));
	else if (app.selection) line.scrollTo(app.selection.lane);
	app.emit("view");
}

/** @param {App} app @param {Timeline} line */
export function attachLinks(app, line) {
	let isNew = false;
	/** While the page does what a link says, there is nothing to write. */
	let isReading = false;
	const later = delayed(WRITE_AFTER_MS, () => {
		const fragment = linkTo(app, line);
		if (isReading || fragment === location.hash) return;
		if (isNew) history.pushState(null, "", fragment);
		else history.replaceState(null, "", fragment);
		isNew = false;
	});
	const read = async () => {
		isReading = true;
		await followLink(app, line, location.hash.slice(1));
		isNew = isReading = false;
	};
	app.on(["selection", "area"], () => (isNew = true));
	app.on(["selection", "area", "view", "notes", "clock"], later);
	line.tracks.element.addEventListener("scroll", later);
	addEventListener("popstate", read);
	return read;
}
