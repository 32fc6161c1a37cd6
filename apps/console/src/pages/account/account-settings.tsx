// Settings of the account for its requests: the form of pictures and videos in answers to requests that name none.
import { type AnswerOf, responseFormat } from "@gr/console-api";
import { Button, Group, Modal, Select, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../../api/console-client.ts";
import { AskFirst } from "../../parts/dialogs/ask-first.tsx";
import { useAct } from "../../parts/forms/act.ts";
import { RESPONSE_FORMATS } from "../../parts/forms/response-formats.ts";
import { Loaded } from "../../parts/lists/loaded.tsx";
import { amountText, retentionText, useSavedTextUse } from "../../saved-texts.ts";
import { useAccount } from "../../session.ts";

export function AccountSettings({ close }: { close: () => void }) {
  const { account_id: account } = useAccount();
  const settings = useQuery({
    queryKey: ["settings", account],
    queryFn: ({ signal }) => call("readSettings", { path: { account }, signal }),
  });
  return (
    <Modal opened onClose={close} title="Settings of the account">
      <Loaded of={settings}>{(read) => <Fields settings={read} close={close} />}</Loaded>
    </Modal>
  );
}

function Fields({ settings, close }: { settings: AnswerOf<"readSettings">; close: () => void }) {
  const { account_id: account } = useAccount();
  const [format, setFormat] = useState(settings.default_response_format ?? "url");
  const act = useAct({
    send: () => call("changeSettings", { path: { account }, body: { default_response_format: format } }),
    changes: [
      ["settings", account],
      ["audit", account],
    ],
    done: "Saved.",
    after: close,
  });
  return (
    <Stack>
      <Select
        label="Default response_format"
        description="For image and video requests that name none, with keys without a default of their own. Clients that read base64 only need b64_json."
        data={RESPONSE_FORMATS}
        allowDeselect={false}
        value={format}
        onChange={(value) => setFormat(responseFormat.parse(value))}
      />
      <SavedTexts />
      <Group justify="flex-end">
        <Button loading={act.isPending} onClick={() => act.mutate(undefined)}>
          Save
        </Button>
      </Group>
    </Stack>
  );
}

/** Prompts and answers that keys of the account have saved. */
function SavedTexts() {
  const { account_id: account } = useAccount();
  const { data: use } = useSavedTextUse(account);
  const remove = useAct({
    send: (_close: () => void) => call("deleteSavedTexts", { path: { account } }),
    changes: [
      ["saved-texts", account],
      ["saved-text", account],
    ],
    done: "Deleted.",
    after: (_, close) => close(),
  });
  if (use === undefined) return null;
  return (
    <Stack gap="xs">
      <Text size="sm" fw={500}>
        Saved prompts and answers
      </Text>
      <Text size="sm" c="dimmed">
        Keys save them if you switch this on in their settings. {retentionText(use)} Now: {amountText(use)}.
        {use.bytes >= use.most_bytes && " The room is full: no further ones are saved."}
      </Text>
      {use.entries > 0 && (
        <AskFirst
          name="Delete all saved prompts and answers"
          effect="They cannot be restored. The log and the ledger keep the requests and their cost."
          confirm="Delete"
          isPending={remove.isPending}
          act={remove.mutate}
        />
      )}
    </Stack>
  );
}
