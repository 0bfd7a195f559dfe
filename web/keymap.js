// keymap.js - the keys of the page, as a table: the help lists it, and input.js acts on it. A letter or a digit is a place on the
// keyboard (KeyboardEvent.code), because those are chosen for where they are; other signs are characters (KeyboardEvent.key).
import {
	areaOfSelection,
	changeClock,
	changeColours,
	chooseFlow,
	clear,
	climb,
	fitSelection,
	follow,
	forget,
	goToEnd,
	mark,
	nextSlice,
	panLeft,
	panRight,
	pin,
	previousSlice,
	selectAll,
	showAll,
	zoomIn,
	zoomOut,
} from "./actions.js";
import { byId } from "./dom.js";

/** @typedef {import("./actions.js").Action} Action */

/** @type {Action} */
export const openSql = ({ app }) => app.emit("sql");

/** Each key with what the help says of it, and what it does. @type {Record<string, [string, string, Action][]>} */
export const KEYMAP = {
	Move: [
		["W", "Zoom in, where the mouse is", zoomIn],
		["S", "Zoom out", zoomOut],
		["A", "Move left", panLeft],
		["D", "Move right", panRight],
		["F", "Show the selection; again: zoom to it", fitSelection],
		["0", "Show the whole trace", showAll],
		["End", "Show the end, and follow a recording", goToEnd],
		["Backspace", "Back to what was shown", () => history.back()],
	],
	Select: [
		[".", "Next slice of the track", nextSlice],
		[",", "Previous slice of the track", previousSlice],
		["→", "Next slice of the track", nextSlice],
		["←", "Previous slice of the track", previousSlice],
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
		["M", "Mark the selected slice for now", (line) => mark(line, false)],
		["Shift+M", "Mark it and keep the note", (line) => mark(line, true)],
		["Delete", "Remove the nearest note", forget],
		["Shift+T", "Pin the track under the mouse", pin],
	],
	Look: [
		["/", "Search", () => byId("search").focus()],
		["Ctrl+P", "Filter the tracks", () => byId("filter").focus()],
		[":", "Ask in SQL", openSql],
		["Q", "Show or hide the panel below", ({ app }) => app.emit("drawer")],
		["C", "Colour slices by name, category, duration or process", changeColours],
		["T", "Times since the start, in ns, or wall clock", changeClock],
		["?", "This list", ({ app }) => app.emit("help")],
	],
};

/** What the mouse does, for the help. @type {[string, string][]} */
export const MOUSE_HELP = [
	["Wheel", "Scroll the tracks"],
	["Ctrl+wheel, pinch", "Zoom"],
	["Shift+wheel", "Move left and right"],
	["Click", "Select; Shift+click another: measure the gap"],
	["Double click", "Select and zoom"],
	["Drag", "Select an area; Alt: without snapping"],
	["Shift, Space, middle drag", "Move"],
];

/** Keys that act while they are held. */
export const HELD_ACTIONS = [zoomIn, zoomOut, panLeft, panRight];

/** What the keyboard calls the keys whose labels are other than their names. @type {Record<string, string>} */
const KEY_NAMES = { "→": "ArrowRight", "←": "ArrowLeft", "↑": "ArrowUp", "↓": "ArrowDown", Esc: "Escape" };

/** The action of a key. @param {Pick<KeyboardEvent, "code" | "key" | "ctrlKey" | "metaKey" | "shiftKey" | "altKey">} event @returns {Action | undefined} */
export function actionOf({ code, key, ctrlKey, metaKey, shiftKey, altKey }) {
	if (altKey) return undefined;
	const isKey = (/** @type {string} */ label) => {
		const [, modifier, name] = /** @type {RegExpExecArray} */ (/^(Ctrl\+|Shift\+)?(.+)$/.exec(label));
		if ((ctrlKey || metaKey) !== (modifier === "Ctrl+")) return false;
		if (/^[^\w→←↑↓]$/.test(name)) return key === name;
		return (
			code === (KEY_NAMES[name] ?? name.replace(/^[A-Z]$/, "Key$&").replace(/^\d$/, "Digit$&")) &&
			shiftKey === (modifier === "Shift+")
		);
	};
	return Object.values(KEYMAP)
		.flat()
		.find(([label]) => isKey(label))?.[2];
}
