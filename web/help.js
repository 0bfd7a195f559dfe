// help.js - the list of keys, of what the mouse does, and of what colours stand for. What keys do can be found by what it is called, and
// run from here.
import { STATE, durationLegend } from "./colour.js";
import { byId, h, onClick, refill } from "./dom.js";
import { KEYMAP, MOUSE_HELP, openSql } from "./actions.js";
import { matcherOf } from "./model.js";

/** The states of threads that are drawn in a colour of their own. @type {[number, string][]} */
const STATE_LEGEND = [
	[STATE.running, "Running"],
	[STATE.runnable, "Runnable: waits for a CPU"],
	[STATE.diskSleep, "Waits for a disk"],
	[STATE.otherSleep, "Waits without being interruptible"],
];

/** @param {App} app @param {Timeline} line */
export function attachHelp(app, line) {
	const dialog = /** @type {HTMLDialogElement} */ (byId("help"));
	// A page without the button for SQL has no key for it either.
	const hasSql = !byId("sql-button").hidden;
	const kbd = (/** @type {string} */ key) => h("kbd", key);
	const kbds = (/** @type {string} */ keys) => h("span", ...keys.split(" ").flatMap((key) => [kbd(key), " "]));
	const keys = Object.entries(KEYMAP).map(([title, rows]) => {
		const usable = rows.filter(([, , action]) => action !== openSql || hasSql);
		const commands = usable.map(([key, text, action]) => {
			const onclick = () => {
				dialog.close();
				line.act(action);
			};
			return /** @type {[string, Node]} */ ([key, h("button.link", { onclick }, text)]);
		});
		return helpList("keys", title, commands, kbds);
	});
	const stateSwatch = (/** @type {number} */ state) => h(`i.swatch.state-${state}`);
	const swatch = (/** @type {string} */ colour) => h("i.swatch", { style: `background: ${colour}` });
	/** Leaves the rows whose text has what is typed. */
	const filter = () => {
		const matches = matcherOf(field.value) ?? (() => true);
		/** @type {any} */
		const texts = dialog.querySelectorAll("dd");
		for (const text of texts) text.hidden = text.previousElementSibling.hidden = !matches(text.textContent);
	};
	const field = h("input", { type: "search", size: 36, placeholder: "Type; Enter runs the first", oninput: filter });
	field.onkeydown = ({ key }) => {
		/** @type {HTMLElement | null} */
		const first = dialog.querySelector("dd:not([hidden]) .link");
		if (key === "Enter") first?.click();
	};
	refill(
		dialog,
		h(
			"header",
			h("h2", "Keys, mouse and colours"),
			field,
			h("button.close", { "aria-label": "Close", onclick: () => dialog.close() }, "×"),
		),
		h(
			"div.help-lists",
			...keys,
			helpList("keys", "Mouse", MOUSE_HELP, kbd),
			helpList("legend", "States of threads", STATE_LEGEND, stateSwatch),
			helpList("legend", "Slices coloured by duration", durationLegend(), swatch),
		),
	);
	dialog.onclick = (event) => event.target === dialog && dialog.close();
	app.on("help", () => {
		field.value = "";
		filter();
		dialog.showModal();
	});
	onClick("help-button", () => app.emit("help"));
}

/** @template T @param {string} look @param {string} title @param {[T, string | Node, ...unknown[]][]} rows @param {(key: T) => Node} keyOf */
function helpList(look, title, rows, keyOf) {
	const items = rows.flatMap(([key, text]) => [h("dt", keyOf(key)), h("dd", text)]);
	return h("section", h("h3", title), h(`dl.${look}`, ...items));
}
