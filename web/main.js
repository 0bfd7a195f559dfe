// main.js - starts the page: gets the token, waits until the trace is read, and puts the parts together.
import { attachList } from "./access.js";
import { act } from "./actions.js";
import { App } from "./app.js";
import { themeOf } from "./colour.js";
import { announce, byId, copyText, h, refill, trackPointer } from "./dom.js";
import { Drawer } from "./drawer.js";
import { attachHelp } from "./help.js";
import { listenToInput } from "./input.js";
import { attachLinks } from "./links.js";
import { attachLive } from "./live.js";
import { attachPanels } from "./panels.js";
import { attachSearch } from "./search.js";
import { HttpSource, ServerError } from "./source_http.js";
import { attachTesting } from "./testing.js";
import { Timeline } from "./timeline.js";
import { bytesText, durationText, grouped } from "./time.js";

const PROGRESS_MS = 120;

/** @param {Source} source */
async function waitForTrace(source) {
	const notice = byId("notice");
	for (;;) {
		const progress = await source.progress();
		if (progress.error) throw new Error(progress.error);
		if (!progress.loading) {
			notice.hidden = true;
			return progress;
		}
		const share = progress.all_bytes > 0 ? progress.read_bytes / progress.all_bytes : 0;
		const bar = h("progress", { max: 1, value: share });
		refill(
			notice,
			h("p", {}, `Reading the trace: ${bytesText(progress.read_bytes)} of ${bytesText(progress.all_bytes)}`),
			bar,
		);
		notice.hidden = false;
		await new Promise((resolve) => setTimeout(resolve, PROGRESS_MS));
	}
}

/** Says why there is nothing to see. @param {unknown} error */
function showFailure(error) {
	const isRefused = error instanceof ServerError && (error.status === 403 || error.status === 401);
	const notice = byId("notice");
	refill(
		notice,
		h("h2", {}, isRefused ? "This address cannot be used again" : "The trace cannot be shown"),
		h(
			"p",
			{},
			isRefused
				? "An address with a ticket works once. Press Enter in the terminal where orma view runs; it prints a new one."
				: String(error instanceof Error ? error.message : error),
		),
	);
	notice.hidden = false;
}

/** @param {App} app @param {Timeline} line */
function showStatus(app, line) {
	const range = byId("range");
	const update = () => {
		const { start, end } = app.camera.target;
		range.textContent = `${durationText(end - start)} of ${durationText(app.meta.end)}`;
	};
	app.on("view", update);
	update();
	const fill = () => {
		const { title, losses, counts } = app.meta;
		const lost = losses.filter(({ severity }) => severity !== "info").length;
		const slices = counts?.slices ?? counts?.slice;
		refill(
			byId("status"),
			h("span", {}, title),
			slices === undefined ? null : h("span", { class: "muted" }, `${grouped(slices)} slices`),
			lost > 0
				? h("span", { class: "lost" }, `${lost} ${lost === 1 ? "kind" : "kinds"} of loss: see the tab Trace`)
				: h("span", { class: "muted" }, "nothing lost"),
		);
	};
	app.on("rows", fill);
	fill();
	const { meta } = app;
	byId("title").textContent = meta.title;
	document.title = `${meta.title} – orma`;
	byId("clock").addEventListener("click", () => act(app, line, "clock"));
	const clock = () => {
		byId("clock").textContent = { start: "since start", ns: "ns", wall: "wall clock" }[app.clock.mode];
	};
	app.on("clock", clock);
	clock();
}

/** @param {App} app */
function attachTheme(app) {
	const root = document.documentElement;
	const media = matchMedia("(prefers-color-scheme: dark)");
	const apply = () => {
		app.theme = themeOf(root);
		app.emit("theme");
	};
	byId("theme").addEventListener("click", () => {
		const isDark = root.dataset.theme ? root.dataset.theme === "dark" : media.matches;
		root.dataset.theme = isDark ? "light" : "dark";
		apply();
	});
	media.addEventListener("change", apply);
}

/** The border between headers and boxes is dragged. @param {Timeline} line */
function attachSplit(line) {
	const split = byId("split");
	split.addEventListener("pointerdown", (event) => {
		const left = line.element.getBoundingClientRect().left;
		trackPointer(event, (now) => {
			const width = Math.max(96, Math.min(innerWidth / 2, now.clientX - left));
			document.documentElement.style.setProperty("--head", `${Math.round(width / 4) * 4}px`);
			line.layout();
		});
		event.preventDefault();
	});
}

async function start() {
	document.body.classList.toggle("is-embedded", new URLSearchParams(location.search).get("embed") === "1");
	const source = new HttpSource();
	await source.open();
	source.stay();
	const { live } = await waitForTrace(source);
	const meta = await source.meta();
	const one = live ? source.at(meta.generation) : source;
	const app = new App(one, meta, await one.tracks());
	const line = new Timeline(app);
	const drawer = new Drawer();
	attachTheme(app);
	attachPanels(app, drawer);
	attachSearch(app, line);
	attachHelp();
	attachList(app, line);
	attachSplit(line);
	listenToInput(app, line);
	showStatus(app, line);
	byId("sql-button").addEventListener("click", () => act(app, line, "sql"));
	byId("fold-all").addEventListener("click", () => {
		const isAnyOpen = app.model.rows.some(({ kind, open }) => kind === "process" && open);
		app.model.foldAll(!isAnyOpen);
		app.emit("rows", "view");
	});
	const links = attachLinks(app, line);
	byId("share").addEventListener("click", () => copyText(location.href));
	if (live) attachLive(app, line);
	attachTesting(app, line);
	await links.read();
	byId("timeline").classList.add("is-ready");
	line.layout();
	announce(`${meta.title}: ${durationText(meta.end)}`);
}

start().catch(showFailure);
