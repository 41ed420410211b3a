// The whole graph in a corner, and what of it is in sight.
import {PAINT} from "./graph_paint.js";

/** From afar, for the minimap: frames of the first levels, and what is in sight. */
export function drawMinimap(ctx, scene, camera, theme, size) {
  const paint = PAINT[theme];
  const {root} = scene;
  const scale = Math.min(size.width / Math.max(root.width, 1), size.height / Math.max(root.height, 1));
  const [left, top] = [(size.width - root.width * scale) / 2, (size.height - root.height * scale) / 2];
  ctx.fillStyle = paint.paper;
  ctx.fillRect(0, 0, size.width, size.height);
  let level = [...root.children];
  for (let depth = 0; depth < 4 && level.length > 0 && level.length < 4000; ++depth) {
    const next = [];
    for (const box of level) {
      ctx.fillStyle = box.open ? paint.frames[box.phase][depth % 2] : paint.border;
      ctx.fillRect(left + box.x * scale, top + box.y * scale, Math.max(1, box.width * scale), Math.max(1, box.height * scale));
      if (box.open) {
        ctx.strokeStyle = paint.frameLines[box.phase];
        ctx.lineWidth = 0.5;
        ctx.strokeRect(left + box.x * scale, top + box.y * scale, box.width * scale, box.height * scale);
        next.push(...box.children);
      }
    }
    level = next;
  }
  ctx.strokeStyle = paint.accent;
  ctx.lineWidth = 2;
  const sight = scale / camera.zoom;
  ctx.strokeRect(left + camera.x * scale, top + camera.y * scale, camera.width * sight, camera.height * sight);
  return {scale, left, top};
}
