// The mask painter marks the part of a picture that shall be generated again. The mask is a PNG of the picture's size,
// with transparent painted parts, as the API requires.
import { Box, Button, Group, Slider, Stack, Text } from "@mantine/core";
import { type PointerEvent, useEffect, useRef, useState } from "react";

const COLOR = "#e8590c";

export function MaskPainter({
  picture,
  onChange,
}: {
  picture: Blob;
  onChange: (mask: Blob | undefined) => void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const isPainting = useRef(false);
  const [url, setUrl] = useState<string>();
  const [brush, setBrush] = useState(8);
  useEffect(() => {
    const created = URL.createObjectURL(picture);
    setUrl(created);
    return () => URL.revokeObjectURL(created);
  }, [picture]);

  const paint = (event: PointerEvent<HTMLCanvasElement>) => {
    const drawing = canvas.current?.getContext("2d");
    if (!isPainting.current || !drawing || canvas.current === null) return;
    const { width, height } = canvas.current;
    const shown = canvas.current.getBoundingClientRect();
    const x = ((event.clientX - shown.left) / shown.width) * width;
    const y = ((event.clientY - shown.top) / shown.height) * height;
    drawing.fillStyle = COLOR;
    drawing.beginPath();
    drawing.arc(x, y, (brush / 100) * Math.max(width, height), 0, 2 * Math.PI);
    drawing.fill();
  };
  const finish = () => {
    if (!isPainting.current || canvas.current === null) return;
    isPainting.current = false;
    maskOf(canvas.current).toBlob((mask) => onChange(mask ?? undefined), "image/png");
  };
  const clear = () => {
    const drawn = canvas.current;
    if (drawn === null) return;
    drawn.getContext("2d")?.clearRect(0, 0, drawn.width, drawn.height);
    onChange(undefined);
  };
  return (
    <Stack gap="xs" maw={480}>
      <Text size="sm">Paint the area to change. Leave empty to edit the whole image.</Text>
      <Box pos="relative">
        {url !== undefined && (
          <img
            className="picture"
            src={url}
            alt="Area to change"
            onLoad={({ currentTarget }) => {
              if (canvas.current === null) return;
              canvas.current.width = currentTarget.naturalWidth;
              canvas.current.height = currentTarget.naturalHeight;
            }}
          />
        )}
        <canvas
          ref={canvas}
          className="mask-canvas"
          aria-label="Mask"
          onPointerDown={(event) => {
            isPainting.current = true;
            event.currentTarget.setPointerCapture(event.pointerId);
            paint(event);
          }}
          onPointerMove={paint}
          onPointerUp={finish}
          onPointerCancel={finish}
        />
      </Box>
      <Group>
        <Text size="sm">Brush</Text>
        <Slider
          w={160}
          min={1}
          max={20}
          value={brush}
          onChange={setBrush}
          label={null}
          thumbLabel="Brush size"
        />
        <Button variant="default" size="xs" onClick={clear}>
          Clear
        </Button>
      </Group>
    </Stack>
  );
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
