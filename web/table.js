// table.js - tables of answers: sorted by a click, only the rows on screen are in the document, copied as TSV, and each with
// the query that made it.
import { copyText, h, onArrows, refill } from "./dom.js";
import { countText, durationText, grouped } from "./time.js";

const ROW_HEIGHT = 24;
const BEYOND_ROWS = 6;
const SAMPLE_ROWS = 200;
const LETTER_WIDTH = 7.2;

/** @typedef {string | number | null} Cell */
/**
 * @typedef {{ format?: (value: Cell, column: string) => string, onrow?: (row: Cell[], columns: string[]) => void, rowHint?: string, name?: string, tool?: Node | null }} TableOptions
 */

/** Durations and shares in the tables that the page asks for. @param {Cell} value @param {string} column */
export function measureText(value, column) {
	if (typeof value !== "number") return value ?? "–";
	if (column === "share") return `${value.toFixed(value < 10 ? 2 : 1)} %`;
	if (/^(count|runs|id|\w+_id)$/.test(column)) return grouped(value);
	return durationText(value);
}

/** @param {Cell} value */
export function plainText(value) {
	return value == null ? "NULL" : String(value);
}

/** The order of rows by a column: numbers by value before texts, and what is missing last. @param {Cell} a @param {Cell} b */
export function compareCells(a, b) {
	const kindOf = (/** @type {Cell} */ cell) => (cell == null ? 2 : typeof cell === "number" ? 0 : 1);
	return kindOf(a) - kindOf(b) || (a == null || b == null || a === b ? 0 : a < b ? -1 : 1);
}

/** @param {string[]} columns @param {Cell[][]} rows */
export function tsvOf(columns, rows) {
	const clean = (/** @type {Cell} */ value) => String(value ?? "").replace(/[\t\r\n]+/g, " ");
	return [columns, ...rows].map((row) => row.map(clean).join("\t")).join("\n");
}

/** @param {AnswerTable} answer @param {TableOptions} options @returns {HTMLElement} */
export function tableOf(answer, options) {
	const { columns } = answer;
	const format = options.format ?? plainText;
	let rows = answer.rows;
	let at = -1;
	let sorted = -1;
	let isDown = true;
	const isNumeric = columns.map((_, c) =>
		rows.slice(0, SAMPLE_ROWS).every((row) => row[c] === null || typeof row[c] === "number"),
	);
	const widths = columns.map((column, c) => widthOf(column, c, rows, format));
	const wide = widest(widths, isNumeric);
	const template = widths.map((width, c) => (c === wide ? `minmax(${width}px, 1fr)` : `${width}px`)).join(" ");
	const head = h("div.thead", { role: "row" });
	const body = h("div.tbody", { role: "rowgroup", style: `height: ${rows.length * ROW_HEIGHT}px` });
	const props = {
		role: "table",
		tabIndex: 0,
		"aria-label": options.name,
		"aria-rowcount": rows.length + 1,
		style: `--columns: ${template}`,
	};
	const scroller = h("div.table", props, head, body);
	const cells = (/** @type {Cell[]} */ row) =>
		row.map((value, c) =>
			h(
				`span.${isNumeric[c] ? "number" : value === null ? "null" : ""}`,
				{ role: "cell", title: plainText(value) },
				format(value, columns[c]),
			),
		);
	const show = () => {
		const first = Math.max(0, Math.floor(scroller.scrollTop / ROW_HEIGHT) - BEYOND_ROWS);
		const count = Math.ceil((scroller.clientHeight || 600) / ROW_HEIGHT) + 2 * BEYOND_ROWS;
		const shown = rows.slice(first, first + count).map((row, i) => {
			const onclick = options.onrow && (() => options.onrow?.(row, columns));
			const style = `top: ${(first + i) * ROW_HEIGHT}px`;
			const props = { role: "row", tabIndex: -1, "aria-rowindex": first + i + 2, onclick, title: options.rowHint, style };
			return h("div.tr", props, ...cells(row));
		});
		const hadFocus = body.contains(document.activeElement);
		refill(body, ...shown);
		if (hadFocus) shown[at - first]?.focus();
	};
	/** Moves the focus to a row. @param {number} to */
	const focusRow = (to) => {
		at = Math.max(0, Math.min(rows.length - 1, to));
		// The header covers a row.
		const least = (at + 2) * ROW_HEIGHT - scroller.clientHeight;
		scroller.scrollTop = Math.min(Math.max(scroller.scrollTop, least), at * ROW_HEIGHT);
		show();
		/** @type {HTMLElement | null} */ (body.querySelector(`[aria-rowindex="${at + 2}"]`))?.focus();
	};
	onArrows(scroller, ["ArrowUp", "ArrowDown"], (by) => focusRow(at + by));
	body.onkeydown = ({ code }) => void (code === "Enter" && at >= 0 && options.onrow?.(rows[at], columns));
	const order = (/** @type {number} */ c) => {
		isDown = sorted === c ? !isDown : isNumeric[c];
		sorted = c;
		const sign = isDown ? -1 : 1;
		rows = [...answer.rows].sort((a, b) => sign * compareCells(a[c], b[c]));
		for (const [i, cell] of [...head.children].entries()) {
			cell.ariaSort = i !== c ? "none" : isDown ? "descending" : "ascending";
		}
		show();
	};
	columns.forEach((column, c) => {
		const button = h("button", { onclick: () => order(c) }, column);
		head.append(h(`span.${isNumeric[c] ? "number" : ""}`, { role: "columnheader", "aria-sort": "none" }, button));
	});
	scroller.onscroll = show;
	new ResizeObserver(show).observe(scroller);
	show();
	return h(
		"div.tablebox",
		h(
			"div.tabletools",
			h("span.muted", countText(rows.length, "row")),
			h("button", { onclick: () => copyText(tsvOf(columns, rows)) }, "Copy"),
			options.tool,
			...queryOf(answer.sql),
		),
		scroller,
	);
}

/** The column that gets the space that is left: the widest one of texts, -1 if there is none. @param {number[]} widths @param {boolean[]} isNumeric */
function widest(widths, isNumeric) {
	const texts = widths.map((width, c) => (isNumeric[c] ? 0 : width));
	const most = Math.max(0, ...texts);
	return most > 0 ? texts.indexOf(most) : -1;
}

/** @param {string} column @param {number} c @param {Cell[][]} rows @param {(value: Cell, column: string) => string} format */
function widthOf(column, c, rows, format) {
	let letters = column.length + 2;
	for (const row of rows.slice(0, SAMPLE_ROWS)) letters = Math.max(letters, format(row[c], column).length);
	return Math.round(Math.min(420, Math.max(56, letters * LETTER_WIDTH + 16)));
}

/** A button that shows a query, and the query; nothing if there is none. @param {string} [sql] */
export function queryOf(sql) {
	if (!sql) return [];
	const query = h("pre.query", { hidden: true }, sql);
	const onclick = () => (query.hidden = !query.hidden);
	return [h("button", { onclick, title: "The query that made this" }, "SQL"), query];
}
