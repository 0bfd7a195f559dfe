// SPDX-License-Identifier: Apache-2.0
//
// trace_processor.mjs - Perfetto's Trace Processor, as WebAssembly in node: it opens traces and answers statements.
//
//   node trace_processor.mjs FOLDER TRACE SQL...   prints the rows as `trace_processor_shell -Q` does
//
// `(await trace_processor(FOLDER))(bytes)` opens a trace for a program. FOLDER is what fetch-trace-processor made. The code is
// compiled once, and each trace has an instance of its own. Texts are strings with one character per byte, because names in
// traces need not be UTF-8.
//
// The glue in the package is written for a worker of a browser; it gets as parameters what it would find there. It uses the
// 32-bit variant, the only one in the package, even where node has 64-bit memories.
import { readFileSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const APPEND = 1, FINALIZE = 2, QUERY = 3;
const CELL_NULL = 1, CELL_VARINT = 2, CELL_FLOAT64 = 3, CELL_STRING = 4;
const CHUNK_BYTES = 16 << 20;

// ---- protobuf ----

const varint = (value) => {
	const bytes = [];
	for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
	return [...bytes, value];
};
const field_number = (number, value) => Buffer.from([...varint(number * 8), ...varint(value)]);
const field_bytes = (number, bytes) => Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(bytes.length)]), bytes]);

/** Reads a varint at state.at: a number where it is exact, else a BigInt, signed as int64. */
function read_varint(bytes, state) {
	let low = 0, scale = 1;
	for (let i = 0; i < 7; i++, scale *= 128) {
		const byte = bytes[state.at++];
		low += (byte & 127) * scale;
		if (!(byte > 127)) return low;
	}
	let high = 0n, shift = 0n;
	for (;;) {
		const byte = bytes[state.at++];
		high |= BigInt(byte & 127) << shift;
		if (!(byte > 127)) break;
		shift += 7n;
	}
	return BigInt.asIntN(64, (high << 49n) | BigInt(low));
}

/** Yields [number, value] of each field: bytes, or a number. */
function* fields(bytes) {
	const state = { at: 0 };
	while (state.at < bytes.length) {
		const tag = read_varint(bytes, state);
		if (tag % 8 === 2) {
			const length = read_varint(bytes, state);
			yield [tag >> 3, bytes.subarray(state.at, state.at += length)];
		} else if (tag % 8 === 1) {
			yield [tag >> 3, bytes.readDoubleLE(state.at)];
			state.at += 8;
		} else {
			yield [tag >> 3, read_varint(bytes, state)];
		}
	}
}

// ---- results ----

/** Appends the rows of a batch of cells to result.rows. */
function add_cells(result, batch) {
	let cells = Buffer.alloc(0), varints = cells, doubles = cells, texts = [], blobs = [];
	for (const [number, value] of fields(batch)) {
		if (number === 1) cells = value;
		else if (number === 2) varints = value;
		else if (number === 3) doubles = value;
		else if (number === 4) blobs.push(value);
		else if (number === 5) texts = value.latin1Slice().split('\0');
	}
	const state = { at: 0 };
	let row = [], double_at = 0, text_at = 0, blob_at = 0;
	for (const cell of cells) {
		if (cell === CELL_NULL) row.push(null);
		else if (cell === CELL_VARINT) row.push(read_varint(varints, state));
		else if (cell === CELL_FLOAT64) row.push({ double: doubles.readDoubleLE(8 * double_at++) });
		else if (cell === CELL_STRING) row.push(texts[text_at++]);
		else row.push({ blob: blobs[blob_at++] });
		if (row.length === result.columns.length) {
			result.rows.push(row);
			row = [];
		}
	}
}

/** As printf's %f. */
function format_double(value) {
	if (Number.isNaN(value)) return 'nan';
	if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf';
	if (Math.abs(value) >= 1e21) return `${BigInt(value)}.000000`;
	return Object.is(value, -0) ? '-0.000000' : value.toFixed(6);
}

function format_cell(cell) {
	if (cell === null) return '"[NULL]"';
	if (typeof cell === 'string') return `"${cell}"`;
	if (typeof cell !== 'object') return String(cell);
	return 'double' in cell ? format_double(cell.double) : '"<raw bytes>"';
}

/** A result as bytes: `trace_processor_shell` escapes nothing. */
export function to_csv({ columns, rows }) {
	if (columns.length === 0 || (columns.length === 1 && columns[0] === 'suppress_query_output')) return Buffer.alloc(0);
	const lines = [columns.map((name) => `"${name}"`), ...rows.map((row) => row.map(format_cell))];
	return Buffer.from(lines.map((line) => line.join(',') + '\n').join(''), 'latin1');
}

// ---- the engine ----

/** Starts an instance of the program. The function that it returns sends bytes; received() gets the replies before it returns. */
async function start({ glue, wasm, module }, received, log) {
	let connect = null;
	const self = { location: { href: 'file:///' }, set onmessage(handler) { connect = handler; } };
	const webassembly = Object.create(WebAssembly, {
		Module: { value: function (bytes) {
			// The glue asks with a module of 23 bytes whether there are 64-bit memories.
			if (bytes.length === 23) throw new Error('there is no 64-bit variant');
			return bytes.length === wasm.length ? module : new WebAssembly.Module(bytes);
		} },
	});
	const request = function () { return { open() {}, send() {}, response: wasm }; };
	const names = { self, location: self.location, WorkerGlobalScope: Object, WebAssembly: webassembly, XMLHttpRequest: request,
		console: { log, warn: log, error: log } };
	new Function(...Object.keys(names), glue)(...Object.values(names));
	const port = { onmessage: null, postMessage: received };
	connect({ data: port });
	// The glue ends its start in microtasks.
	await new Promise(setImmediate);
	return (data) => port.onmessage({ data });
}

class Trace {
	#send;
	#sequence = 0;
	#replies = [];
	/** Lines that Trace Processor has written to its standard error. */
	log = [];

	static async open(program, bytes) {
		const trace = new Trace();
		let pending = Buffer.alloc(0);
		const received = (data) => {
			pending = Buffer.concat([pending, Buffer.from(data)]);
			for (;;) {
				const state = { at: 1 };
				if (pending.length === 0) return;
				const length = read_varint(pending, state);
				if (!(pending.length >= state.at + length)) return;
				trace.#replies.push(pending.subarray(state.at, state.at + length));
				pending = pending.subarray(state.at + length);
			}
		};
		trace.#send = await start(program, received, (line) => trace.log.push(String(line)));
		for (let at = 0; at < bytes.length; at += CHUNK_BYTES)
			trace.#check(trace.#call(APPEND, field_bytes(101, bytes.subarray(at, at + CHUNK_BYTES))));
		trace.#check(trace.#call(FINALIZE, Buffer.alloc(0)));
		return trace;
	}

	/** Sends a request, and returns the bytes of the arguments of each reply. */
	#call(method, args) {
		const message = Buffer.concat([field_number(1, this.#sequence++), field_number(2, method), args]);
		this.#replies = [];
		this.#send(new Uint8Array(field_bytes(1, message)));
		const results = [];
		for (const reply of this.#replies)
			for (const [number, value] of fields(reply)) {
				if (number === 5) throw new Error(value.toString());
				if (number > 200) results.push(value);
			}
		return results;
	}

	#check(results) {
		for (const result of results)
			for (const [number, value] of fields(result))
				if (number === 2 && value.length > 0) throw new Error(value.toString());
	}

	query(sql) {
		const result = { columns: [], rows: [] };
		for (const part of this.#call(QUERY, field_bytes(103, field_bytes(1, Buffer.from(sql))))) {
			const batches = [];
			for (const [number, value] of fields(part)) {
				if (number === 1) result.columns.push(value.latin1Slice());
				else if (number === 2 && value.length > 0) throw new Error(value.toString());
				else if (number === 3) batches.push(value);
			}
			for (const batch of batches) add_cells(result, batch);
		}
		return result;
	}

	csv(sql) {
		return to_csv(this.query(sql));
	}
}

/** Compiles Trace Processor, and returns a function that opens a trace. */
export async function trace_processor(folder) {
	const glue = readFileSync(`${folder}/engine_bundle.node.js`, 'utf8').replace(/^;\(self\.__SOURCEMAPS.*$/m, '');
	const wasm = readFileSync(`${folder}/trace_processor.wasm`);
	const program = { glue, wasm, module: await WebAssembly.compile(wasm) };
	return (bytes) => Trace.open(program, bytes);
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
	const [folder, trace_path, ...statements] = process.argv.slice(2);
	const open = await trace_processor(folder);
	try {
		const trace = await open(readFileSync(trace_path));
		for (const sql of statements) process.stdout.write(trace.csv(sql));
	} catch (error) {
		console.error(error.message);
		process.exitCode = 1;
	}
}
