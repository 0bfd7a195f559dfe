// actions.js - what the keys and buttons of the page do.
import { COLOURINGS, COLOUR_STATES, STATE } from "./colour.js";
import { announce } from "./dom.js";
import { durationText } from "./time.js";

const MOST_TRACKS_TRIED = 100;
/** A key moves by this share of the screen at once, and makes what is on screen shorter by this factor. */
const ONCE = { share: 0.08, factor: 0.8 };

/** @typedef {(line: Timeline, step?: { share: number, factor: number }) => void | Promise<void>} Action a key that is held gives it the step for a frame */

/** @type {Action} */
export const zoomIn = (line, { factor } = ONCE) => line.app.camera.zoom(factor, line.time);
/** @type {Action} */
export const zoomOut = (line, { factor } = ONCE) => line.app.camera.zoom(1 / factor, line.time);
/** @type {Action} */
export const panLeft = ({ app }, { share } = ONCE) => app.camera.pan(-share);
/** @type {Action} */
export const panRight = ({ app }, { share } = ONCE) => app.camera.pan(share);
/** @type {Action} */
export const showAll = ({ app }) => app.camera.go(0, app.meta.end);

/** Shows the end of the trace; a recording is followed from then on. @type {Action} */
export function goToEnd({ app }) {
	const { start, end } = app.camera.target;
	app.camera.go(app.meta.end - (end - start), app.meta.end);
}

/** @type {Action} */
export const nextSlice = (line) => step(line, 1);
/** @type {Action} */
export const previousSlice = (line) => step(line, -1);

/** @type {Action} */
export function changeColours({ app }) {
	const next = COLOURINGS[(COLOURINGS.indexOf(app.colouring) + 1) % COLOURINGS.length];
	announce(`Colours tell the ${next}`);
	return app.colourBy(next);
}

/** @type {Action} */
export function changeClock({ app }) {
	app.clock.next();
	app.emit("clock");
}

/** Shows what is selected; if it is on screen already, zooms to it. @param {Timeline} line */
export function fitSelection(line) {
	const { app } = line;
	const chosen = app.area ?? app.selection;
	if (!chosen) return;
	if (!app.area && app.selection) line.scrollTo(app.selection.lane);
	const { start, end } = app.camera.target;
	const first = (chosen.start + chosen.end - end + start) / 2;
	app.camera.go(first, first + end - start);
	// At an end of the trace, what is shown cannot be in the middle.
	const isThere = Math.abs(app.camera.target.start - start) < (end - start) / 100;
	if (isThere || app.area) app.camera.fit(chosen.start, chosen.end);
}

/** Selects the first slice on screen. @param {Timeline} line */
function selectFirst(line) {
	for (const pane of line.panes) {
		const { boxes, element } = pane;
		const top = element.scrollTop;
		// They are in the order of the rows.
		for (let i = 0; i < boxes.length; i++) {
			const isShown = boxes.y[i] >= top && boxes.y[i] < top + element.clientHeight && boxes.x[i] + boxes.w[i] > 0;
			if (isShown && boxes.colour[i] !== COLOUR_STATES + STATE.idle) return line.app.select(pane.selectionOf(i));
		}
	}
}

/** Selects what is nearest in time on the next track, or on the one before. @param {Timeline} line @param {Chosen} from @param {1 | -1} dir */
async function changeTrack(line, from, dir) {
	const { app } = line;
	const lanes = app.model.rows
		.flatMap(({ strip, body }) => [strip?.lane ?? null, body?.lane ?? null])
		.filter((lane) => lane !== null);
	let at = lanes.indexOf(from.lane) + dir;
	for (let tries = 0; at >= 0 && at < lanes.length && tries < MOST_TRACKS_TRIED; at += dir, tries++) {
		const found = await app.tryAsk("neighbour", { lane: lanes[at], depth: 0, time: from.start, dir: 0 });
		if (found) return choose(line, found, lanes[at], 0);
	}
	announce("This is the last track");
}

/** Selects a neighbour of the selected slice. @param {Timeline} line @param {1 | -1} dir */
async function step(line, dir) {
	const { app } = line;
	const from = app.selection;
	if (!from) return selectFirst(line);
	const { lane, depth, start: time } = from;
	const found = await app.tryAsk("neighbour", { lane, depth, time, dir });
	if (!found) return announce(dir > 0 ? "This is the last one" : "This is the first one");
	await choose(line, found, lane, depth);
}

/** Selects the slice around the selected one, or the first one in it; beyond them, one of the next track. @param {Timeline} line @param {1 | -1} down */
export async function climb(line, down) {
	const { app } = line;
	const from = app.selection;
	if (!from) return selectFirst(line);
	const depth = from.depth + down;
	if (depth < 0 || from.table !== "slice") return changeTrack(line, from, down);
	// Below, the first one that begins in the slice; above, the last one that began before it.
	const question = { lane: from.lane, depth, time: down > 0 ? from.start - 1 : from.start + 1, dir: down };
	const found = await app.tryAsk("neighbour", question);
	if (!found || (down > 0 && found.start >= from.end)) return changeTrack(line, from, down);
	await choose(line, found, from.lane, depth);
}

/** @param {Timeline} line @param {EventRef & { start: number, end: number, name?: string }} found @param {number} lane @param {number} depth */
async function choose(line, found, lane, depth) {
	const { app } = line;
	app.camera.show(found.start, found.end);
	app.select({ ...found, lane, depth, name: found.name ?? "" });
	line.scrollTo(lane);
}

/** The flows out of the selected slice, or into it. @param {App} app @param {boolean} out */
function flowsAt(app, out) {
	const isOwn = (/** @type {FlowEnd} */ end) => end.id === app.selection?.id;
	const flows = app.flows.filter(({ from, to }) => (out ? isOwn(from) && !isOwn(to) : isOwn(to) && !isOwn(from)));
	if (app.selection && flows.length === 0) announce(`No flow ${out ? "leaves" : "reaches"} this slice`);
	return flows;
}

/** Chooses the next flow, which is drawn before the others and is the one that is followed. @param {Timeline} line @param {boolean} out */
export function chooseFlow({ app }, out) {
	const flows = flowsAt(app, out);
	if (flows.length === 0) return;
	const at = (flows.indexOf(app.flow ?? flows[0]) + 1) % flows.length;
	app.flow = flows[at];
	announce(`Flow ${at + 1} of ${flows.length}: ${app.flow[out ? "to" : "from"].name ?? ""}`);
}

/** @param {Timeline} line @param {boolean} out */
export function follow(line, out) {
	const { app } = line;
	const flows = flowsAt(app, out);
	const flow = flows.find((one) => one === app.flow) ?? flows[0];
	if (!flow) return;
	const end = flow[out ? "to" : "from"];
	app.reveal({ ...end, table: "slice", name: end.name ?? "" });
	line.scrollTo(end.lane);
}

/** @type {Action} */
export function areaOfSelection({ app }) {
	const { selection } = app;
	if (!selection) return;
	const node = app.model.byLane.get(selection.lane);
	app.setArea({ start: selection.start, end: selection.end, nodes: node ? [node.id] : [] });
}

/** @type {Action} */
export function selectAll({ app }) {
	const { start, end } = app.camera.target;
	const from = Math.max(0, start);
	const to = Math.min(app.meta.end, end);
	const isScreen = app.area && app.area.start === from && app.area.end === to;
	app.setArea(isScreen ? { start: 0, end: app.meta.end, nodes: [] } : { start: from, end: to, nodes: [] });
}

/** @type {Action} */
export function clear({ app }) {
	if (app.area) app.setArea(null);
	else app.select(null);
	app.notes = app.notes.filter(({ kept }) => kept);
	app.emit("notes");
}

/** @param {Timeline} line @param {boolean} kept */
export function mark(line, kept) {
	const { app } = line;
	const chosen = app.area ?? app.selection;
	const time = chosen?.start ?? line.time;
	const text = kept
		? (app.selection?.name ?? `note ${app.notes.length + 1}`)
		: chosen
			? durationText(chosen.end - chosen.start)
			: "";
	app.addNote({ time, text, colour: app.notes.length % 24, kept });
	announce(kept ? `Note at ${app.clock.text(time)}` : `Mark at ${app.clock.text(time)}`);
}

/** @type {Action} */
export function forget({ app }) {
	const time = app.selection?.start ?? app.area?.start ?? app.camera.middle;
	const nearest = [...app.notes].sort((a, b) => Math.abs(a.time - time) - Math.abs(b.time - time))[0];
	if (nearest) app.removeNote(nearest);
}

/** @param {Timeline} line */
export function pin(line) {
	const { app } = line;
	const lane = app.selection?.lane;
	const row = line.hover.y >= 0 ? line.hit(line.hover).row : lane === undefined ? null : app.model.rowOfLane(lane);
	if (row) app.pin(row.node.id);
}
