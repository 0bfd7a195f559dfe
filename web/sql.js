// sql.js - questions in SQL, and their answers as tables and as tracks. A result with the columns of slices leads back to the tracks.
import { copyText, h, onClick, refill } from "./dom.js";
import { trackKinds } from "./queries.js";
import { tableOf } from "./table.js";
import { grouped } from "./time.js";

const MOST_ROWS = 10000;
const EXAMPLE = "SELECT name, count(*) AS count, sum(dur) AS total\nFROM slice GROUP BY name ORDER BY total DESC LIMIT 100";
const MOST_QUERIES_KEPT = 50;

export class SqlBox {
	/** @param {App} app @param {Queries} queries */
	constructor(app, queries) {
		this.app = app;
		this.queries = queries;
		/** @type {AbortController | null} */
		this.abort = null;
		/** @type {string[]} */
		this.history = [];
		this.input = h("textarea", { id: "sql-input", rows: 3, spellcheck: false, value: EXAMPLE, "aria-label": "SQL" });
		this.result = h("div.sql-result");
		this.status = h("span.muted", { role: "status" }, "Ctrl+Enter runs it");
		this.kinds = h("span.tabletools");
		this.older = h("select", { title: "Earlier queries", "aria-label": "Earlier queries", onchange: () => this.recall() });
		this.older.hidden = true;
		const run = h("button.primary", { onclick: () => this.run() }, "Run");
		this.element = h(
			"div.sql",
			h("div.sql-box", this.input, h("div.sql-tools", run, this.older, this.status, this.kinds)),
			this.result,
		);
		this.input.addEventListener("keydown", (event) => {
			if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
			event.preventDefault();
			this.run();
		});
	}

	focus() {
		this.input.focus();
		this.input.select();
	}

	recall() {
		this.input.value = this.older.value;
		this.input.focus();
	}

	/** @param {string} sql */
	remember(sql) {
		this.history = [sql, ...this.history.filter((other) => other !== sql)].slice(0, MOST_QUERIES_KEPT);
		refill(this.older, ...this.history.map((text) => h("option", { value: text }, text.replace(/\s+/g, " ").slice(0, 80))));
		this.older.hidden = this.history.length < 2;
	}

	async run() {
		const sql = this.input.value.trim();
		if (!sql) return;
		this.abort?.abort();
		const abort = (this.abort = new AbortController());
		this.status.textContent = "Running…";
		refill(this.kinds);
		try {
			/** @type {SqlAnswer} */
			const answer = await this.app.ask("sql", { sql, limit: MOST_ROWS }, abort.signal);
			this.remember(sql);
			this.show({ ...answer, sql });
		} catch (error) {
			if (!abort.signal.aborted) this.fail(/** @type {Error & { line?: number, column?: number }} */ (error));
		}
	}

	/** @param {SqlAnswer} answer */
	show(answer) {
		const { columns, rows, total, ms, truncated } = answer;
		this.status.textContent = `${grouped(total)} ${total === 1 ? "row" : "rows"} in ${ms.toFixed(1)} ms${truncated ? `, the first ${grouped(rows.length)} are shown` : ""}`;
		const id = columns.indexOf("id");
		const isSlices = id >= 0 && columns.includes("ts") && columns.includes("dur");
		const onrow = isSlices
			? (/** @type {(string | number | null)[]} */ row) => void this.app.revealId("slice", Number(row[id]))
			: undefined;
		refill(
			this.result,
			tableOf(answer, { name: "Result", onrow, rowHint: isSlices ? "Show it in the tracks" : undefined }),
		);
		const buttons = trackKinds(answer).map((kind) =>
			h(
				"button",
				{ onclick: () => this.showTrack(answer, kind), title: "Pin the result over the tracks" },
				`Show as ${kind}`,
			),
		);
		refill(this.kinds, ...buttons);
	}

	/** @param {SqlAnswer} answer @param {"slices" | "counter"} kind */
	showTrack(answer, kind) {
		this.queries.show(this.app, answer, kind);
		this.app.emit("rows", "view");
	}

	/** @param {Error & { line?: number, column?: number }} error */
	fail(error) {
		this.status.textContent = "";
		refill(
			this.result,
			h("pre.error", { role: "alert" }, error.message),
			h("button", { onclick: () => copyText(error.message) }, "Copy"),
		);
		if (!error.line) return;
		// The cursor goes to where the error is.
		const lines = this.input.value.split("\n");
		const at = lines.slice(0, error.line - 1).reduce((sum, line) => sum + line.length + 1, 0) + (error.column ?? 1) - 1;
		this.input.focus();
		this.input.setSelectionRange(at, at);
	}
}

/** Makes the tab. @param {App} app @param {Drawer} drawer @param {Queries} queries @returns {Tab} */
export function attachSql(app, drawer, queries) {
	const sql = new SqlBox(app, queries);
	app.on("sql", () => {
		drawer.toggle(true);
		drawer.open("sql");
		sql.focus();
	});
	onClick("sql-button", () => app.emit("sql"));
	return { id: "sql", title: "SQL", show: (body) => body.append(sql.element) };
}
