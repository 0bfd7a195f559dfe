// links.js - what is shown, as the fragment of the address: links lead to it, and Back goes back. Small movements replace the
// entry of the history, a new selection or a jump to elsewhere makes one.
import { COLOURINGS } from "./colour.js";
import { delayed } from "./dom.js";
import { COUNTER_MODES } from "./draw_counter.js";

const WRITE_AFTER_MS = 250;

/**
 * The state of the page that a link holds; `modes` are those of counters, and `order` is that of the model.
 * @typedef {{ start?: number, end?: number, selection?: EventRef | null, area?: Area | null, pins?: number[], filter?: string, notes?: Note[],
 * colouring?: Colouring, modes?: [number, CounterMode][], order?: [number, number][] }} LinkState
 */

/** @param {LinkState} state */
export function fragmentOf(state) {
	const parts = new URLSearchParams();
	const add = (/** @type {string} */ key, /** @type {(number | string)[]} */ ...values) =>
		parts.append(key, values.join("-"));
	if (state.start !== undefined && state.end !== undefined) add("t", Math.round(state.start), Math.round(state.end));
	if (state.selection) add("s", `${state.selection.table}.${state.selection.id}`);
	if (state.area) add("a", Math.round(state.area.start), Math.round(state.area.end), ...state.area.nodes.slice(0, 40));
	if (state.pins?.length) add("p", ...state.pins);
	if (state.filter) add("f", state.filter);
	if (state.colouring && state.colouring !== COLOURINGS[0]) add("c", state.colouring);
	for (const [id, mode] of state.modes ?? []) if (mode !== COUNTER_MODES[0]) add("v", id, mode);
	for (const pair of state.order ?? []) add("o", ...pair);
	for (const { time, text } of state.notes ?? []) add("n", Math.round(time), text);
	return parts.toString();
}

/** @param {string} fragment @returns {LinkState} */
export function linkOf(fragment) {
	const parts = new URLSearchParams(fragment);
	const text = (/** @type {string} */ key) => parts.get(key) ?? "";
	/** Numbers with something behind each. @param {string} key @returns {[number, string][]} */
	const pairs = (key) =>
		parts.getAll(key).flatMap((part) => {
			const [, number, rest] = /^(\d+)-(.*)$/s.exec(part) ?? [];
			return number ? [[Number(number), rest]] : [];
		});
	/** @type {LinkState} */
	const state = {
		filter: text("f"),
		pins: (text("p").match(/\d+/g) ?? []).map(Number),
		notes: pairs("n").map(([time, note], i) => ({ time, text: note, colour: i % 24, kept: true })),
		colouring:
			COLOURINGS.find((name) => name === text("c")) ??
			(/^\../.test(text("c")) ? /** @type {`.${string}`} */ (text("c")) : COLOURINGS[0]),
		modes: /** @type {[number, CounterMode][]} */ (pairs("v")).filter(([, mode]) => COUNTER_MODES.includes(mode)),
		order: pairs("o").map(([id, before]) => [id, Number(before)]),
	};
	const range = /^(-?\d+)-(-?\d+)$/.exec(text("t"));
	if (range && Number(range[2]) > Number(range[1])) [state.start, state.end] = [Number(range[1]), Number(range[2])];
	const selected = /^(\w+)\.(\d+)$/.exec(text("s"));
	if (selected) state.selection = { table: selected[1], id: Number(selected[2]) };
	const area = text("a").split("-").map(Number);
	if (area.length >= 2 && area.every(Number.isFinite) && area[1] > area[0])
		state.area = { start: area[0], end: area[1], nodes: area.slice(2) };
	return state;
}

/** @param {App} app @param {Timeline} line */
export function attachLinks(app, line) {
	let isNew = false;
	/** While the page does what a link says, there is nothing to write. */
	let isReading = false;
	const write = () => {
		const { camera, selection, area, model, colouring } = app;
		const { pins, filter, order } = model;
		const notes = app.notes.filter(({ kept }) => kept);
		const modes = [...model.modes];
		const fragment = `#${fragmentOf({ ...camera.target, selection, area, pins, filter, notes, colouring, modes, order })}`;
		if (isReading || fragment === location.hash) return;
		if (isNew) history.pushState(null, "", fragment);
		else history.replaceState(null, "", fragment);
		isNew = false;
	};
	const later = delayed(WRITE_AFTER_MS, write);
	const read = async () => {
		isReading = true;
		await applyLink(app, line, linkOf(location.hash.slice(1)));
		isNew = isReading = false;
	};
	app.on(["selection", "area"], () => (isNew = true));
	app.on(["selection", "area", "view", "notes", "colours"], later);
	addEventListener("popstate", read);
	return read;
}

/** @param {App} app @param {Timeline} line @param {LinkState} state */
async function applyLink(app, line, state) {
	const { model } = app;
	const { nodes } = model;
	const { pins = [], filter = "", modes, order = [], notes = [], colouring = COLOURINGS[0] } = state;
	// The order lays out the rows.
	Object.assign(model, { pins: pins.filter((id) => nodes[id]), filter, modes: new Map(modes), order });
	app.notes = notes;
	app.colourBy(colouring);
	app.emit("rows", "notes");
	if (state.selection) await app.revealId(state.selection.table, state.selection.id);
	else if (state.area) app.setArea({ ...state.area, nodes: state.area.nodes.filter((id) => nodes[id]) });
	else if (app.selection || app.area) app.select(null);
	if (state.start !== undefined && state.end !== undefined) app.camera.go(state.start, state.end);
	else app.camera.go(0, app.meta.end);
	if (app.selection) line.scrollTo(app.selection.lane);
	app.emit("view");
}
