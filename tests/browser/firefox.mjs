// Drives Firefox by WebDriver BiDi, whose messages are JSON in a WebSocket. The browser chooses the port and prints it.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { REPORT_IS_READY } from "./cdp.mjs";
import { hook } from "./hooks.mjs";
import { WebSocketClient } from "./web_socket.mjs";

const PROGRAMS = ["firefox-esr", "firefox"];
const START_MS = 60000;
const ANSWER_MS = 20000;

// A browser that is driven reads files more freely than that of a user, unless the first of these forbids it. The others save time.
const SETTINGS = {
	"remote.prefs.recommended": false,
	"app.normandy.enabled": false,
	"app.update.disabledForTesting": true,
	"browser.aboutwelcome.enabled": false,
	"browser.safebrowsing.update.enabled": false,
	"browser.search.update": false,
	"browser.shell.checkDefaultBrowser": false,
	"browser.startup.homepage_override.mstone": "ignore",
	"browser.startup.page": 0,
	"browser.topsites.contile.enabled": false,
	"datareporting.policy.dataSubmissionEnabled": false,
	"extensions.getAddons.cache.enabled": false,
	"extensions.systemAddon.update.enabled": false,
	"extensions.update.enabled": false,
	"network.captive-portal-service.enabled": false,
	"network.connectivity-service.enabled": false,
	"services.settings.server": "",
	"toolkit.telemetry.enabled": false,
	"ui.prefersReducedMotion": 1,
};

/** The path of a Firefox, or null. */
export function findFirefox() {
	if (process.env.ORMA_FIREFOX) return process.env.ORMA_FIREFOX;
	for (const name of PROGRAMS) {
		for (const folder of (process.env.PATH ?? "").split(delimiter)) {
			if (existsSync(join(folder, name))) return join(folder, name);
		}
	}
	return null;
}

/** A browser with one page. */
export class Firefox {
	static async start({ width = 1200, height = 900 } = {}) {
		const browser = new Firefox();
		browser.profile = mkdtempSync(join(tmpdir(), "orma-firefox-"));
		const lines = Object.entries(SETTINGS).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});\n`);
		writeFileSync(join(browser.profile, "user.js"), lines.join(""));
		browser.process = spawn(
			findFirefox(),
			["--headless", "--no-remote", "--remote-debugging-port=0", "--profile", browser.profile, "about:blank"],
			{
				stdio: ["ignore", "ignore", "pipe"],
				env: { ...process.env, HOME: browser.profile, MOZ_CRASHREPORTER_DISABLE: "1" },
			},
		);
		browser.exited = new Promise((resolve) => browser.process.on("exit", resolve));
		browser.client = await WebSocketClient.open(`${await browser.address()}/session`);
		browser.client.onmessage = (text) => browser.take(JSON.parse(text));
		await browser.send("session.new", { capabilities: {} });
		await browser.send("session.subscribe", { events: ["log.entryAdded", "network.beforeRequestSent"] });
		const { contexts } = await browser.send("browsingContext.getTree", {});
		browser.context = contexts[0].context;
		await browser.resize(width, height);
		return browser;
	}

	constructor() {
		this.next = 1;
		this.waiting = new Map();
		/** What the page complained about, and what it asked for. */
		this.errors = [];
		this.urls = [];
	}

	/** The address that the browser prints. */
	address() {
		let text = "";
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => reject(new Error(`Firefox does not listen: ${text}`)), START_MS);
			this.process.stderr.on("data", (data) => {
				text += data;
				const found = /WebDriver BiDi listening on (ws:\S+)/.exec(text);
				if (!found) return;
				clearTimeout(timer);
				resolve(found[1]);
			});
		});
	}

	take(message) {
		if (message.type === "event") {
			const { method, params } = message;
			if (method === "log.entryAdded" && params.level === "error") this.errors.push(params.text);
			if (method === "network.beforeRequestSent") this.urls.push(params.request.url);
			return;
		}
		const { resolve, reject } = this.waiting.get(message.id);
		this.waiting.delete(message.id);
		if (message.type === "error") reject(new Error(message.message));
		else resolve(message.result);
	}

	send(method, params) {
		const id = this.next++;
		this.client.send(JSON.stringify({ id, method, params }));
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => reject(new Error(`no answer to ${method}`)), ANSWER_MS);
			this.waiting.set(id, {
				resolve: (result) => (clearTimeout(timer), resolve(result)),
				reject: (error) => (clearTimeout(timer), reject(error)),
			});
		});
	}

	async resize(width, height) {
		await this.send("browsingContext.setViewport", { context: this.context, viewport: { width, height } });
	}

	/** A Firefox that is busy with the page before may never answer, so there is a second attempt. */
	async navigate(url) {
		const options = { context: this.context, url, wait: "complete" };
		await this.send("browsingContext.navigate", options).catch(() => this.send("browsingContext.navigate", options));
	}

	/** Opens an address, and waits until it is loaded. */
	async load(url) {
		await this.navigate("about:blank");
		this.errors.length = this.urls.length = 0;
		await this.navigate(url);
	}

	/** Opens a report, and waits until its tables and flame graphs answer. */
	async openReport(url) {
		await this.load(url);
		await this.run(REPORT_IS_READY);
	}

	/** Opens an address, and waits until the timeline is idle. */
	async open(url) {
		await this.load(url);
		await this.run("new Promise((done) => { const wait = () => (window.orma ? done() : setTimeout(wait, 5)); wait(); })");
		await this.idle();
	}

	/** What an expression is in the page, as JSON has it; a promise is waited for. */
	async run(expression) {
		const answer = await this.send("script.evaluate", {
			expression: `Promise.resolve(${expression}).then((value) => JSON.stringify(value === undefined ? null : value))`,
			target: { context: this.context },
			awaitPromise: true,
		});
		if (answer.type === "exception") throw new Error(answer.exceptionDetails.text);
		return JSON.parse(answer.result.value);
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

	text(selector) {
		return this.run(`document.querySelector(${JSON.stringify(selector)})?.innerText ?? null`);
	}

	async click(x, y) {
		const actions = [
			{ type: "pointerMove", x: Math.round(x), y: Math.round(y) },
			{ type: "pointerDown", button: 0 },
			{ type: "pointerUp", button: 0 },
		];
		await this.send("input.performActions", {
			context: this.context,
			actions: [{ type: "pointer", id: "mouse", parameters: { pointerType: "mouse" }, actions }],
		});
	}

	/** Presses keys one after the other. */
	async press(...keys) {
		const actions = keys.flatMap((value) => [
			{ type: "keyDown", value },
			{ type: "keyUp", value },
		]);
		await this.send("input.performActions", { context: this.context, actions: [{ type: "key", id: "keys", actions }] });
	}

	/** A picture of the page as PNG. */
	async picture() {
		const { data } = await this.send("browsingContext.captureScreenshot", { context: this.context });
		return Buffer.from(data, "base64");
	}

	async stop() {
		const timer = setTimeout(() => this.process.kill("SIGKILL"), 5000);
		await this.send("browser.close", {}).catch(() => this.process.kill("SIGTERM"));
		await this.exited;
		clearTimeout(timer);
		this.client?.close();
		rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
	}
}
