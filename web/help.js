// help.js - the list of keys and of what the mouse does.
import { byId, h, onClick, refill } from "./dom.js";
import { KEYMAP, MOUSE_HELP, openSql } from "./keymap.js";

/** @param {App} app */
export function attachHelp(app) {
	const dialog = /** @type {HTMLDialogElement} */ (byId("help"));
	// What has no button here cannot be done.
	const hasSql = !byId("sql-button").hidden;
	const lists = Object.entries(KEYMAP).map(([title, keys]) =>
		helpList(
			title,
			keys.filter(([, , action]) => action !== openSql || hasSql),
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
	app.on("help", () => (dialog.open ? dialog.close() : dialog.showModal()));
	onClick("help-button", () => app.emit("help"));
}

/** @param {string} title @param {[string, string, ...unknown[]][]} rows */
function helpList(title, rows) {
	return h("section", h("h3", title), h("dl", ...rows.flatMap(([key, text]) => [h("dt", h("kbd", key)), h("dd", text)])));
}
