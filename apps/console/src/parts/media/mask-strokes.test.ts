// Guarantees of mask strokes: a stroke is a connected line, and an eraser removes paint.
import { expect, test } from "@jest/globals";
import { drawStrokes, hasPaint, type Stroke } from "./mask-strokes.ts";

/** A drawing that writes its calls down. */
function recordedDrawing() {
  const calls: string[] = [];
  const drawing = {
    canvas: { width: 200, height: 100 } as HTMLCanvasElement,
    ...{ lineWidth: 0, lineCap: "butt" as const, lineJoin: "miter" as const, strokeStyle: "" },
    globalCompositeOperation: "source-over" as GlobalCompositeOperation,
    clearRect: () => calls.push("clear"),
    beginPath: () => calls.push("begin"),
    moveTo: (x: number, y: number) => calls.push(`move ${x},${y}`),
    lineTo: (x: number, y: number) => calls.push(`line ${x},${y}`),
    stroke: () => calls.push(`stroke ${drawing.globalCompositeOperation} ${drawing.lineWidth}`),
  };
  return { drawing: drawing as unknown as Parameters<typeof drawStrokes>[0], calls };
}

const stroke = (isEraser: boolean, ...points: [number, number][]): Stroke => {
  return { points: points.map(([x, y]) => ({ x, y })), radius: 0.05, isEraser };
};

test("points of a stroke are connected by lines, at the size of the picture", () => {
  const { drawing, calls } = recordedDrawing();
  drawStrokes(drawing, [stroke(false, [0, 0], [0.5, 0.5], [1, 1])], "red");
  expect(calls).toEqual([
    "clear",
    "begin",
    "move 0,0",
    "line 100,50",
    "line 200,100",
    "stroke source-over 20",
  ]);
});

test("a stroke of one point is a dot, and an eraser removes", () => {
  const { drawing, calls } = recordedDrawing();
  drawStrokes(drawing, [stroke(true, [0.5, 0.5])], "red");
  expect(calls.slice(2)).toEqual(["move 100,50", "line 100,50", "stroke destination-out 20"]);
  expect(drawing.globalCompositeOperation).toBe("source-over");
});

test("an eraser alone paints nothing", () => {
  expect(hasPaint([stroke(true, [0, 0])])).toBe(false);
  expect(hasPaint([stroke(true, [0, 0]), stroke(false, [0, 0])])).toBe(true);
});
