// keymap.js - the keys of the page, as a table: the help lists it, and input.js acts on it. Keys are places on the keyboard
// where letters depend on the layout (KeyboardEvent.code), and characters where a character is meant (KeyboardEvent.key).

/**
 * @typedef {{ action: string, code?: string, key?: string, ctrl?: boolean, shift?: boolean, label: string, text: string }} Binding
 */

/**
 * A group of bindings: action, key, label and text. A key of one letter is a character, others are places.
 * @param {string} title @param {...[string, string, string, string]} rows @returns {{ title: string, keys: Binding[] }}
 */
function keyGroup(title, ...rows) {
	const keys = rows.map(([action, place, label, text]) => {
		const binding = { action, label, text, ctrl: label.startsWith("Ctrl+"), shift: label.startsWith("Shift+") };
		return { ...binding, [place.length === 1 ? "key" : "code"]: place };
	});
	return { title, keys };
}

export const KEYMAP = [
	keyGroup(
		"Move",
		["zoom-in", "KeyW", "W", "Zoom in, where the mouse is"],
		["zoom-out", "KeyS", "S", "Zoom out"],
		["pan-left", "KeyA", "A", "Move left"],
		["pan-right", "KeyD", "D", "Move right"],
		["fit", "KeyF", "F", "Show the selection; again: zoom to it"],
		["all", "Digit0", "0", "Show the whole trace"],
		["live", "End", "End", "Show the end, and follow a recording"],
		["back", "Backspace", "Backspace", "Back to what was shown"],
	),
	keyGroup(
		"Select",
		["next", ".", ".", "Next slice of the track"],
		["previous", ",", ",", "Previous slice of the track"],
		["next", "ArrowRight", "→", "Next slice of the track"],
		["previous", "ArrowLeft", "←", "Previous slice of the track"],
		["parent", "ArrowUp", "↑", "Out of the slice, or to the track above"],
		["child", "ArrowDown", "↓", "Into the slice, or to the track below"],
		["flow-out", "]", "]", "Follow the flow out of the slice"],
		["flow-in", "[", "[", "Follow the flow into the slice"],
		["choose-out", "]", "Ctrl+]", "Choose another flow out"],
		["choose-in", "[", "Ctrl+[", "Choose another flow in"],
		["area", "KeyR", "R", "Select the area of the slice"],
		["select-all", "KeyA", "Ctrl+A", "Select all on screen; again: everything"],
		["clear", "Escape", "Esc", "Select nothing"],
	),
	keyGroup(
		"Mark",
		["mark", "KeyM", "M", "Mark the selected slice for now"],
		["keep", "KeyM", "Shift+M", "Mark it and keep the note"],
		["forget", "Delete", "Delete", "Remove the nearest note"],
		["pin", "KeyT", "Shift+T", "Pin the track under the mouse"],
	),
	keyGroup(
		"Look",
		["search", "/", "/", "Search"],
		["filter", "KeyP", "Ctrl+P", "Filter the tracks"],
		["sql", ":", ":", "Ask in SQL"],
		["drawer", "KeyQ", "Q", "Show or hide the panel below"],
		["clock", "KeyT", "T", "Times since the start, in ns, or wall clock"],
		["help", "?", "?", "This list"],
	),
];

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

/** The action of a key. @param {{ code: string, key: string, ctrlKey: boolean, metaKey: boolean, shiftKey: boolean, altKey: boolean }} event @returns {string | null} */
export function actionOf(event) {
	if (event.altKey) return null;
	const ctrl = event.ctrlKey || event.metaKey;
	for (const { keys } of KEYMAP) {
		for (const binding of keys) {
			if (ctrl !== (binding.ctrl === true)) continue;
			if (binding.key !== undefined) {
				if (event.key === binding.key) return binding.action;
			} else if (event.code === binding.code && event.shiftKey === (binding.shift === true)) return binding.action;
		}
	}
	return null;
}

/** Keys that act while they are held. */
export const HELD_ACTIONS = ["zoom-in", "zoom-out", "pan-left", "pan-right"];
