// Media removal is final and asks for a confirmation. The server refuses it for a running request with a waiting
// client.
import type { GenerationRecord } from "@gr/console-api";
import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { call } from "../../api/console-client.ts";
import { useAct } from "../../parts/forms/act.ts";
import { useAccount } from "../../session.ts";

export function RemoveMedia({ of: { id, status, deleted } }: { of: GenerationRecord }) {
  const { account_id: account, may } = useAccount();
  const [isAsked, { open, close }] = useDisclosure(false);
  const act = useAct({
    send: () => call("removeMedia", { path: { account, id } }),
    changes: [
      ["request", account, id],
      ["requests", account],
    ],
    done: "Removed.",
    after: close,
  });
  if (deleted || !may("developer")) return null;
  const runs = status === "running";
  const name = runs ? "Cancel request" : "Delete files and prompt";
  return (
    <Group>
      <Button variant="light" color="red" onClick={open}>
        {name}
      </Button>
      <Modal opened={isAsked} onClose={close} title={`${name}?`} zIndex={300}>
        <Stack>
          <Text size="sm">
            {runs
              ? "The provider is asked to stop. If the request finishes first, it is charged, and its files are deleted."
              : "Its files are deleted at once, and their URLs stop working. Deleted files cannot be restored. The log and the ledger keep its cost."}
          </Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Back
            </Button>
            <Button color="red" loading={act.isPending} onClick={() => act.mutate()}>
              {runs ? "Cancel request" : "Delete"}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </Group>
  );
}
