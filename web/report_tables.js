// report_tables.js - the tables of a report are sorted by a click on a heading, and long ones have a field that chooses rows.
import { h } from "./dom.js";

/** More rows than these can be chosen from. */
const MANY_ROWS = 20;

/** What a cell is sorted by: its number with all digits, its text, or null when it has nothing. @param {HTMLTableCellElement | undefined} cell */
function keyOf(cell) {
	const text = cell?.textContent ?? "";
	if (cell?.dataset.value !== undefined) return Number(cell.dataset.value);
	if (text === "" || text === "-" || cell?.classList.contains("null")) return null;
	return text;
}

/** Numbers come before texts, and what is nothing comes last in either order. @param {string | number | null} a @param {string | number | null} b @param {number} sign 1 or -1 */
export function compareKeys(a, b, sign) {
	if (a === null || b === null) return Number(a === null) - Number(b === null);
	if (typeof a === "number" && typeof b === "number") return sign * (a - b);
	if (typeof a !== typeof b) return sign * (typeof a === "number" ? -1 : 1);
	return sign * (a < b ? -1 : a > b ? 1 : 0);
}

/** @param {HTMLTableElement} table @param {number} column @param {HTMLTableCellElement} heading */
function sortBy(table, column, heading) {
	const body = table.tBodies[0];
	const rows = [...body.rows];
	const keys = new Map(rows.map((row) => [row, keyOf(row.cells[column])]));
	const first = rows.some((row) => typeof keys.get(row) === "number") ? "descending" : "ascending";
	const other = first === "ascending" ? "descending" : "ascending";
	const order = heading.getAttribute("aria-sort") === first ? other : first;
	const sign = order === "ascending" ? 1 : -1;
	for (const cell of heading.parentElement?.children ?? []) cell.removeAttribute("aria-sort");
	heading.setAttribute("aria-sort", order);
	rows.sort((a, b) => compareKeys(keys.get(a) ?? null, keys.get(b) ?? null, sign));
	body.append(...rows);
}

/** @param {HTMLTableElement} table */
function addFilter(table) {
	const rows = [...table.tBodies[0].rows];
	const texts = rows.map((row) => row.textContent?.toLowerCase() ?? "");
	const count = h("span", { role: "status" });
	const field = h("input", { type: "search", placeholder: "Filter rows", "aria-label": "Filter the rows below" });
	field.addEventListener("input", () => {
		const wanted = field.value.trim().toLowerCase();
		let shown = 0;
		rows.forEach((row, i) => {
			row.hidden = !texts[i].includes(wanted);
			if (!row.hidden) shown++;
		});
		count.textContent = wanted === "" ? "" : `${shown} of ${rows.length}`;
	});
	table.before(h("p.filter", field, " ", count));
}

/** @param {HTMLElement} report */
export function improveTables(report) {
	for (const table of report.querySelectorAll("table")) {
		if (!table.tHead || table.tBodies.length === 0) continue;
		[...table.tHead.rows[0].cells].forEach((heading, column) => {
			const button = h("button", { title: "Sort" }, heading.textContent);
			button.addEventListener("click", () => sortBy(table, column, heading));
			heading.replaceChildren(button);
		});
		if (table.tBodies[0].rows.length > MANY_ROWS) addFilter(table);
	}
}
