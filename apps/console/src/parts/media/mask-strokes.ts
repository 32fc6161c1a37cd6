// Mask strokes are the lines that a person paints over a picture. Points are parts of the picture's size, from 0 to 1,
// so that strokes fit each size on screen.

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Stroke {
  readonly points: readonly Point[];
  /** Radius as a part of the picture's longer side. */
  readonly radius: number;
  readonly isEraser: boolean;
}

type Drawing = Pick<
  CanvasRenderingContext2D,
  | "canvas"
  | "clearRect"
  | "beginPath"
  | "moveTo"
  | "lineTo"
  | "stroke"
  | "lineWidth"
  | "lineCap"
  | "lineJoin"
  | "strokeStyle"
  | "globalCompositeOperation"
>;

/** Draws all strokes anew. A stroke of one point is a dot. */
export function drawStrokes(drawing: Drawing, strokes: readonly Stroke[], color: string): void {
  const { width, height } = drawing.canvas;
  drawing.clearRect(0, 0, width, height);
  for (const stroke of strokes) drawLine(drawing, stroke, color);
  drawing.globalCompositeOperation = "source-over";
}

function drawLine(drawing: Drawing, { points, radius, isEraser }: Stroke, color: string): void {
  const { width, height } = drawing.canvas;
  const [first, ...others] = points;
  if (first === undefined) return;
  drawing.globalCompositeOperation = isEraser ? "destination-out" : "source-over";
  drawing.strokeStyle = color;
  drawing.lineWidth = 2 * radius * Math.max(width, height);
  drawing.lineCap = "round";
  drawing.lineJoin = "round";
  drawing.beginPath();
  drawing.moveTo(first.x * width, first.y * height);
  for (const { x, y } of others.length === 0 ? [first] : others) drawing.lineTo(x * width, y * height);
  drawing.stroke();
}

/** Returns true if a part of the picture may be painted: an eraser alone paints nothing. */
export const hasPaint = (strokes: readonly Stroke[]) => strokes.some(({ isEraser }) => !isEraser);
