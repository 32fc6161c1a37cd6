// The menu of a later menu.
import { Menu } from "@mantine/core";
import { cloneElement, type ReactElement, type ReactNode } from "react";
import type { MenuButtonProps } from "./later-menu.tsx";
import { useOpened } from "./use-opened.ts";

export interface OpenedMenuProps {
  readonly button: ReactElement<MenuButtonProps>;
  readonly side: "start" | "end";
  readonly width?: number;
  /** Items. */
  readonly children: ReactNode;
}

export function OpenedMenu({ button, side, width, children }: OpenedMenuProps) {
  const { target, isOpen, setOpen } = useOpened();
  return (
    <Menu
      position={`bottom-${side}`}
      opened={isOpen}
      onChange={setOpen}
      {...(width !== undefined && { width })}
    >
      <Menu.Target>{cloneElement(button, { ref: target })}</Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  );
}
