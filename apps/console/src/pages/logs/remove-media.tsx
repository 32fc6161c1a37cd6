// Media removal is final and asks for a confirmation. The server refuses it for a running request with a waiting
// client.
import type { GenerationRecord } from "@gr/console-api";
import { call } from "../../api/console-client.ts";
import { AskFirst } from "../../parts/dialogs/ask-first.tsx";
import { useAct } from "../../parts/forms/act.ts";
import { useAccount } from "../../session.ts";

export function RemoveMedia({ of: { id, status, deleted } }: { of: GenerationRecord }) {
  const { account_id: account, may } = useAccount();
  const act = useAct({
    send: (_close: () => void) => call("removeMedia", { path: { account, id } }),
    changes: [
      ["request", account, id],
      ["requests", account],
    ],
    done: "Removed.",
    after: (_, close) => close(),
  });
  if (deleted || !may("developer")) return null;
  const runs = status === "running";
  return (
    <AskFirst
      name={runs ? "Cancel request" : "Delete files and prompt"}
      effect={
        runs
          ? "The provider is asked to stop. If the request finishes first, it is charged, and its files are deleted."
          : "Its files are deleted at once, and their URLs stop working. Deleted files cannot be restored. The log and the ledger keep its cost."
      }
      confirm={runs ? "Cancel request" : "Delete"}
      isPending={act.isPending}
      act={act.mutate}
    />
  );
}
