// help.js - the list of keys and of what the mouse does.
import { openers } from "./actions.js";
import { byId, h, onClick, refill } from "./dom.js";
import { KEYMAP, MOUSE_HELP } from "./keymap.js";

export function attachHelp() {
	const dialog = /** @type {HTMLDialogElement} */ (byId("help"));
	const lists = KEYMAP.map(({ title, keys }) =>
		helpList(
			title,
			// What has no button here cannot be done.
			keys.filter(({ action }) => action !== "sql" || !byId("sql-button").hidden).map(({ label, text }) => [label, text]),
		),
	);
	refill(
		dialog,
		h(
			"header",
			h("h2", "Keys and mouse"),
			h("button.close", { "aria-label": "Close", onclick: () => dialog.close() }, "×"),
		),
		h("div.help-lists", ...lists, helpList("Mouse", MOUSE_HELP)),
	);
	dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
	openers.help = () => (dialog.open ? dialog.close() : dialog.showModal());
	onClick("help-button", () => openers.help());
}

/** @param {string} title @param {[string, string][]} pairs */
function helpList(title, pairs) {
	return h("section", h("h3", title), h("dl", ...pairs.flatMap(([key, text]) => [h("dt", h("kbd", key)), h("dd", text)])));
}
