// The tests ask a page what it has drawn. They put these functions into the page, which offers them its parts as window.orma. The
// functions are not in the page itself, so that nobody who opens a trace loads them.

/** Runs in the page, and must not use names of this module. */
function makeHooks({ app, line }) {
	const drawnBoxes = (pane) => {
		const { boxes } = pane;
		const origin = line.over.canvas.getBoundingClientRect();
		return Array.from({ length: pane.element.clientHeight > 0 ? boxes.length : 0 }, (_, i) => ({
			...pane.selectionOf(i),
			x: origin.left + boxes.x[i],
			y: origin.top + line.windowY(pane, boxes.y[i]),
			w: boxes.w[i],
			h: boxes.h[i],
			count: boxes.count[i],
			flags: boxes.flags[i],
			colour: boxes.colour[i],
			look: boxes.look[i],
		}));
	};
	return {
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
			colouring: app.colouring,
			level: line.scale.level,
			scrollTop: line.tracks.element.scrollTop,
			rows: app.model.rows.map(({ title, kind, node, y, height, open, mode, body, strip }) => ({
				title,
				kind,
				id: node.id,
				y,
				height,
				open,
				mode,
				lane: body?.lane ?? null,
				strip: strip?.lane ?? null,
			})),
		}),
		/** The boxes that were drawn, in coordinates of the page. */
		boxes: () => line.panes.flatMap(drawnBoxes),
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
}

/** An expression for the page that asks one of the questions above. @param {"idle" | "state" | "boxes" | "counters"} what */
export function hook(what) {
	return `((orma.test ??= (${makeHooks})(orma)), orma.test.${what}())`;
}
