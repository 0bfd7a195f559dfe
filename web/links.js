// links.js - what is shown, as the fragment of the address: links lead to it, and Back goes back. Small movements replace the
// entry of the history, a new selection or a jump to elsewhere makes one.
import { delayed } from "./dom.js";

const WRITE_AFTER_MS = 250;

/**
 * The state of the page that a link holds.
 * @typedef {{ start?: number, end?: number, selection?: { table: string, id: number } | null, area?: Area | null, pins?: number[], filter?: string, notes?: Note[] }} LinkState
 */

/** @param {LinkState} state */
export function fragmentOf(state) {
	const parts = new URLSearchParams();
	if (state.start !== undefined && state.end !== undefined)
		parts.set("t", `${Math.round(state.start)}-${Math.round(state.end)}`);
	if (state.selection) parts.set("s", `${state.selection.table}.${state.selection.id}`);
	if (state.area)
		parts.set("a", [Math.round(state.area.start), Math.round(state.area.end), ...state.area.nodes.slice(0, 40)].join("-"));
	if (state.pins?.length) parts.set("p", state.pins.join("-"));
	if (state.filter) parts.set("f", state.filter);
	for (const { time, text } of state.notes ?? []) parts.append("n", `${Math.round(time)}-${text}`);
	return parts.toString();
}

/** @param {string} fragment @returns {LinkState} */
export function linkOf(fragment) {
	const parts = new URLSearchParams(fragment);
	/** @type {LinkState} */
	const state = {};
	const range = /^(-?\d+)-(-?\d+)$/.exec(parts.get("t") ?? "");
	if (range && Number(range[2]) > Number(range[1])) [state.start, state.end] = [Number(range[1]), Number(range[2])];
	const selected = /^(\w+)\.(\d+)$/.exec(parts.get("s") ?? "");
	if (selected) state.selection = { table: selected[1], id: Number(selected[2]) };
	const area = (parts.get("a") ?? "").split("-").map(Number);
	if (area.length >= 2 && area.every(Number.isFinite) && area[1] > area[0])
		state.area = { start: area[0], end: area[1], nodes: area.slice(2) };
	const pins = parts.get("p");
	if (pins) state.pins = pins.split("-").map(Number).filter(Number.isInteger);
	const filter = parts.get("f");
	if (filter) state.filter = filter;
	const notes = parts.getAll("n").map((text) => /^(\d+)-(.*)$/s.exec(text));
	state.notes = notes.flatMap((note, i) =>
		note ? [{ time: Number(note[1]), text: note[2], colour: i % 24, kept: true }] : [],
	);
	return state;
}

/** @param {App} app @param {Timeline} line */
export function attachLinks(app, line) {
	let isNew = false;
	/** While the page does what a link says, there is nothing to write. */
	let isReading = false;
	const write = () => {
		const { camera, selection, area, model, notes } = app;
		const { pins, filter } = model;
		const kept = notes.filter((note) => note.kept);
		const fragment = `#${fragmentOf({ ...camera.target, selection, area, pins, filter, notes: kept })}`;
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
	app.on(["selection", "area", "view", "rows", "notes"], later);
	addEventListener("popstate", read);
	return read;
}

/** @param {App} app @param {Timeline} line @param {LinkState} state */
async function applyLink(app, line, state) {
	const { nodes } = app.model;
	app.model.pins = (state.pins ?? []).filter((id) => nodes[id]);
	app.model.filter = state.filter ?? "";
	app.model.layout();
	app.notes = state.notes ?? [];
	app.emit("rows", "notes");
	if (state.selection) await app.revealId(state.selection.table, state.selection.id);
	else if (state.area) app.setArea({ ...state.area, nodes: state.area.nodes.filter((id) => nodes[id]) });
	else if (app.selection || app.area) app.select(null);
	if (state.start !== undefined && state.end !== undefined) app.camera.go(state.start, state.end);
	else app.camera.go(0, app.meta.end);
	if (app.selection) line.scrollTo(app.selection.lane);
	app.emit("view");
}
