// The choice of a key to save prompts and answers, and the deletion of those that it has saved.
import type { KeyRecord } from "@gr/console-api";
import { Switch } from "@mantine/core";
import { call } from "../../api/console-client.ts";
import { Confirm } from "../../parts/dialogs/confirm.tsx";
import { useAct } from "../../parts/forms/act.ts";
import { retentionText, useSavedTextUse } from "../../saved-texts.ts";
import { useAccount } from "../../session.ts";

export interface SavesTextsProps {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

export function SavesTexts({ checked, onChange }: SavesTextsProps) {
  const { account_id: account } = useAccount();
  const { data: use } = useSavedTextUse(account);
  return (
    <Switch
      label="Save prompts and answers of text requests"
      description={`All members of the account can read them. ${use === undefined ? "" : retentionText(use)}`}
      checked={checked}
      onChange={({ currentTarget }) => onChange(currentTarget.checked)}
    />
  );
}

export function DeleteSavedTexts({ apiKey, close }: { apiKey: KeyRecord; close: () => void }) {
  const { account_id: account } = useAccount();
  const remove = useAct({
    send: () => call("deleteSavedTextsOfKey", { path: { account, id: apiKey.id } }),
    changes: [
      ["saved-texts", account],
      ["saved-text", account],
    ],
    done: "Deleted.",
    after: close,
  });
  return (
    <Confirm
      title={`Delete saved prompts and answers of ${apiKey.name}?`}
      button="Delete"
      isPending={remove.isPending}
      act={() => remove.mutate()}
      close={close}
    >
      They cannot be restored. The log and the ledger keep the requests and their cost.
      {apiKey.saves_texts && " The key saves those of further requests."}
    </Confirm>
  );
}
