// Names of keys and models in the log: people read names and not ids.
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/console-client.ts";
import { modelsQuery } from "../../models-query.ts";
import { useAccount } from "../../session.ts";
import type { Choice } from "../filters/filter-chips.tsx";

/** Value of the key filter for all web tokens. */
export const WEB_TOKEN = "web_token";
const PLAYGROUND = "Playground";
const MOST_KEYS = "100";
const HINT = 8;

/** Returns the keys of the account as choices, and the name of a key by the id that a request has. */
export function useKeyNames(): {
  readonly choices: readonly Choice[];
  readonly nameOf: (id: string) => string;
} {
  const { account_id: account } = useAccount();
  const query = { kind: "normal", limit: MOST_KEYS } as const;
  const { data } = useQuery({
    queryKey: ["keys", account, "names"],
    queryFn: ({ signal }) => call("listKeys", { path: { account }, query, signal }),
    staleTime: 60_000,
  });
  const keys = data?.data ?? [];
  const names = new Map(keys.map(({ id, name }) => [id, name]));
  return {
    choices: [
      { value: WEB_TOKEN, label: PLAYGROUND },
      ...keys.map(({ id, name }) => ({ value: id, label: name })),
    ],
    // The web tokens of an account have its id.
    nameOf: (id) =>
      id === account ? PLAYGROUND : (names.get(id) ?? (data ? `Key ${id.slice(0, HINT)}…` : "")),
  };
}

const plainChoice = (value: string): Choice => ({ value, label: value });

/** Returns the members of the account as choices. */
export function useMemberNames(): readonly Choice[] {
  const { account_id: account } = useAccount();
  const { data } = useQuery({
    queryKey: ["members", account],
    queryFn: ({ signal }) => call("listMembers", { path: { account }, signal }),
    staleTime: 60_000,
  });
  return (data?.data ?? []).map(({ person_id, name, email }) => ({ value: person_id, label: name || email }));
}

/** Returns the models of the catalogue and their providers as choices, and the name of a model by its id. */
export function useModelNames(): {
  readonly choices: readonly Choice[];
  readonly providers: readonly Choice[];
  readonly nameOf: (id: string) => string;
} {
  const { data = [] } = useQuery(modelsQuery);
  const names = new Map(data.map(({ id, name }) => [id, name]));
  return {
    choices: data.map(({ id, name }) => ({ value: id, label: name === id ? id : `${name} · ${id}` })),
    providers: [...new Set(data.flatMap(({ providers }) => providers))].sort().map(plainChoice),
    nameOf: (id) => names.get(id) ?? id,
  };
}
