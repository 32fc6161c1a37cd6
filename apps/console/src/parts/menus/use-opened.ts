// An opened part of a later menu opens at once. The focus is at its button before, and returns there.
import { type RefObject, useEffect, useRef, useState } from "react";

export interface Opened {
  /** For the button. */
  readonly target: RefObject<HTMLButtonElement | null>;
  readonly isOpen: boolean;
  readonly setOpen: (isOpen: boolean) => void;
}

export function useOpened(): Opened {
  const target = useRef<HTMLButtonElement>(null);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    target.current?.focus();
    setOpen(true);
  }, []);
  return { target, isOpen, setOpen };
}
