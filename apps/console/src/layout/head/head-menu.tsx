// A head menu is its button until somebody opens it: menus and their placement are a tenth of the code of a page.
import { UnstyledButton } from "@mantine/core";
import {
  type ComponentPropsWithRef,
  cloneElement,
  type ReactElement,
  type ReactNode,
  Suspense,
  useState,
} from "react";

export type HeadButtonProps = ComponentPropsWithRef<"button">;

export interface HeadMenuProps {
  readonly className: string;
  /** Content of the button. */
  readonly name: ReactNode;
  /** Loads the menu, ahead of the click. */
  readonly load: () => Promise<unknown>;
  /** @param button that the menu contains and opens at */
  readonly children: (button: ReactElement<HeadButtonProps>) => ReactNode;
}

export function HeadMenu({ className, name, load, children }: HeadMenuProps) {
  const [isWanted, setWanted] = useState(false);
  const button: ReactElement<HeadButtonProps> = <UnstyledButton className={className}>{name}</UnstyledButton>;
  if (isWanted) return <Suspense fallback={button}>{children(button)}</Suspense>;
  return cloneElement(button, {
    ...{ "aria-haspopup": "menu", "aria-expanded": false },
    onPointerEnter: () => void load(),
    onFocus: () => void load(),
    onClick: () => setWanted(true),
  });
}
