// The menu of a key.
import type { KeyRecord } from "@gr/console-api";
import { Menu } from "@mantine/core";
import type { ReactElement } from "react";
import type { MenuButtonProps } from "../../parts/menus/later-menu.tsx";
import { OpenedMenu } from "../../parts/menus/opened-menu.tsx";
import type { OpenedDialog } from "./key-dialog.tsx";

export interface KeyMenuProps {
  readonly of: KeyRecord;
  readonly button: ReactElement<MenuButtonProps>;
  readonly open: (dialog: OpenedDialog) => void;
}

export function KeyMenu({ of: key, button, open }: KeyMenuProps) {
  return (
    <OpenedMenu button={button} side="end">
      <Menu.Item onClick={() => open({ name: "edit", key })}>Edit</Menu.Item>
      <Menu.Item onClick={() => open({ name: "rotate", key })}>Rotate</Menu.Item>
      {key.kind === "normal" && (
        <Menu.Item onClick={() => open({ name: "forget", key })}>Delete saved prompts</Menu.Item>
      )}
      <Menu.Item color="red" onClick={() => open({ name: "delete", key })}>
        Delete
      </Menu.Item>
    </OpenedMenu>
  );
}
