// `orma view --live -`: what is written to its standard input is on the page soon after.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { after, before, test } from "node:test";
import { Browser, findChromium } from "./cdp.mjs";
import { view } from "./orma_server.mjs";

const orma = process.env.ORMA_PROGRAM;
const skip = !findChromium() ? "no Chromium is installed" : orma ? false : "ORMA_PROGRAM does not name a binary with SQLite";
const MS = 1000000n;
/** @type {Browser} */
let page;
let server;
const servers = [];
let time = 1000n * MS;

function varint(value) {
	const bytes = [];
	for (let rest = BigInt(value); ; rest >>= 7n) {
		bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
		if (rest <= 127n) return Buffer.from(bytes);
	}
}
const number = (id, value) => Buffer.concat([varint(id * 8), varint(value)]);
const bytes = (id, content) => Buffer.concat([varint(id * 8 + 2), varint(content.length), content]);

/** A packet with a track event: its type, and its name if it has one. */
function event(ns, type, track, name) {
	const fields = [number(9, type), number(11, track), ...(name ? [bytes(23, Buffer.from(name))] : [])];
	return bytes(1, Buffer.concat([number(8, ns), number(10, 1), bytes(11, Buffer.concat(fields))]));
}

/** The declaration of a thread. */
function thread(track, tid, name) {
	const of = Buffer.concat([number(1, 7), number(2, tid), bytes(5, Buffer.from(name))]);
	return bytes(1, Buffer.concat([number(10, 1), bytes(60, Buffer.concat([number(1, track), bytes(4, of)]))]));
}

/** Writes slices of 8 ms each for a while. */
function write(count, track, name) {
	for (let i = 0; i < count; i++) {
		server.child.stdin.write(event(time, 1, track, name));
		server.child.stdin.write(event(time + 8n * MS, 2, track));
		time += 10n * MS;
	}
}

/** Waits until the page is as wanted. */
async function until(wanted, what) {
	for (let i = 0; i < 200; i++) {
		const state = await page.state();
		if (wanted(state)) return state;
		await new Promise((resolve) => setTimeout(resolve, 25));
	}
	assert.fail(`${what}: ${JSON.stringify(await page.state())}`);
}
/** Waits until an element has a text. */
async function reads(selector, pattern) {
	for (let i = 0; i < 200 && !pattern.test(await page.text(selector)); i++) await new Promise((r) => setTimeout(r, 25));
	assert.match(await page.text(selector), pattern);
}
/** Starts a server, which ends with the tests also when one of them fails. */
async function serve(...options) {
	server = await view(orma, ...options);
	servers.push(server);
}
const count = async () =>
	(await page.boxes()).filter(({ table }) => table === "slice").reduce((sum, box) => sum + box.count, 0);

before(async () => {
	if (skip) return;
	await serve(["-"], ["--live"]);
	server.child.stdin.write(thread(5, 7, "first"));
	write(20, 5, "step");
	page = await Browser.start({ width: 1200, height: 700 });
	await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-reduced-motion", value: "reduce" }] });
	await page.open(server.url);
});

after(async () => {
	await page?.stop();
	for (const { child } of servers) if (child.exitCode === null) child.kill("SIGKILL");
});

test("what comes is shown, and new tracks too", { skip }, async () => {
	await until(({ end }) => end >= 190e6, "the first slices");
	await page.idle();
	assert.equal(await count(), 20);
	server.child.stdin.write(thread(6, 8, "second"));
	write(10, 6, "later");
	const { rows } = await until(({ end }) => end >= 290e6, "the later slices");
	await page.idle();
	assert.deepEqual(
		rows.filter(({ kind }) => kind === "thread").map(({ title }) => title),
		["first (7)", "second (8)"],
	);
	assert.equal(await count(), 30);
	assert.equal(await page.text("#live-button"), "● Live");
});

test("a page that was moved stays where it is, and goes to the end again", { skip }, async () => {
	await page.run(`(history.pushState(null, "", "#t=0-50000000"), dispatchEvent(new PopStateEvent("popstate")))`);
	await page.idle();
	await reads("#live-button", /^Go live$/);
	write(10, 5, "step");
	await reads("#range", /398/);
	const { start, end } = await page.state();
	assert.deepEqual([start, end], [0, 50e6]);
	await page.press("End", "End");
	await page.idle();
	assert.ok(Math.abs((await page.state()).end - 398e6) < 12e6);
	await reads("#live-button", /^● Live$/);
});

test("a selection is found again in the longer trace", { skip }, async () => {
	await page.run(`(history.pushState(null, "", "#t=0-50000000"), dispatchEvent(new PopStateEvent("popstate")))`);
	await page.idle();
	const box = (await page.boxes()).find(({ table, name, count: n }) => table === "slice" && name === "step" && n === 1);
	await page.click(box.x + box.w / 2, box.y + 8);
	await page.idle();
	const before = (await page.state()).selection;
	write(10, 6, "later");
	await reads("#range", /498/);
	await page.idle();
	const { selection } = await page.state();
	assert.deepEqual([selection.start, selection.name], [before.start, "step"]);
	await page.press("Escape", "Escape");
});

test("what is asked for is of the state of the trace that the page shows", { skip }, async () => {
	await page.press("End", "End");
	await page.run(`(window.asked = [], window.fetchNow = fetch, window.fetch = (url, options) => {
		asked.push([url, options.headers["X-Orma-Generation"] ?? null]);
		return fetchNow(url, options);
	}, null)`);
	write(10, 5, "step");
	await until(({ end }) => end >= 590e6, "the next slices");
	await page.idle();
	const asked = await page.run("((window.fetch = fetchNow), asked)");
	const of = (name) => asked.filter(([url]) => url === `api/${name}`).map(([, generation]) => generation);
	assert.ok(of("meta").length > 0 && of("meta").every((generation) => generation === null));
	assert.ok(of("tiles").length > 0 && of("tiles").every((generation) => Number(generation) > 0));
	assert.ok(of("tracks").length > 0);
	assert.equal(of("tracks").at(-1), of("tiles").at(-1));
});

test("when the recording ends, the page says so, and can still ask", { skip }, async () => {
	server.child.stdin.end();
	await reads("#live-button", /^Ended$/);
	const rows = await page.run(
		`fetch("api/sql", { method: "POST", headers: { "X-Orma-Token": sessionStorage.getItem("orma-token") }, body: '{"sql":"select count(*) from slice"}' }).then((answer) => answer.json()).then(({ rows }) => rows)`,
	);
	assert.deepEqual(rows, [[60]]);
	assert.deepEqual(page.errors, []);
	assert.equal(await server.stop(), 0, server.messages.join(""));
});

test("a program is recorded, and its end is that of the recording", { skip }, async () => {
	const folder = await mkdtemp(`${tmpdir()}/orma-live-`);
	// Another user's daemon may answer at the usual sockets, and refuse.
	for (const side of ["PRODUCER", "CONSUMER"]) process.env[`PERFETTO_${side}_SOCK_NAME`] = `${folder}/${side}`;
	await serve(["--", "sh", "-c", `echo said; echo ran >${folder}/mark`], ["--live"]);
	await page.open(server.url);
	await reads("#live-button", /^Ended$/);
	assert.equal(await readFile(`${folder}/mark`, "utf8"), "ran\n");
	await rm(folder, { recursive: true });
	assert.equal(await server.stop(), 0);
	assert.doesNotMatch(server.messages.join(""), /not a trace|--help/);
});
