// Tests what the page does with a recording of a store: colours by an argument, counters on one scale, areas per thread, links,
// commands and touch. Each is compared with the answer of `orma sql` about the same trace.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { colourOfValue } from "../../web/colour.js";
import { Browser, findChromium } from "./cdp.mjs";
import { view } from "./orma_server.mjs";
import { rowsOf } from "./shop.mjs";

const orma = process.env.ORMA_PROGRAM;
const skip = !findChromium() ? "no Chromium is installed" : orma ? false : "ORMA_PROGRAM does not name a binary with SQLite";
const folder = mkdtempSync(join(tmpdir(), "orma-gestures-"));
const file = join(folder, "store.json");
/** @type {Browser} */
let page;
let server;

/** Requests of three kinds on two threads, with steps in them that have no arguments, and two counters whose ranges differ. */
function makeStore() {
	const events = [];
	const add = (tid, ph, ts, name, more) => events.push({ pid: 7, tid, ph, ts, name, cat: "store", ...more });
	add(1, "M", 0, "process_name", { args: { name: "store" } });
	add(1, "M", 0, "thread_name", { args: { name: "front" } });
	add(2, "M", 0, "thread_name", { args: { name: "back" } });
	for (let i = 0; i < 60; i++) {
		const at = 1000 * i;
		const kind = ["read", "write", "scan"][i % 3];
		add(1 + (i % 2), "X", at, "request", { dur: 800, args: { kind, order: i, parts: { first: i % 4 } } });
		add(1 + (i % 2), "X", at + 100, "step", { dur: 300 + 5 * i });
		add(1, "C", at, "waiting", { args: { value: i % 5 } });
		add(1, "C", at, "served", { args: { value: 100 + 10 * i } });
	}
	return JSON.stringify({ traceEvents: events });
}

before(async () => {
	if (skip) return;
	writeFileSync(file, makeStore());
	server = await view(orma, [file]);
	page = await Browser.start({ width: 1200, height: 900 });
	// Movements that take time are tested without a browser.
	await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-reduced-motion", value: "reduce" }] });
	await page.open(server.url);
});

after(async () => {
	await page?.stop();
	await server?.stop();
	rmSync(folder, { recursive: true, force: true });
});

/** Opens an address in the same tab, as somebody who follows a link. */
async function follow(fragment) {
	await page.run(`(history.pushState(null, "", "#${fragment}"), dispatchEvent(new PopStateEvent("popstate")))`);
	await page.idle();
}

/** Where an element with a text is in the window. */
async function centreOf(selector, text = "") {
	const found = await page.run(`(() => {
		const element = [...document.querySelectorAll(${JSON.stringify(selector)})].find((one) => one.innerText.includes(${JSON.stringify(text)}));
		element?.scrollIntoView({ block: "nearest" });
		const box = element?.getBoundingClientRect();
		return box && [box.x + box.width / 2, box.y + box.height / 2];
	})()`);
	assert.ok(found, `there is ${selector} with ${text}`);
	return found;
}

async function clickOn(selector, text) {
	await page.click(...(await centreOf(selector, text)));
	await page.idle();
}

test("a click on an argument of a slice colours all slices by its value", { skip }, async () => {
	const values = new Map(rowsOf(orma, file, "select id, extract_arg(arg_set_id, 'args.kind') from slice"));
	assert.equal(values.size, 120);
	await follow("s=slice.0");
	await clickOn(".args .key", "kind");
	const { colouring } = await page.state();
	assert.equal(colouring, ".kind");
	const boxes = (await page.boxes()).filter(({ table }) => table === "slice");
	assert.equal(boxes.length, 120);
	for (const { id, colour } of boxes) {
		const value = values.get(String(id));
		assert.equal(colour, colourOfValue(value === "[NULL]" ? "" : value), `slice ${id}: ${value}`);
	}
	assert.equal(new Set(boxes.map(({ colour }) => colour)).size, 4);
	const { x, y, w, h } = boxes.find(({ id }) => values.get(String(id)) === "write");
	await page.move(x + w / 2, y + h / 2);
	assert.match(await page.text("#tooltip"), /kind: write/);
	await page.move(5, 5);
	// The menu has the argument as long as the page is open, and a link has it, too.
	await page.press("KeyC", "c");
	assert.equal((await page.state()).colouring, "name");
	await follow("c=.order");
	assert.equal(await page.run("document.querySelector('#colours').value"), ".order");
	const orders = new Map(rowsOf(orma, file, "select id, extract_arg(arg_set_id, 'args.order') from slice"));
	for (const { id, colour, table } of await page.boxes())
		if (table === "slice" && orders.get(String(id)) !== "[NULL]")
			assert.equal(colour, colourOfValue(orders.get(String(id))));
	assert.deepEqual(page.errors, []);
});
