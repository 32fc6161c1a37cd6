// Menu of the signed-in person.
import { VisuallyHidden } from "@mantine/core";
import { lazy } from "react";
import { useSession } from "../../session.ts";
import { HeadMenu } from "./head-menu.tsx";

const load = () => import("./head-menus.tsx");
const PersonItems = lazy(async () => ({ default: (await load()).PersonItems }));

/** @param of the current account, if there is one */
export function PersonMenu({ of: account }: { of?: { readonly account_id: string; readonly role: string } }) {
  const { person } = useSession();
  const name = person?.name || person?.email || "";
  return (
    <HeadMenu
      className="person-sign"
      load={load}
      name={
        <>
          <span aria-hidden="true">{name.slice(0, 2).toUpperCase()}</span>
          <VisuallyHidden>{name}</VisuallyHidden>
        </>
      }
    >
      {(button) => <PersonItems button={button} of={account} />}
    </HeadMenu>
  );
}
