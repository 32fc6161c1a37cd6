// A later menu is its button until somebody opens it: menus and their placement are a tenth of the code of a page.
import {
  type ComponentPropsWithRef,
  cloneElement,
  type ReactElement,
  type ReactNode,
  Suspense,
  useState,
} from "react";

export type MenuButtonProps = ComponentPropsWithRef<"button">;

export interface LaterMenuProps {
  readonly button: ReactElement<MenuButtonProps>;
  /** Kind of the opened part. */
  readonly popup?: "menu" | "dialog" | "listbox";
  /** Loads the opened part, ahead of the click. */
  readonly load: () => Promise<unknown>;
  /** @param button that the menu contains and opens at */
  readonly children: (button: ReactElement<MenuButtonProps>) => ReactNode;
}

export function LaterMenu({ button, popup = "menu", load, children }: LaterMenuProps) {
  const [isWanted, setWanted] = useState(false);
  if (isWanted) return <Suspense fallback={button}>{children(button)}</Suspense>;
  return cloneElement(button, {
    ...{ "aria-haspopup": popup, "aria-expanded": false },
    onPointerEnter: () => void load(),
    onFocus: () => void load(),
    onClick: () => setWanted(true),
  });
}
