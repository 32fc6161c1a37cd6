// The mask painter marks the part of a picture that shall be generated again, by pointer or by keys. The mask is a PNG of
// the picture's size, with transparent painted parts, as the API requires.
import { ActionIcon, Box, Group, SegmentedControl, Slider, Stack, Text, Tooltip } from "@mantine/core";
import { IconArrowBackUp, IconTrash } from "@tabler/icons-react";
import { type KeyboardEvent, type PointerEvent, useCallback, useEffect, useRef, useState } from "react";
import { drawStrokes, hasPaint, type Point, type Stroke } from "./mask-strokes.ts";
import { useObjectUrl } from "./object-url.ts";

const COLOR = "#e8590c";
/** Part of the picture that an arrow key moves the cursor by. */
const KEY_STEP = 0.02;
const ARROWS: Readonly<Record<string, Point>> = {
  ArrowLeft: { x: -KEY_STEP, y: 0 },
  ArrowRight: { x: KEY_STEP, y: 0 },
  ArrowUp: { x: 0, y: -KEY_STEP },
  ArrowDown: { x: 0, y: KEY_STEP },
};
const within = (part: number) => Math.min(1, Math.max(0, part));

export interface MaskPainterProps {
  readonly picture: Blob;
  readonly strokes: readonly Stroke[];
  /** @param mask undefined if nothing is painted */
  readonly onChange: (strokes: readonly Stroke[], mask: Blob | undefined) => void;
}

export function MaskPainter({ picture, strokes, onChange }: MaskPainterProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const line = useRef<Stroke>(undefined);
  const url = useObjectUrl(picture);
  const [brush, setBrush] = useState(4);
  const [isEraser, setEraser] = useState(false);
  const [cursor, setCursor] = useState<Point>();
  const draw = useCallback((all: readonly Stroke[]) => {
    const drawing = canvas.current?.getContext("2d");
    if (drawing) drawStrokes(drawing, all, COLOR);
  }, []);
  useEffect(() => draw(strokes), [draw, strokes]);

  const change = (all: readonly Stroke[]) => {
    draw(all);
    if (canvas.current === null || !hasPaint(all)) return onChange(all, undefined);
    maskOf(canvas.current).toBlob((mask) => onChange(all, mask ?? undefined), "image/png");
  };
  const strokeOf = (points: readonly Point[]): Stroke => ({ points, radius: brush / 100, isEraser });
  const extend = (event: PointerEvent<HTMLCanvasElement>) => {
    if (line.current === undefined) return;
    // Positions between two frames: a quick stroke stays a line.
    const moves = event.nativeEvent.getCoalescedEvents?.() ?? [];
    const points = (moves.length > 0 ? moves : [event.nativeEvent]).map((move) =>
      pointOf(event.currentTarget, move),
    );
    line.current = { ...line.current, points: [...line.current.points, ...points] };
    draw([...strokes, line.current]);
  };
  const finish = () => {
    const done = line.current;
    line.current = undefined;
    if (done !== undefined) change([...strokes, done]);
  };
  const byKey = (event: KeyboardEvent) => {
    const move = ARROWS[event.key];
    const from = cursor ?? { x: 0.5, y: 0.5 };
    if (move !== undefined) {
      const to = { x: within(from.x + move.x), y: within(from.y + move.y) };
      setCursor(to);
      if (event.shiftKey) change([...strokes, strokeOf([from, to])]);
    } else if (event.key === " ") {
      setCursor(from);
      change([...strokes, strokeOf([from])]);
    } else return;
    event.preventDefault();
  };
  return (
    <Stack gap="xs">
      <Box
        pos="relative"
        className="mask-frame"
        role="application"
        tabIndex={0}
        aria-label="Mask. Arrow keys move the brush, Space paints, Shift and an arrow paint a line."
        onKeyDown={byKey}
        onBlur={() => setCursor(undefined)}
      >
        {url !== undefined && (
          <img
            className="picture"
            src={url}
            alt="To edit"
            onLoad={({ currentTarget }) => {
              if (canvas.current === null) return;
              canvas.current.width = currentTarget.naturalWidth;
              canvas.current.height = currentTarget.naturalHeight;
              draw(strokes);
            }}
          />
        )}
        <canvas
          ref={canvas}
          className="mask-canvas"
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            line.current = strokeOf([pointOf(event.currentTarget, event.nativeEvent)]);
            draw([...strokes, line.current]);
          }}
          onPointerMove={extend}
          onPointerUp={finish}
          onPointerCancel={finish}
        />
        {cursor !== undefined && (
          <span
            className="mask-cursor"
            aria-hidden="true"
            style={{ left: `${cursor.x * 100}%`, top: `${cursor.y * 100}%`, width: `${brush * 2}%` }}
          />
        )}
      </Box>
      <Group gap="xs">
        <SegmentedControl
          size="xs"
          aria-label="Tool"
          data={[
            { value: "brush", label: "Brush" },
            { value: "eraser", label: "Eraser" },
          ]}
          value={isEraser ? "eraser" : "brush"}
          onChange={(tool) => setEraser(tool === "eraser")}
        />
        <PaintAction label="Undo" isOff={strokes.length === 0} act={() => change(strokes.slice(0, -1))}>
          <IconArrowBackUp size={16} aria-hidden="true" />
        </PaintAction>
        <PaintAction label="Clear the mask" isOff={strokes.length === 0} act={() => change([])}>
          <IconTrash size={16} aria-hidden="true" />
        </PaintAction>
        <Slider
          flex={1}
          miw={80}
          min={1}
          max={20}
          value={brush}
          onChange={setBrush}
          label={null}
          thumbLabel="Brush size"
        />
      </Group>
      <Text size="xs" c="dimmed">
        Paint the area to change. Leave empty to edit the whole image.
      </Text>
    </Stack>
  );
}

function PaintAction(props: { label: string; isOff: boolean; act: () => void; children: React.ReactNode }) {
  return (
    <Tooltip label={props.label}>
      <ActionIcon
        variant="default"
        size={30}
        aria-label={props.label}
        disabled={props.isOff}
        onClick={props.act}
      >
        {props.children}
      </ActionIcon>
    </Tooltip>
  );
}

function pointOf(canvas: Element, { clientX, clientY }: { clientX: number; clientY: number }): Point {
  const { left, top, width, height } = canvas.getBoundingClientRect();
  return { x: within((clientX - left) / width), y: within((clientY - top) / height) };
}

/** Returns the mask: opaque, and transparent at painted parts. */
function maskOf(painted: HTMLCanvasElement): HTMLCanvasElement {
  const mask = document.createElement("canvas");
  mask.width = painted.width;
  mask.height = painted.height;
  const drawing = mask.getContext("2d");
  if (drawing === null) return mask;
  drawing.fillStyle = "#ffffff";
  drawing.fillRect(0, 0, mask.width, mask.height);
  drawing.globalCompositeOperation = "destination-out";
  drawing.drawImage(painted, 0, 0);
  return mask;
}
