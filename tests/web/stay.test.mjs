// An open page keeps the server, although nobody uses it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { HttpSource } from "../../web/source_http.js";

const textOf = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
/** A page in the background is called once a minute. */
const BACKGROUND_MS = 60_000;

test("an open page tells the server that it is there, whatever the server says", async () => {
	const { fetch, setInterval } = globalThis;
	const timers = [];
	const requests = [];
	globalThis.setInterval = (work, time) => timers.push({ work, time });
	globalThis.fetch = async (path, { method, headers }) => {
		requests.push(`${method} ${path} ${headers["X-Orma-Token"]}`);
		throw new TypeError("the server has ended");
	};
	try {
		const source = new HttpSource();
		source.token = "secret";
		source.stay();
		assert.equal(timers.length, 1);
		await timers[0].work();
		await timers[0].work();
		assert.deepEqual(requests, Array(2).fill("POST api/progress secret"));
	} finally {
		Object.assign(globalThis, { fetch, setInterval });
	}
	const idle = /#define IDLE_NS +\((\d+) \* ORMA_NS_PER_SEC\)/.exec(textOf("src/tool/view/view_run.c"));
	assert.ok(Number(idle[1]) * 1000 > timers[0].time + BACKGROUND_MS);
});

test("it does so from the time when it has the token", () => {
	assert.match(textOf("web/main.js"), /await source\.open\(\);\s+source\.stay\(\);/);
});
