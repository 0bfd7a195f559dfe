// Drives Chromium over its debugging pipe: messages are JSON, each ended by a NUL, on the descriptors 3 and 4. No port is
// opened, and nothing is needed but node.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { hook } from "./hooks.mjs";

const PROGRAMS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
const ANSWER_MS = 20000;

/** Resolves in a report when its script, which is unpacked first, has done its work, and the flame graphs are drawn in the frame after. */
export const REPORT_IS_READY =
	"new Promise((done) => { const wait = () => (document.querySelector('#report[data-ready]') ? requestAnimationFrame(() => requestAnimationFrame(() => done())) : setTimeout(wait, 5)); wait(); })";

/** The path of a Chromium, or null. */
export function findChromium() {
	if (process.env.ORMA_CHROMIUM) return process.env.ORMA_CHROMIUM;
	for (const name of PROGRAMS) {
		for (const folder of (process.env.PATH ?? "").split(delimiter)) {
			if (existsSync(join(folder, name))) return join(folder, name);
		}
	}
	return null;
}

/** A browser with one page. */
export class Browser {
	static async start({ width = 1600, height = 1000, scale = 1, dark = false } = {}) {
		const browser = new Browser();
		browser.profile = mkdtempSync(join(tmpdir(), "orma-browser-"));
		const flags = [
			"--headless",
			"--no-sandbox",
			"--disable-gpu",
			"--disable-dev-shm-usage",
			"--no-first-run",
			"--disable-background-networking",
			"--remote-debugging-pipe",
			`--user-data-dir=${browser.profile}`,
			`--window-size=${width},${height}`,
		];
		browser.process = spawn(findChromium(), [...flags, "about:blank"], {
			stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
		});
		browser.listen();
		const { targetInfos } = await browser.send("Target.getTargets");
		await browser.attach(targetInfos.find(({ type }) => type === "page").targetId);
		await browser.resize(width, height, scale);
		await browser.setDark(dark);
		return browser;
	}

	constructor() {
		this.ids = { next: 1 };
		this.session = undefined;
		this.waiting = new Map();
		this.listeners = [];
		/** What the page complained about, and what it asked for. */
		this.errors = [];
		this.urls = [];
	}

	/** Sends to a tab from now on. */
	async attach(targetId) {
		const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
		Object.assign(this, { targetId, session: sessionId });
		for (const domain of ["Page", "Runtime", "Network", "Log"]) await this.send(`${domain}.enable`);
	}

	/** Another tab of the same browser. What any of them complains about and asks for is in the same lists. */
	async newTab() {
		const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
		const tab = Object.create(this);
		await tab.attach(targetId);
		return tab;
	}

	close() {
		return this.send("Target.closeTarget", { targetId: this.targetId });
	}

	listen() {
		let rest = "";
		this.process.stdio[4].on("data", (data) => {
			rest += data;
			for (let end = rest.indexOf("\0"); end >= 0; end = rest.indexOf("\0")) {
				this.take(JSON.parse(rest.slice(0, end)));
				rest = rest.slice(end + 1);
			}
		});
		this.exited = new Promise((resolve) => this.process.on("exit", resolve));
	}

	take(message) {
		if (message.id) {
			const { resolve, reject } = this.waiting.get(message.id);
			this.waiting.delete(message.id);
			if (message.error) reject(new Error(message.error.message));
			else resolve(message.result);
			return;
		}
		const { method, params } = message;
		if (method === "Runtime.exceptionThrown")
			this.errors.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
		if (method === "Runtime.consoleAPICalled" && params.type === "error")
			this.errors.push(params.args.map(({ value }) => value).join(" "));
		if (method === "Log.entryAdded" && params.entry.level === "error")
			this.errors.push(`${params.entry.text} ${params.entry.url ?? ""}`);
		if (method === "Network.requestWillBeSent") this.urls.push(params.request.url);
		for (const listener of this.listeners) listener(method, params);
	}

	send(method, params = {}) {
		const id = this.ids.next++;
		this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId: this.session })}\0`);
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => reject(new Error(`no answer to ${method}`)), ANSWER_MS);
			this.waiting.set(id, {
				resolve: (result) => (clearTimeout(timer), resolve(result)),
				reject: (error) => (clearTimeout(timer), reject(error)),
			});
		});
	}

	/** Resolves when an event comes. */
	event(wanted) {
		return new Promise((resolve) => {
			const listener = (method, params) => {
				if (method !== wanted) return;
				this.listeners = this.listeners.filter((other) => other !== listener);
				resolve(params);
			};
			this.listeners.push(listener);
		});
	}

	async resize(width, height, scale = 1) {
		await this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: scale, mobile: false });
	}

	async setDark(dark) {
		await this.send("Emulation.setEmulatedMedia", {
			features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }],
		});
	}

	/** Goes to an address, as somebody who types it. */
	goTo(url) {
		return this.send("Page.navigate", { url });
	}

	/** Waits until an expression is true in the page, which may be loading. */
	async until(expression) {
		for (let i = 0; i < 200; i++) {
			if (await this.run(`Boolean(${expression})`).catch(() => false)) return;
			await new Promise((resolve) => setTimeout(resolve, 25));
		}
		throw new Error(`never: ${expression}`);
	}

	/** Opens an address, and waits until the page is idle. */
	async open(url) {
		const loaded = this.event("Page.loadEventFired");
		await this.send("Page.navigate", { url });
		await loaded;
		await this.run("new Promise((done) => { const wait = () => (window.orma ? done() : setTimeout(wait, 5)); wait(); })");
		await this.idle();
	}

	/** Opens a report from an address, and waits until its tables and flame graphs answer. */
	async openReport(url) {
		this.errors.length = this.urls.length = 0;
		const loaded = this.event("Page.loadEventFired");
		await this.send("Page.navigate", { url });
		await loaded;
		await this.run(REPORT_IS_READY);
	}

	/** What an expression is in the page; a promise is waited for. */
	async run(expression) {
		const answer = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
		if (answer.exceptionDetails)
			throw new Error(answer.exceptionDetails.exception?.description ?? answer.exceptionDetails.text);
		return answer.result.value;
	}

	idle() {
		return this.run(hook("idle"));
	}

	state() {
		return this.run(hook("state"));
	}

	boxes() {
		return this.run(hook("boxes"));
	}

	/** The text of an element. */
	text(selector) {
		return this.run(`document.querySelector(${JSON.stringify(selector)})?.innerText ?? null`);
	}

	mouse(type, x, y, more = {}) {
		return this.send("Input.dispatchMouseEvent", { type, x, y, ...more });
	}

	async move(x, y) {
		await this.mouse("mouseMoved", x, y);
	}

	/** modifiers: 1 Alt, 2 Control, 8 Shift */
	async click(x, y, { count = 1, modifiers = 0 } = {}) {
		await this.mouse("mouseMoved", x, y, { modifiers });
		for (let i = 1; i <= count; i++) {
			await this.mouse("mousePressed", x, y, { button: "left", buttons: 1, clickCount: i, modifiers });
			await this.mouse("mouseReleased", x, y, { button: "left", buttons: 0, clickCount: i, modifiers });
		}
	}

	async drag(x0, y0, x1, y1, { button = "left", modifiers = 0 } = {}) {
		const buttons = button === "middle" ? 4 : 1;
		await this.mouse("mouseMoved", x0, y0, { modifiers });
		await this.mouse("mousePressed", x0, y0, { button, buttons, clickCount: 1, modifiers });
		for (let i = 1; i <= 4; i++) {
			await this.mouse("mouseMoved", x0 + ((x1 - x0) * i) / 4, y0 + ((y1 - y0) * i) / 4, { button, buttons, modifiers });
		}
		await this.mouse("mouseReleased", x1, y1, { button, buttons: 0, clickCount: 1, modifiers });
	}

	async wheel(x, y, deltaX, deltaY, modifiers = 0) {
		await this.mouse("mouseWheel", x, y, { deltaX, deltaY, modifiers });
	}

	async keyDown(code, key, modifiers = 0) {
		const isText = key.length === 1 && modifiers !== 2;
		await this.send("Input.dispatchKeyEvent", {
			type: isText ? "keyDown" : "rawKeyDown",
			code,
			key,
			text: isText ? key : undefined,
			modifiers,
			windowsVirtualKeyCode: CODES[key],
		});
	}

	async keyUp(code, key, modifiers = 0) {
		await this.send("Input.dispatchKeyEvent", { type: "keyUp", code, key, modifiers, windowsVirtualKeyCode: CODES[key] });
	}

	async press(code, key, modifiers = 0) {
		await this.keyDown(code, key, modifiers);
		await this.keyUp(code, key, modifiers);
	}

	async type(text) {
		await this.send("Input.insertText", { text });
	}

	/** A picture of the page as PNG. */
	async picture() {
		const { data } = await this.send("Page.captureScreenshot", { format: "png" });
		return Buffer.from(data, "base64");
	}

	async stop() {
		this.process.stdio[3].end();
		const timer = setTimeout(() => this.process.kill("SIGKILL"), 5000);
		await this.exited;
		clearTimeout(timer);
		rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
	}
}

const CODES = {
	Enter: 13,
	Escape: 27,
	Delete: 46,
	ArrowLeft: 37,
	ArrowUp: 38,
	ArrowRight: 39,
	ArrowDown: 40,
	Tab: 9,
	Backspace: 8,
	" ": 32,
};
