// sql.js - questions in SQL, and their answers as tables and as tracks. A result with the columns of slices leads back to the tracks.
import { copyText, h, onClick, refill } from "./dom.js";
import { trackKinds } from "./queries.js";
import { tableOf } from "./table.js";
import { countText } from "./time.js";

const MOST_ROWS = 10000;
const EXAMPLE = "SELECT name, count(*) AS count, sum(dur) AS total\nFROM slice GROUP BY name ORDER BY total DESC LIMIT 100";
const MOST_QUERIES_KEPT = 50;

/** Makes the tab. @param {App} app @param {Drawer} drawer @param {Queries} queries @returns {Tab} */
export function attachSql(app, drawer, queries) {
	/** @type {AbortController | null} */
	let asked = null;
	/** @type {string[]} */
	let history = [];
	const input = h("textarea", {
		id: "sql-input",
		rows: 3,
		spellcheck: false,
		value: EXAMPLE,
		"aria-label": "SQL",
		onkeydown: (/** @type {KeyboardEvent} */ event) => {
			if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
			event.preventDefault();
			run();
		},
	});
	const older = h("select", {
		title: "Earlier queries",
		hidden: true,
		onchange: () => {
			input.value = older.value;
			input.focus();
		},
	});
	const status = h("span.muted", { role: "status" }, "Ctrl+Enter runs it");
	const kinds = h("span.tabletools");
	const result = h("div");
	const tools = h("div.sql-tools", h("button.primary", { onclick: () => run() }, "Run"), older, status, kinds);
	const element = h("div.sql", h("div.sql-box", input, tools), result);

	const run = async () => {
		const sql = input.value.trim();
		if (!sql) return;
		asked?.abort();
		const { signal } = (asked = new AbortController());
		status.textContent = "Running…";
		refill(kinds);
		try {
			/** @type {SqlAnswer} */
			const answer = await app.ask("sql", { sql, limit: MOST_ROWS }, signal);
			remember(sql);
			show({ ...answer, sql });
		} catch (error) {
			if (!signal.aborted) fail(/** @type {Error & { line?: number, column?: number }} */ (error));
		}
	};
	const remember = (/** @type {string} */ sql) => {
		history = [sql, ...history.filter((other) => other !== sql)].slice(0, MOST_QUERIES_KEPT);
		refill(older, ...history.map((value) => h("option", { value }, value.replace(/\s+/g, " ").slice(0, 80))));
		older.hidden = history.length < 2;
	};
	const show = (/** @type {SqlAnswer} */ answer) => {
		const { columns, rows, total, ms, truncated } = answer;
		const shown = truncated ? `, the first ${rows.length} are shown` : "";
		status.textContent = `${countText(total, "row")} in ${ms.toFixed(1)} ms${shown}`;
		/** @type {TableOptions} */
		const options = { name: "Result" };
		if (["id", "ts", "dur"].every((column) => columns.includes(column))) {
			options.onrow = (row) => void app.revealId("slice", Number(row[columns.indexOf("id")]));
			options.rowHint = "Show it in the tracks";
		}
		refill(result, tableOf(answer, options));
		const buttons = trackKinds(answer).map((kind) => {
			const onclick = () => {
				queries.show(app, answer, kind);
				app.emit("rows");
			};
			return h("button", { onclick, title: "Pin the result over the tracks" }, `Show as ${kind}`);
		});
		refill(kinds, ...buttons);
	};
	const fail = (/** @type {Error & { line?: number, column?: number }} */ error) => {
		status.textContent = "";
		const copy = h("button", { onclick: () => copyText(error.message) }, "Copy");
		refill(result, h("pre.error", { role: "alert" }, error.message), copy);
		if (!error.line) return;
		// The cursor goes to where the error is.
		const before = input.value.split("\n").slice(0, error.line - 1);
		const at = before.reduce((sum, line) => sum + line.length + 1, 0) + (error.column ?? 1) - 1;
		input.focus();
		input.setSelectionRange(at, at);
	};

	app.showSql = async (sql, kind) => {
		const answer = await app.tryAsk("sql", { sql, limit: MOST_ROWS });
		if (answer) queries.show(app, { ...answer, sql }, kind);
	};
	const open = () => {
		drawer.toggle(true);
		drawer.open("sql");
	};
	app.askSql = async (sql, isPinned) => {
		input.value = sql;
		open();
		await run();
		if (isPinned) kinds.querySelector("button")?.click();
	};
	app.on("sql", () => {
		open();
		input.select();
		input.focus();
	});
	onClick("sql-button", () => app.emit("sql"));
	return { id: "sql", title: "SQL", show: (body) => body.append(element) };
}
