// Visible rows of a long list: only these are in the page, between two spaces as high as the others. All rows have one height.
import { useCallback, useLayoutEffect, useRef, useState } from "react";

/** A shorter list is complete in the page, so that a search of the browser finds its rows. */
const COMPLETE = 60;
/** Rows above and below the screen. */
const MARGIN = 12;
/** The range moves in steps, so that most events of a scroll change nothing. */
const STEP = 6;

export interface RowRange {
  readonly first: number;
  /** The row after the last one. */
  readonly end: number;
}

/** @param top pixels from the top of the list to the top of the screen; negative above the list */
export function rangeOf(count: number, rowHeight: number, top: number, screen: number): RowRange {
  if (count <= COMPLETE) return { first: 0, end: count };
  const step = (row: number) => Math.floor(row / STEP) * STEP;
  const first = step(top / rowHeight) - MARGIN;
  const end = step((top + screen) / rowHeight) + STEP + MARGIN;
  const last = Math.min(count, Math.max(0, end));
  return { first: Math.min(last, Math.max(0, first)), end: last };
}

/** Returns the range of the rows on the screen, and the reference of the element around all rows. */
export function useVisibleRows<Around extends HTMLElement>(count: number, rowHeight: number) {
  const around = useRef<Around>(null);
  const [range, setRange] = useState<RowRange>(() => rangeOf(count, rowHeight, 0, window.innerHeight));
  const measure = useCallback(() => {
    const top = -(around.current?.getBoundingClientRect().top ?? 0);
    const next = rangeOf(count, rowHeight, top, window.innerHeight);
    setRange((now) => (now.first === next.first && now.end === next.end ? now : next));
  }, [count, rowHeight]);
  useLayoutEffect(() => {
    measure();
    window.addEventListener("scroll", measure, { passive: true });
    window.addEventListener("resize", measure, { passive: true });
    return () => {
      window.removeEventListener("scroll", measure);
      window.removeEventListener("resize", measure);
    };
  }, [measure]);
  return { around, ...range, before: range.first * rowHeight, after: (count - range.end) * rowHeight };
}
