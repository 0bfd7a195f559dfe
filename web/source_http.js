// source_http.js - gets data from `orma view` over HTTP. All requests are POST and carry the token, which the page got
// for the one-time ticket in its address.
import { densitiesOf, densityRequest, tilesOf, tilesRequest } from "./answers.js";

const TOKEN_KEY = "orma-token";
/** How many boxes an answer may have: 256 KB. */
const MOST_BOXES = 8000;
/** How often an open page tells the server that it is there, so that `--exit-idle` does not end it. */
const STAY_MS = 30_000;

/** What the server answered instead of data. */
export class ServerError extends Error {
	/** @param {number} status @param {any} answer */
	constructor(status, answer) {
		super(answer?.error ?? `the server answered with status ${status}`);
		this.status = status;
		/** @type {number | undefined} */
		this.line = answer?.line;
		/** @type {number | undefined} */
		this.column = answer?.column;
		this.loading = answer?.loading === true;
	}
}

/** @implements {Source} */
export class HttpSource {
	token = "";

	constructor() {
		this.traffic = { requests: 0, bytes: 0 };
		/** The state of a live trace that questions are about. @type {number | undefined} */
		this.generation = undefined;
	}

	/** The same source for questions about one state of a live trace, or about the newest. @param {number} [generation] @returns {Source} */
	at(generation) {
		return Object.assign(new HttpSource(), this, { generation });
	}

	/** Trades the ticket of the address for a token; without a ticket, the token of before a reload is used. */
	async open() {
		const fragment = new URLSearchParams(location.hash.slice(1));
		const ticket = fragment.get("k");
		if (ticket === null) {
			this.token = sessionStorage.getItem(TOKEN_KEY) ?? "";
			if (!this.token) throw new ServerError(403, null);
			return;
		}
		fragment.delete("k");
		const rest = fragment.toString();
		history.replaceState(null, "", location.pathname + location.search + (rest ? `#${rest}` : ""));
		const answer = await this.ask("hello", { ticket });
		this.token = answer.token;
		sessionStorage.setItem(TOKEN_KEY, this.token);
	}

	/** Keeps the server, also while nobody looks at the page. */
	stay() {
		setInterval(() => this.post("progress", null).catch(() => {}), STAY_MS);
	}

	/** @param {string} path @param {BodyInit | null} body @param {AbortSignal} [signal] */
	async post(path, body, signal) {
		/** @type {Record<string, string>} */
		const headers = { "Content-Type": body instanceof ArrayBuffer ? "application/octet-stream" : "application/json" };
		if (this.token) headers["X-Orma-Token"] = this.token;
		if (this.generation !== undefined) headers["X-Orma-Generation"] = `${this.generation}`;
		this.traffic.requests++;
		const response = await fetch(`api/${path}`, { method: "POST", headers, body, signal, cache: "no-store" });
		if (!response.ok) throw new ServerError(response.status, await response.json().catch(() => null));
		const buffer = await response.arrayBuffer();
		this.traffic.bytes += buffer.byteLength;
		return buffer;
	}

	/** @param {string} path @param {object} [question] @param {AbortSignal} [signal] @returns {Promise<any>} */
	async ask(path, question = {}, signal) {
		for (;;) {
			try {
				const buffer = await this.post(path, JSON.stringify(question), signal);
				return JSON.parse(new TextDecoder().decode(buffer));
			} catch (error) {
				// The server has waited for the trace, and can wait once more.
				if (!(error instanceof ServerError) || !error.loading) throw error;
			}
		}
	}

	/** @param {TileKind} kind @param {number} level @param {TilePair[]} pairs @param {AbortSignal} signal */
	async boxes(kind, level, pairs, signal) {
		const buffer = await this.post(kind, tilesRequest(level, MOST_BOXES, pairs), signal);
		return tilesOf(buffer, pairs, kind);
	}

	/** @param {number} start @param {number} end @param {number} buckets @param {number[]} ids */
	async density(start, end, buckets, ids) {
		return densitiesOf(await this.post("density", densityRequest(start, end, buckets, ids)), buckets);
	}

	/** @param {number[]} ids @returns {Promise<(string | null)[]>} */
	async names(ids) {
		const buffer = await this.post("names", new Uint32Array(ids).buffer);
		return JSON.parse(new TextDecoder().decode(buffer)).names;
	}
}
