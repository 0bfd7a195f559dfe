// actions.js - what the keys and buttons of the page do, and the table of keys: the help lists it, and input.js acts on it. A letter or a
// digit is a place on the keyboard (KeyboardEvent.code), because those are chosen for where they are; other signs are characters
// (KeyboardEvent.key).
import { COLOUR_STATES, STATE } from "./colour.js";
import { announce, byId, h } from "./dom.js";
import { COUNTER_MODES } from "./draw_counter.js";
import { durationText } from "./time.js";

const MOST_TRACKS_TRIED = 100;
const NOTE_WIDTH = 200;
/** A key moves by this share of the screen at once, and makes what is on screen shorter by this factor. */
const ONCE = { share: 0.08, factor: 0.8 };

/** @typedef {(line: Timeline, step?: { share: number, factor: number }) => void | Promise<void>} Action a key that is held gives it the step for a frame */

/** @type {Action} */
const zoomIn = (line, { factor } = ONCE) => line.app.camera.zoom(factor, line.time);
/** @type {Action} */
const zoomOut = (line, { factor } = ONCE) => line.app.camera.zoom(1 / factor, line.time);
/** @type {Action} */
const panLeft = ({ app }, { share } = ONCE) => app.camera.pan(-share);
/** @type {Action} */
const panRight = ({ app }, { share } = ONCE) => app.camera.pan(share);

/** Shows the end of the trace; a recording is followed from then on. @type {Action} */
export function goToEnd({ app }) {
	const { start, end } = app.camera.target;
	app.camera.go(app.meta.end - (end - start), app.meta.end);
}

/** The row under the mouse, or that of the selection. @param {Timeline} line */
function rowAtHand(line) {
	const { app, hover } = line;
	if (hover.y >= 0) return line.hit(hover).row;
	return app.selection ? app.model.rowOfLane(app.selection.lane) : null;
}

/** @type {Action} */
function changeCounter(line) {
	const row = rowAtHand(line);
	if (row?.kind !== "counter") return;
	const next = COUNTER_MODES[(COUNTER_MODES.indexOf(row.mode) + 1) % COUNTER_MODES.length];
	line.app.showCounter(row.node.id, next);
	announce(`${row.title} is shown as ${next}`);
}

/** @type {Action} */
function changeColours({ app }) {
	const { colourings, colouring } = app;
	const next = colourings[(colourings.indexOf(colouring) + 1) % colourings.length];
	announce(`Colours tell the ${next.replace(".", "argument ")}`);
	app.colourBy(next);
}

/** @type {Action} */
export function changeClock({ app }) {
	app.clock.next();
	app.emit("clock");
}

/** Shows what is selected; if it is on screen already, zooms to it. @param {Timeline} line */
function fitSelection(line) {
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
	const lanes = app.model.rows.flatMap(({ strip, body }) => [strip, body]).flatMap((node) => node?.lane ?? []);
	let at = lanes.indexOf(from.lane) + dir;
	for (let tries = 0; at >= 0 && at < lanes.length && tries < MOST_TRACKS_TRIED; at += dir, tries++) {
		const found = await app.tryAsk("neighbour", { lane: lanes[at], depth: 0, time: from.start, dir: 0 });
		if (found) return choose(line, found);
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
	if (!found) return announce(`This is the ${dir > 0 ? "last" : "first"} one`);
	choose(line, found);
}

/** Selects the slice around the selected one, or the first one in it; beyond them, one of the next track. @param {Timeline} line @param {1 | -1} down */
async function climb(line, down) {
	const { app } = line;
	const from = app.selection;
	if (!from) return selectFirst(line);
	const depth = from.depth + down;
	if (depth < 0 || from.table !== "slice") return changeTrack(line, from, down);
	// Below, the first one that begins in the slice; above, the last one that began before it.
	const question = { lane: from.lane, depth, time: down > 0 ? from.start - 1 : from.start + 1, dir: down };
	const found = await app.tryAsk("neighbour", question);
	if (!found || (down > 0 && found.start >= from.end)) return changeTrack(line, from, down);
	choose(line, found);
}

/** @param {Timeline} line @param {Chosen} found */
function choose(line, found) {
	line.app.camera.show(found.start, found.end);
	line.app.select(found);
	line.scrollTo(found.lane);
}

/** The flows out of the selected slice, or into it. @param {App} app @param {boolean} out */
function flowsAt(app, out) {
	const isOwn = (/** @type {FlowEnd} */ end) => end.id === app.selection?.id;
	const flows = app.flows.filter(({ from, to }) => (out ? isOwn(from) && !isOwn(to) : isOwn(to) && !isOwn(from)));
	if (app.selection && flows.length === 0) announce(`No flow ${out ? "leaves" : "reaches"} this slice`);
	return flows;
}

/** Chooses the next flow, which is drawn before the others and is the one that is followed. @param {Timeline} line @param {boolean} out */
function chooseFlow({ app }, out) {
	const flows = flowsAt(app, out);
	if (flows.length === 0) return;
	const at = (flows.indexOf(app.flow ?? flows[0]) + 1) % flows.length;
	app.flow = flows[at];
	announce(`Flow ${at + 1} of ${flows.length}: ${app.flow[out ? "to" : "from"].name ?? ""}`);
}

/** @param {Timeline} line @param {boolean} out */
function follow(line, out) {
	const { app } = line;
	const flows = flowsAt(app, out);
	const flow = app.flow && flows.includes(app.flow) ? app.flow : flows[0];
	if (!flow) return;
	const end = flow[out ? "to" : "from"];
	app.reveal(/** @type {Chosen} */ (end));
	line.scrollTo(end.lane);
}

/** @type {Action} */
function areaOfSelection({ app }) {
	const { selection } = app;
	if (!selection) return;
	const node = app.model.byLane.get(selection.lane);
	// The server does not know what SQL has made.
	const nodes = node && node.table !== "query" ? [node.id] : [];
	app.setArea({ start: selection.start, end: selection.end, nodes });
}

/** @type {Action} */
function selectAll({ app }) {
	const { start, end } = app.camera.target;
	const screen = { start: Math.max(0, start), end: Math.min(app.meta.end, end), nodes: [] };
	const isScreen = app.area && app.area.start === screen.start && app.area.end === screen.end;
	app.setArea(isScreen ? { start: 0, end: app.meta.end, nodes: [] } : screen);
}

/** @type {Action} */
function clear({ app }) {
	app.select(null);
	app.notes = app.notes.filter(({ kept }) => kept);
	app.emit("notes");
}

/** Puts a note at a time, or else at what is selected. @param {Timeline} line @param {boolean} kept @param {number} [at] */
export function mark(line, kept, at) {
	const { app } = line;
	const chosen = at === undefined ? (app.area ?? app.selection) : null;
	const time = at ?? chosen?.start ?? line.time;
	const name = chosen === app.selection ? chosen?.name : "";
	const length = chosen ? durationText(chosen.end - chosen.start) : "";
	const text = kept ? name || `note ${app.notes.length + 1}` : length;
	app.addNote({ time, text, colour: app.notes.length % 24, kept });
	announce(`${kept ? "Note" : "Mark"} at ${app.clock.text(time)}`);
}

/** The note nearest to the selection, or else to the mouse or the middle of the screen. @param {Timeline} line */
function nearestNote(line) {
	const { app } = line;
	const time = app.selection?.start ?? app.area?.start ?? line.time;
	return [...app.notes].sort((a, b) => Math.abs(a.time - time) - Math.abs(b.time - time))[0];
}

/** @type {Action} */
function forget(line) {
	const note = nearestNote(line);
	if (note) line.app.removeNote(note);
}

/** Makes the text of a note a field. Enter keeps what is typed, and so does a click elsewhere; Escape does not. @param {Timeline} line @param {Note} [note] */
export function editNote(line, note = nearestNote(line)) {
	if (!note) return;
	const { app } = line;
	app.camera.show(note.time, note.time);
	const x = line.scaleOf(app.camera.target).x(note.time);
	const input = h("input.note", {
		value: note.text,
		"aria-label": "Text of the note",
		style: `left: calc(var(--head) + ${Math.max(0, Math.min(line.width - NOTE_WIDTH, x))}px)`,
		onkeydown: (/** @type {KeyboardEvent} */ { key }) => {
			if (key === "Escape") input.value = note.text;
			if (key === "Enter") input.blur();
		},
		onblur: () => {
			input.remove();
			if (input.value !== note.text) Object.assign(note, { text: input.value, kept: true });
			app.emit("notes");
		},
	});
	line.element.append(input);
	input.select();
}

/** @param {Timeline} line */
function pin(line) {
	const row = rowAtHand(line);
	if (row) line.app.pin(row.node.id);
}

/** @type {Action} */
export const openSql = ({ app }) => app.emit("sql");

/** Each key with what the help says of it, and what it does. @type {Record<string, [string, string, Action][]>} */
export const KEYMAP = {
	Move: [
		["W", "Zoom in at the mouse", zoomIn],
		["S", "Zoom out", zoomOut],
		["A", "Move left", panLeft],
		["D", "Move right", panRight],
		["F", "Show the selection; again: zoom to it", fitSelection],
		["0", "Show the whole trace", ({ app }) => app.camera.go(0, app.meta.end)],
		["End", "Show the end, and follow a recording", goToEnd],
		["Backspace", "Back to what was shown", () => history.back()],
	],
	Select: [
		[". →", "Next slice of the track", (line) => step(line, 1)],
		[", ←", "Previous slice of the track", (line) => step(line, -1)],
		["↑", "Out of the slice, or to the track above", (line) => climb(line, -1)],
		["↓", "Into the slice, or to the track below", (line) => climb(line, 1)],
		["]", "Follow the flow out of the slice", (line) => follow(line, true)],
		["[", "Follow the flow into the slice", (line) => follow(line, false)],
		["Ctrl+]", "Choose another flow out", (line) => chooseFlow(line, true)],
		["Ctrl+[", "Choose another flow in", (line) => chooseFlow(line, false)],
		["R", "Select the area of the slice", areaOfSelection],
		["Ctrl+A", "Select all on screen; again: everything", selectAll],
		["Esc", "Select nothing", clear],
	],
	Mark: [
		["M", "Mark the slice until the next M", (line) => mark(line, false)],
		["Shift+M", "Mark it and keep the note", (line) => mark(line, true)],
		["Enter", "Edit the nearest note", (line) => editNote(line)],
		["Delete", "Remove the nearest note", forget],
		["Shift+T", "Pin the track under the mouse", pin],
	],
	Look: [
		["/", "Search", () => byId("search").focus()],
		["Ctrl+P", "Filter the tracks", () => byId("filter").focus()],
		[":", "Ask in SQL", openSql],
		["Q", "Show or hide the panel", ({ app }) => app.emit("drawer")],
		["V", "Show the counter another way", changeCounter],
		["C", "Colour slices by something else", changeColours],
		["T", "Times since the start, in ns, or wall clock", changeClock],
		["? > Ctrl+Shift+P", "This list of commands", ({ app }) => app.emit("help")],
	],
};

/** What the mouse does, for the help. @type {[string, string][]} */
export const MOUSE_HELP = [
	["Wheel", "Scroll the tracks"],
	["Ctrl+wheel, pinch", "Zoom"],
	["Shift+wheel", "Move left and right"],
	["Click", "Select; Shift+click another: measure the gap"],
	["Double click", "Select and zoom; on a note: edit it"],
	["Click on the ruler", "Put a note there"],
	["Drag", "Select an area; Alt: without snapping"],
	["Shift, Space, middle drag; a finger", "Move"],
];

/** Keys that act while they are held. */
export const HELD_ACTIONS = [zoomIn, zoomOut, panLeft, panRight];

/** What the keyboard calls the keys whose labels are other than their names. @type {Record<string, string>} */
const KEY_NAMES = { "→": "ArrowRight", "←": "ArrowLeft", "↑": "ArrowUp", "↓": "ArrowDown", Esc: "Escape" };

/** The action of a key. @param {Pick<KeyboardEvent, "code" | "key" | "ctrlKey" | "metaKey" | "shiftKey" | "altKey">} event @returns {Action | undefined} */
export function actionOf({ code, key, ctrlKey, metaKey, shiftKey, altKey }) {
	if (altKey) return undefined;
	const isKey = (/** @type {string} */ label) => {
		const [, ctrl, shift, name] = /** @type {RegExpExecArray} */ (/^(Ctrl\+)?(Shift\+)?(.+)$/.exec(label));
		if ((ctrlKey || metaKey) !== !!ctrl) return false;
		if (/^[^\w→←↑↓]$/.test(name)) return key === name;
		return (
			code === (KEY_NAMES[name] ?? name.replace(/^[A-Z]$/, "Key$&").replace(/^\d$/, "Digit$&")) && shiftKey === !!shift
		);
	};
	return Object.values(KEYMAP)
		.flat()
		.find(([labels]) => labels.split(" ").some(isKey))?.[2];
}
