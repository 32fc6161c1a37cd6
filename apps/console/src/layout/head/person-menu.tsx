// Menu of the signed-in person.
import { UnstyledButton, VisuallyHidden } from "@mantine/core";
import { lazy } from "react";
import { LaterMenu } from "../../parts/menus/later-menu.tsx";
import { useSession } from "../../session.ts";

const load = () => import("./head-menus.tsx");
const PersonItems = lazy(async () => ({ default: (await load()).PersonItems }));

/** @param of the current account, if there is one */
export function PersonMenu({ of: account }: { of?: { readonly account_id: string; readonly role: string } }) {
  const { person } = useSession();
  const name = person?.name || person?.email || "";
  return (
    <LaterMenu
      load={load}
      button={
        <UnstyledButton className="person-sign">
          <span aria-hidden="true">{name.slice(0, 2).toUpperCase()}</span>
          <VisuallyHidden>{name}</VisuallyHidden>
        </UnstyledButton>
      }
    >
      {(button) => <PersonItems button={button} of={account} />}
    </LaterMenu>
  );
}
