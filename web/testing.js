// testing.js - window.orma.test: what tests ask the page. It says what was drawn, not what should have been.
import { hoverPoint } from "./input.js";

/** @param {App} app @param {Timeline} line */
export function attachTesting(app, line) {
	const test = {
		/** Resolves when nothing moves and nothing is on its way, in two frames in a row. */
		idle: async () => {
			for (let calm = 0; calm < 2;) {
				await new Promise((resolve) => requestAnimationFrame(resolve));
				calm = line.idle ? calm + 1 : 0;
			}
		},
		state: () => ({
			start: app.camera.start,
			end: app.camera.end,
			/** When the newest event on screen happened, in ms since 1970. */
			shown: Number(BigInt(app.meta.realtime_start_ns ?? 0) / 1000000n) + Math.min(app.meta.end, app.camera.end) / 1e6,
			selection: app.selection,
			measured: app.measured,
			area: app.area,
			notes: app.notes,
			hits: app.hits?.total ?? null,
			pins: app.model.pins,
			filter: app.model.filter,
			dark: app.theme.dark,
			clock: app.clock.mode,
			level: line.scale.level,
			scrollTop: line.tracks.element.scrollTop,
			rows: app.model.rows.map(({ title, kind, node, y, height, open, body, strip }) => ({
				title,
				kind,
				id: node.id,
				y,
				height,
				open,
				lane: body?.lane ?? null,
				strip: strip?.lane ?? null,
			})),
		}),
		/** The boxes that were drawn, in coordinates of the page. @returns {DrawnBox[]} */
		boxes: () => line.panes.flatMap((pane) => drawnBoxes(line, pane)),
		/** What is at a point of the page. @param {number} clientX @param {number} clientY */
		hit: (clientX, clientY) => {
			const origin = line.over.canvas.getBoundingClientRect();
			const { pane, box, row } = hoverPoint(line, { x: clientX - origin.left, y: clientY - origin.top });
			return { row: row?.title ?? null, box: box < 0 ? null : pane.selectionOf(box) };
		},
		counters: () => ({
			boxes: line.panes.reduce((sum, { boxes }) => sum + boxes.length, 0),
			tiles: app.tiles.tiles.size,
			tileBytes: app.tiles.bytes,
			requests: app.source.traffic.requests,
			bytes: app.source.traffic.bytes,
			frames: line.frames,
			frameMs: line.frameMs,
			flows: app.flows.length,
			pointedFlows: app.pointedFlows.length,
		}),
	};
	/** @type {any} */ (window).orma = { test };
}

/** @param {Timeline} line @param {Pane} pane */
function drawnBoxes(line, pane) {
	const { boxes } = pane;
	const origin = line.over.canvas.getBoundingClientRect();
	return Array.from({ length: pane.element.clientHeight > 0 ? boxes.length : 0 }, (_, i) => {
		const { table, id, lane, depth, start, end, name } = pane.selectionOf(i);
		const y = origin.top + line.windowY(pane, boxes.y[i]);
		return {
			x: origin.left + boxes.x[i],
			y,
			w: boxes.w[i],
			h: boxes.h[i],
			name,
			count: boxes.count[i],
			start,
			end,
			depth,
			flags: boxes.flags[i],
			lane,
			id,
			table,
		};
	});
}
