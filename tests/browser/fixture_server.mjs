// A server that answers the page's questions about a small trace made up here, by looking at every event. The tests compare
// what the page draws with this trace. Arguments and self times are the same for each slice, because these tests do not compare them.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { signOfCategory } from "../../web/colour.js";

export const END = 2e9;
const THREADS = 4;
const CATEGORIES = ["http", "database", "locks"];
const STATES = ["Running", "R", "S", "D"];
const TYPES = { html: "text/html; charset=utf-8", js: "text/javascript", css: "text/css", svg: "image/svg+xml" };
const POLICY =
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const FLAG_MERGED = 1;
const FLAG_INSTANT = 2;

/** Numbers that look random, and are the same in each run. */
function randomOf(seed) {
	let state = seed;
	return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}

/** The trace: nodes of the tree, the events of each lane, and names. */
export function makeTrace() {
	const random = randomOf(7);
	const names = ["handle <b>request</b>", "parse", "query", "render", "write", "lock_wait", "instant"];
	const trace = { nodes: [], lanes: [], names, threads: [], slices: [], points: new Map() };
	const node = (parent, kind, name, more = {}) => {
		const made = {
			id: trace.nodes.length,
			parent,
			kind,
			name,
			lane: null,
			rows: 1,
			events: 0,
			open: true,
			density: null,
			...more,
		};
		if (more.events) made.lane = trace.lanes.push(more.events) - 1;
		trace.nodes.push({ ...made, events: more.events?.length ?? 0 });
		return made;
	};
	const cpus = node(-1, "group", "CPUs");
	node(cpus.id, "sched", "CPU 0", {
		cpu: 0,
		table: "sched",
		events: steps(random, () => 1 + Math.floor(random() * THREADS)),
	});
	for (let upid = 1; upid <= 2; upid++) {
		const process = node(-1, "process", `process ${100 * upid}`, { upid, density: upid, open: upid === 1 });
		const counter = node(process.id, "counter", "memory", { unit: "bytes", table: "counter", events: [] });
		trace.points.set(
			counter.lane,
			Array.from({ length: 500 }, (_, i) => ({ time: i * 4e6, value: 1e6 * (1 + random()) })),
		);
		for (let t = 0; t < THREADS / 2; t++) addThread(trace, node, process.id, upid, t, random);
	}
	return trace;
}

function addThread(trace, node, parent, upid, t, random) {
	const utid = trace.threads.length + 1;
	const name = `thread ${utid}`;
	trace.threads.push([utid, 100 * upid + t, name, upid]);
	const thread = node(parent, "thread", name, { utid, upid });
	node(thread.id, "states", name, {
		utid,
		table: "thread_state",
		events: steps(random, () => Math.floor(random() * STATES.length)),
	});
	const events = [];
	for (let start = random() * 1e7; start < END;)
		start = nest(trace, events, random, start, 2e7 * (0.1 + random()), 0) + 1e6 * random();
	events.push({ start: END / 2, end: END / 2, depth: 0, name: 6, flags: FLAG_INSTANT });
	events.sort((a, b) => a.depth - b.depth || a.start - b.start);
	const made = node(thread.id, "slices", name, { utid, table: "slice", rows: 4, events });
	for (const event of events) Object.assign(event, { id: trace.slices.push(event) - 1, lane: made.lane });
}

/** A slice with slices in it. */
function nest(trace, events, random, start, length, depth) {
	const end = Math.min(END, start + length);
	const name = depth + Math.floor(random() * 2);
	// Slices of one name have different categories, and some have none.
	const category = CATEGORIES[(name + Math.floor(start)) % 4];
	events.push({ start: Math.floor(start), end: Math.floor(end), depth, name, category, flags: 0 });
	for (let at = start + length * 0.05; depth < 3 && at < end - length * 0.1;) {
		const part = length * (0.05 + 0.4 * random());
		if (at + part > end) break;
		nest(trace, events, random, at, part, depth + 1);
		at += part * 1.2;
	}
	return end;
}

/** Events that follow one another without gaps. */
function steps(random, nameOf) {
	const events = [];
	for (let start = 0; start < END;) {
		const end = Math.min(END, Math.floor(start + 1e6 + random() * 2e7));
		events.push({ start, end, depth: 0, name: nameOf(), id: events.length, flags: 0 });
		start = end;
	}
	return events;
}

/** What a tile has to hold: long events as they are, short ones joined by the bucket in which they begin. */
export function boxesOf(events, level, tile) {
	const bucket = 2 ** level;
	const from = tile * 512 * bucket;
	const boxes = [];
	for (const event of events) {
		const isHere = event.start < from + 512 * bucket && (event.end > from || event.start >= from);
		if (!isHere) continue;
		const isShort = event.end - event.start < bucket;
		const key = isShort && !(event.flags & FLAG_INSTANT) ? Math.floor(event.start / bucket) : -1;
		const last = boxes[boxes.length - 1];
		if (key >= 0 && last?.key === key && last.depth === event.depth) {
			const isLonger = event.end - event.start > last.longest;
			if (isLonger)
				Object.assign(last, {
					name: event.name,
					category: event.category,
					id: event.id,
					longest: event.end - event.start,
				});
			Object.assign(last, { end: Math.max(last.end, event.end), count: last.count + 1, flags: last.flags | FLAG_MERGED });
		} else boxes.push({ ...event, key, count: 1, longest: event.end - event.start });
	}
	return boxes;
}

function pointsOf(points, level, tile) {
	const from = tile * 512 * 2 ** level;
	const here = points.filter(({ time }) => time >= from && time < from + 512 * 2 ** level);
	const before = points.findLast(({ time }) => time < from);
	return before ? [before, ...here] : here;
}

/** @param lists the boxes or points of each pair @param write puts one of them at a place */
function binaryOf(itemBytes, pairs, lists, write) {
	const total = lists.reduce((sum, list) => sum + list.length, 0);
	const body = Buffer.alloc(16 + 16 * pairs.length + itemBytes * total);
	[0x4c49544f, 1, 1, pairs.length].forEach((value, i) => body.writeUInt32LE(value, 4 * i));
	let at = 16 + 16 * pairs.length;
	pairs.forEach(({ lane, tile }, i) => {
		body.writeUInt32LE(lane, 16 + 16 * i);
		body.writeUInt32LE(lists[i].length, 20 + 16 * i);
		body.writeBigUInt64LE(BigInt(tile), 24 + 16 * i);
		for (const item of lists[i]) {
			write(body, at, item);
			at += itemBytes;
		}
	});
	return body;
}

function writeBox(body, at, { start, end, name, id, count, depth, flags, category }) {
	body.writeDoubleLE(start, at);
	body.writeDoubleLE(end, at + 8);
	[name, id, count, signOfCategory(category) | (flags << 8) | (depth << 16)].forEach((value, i) =>
		body.writeUInt32LE(value, at + 16 + 4 * i),
	);
}

function writePoint(body, at, { time, value }) {
	[time, value, value, value, value].forEach((number, i) => body.writeDoubleLE(number, at + 8 * i));
}

function densityOf(body) {
	const buckets = body.readUInt32LE(16);
	const count = body.readUInt32LE(20);
	const answer = Buffer.alloc(16 + buckets * count, 128);
	[0x4e45444f, 1, 1, count].forEach((value, i) => answer.writeUInt32LE(value, 4 * i));
	return answer;
}

/** What is answered as JSON. */
function answersOf(trace) {
	const hitOf = (slice) => ({ ...slice, table: "slice", name: trace.names[slice.name] });
	return {
		hello: ({ ticket }) => (ticket === "good" ? { token: "t".repeat(32), version: 1 } : null),
		progress: () => ({ loading: false, read_bytes: 1, all_bytes: 1, error: null }),
		meta: () => ({
			generation: 1,
			title: "made-up.pftrace",
			start_ns: "0",
			end: END,
			realtime_start_ns: null,
			counts: { slices: trace.slices.length },
			host: {},
			losses: [],
			gaps: [{ start: 0.6 * END, end: 0.62 * END, what: "The buffer was full.", utid: 1, cpu: null }],
			format: 1,
		}),
		tracks: () => ({
			generation: 1,
			nodes: trace.nodes,
			threads: trace.threads,
			processes: [
				[1, 100, "process"],
				[2, 200, "process"],
			],
			states: STATES,
		}),
		detail: ({ id, table }) => {
			const { start, end, lane, depth, name } = trace.slices[id];
			const args = [{ key: "text", value: "<img src=x onerror=alert(1)>" }];
			return {
				table,
				id,
				name: trace.names[name],
				start,
				end,
				dur: end - start,
				self: 1,
				lane,
				depth,
				args,
				sql: `SELECT * FROM slice WHERE id = ${id}`,
			};
		},
		area: ({ start, end }) => {
			const inside = trace.slices.filter((slice) => slice.start < end && slice.end > start);
			const rows = trace.names
				.map((name, i) => [name, inside.filter((slice) => slice.name === i).length])
				.filter(([, count]) => count > 0);
			return { slices: { sql: "SELECT 1", columns: ["name", "count"], rows } };
		},
		flows: ({ id }) => ({
			flows: [50, 90].map((more) => ({
				from: hitOf(trace.slices[id]),
				to: hitOf(trace.slices[(id + more) % trace.slices.length]),
			})),
		}),
		find: ({ name }) => ({ name, histogram: [0, 1], count: 1, sum: 1, p50: 1, p90: 1, p99: 1, top: [] }),
		flame: () => ({ nodes: [[0, -1, "root", 1, 2, 1]], unit: "ns" }),
		search: ({ text }) => {
			const hits = trace.slices.filter(({ name }) => trace.names[name].includes(text)).sort((a, b) => a.start - b.start);
			return { total: hits.length, hits: hits.slice(0, 1000).map(hitOf), density: [1] };
		},
		neighbour: ({ lane, depth, time, dir }) => {
			const row = trace.lanes[lane].filter((slice) => slice.depth === depth);
			const away = ({ start, end }) => Math.min(Math.abs(start - time), Math.abs(end - time));
			const found =
				dir > 0
					? row.find(({ start }) => start > time)
					: dir < 0
						? row.findLast(({ start }) => start < time)
						: [...row].sort((a, b) => away(a) - away(b))[0];
			return found ? { ...hitOf(found), lane } : "null";
		},
		sql: ({ sql }) => ({
			columns: ["sql", "n"],
			rows: [
				[sql, 1],
				[null, 2],
			],
			total: 2,
			ms: 1,
			truncated: false,
		}),
	};
}

/** Starts the server. Its hold() keeps answers with tiles back until they are released. @param folder of the page */
export async function serve(trace, folder) {
	const answers = answersOf(trace);
	const binary = {
		tiles: (level, pairs) =>
			binaryOf(
				32,
				pairs,
				pairs.map(({ lane, tile }) => boxesOf(trace.lanes[lane], level, tile)),
				writeBox,
			),
		counters: (level, pairs) =>
			binaryOf(
				40,
				pairs,
				pairs.map(({ lane, tile }) => pointsOf(trace.points.get(lane), level, tile)),
				writePoint,
			),
	};
	const answer = (what, body) => {
		if (binary[what]) {
			const pairs = Array.from({ length: body.readUInt32LE(8) }, (_, i) => ({
				lane: body.readUInt32LE(16 + 16 * i),
				tile: Number(body.readBigUInt64LE(24 + 16 * i)),
			}));
			return binary[what](body.readUInt32LE(0), pairs);
		}
		if (what === "density") return densityOf(body);
		if (what === "names") {
			const ids = [...new Uint32Array(body.buffer.slice(body.byteOffset, body.byteOffset + body.length))];
			return JSON.stringify({ names: ids.map((id) => trace.names[id] ?? null) });
		}
		const found = answers[what]?.(JSON.parse(body.toString() || "{}"));
		return found === "null" ? found : found && JSON.stringify(found);
	};
	/** Answers to questions for tiles that wait, or null when none has to. @type {(() => void)[] | null} */
	let waiting = null;
	const hold = () => {
		const own = (waiting = []);
		const release = () => {
			waiting = null;
			for (const go of own) go();
		};
		return { count: () => own.length, release };
	};
	const server = createServer(async (request, response) => {
		const path = new URL(request.url, "http://127.0.0.1").pathname;
		if (request.method === "GET") return sendFile(response, folder, path === "/" ? "/index.html" : path);
		const parts = [];
		for await (const part of request) parts.push(part);
		if (waiting && path === "/api/tiles") await new Promise((go) => waiting.push(go));
		const isOwn = path === "/api/hello" || request.headers["x-orma-token"] === "t".repeat(32);
		const content = isOwn ? answer(path.slice("/api/".length), Buffer.concat(parts)) : null;
		response.writeHead(content ? 200 : 403).end(content ?? '{"error":"refused"}');
	});
	await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
	return {
		url: `http://127.0.0.1:${server.address().port}/`,
		hold,
		close: () => (server.closeAllConnections(), server.close()),
	};
}

async function sendFile(response, folder, path) {
	const content = await readFile(new URL(`.${path}`, folder)).catch(() => null);
	const type = TYPES[path.split(".").pop()] ?? "text/plain";
	response.writeHead(content ? 200 : 404, { "Content-Type": type, "Content-Security-Policy": POLICY }).end(content ?? "");
}
