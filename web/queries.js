// queries.js - results of SQL as tracks. Their rows are in the page, so that it makes their tiles itself, as the server makes
// those of the trace. They are as many as the table has, so that no level of detail is needed.
import { AT_NAME, BOX_F64, BOX_U32, FLAG_INSTANT, FLAG_UNFINISHED, POINT_F64 } from "./answers.js";

/** Lanes and names of the trace have smaller numbers. */
const FIRST_QUERY = 0xf0000000;
/** Rows have numbers of their own in all tracks. */
const ROWS_PER_TRACK = 2 ** 20;

/** @typedef {{ id: number, start: number, end: number, depth: number, text: string, flags: number, value: number, cells: (string | number | null)[] }} QueryRow */
/** @typedef {{ lane: number, kind: "slices" | "counter", answer: AnswerTable, rows: QueryRow[], tile: Tile }} QueryTrack */

/** The column with the values of a counter, -1 if the result has none. @param {AnswerTable} answer */
function valueColumn({ columns, rows }) {
	return columns.findLastIndex(
		(column, c) =>
			!/^(id|ts|dur|depth|\w+id)$/.test(column) && rows.every((row) => row[c] === null || typeof row[c] === "number"),
	);
}

/** @param {AnswerTable} answer @returns {("slices" | "counter")[]} what the result can be shown as */
export function trackKinds(answer) {
	/** @type {("slices" | "counter")[]} */
	const kinds = answer.columns.includes("dur") ? ["slices"] : [];
	if (valueColumn(answer) >= 0) kinds.push("counter");
	return answer.columns.includes("ts") ? kinds : [];
}

/**
 * The rows of a result by time; each has the first depth that is free.
 * @param {AnswerTable} answer @param {"slices" | "counter"} kind @param {bigint} origin @param {number} end when the trace ends
 * @returns {QueryRow[]}
 */
export function queryRows(answer, kind, origin, end) {
	const [ts, duration, name] = ["ts", "dur", "name"].map((column) => answer.columns.indexOf(column));
	const value = valueColumn(answer);
	const rows = answer.rows.map((cells, id) => {
		const dur = kind === "counter" ? 0 : Number(cells[duration] ?? -1);
		// Absolute times may have more digits than a double, and are texts then.
		const start = /^-?\d+$/.test(String(cells[ts])) ? Number(BigInt(cells[ts] ?? 0) - origin) : NaN;
		return {
			id,
			start,
			end: dur < 0 ? Math.max(start, end) : start + dur,
			depth: 0,
			text: String(cells[name] ?? id),
			flags: dur === 0 ? FLAG_INSTANT : dur < 0 ? FLAG_UNFINISHED : 0,
			value: Number(cells[value] ?? NaN),
			cells,
		};
	});
	/** @type {number[]} */
	const ends = [];
	const sorted = rows.filter(({ start }) => start === start).sort((a, b) => a.start - b.start || b.end - a.end);
	for (const row of sorted) {
		const free = ends.findIndex((before) => before <= row.start);
		row.depth = kind === "counter" ? 0 : free < 0 ? ends.length : free;
		ends[row.depth] = row.end;
	}
	return sorted;
}

/** The tracks of results, and the answers about them. */
export class Queries {
	/** @type {QueryTrack[]} */
	tracks = [];

	/** @param {number} lane */
	trackOf(lane) {
		return lane < FIRST_QUERY ? undefined : this.tracks[lane - FIRST_QUERY];
	}

	/** Shows a result as a track, until it is unpinned. All of its tiles are the same one, which has all rows. @param {App} app @param {AnswerTable} answer @param {"slices" | "counter"} kind */
	show({ meta, model, names }, answer, kind) {
		const rows = queryRows(answer, kind, BigInt(meta.start_ns), meta.end);
		const isCounter = kind === "counter";
		const size = isCounter ? POINT_F64 : BOX_F64;
		const f64 = new Float64Array(rows.length * size);
		const u32 = new Uint32Array(f64.buffer);
		rows.forEach((row, i) => {
			const { start, value, depth, flags } = row;
			row.id += ROWS_PER_TRACK * this.tracks.length;
			names.add(FIRST_QUERY + row.id, row.text);
			f64.set(isCounter ? [start, value, value, value, value] : [start, row.end], i * size);
			if (!isCounter) u32.set([FIRST_QUERY + row.id, row.id, 1, (flags << 8) | (depth << 16)], i * BOX_U32 + AT_NAME);
		});
		const lane = FIRST_QUERY + this.tracks.length;
		this.tracks.push({ lane, kind, answer, rows, tile: { count: rows.length, f64, u32, bytes: 0 } });
		const depths = rows.reduce((most, { depth }) => Math.max(most, depth + 1), 1);
		const { sql = "" } = answer;
		const name = sql.replace(/\s+/g, " ");
		model.pin(model.addNode({ kind, name, lane, table: "query", rows: depths, events: rows.length, sql }));
	}

	/** Shows the tracks in a later state of the trace. @param {App} next */
	moveTo(next) {
		const { tracks } = this;
		this.tracks = [];
		for (const { answer, kind } of tracks) this.show(next, answer, kind);
	}

	/** A source that answers about these tracks as well. @param {Source} inner @returns {Source} */
	sourceOf(inner) {
		/** @type {Partial<Source>} */
		const own = {
			at: (generation) => this.sourceOf(inner.at(generation)),
			boxes: async (kind, level, pairs, signal) => {
				const others = pairs.filter(({ lane }) => !this.trackOf(lane));
				const tiles = others.length > 0 ? await inner.boxes(kind, level, others, signal) : [];
				return pairs.map((pair) => this.trackOf(pair.lane)?.tile ?? tiles[others.indexOf(pair)]);
			},
			ask: async (what, question, signal) => this.answer(what, question) ?? inner.ask(what, question, signal),
		};
		return Object.assign(Object.create(inner), own);
	}

	/** What is known here; undefined: the server is asked. @param {string} what @param {any} question */
	answer(what, { table, id } = {}) {
		if (table !== "query") return undefined;
		const track = this.tracks[Math.floor(id / ROWS_PER_TRACK)];
		const row = track?.rows.find((one) => one.id === id);
		if (what === "flows" || !row) return { flows: [] };
		const args = track.answer.columns.map((key, c) => ({ key, value: row.cells[c] }));
		const dur = row.flags & FLAG_UNFINISHED ? null : row.end - row.start;
		return { ...row, table, name: row.text, dur, lane: track.lane, args, sql: track.answer.sql };
	}
}
