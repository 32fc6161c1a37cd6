// Menu of the signed-in person.
import { Menu, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { call } from "../api/console-client.ts";
import { forgetTokens } from "../api/public-api.ts";
import { forgetKept } from "../kept-state.ts";
import { showRefusal } from "../parts/forms/act.ts";
import { useSession } from "../session.ts";

/** @param of the current account, if there is one */
export function PersonMenu({ of: account }: { of?: { readonly account_id: string; readonly role: string } }) {
  const { person } = useSession();
  const name = person?.name || person?.email || "";
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
    <Menu position="bottom-end">
      <Menu.Target>
        <UnstyledButton className="person-sign">
          <span aria-hidden="true">{name.slice(0, 2).toUpperCase()}</span>
          <VisuallyHidden>{name}</VisuallyHidden>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
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
      </Menu.Dropdown>
    </Menu>
  );
}
