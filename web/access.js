// access.js - for those who do not see the canvas: a list of the slices of the selected track that are on screen, which can be
// walked with the keyboard and says what is in focus.
import { byId, delayed, h, onArrows, refill } from "./dom.js";
import { durationText } from "./time.js";

const MOST_LISTED = 200;
const LIST_AFTER_MS = 200;

/** @param {App} app @param {Timeline} line */
export function attachList(app, line) {
	const list = byId("visible");
	const later = delayed(LIST_AFTER_MS, () => {
		const lane = app.selection?.lane;
		// A list in which somebody is stays as it is until they choose something.
		if (list.contains(document.activeElement)) return;
		refill(list, ...(lane === undefined ? [] : itemsOf(app, line, lane)));
	});
	app.on(["view", "selection"], later);
	onArrows(list, ["ArrowUp", "ArrowDown"], (by) => {
		const items = [...list.querySelectorAll("button")];
		const at = items.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
		items[Math.max(0, at + by)]?.focus();
	});
}

/** @param {App} app @param {Timeline} line @param {number} lane */
function itemsOf(app, line, lane) {
	const items = [];
	for (const pane of line.panes) {
		const { boxes } = pane;
		for (let i = 0; i < boxes.length && items.length < MOST_LISTED; i++) {
			if (boxes.lane[i] !== lane) continue;
			const selection = pane.selectionOf(i);
			const count = boxes.count[i];
			const what = count > 1 ? `${count} events, the longest is ${selection.name}` : selection.name;
			const text = `${what}, ${durationText(selection.end - selection.start)}, at ${app.clock.text(selection.start, 1000)}`;
			items.push(h("li", h("button", { onclick: () => app.select(selection) }, text)));
		}
	}
	return items;
}
