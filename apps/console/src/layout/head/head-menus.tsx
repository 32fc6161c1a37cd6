// Menus of the head: the accounts of a person, and the person. Their code loads when somebody opens one.
import { Menu, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { call } from "../../api/console-client.ts";
import { forgetTokens } from "../../api/public-api.ts";
import "../../later-styles.ts";
import { forgetKept } from "../../kept-state.ts";
import { showRefusal } from "../../parts/forms/act.ts";
import type { MenuButtonProps } from "../../parts/menus/later-menu.tsx";
import { OpenedMenu } from "../../parts/menus/opened-menu.tsx";
import { useAccount, useSession } from "../../session.ts";

interface OpenedProps {
  readonly button: ReactElement<MenuButtonProps>;
}

export function AccountMenu({ button }: OpenedProps) {
  const { account_id: account } = useAccount();
  const { accounts } = useSession();
  const navigate = useNavigate();
  return (
    <OpenedMenu button={button} side="start" width={240}>
      {accounts.map(({ account_id, account_name: name, role }) => (
        <Menu.Item
          key={account_id}
          fw={account_id === account ? 600 : 400}
          rightSection={
            <Text size="xs" c="dimmed">
              {role}
            </Text>
          }
          onClick={() => void navigate({ to: "/accounts/$account", params: { account: account_id } })}
        >
          {name}
        </Menu.Item>
      ))}
      <Menu.Divider />
      <Menu.Item renderRoot={(props) => <Link to="/new-account" {...props} />}>New account</Menu.Item>
    </OpenedMenu>
  );
}

/** @param of the current account, if there is one */
export function PersonItems({
  button,
  of: account,
}: OpenedProps & { of?: { readonly account_id: string; readonly role: string } | undefined }) {
  const { person } = useSession();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const signOut = async () => {
    await call("signOut");
    queries.clear();
    forgetKept();
    forgetTokens();
    await navigate({ to: "/sign-in" });
  };
  return (
    <OpenedMenu button={button} side="end">
      <Menu.Label>
        {person?.email}
        {account && ` · ${account.role}`}
      </Menu.Label>
      {account && (
        <Menu.Item
          renderRoot={(props) => (
            <Link to="/accounts/$account/person" params={{ account: account.account_id }} {...props} />
          )}
        >
          Password and sessions
        </Menu.Item>
      )}
      <Menu.Item onClick={() => void signOut().catch(showRefusal)}>Sign out</Menu.Item>
    </OpenedMenu>
  );
}
