// keymap.js - the keys of the page, as a table: the help lists it, and input.js acts on it. Keys are places on the keyboard
// where letters depend on the layout (KeyboardEvent.code), and characters where a character is meant (KeyboardEvent.key).

/**
 * @typedef {{ action: string, code?: string, key?: string, ctrl?: boolean, shift?: boolean, label: string, text: string }} Binding
 */

/** @type {{ title: string, keys: Binding[] }[]} */
export const KEYMAP = [
	{
		title: "Move",
		keys: [
			{ action: "zoom-in", code: "KeyW", label: "W", text: "Zoom in, where the mouse is" },
			{ action: "zoom-out", code: "KeyS", label: "S", text: "Zoom out" },
			{ action: "pan-left", code: "KeyA", label: "A", text: "Move left" },
			{ action: "pan-right", code: "KeyD", label: "D", text: "Move right" },
			{ action: "fit", code: "KeyF", label: "F", text: "Show what is selected; again: zoom to it" },
			{ action: "all", code: "Digit0", label: "0", text: "Show the whole trace" },
			{ action: "live", code: "End", label: "End", text: "Show the end of the trace, and follow a recording" },
			{ action: "back", code: "Backspace", label: "Backspace", text: "Back to what was shown before" },
		],
	},
	{
		title: "Select",
		keys: [
			{ action: "next", key: ".", label: ".", text: "Next slice of the track" },
			{ action: "previous", key: ",", label: ",", text: "Previous slice of the track" },
			{ action: "next", code: "ArrowRight", label: "→", text: "Next slice of the track" },
			{ action: "previous", code: "ArrowLeft", label: "←", text: "Previous slice of the track" },
			{ action: "parent", code: "ArrowUp", label: "↑", text: "The slice around this one" },
			{ action: "child", code: "ArrowDown", label: "↓", text: "The first slice in this one" },
			{ action: "flow-out", key: "]", label: "]", text: "Follow the flow out of the slice" },
			{ action: "flow-in", key: "[", label: "[", text: "Follow the flow into the slice" },
			{ action: "area", code: "KeyR", label: "R", text: "Select the area of the slice" },
			{
				action: "select-all",
				code: "KeyA",
				ctrl: true,
				label: "Ctrl+A",
				text: "Select all that is on screen; again: everything",
			},
			{ action: "clear", code: "Escape", label: "Esc", text: "Select nothing" },
		],
	},
	{
		title: "Mark",
		keys: [
			{ action: "mark", code: "KeyM", label: "M", text: "Mark the selected slice until another is marked" },
			{ action: "keep", code: "KeyM", shift: true, label: "Shift+M", text: "Mark it and keep the note" },
			{ action: "forget", code: "Delete", label: "Delete", text: "Remove the nearest note" },
			{ action: "pin", code: "KeyT", shift: true, label: "Shift+T", text: "Pin the track under the mouse" },
		],
	},
	{
		title: "Look",
		keys: [
			{ action: "search", key: "/", label: "/", text: "Search" },
			{ action: "filter", code: "KeyP", ctrl: true, label: "Ctrl+P", text: "Filter the tracks" },
			{ action: "sql", key: ":", label: ":", text: "Ask in SQL" },
			{ action: "drawer", code: "KeyQ", label: "Q", text: "Show or hide the panel below" },
			{ action: "clock", code: "KeyT", label: "T", text: "Times since the start, in ns, or of the wall clock" },
			{ action: "help", key: "?", label: "?", text: "This list" },
		],
	},
];

/** What the mouse does, for the help. @type {[string, string][]} */
export const MOUSE_HELP = [
	["Wheel", "Scroll the tracks"],
	["Ctrl+wheel, pinch", "Zoom"],
	["Shift+wheel", "Move left and right"],
	["Click", "Select; Shift+click another slice: measure the gap"],
	["Double click", "Select and zoom"],
	["Drag", "Select an area; Alt: without snapping to slices"],
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
