// page.js - puts the parts of the page together, for a trace that is served and for one in a report alike.
import { attachList } from "./access.js";
import { changeClock } from "./actions.js";
import { App } from "./app.js";
import { themeOf } from "./colour.js";
import { announce, byId, copyText, h, onClick, refill, trackPointer } from "./dom.js";
import { Drawer } from "./drawer.js";
import { attachHelp } from "./help.js";
import { listenToInput } from "./input.js";
import { attachLinks } from "./links.js";
import { attachPanels } from "./panels.js";
import { attachSearch } from "./search.js";
import { Timeline } from "./timeline.js";
import { countText, durationText } from "./time.js";

/** @param {App} app @param {Timeline} line */
function showStatus(app, line) {
	const range = byId("range");
	const update = () => {
		const { start, end } = app.camera.target;
		range.textContent = `${durationText(end - start)} of ${durationText(app.meta.end)}`;
	};
	app.on("view", update);
	const fill = () => {
		const { title, losses, counts, gaps } = app.meta;
		const lost = losses.filter(({ severity }) => severity !== "info").length;
		const { slices } = counts;
		refill(
			byId("status"),
			h("span", title),
			slices !== undefined && h("span.muted", countText(slices, "slice")),
			lost > 0
				? h("span.lost", `${countText(lost, "kind")} of loss: see the tab Trace`)
				: gaps.length
					? h("span.lost", "data were lost: see the row Losses")
					: h("span.muted", "nothing lost"),
		);
	};
	app.on("rows", fill);
	const { meta } = app;
	byId("title").textContent = meta.title;
	document.title = `${meta.title} – orma`;
	onClick("clock", () => changeClock(line));
	const clock = () => {
		byId("clock").textContent = { start: "since start", ns: "ns", wall: "wall clock" }[app.clock.mode];
	};
	app.on("clock", clock);
}

/** @param {App} app */
function attachColours(app) {
	const select = /** @type {HTMLSelectElement} */ (byId("colours"));
	select.onchange = () => {
		app.colourBy(/** @type {Colouring} */ (select.value));
		// Keys are for the tracks again.
		select.blur();
	};
	app.on("colours", () => {
		refill(select, ...app.colourings.map((value) => h("option", { value }, `Colour: ${value.replace(".", "")}`)));
		select.value = app.colouring;
	});
}

/** @param {App} app */
function attachTheme(app) {
	const root = document.documentElement;
	const apply = () => {
		app.theme = themeOf(root);
		app.emit("theme");
	};
	onClick("theme", () => {
		root.dataset.theme = app.theme.dark ? "light" : "dark";
		apply();
	});
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
}

/** The border between headers and boxes is dragged. @param {Timeline} line */
function attachSplit(line) {
	const split = byId("split");
	split.onpointerdown = (event) => {
		const left = line.element.getBoundingClientRect().left;
		trackPointer(event, (now) => {
			const width = Math.max(96, Math.min(innerWidth / 2, now.clientX - left));
			document.documentElement.style.setProperty("--head", `${Math.round(width / 4) * 4}px`);
			line.layout();
		});
	};
}

/**
 * Starts the page. What `attach` makes of the app are tabs that are always there.
 * @param {Source} source @param {Meta} meta @param {TrackTree} tree
 * @param {(app: App, line: Timeline, drawer: Drawer) => Tab[]} attach
 */
export async function startPage(source, meta, tree, attach) {
	const app = new App(source, meta, tree);
	const line = new Timeline(app);
	const drawer = new Drawer();
	attachTheme(app);
	attachColours(app);
	attachPanels(app, drawer, attach(app, line, drawer));
	attachSearch(app, line);
	attachHelp(app, line);
	attachList(app, line);
	attachSplit(line);
	listenToInput(line);
	showStatus(app, line);
	onClick("fold-all", () => {
		const isAnyOpen = app.model.rows.some(({ kind, open }) => kind === "process" && open);
		app.model.foldAll(!isAnyOpen);
		app.emit("rows");
	});
	const readLink = attachLinks(app, line);
	onClick("share", () => copyText(location.href));
	// Tests look at these.
	Object.assign(window, { orma: { app, line } });
	await readLink();
	line.layout();
	announce(`${meta.title}: ${durationText(meta.end)}`);
}
