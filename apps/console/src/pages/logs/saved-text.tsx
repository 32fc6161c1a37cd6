// The saved prompt and answer of a text request, for keys that save them, with their deletion.
import type { SavedTextRecord, TextRecord } from "@gr/console-api";
import { Button, Group, Stack, Text } from "@mantine/core";
import { IconSparkles } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { call } from "../../api/console-client.ts";
import { changeKept } from "../../kept-state.ts";
import { AskFirst } from "../../parts/dialogs/ask-first.tsx";
import { Time } from "../../parts/figures/figures.tsx";
import { useAct } from "../../parts/forms/act.ts";
import { useAccount } from "../../session.ts";
import { textPlace, useKeptScope } from "../playground/drafts.ts";
import { answerText, replayedDraft, spokenParts } from "../playground/text/replayed-draft.ts";
import { RequestActions } from "./request-actions.tsx";
import { Section } from "./request-details.tsx";

const NOT_SAVED = "Prompt and answer are not saved. A key can save them: API keys, Edit.";

export function SavedText({ of: request }: { of: TextRecord }) {
  const { id, status } = request;
  const { account_id: account } = useAccount();
  const { data } = useQuery({
    queryKey: ["saved-text", account, id],
    queryFn: ({ signal }) => call("readSavedText", { path: { account, id }, signal }),
    enabled: status !== "running",
  });
  if (data !== undefined && data.text !== null) return <Saved text={data.text} />;
  return (
    <>
      {data !== undefined && (
        <Text size="sm" c="dimmed">
          {NOT_SAVED}
        </Text>
      )}
      <RequestActions of={request} />
    </>
  );
}

function Saved({ text }: { text: SavedTextRecord }) {
  const { account_id: account, may } = useAccount();
  const remove = useAct({
    send: (_close: () => void) => call("deleteSavedText", { path: { account, id: text.id } }),
    changes: [
      ["saved-text", account],
      ["saved-texts", account],
    ],
    done: "Deleted.",
    after: (_, close) => close(),
  });
  return (
    <>
      <Section title="Prompt">
        {text.prompt === null ? (
          <TooLong bytes={text.prompt_bytes} />
        ) : (
          spokenParts(text.prompt).map(({ role, content }, index) => (
            <Stack key={index} gap={2}>
              <Text size="xs" c="dimmed">
                {role}
              </Text>
              <Text size="sm" className="saved-text">
                {content}
              </Text>
            </Stack>
          ))
        )}
      </Section>
      <Section title="Answer">
        {text.answer === null && text.answer_bytes > 0 ? (
          <TooLong bytes={text.answer_bytes} />
        ) : (
          <Text size="sm" className="saved-text">
            {answerText(text.answer) || "No answer."}
          </Text>
        )}
        <Text size="xs" c="dimmed" component="div">
          Kept until <Time at={text.expires_at} />
        </Text>
      </Section>
      {may("developer") && (
        <Group gap="xs">
          {text.prompt !== null && <Replay prompt={text.prompt} />}
          <AskFirst
            name="Delete prompt and answer"
            effect="They cannot be restored. The log and the ledger keep the request and its cost."
            confirm="Delete"
            isPending={remove.isPending}
            act={remove.mutate}
          />
        </Group>
      )}
    </>
  );
}

function TooLong({ bytes }: { bytes: number }) {
  return (
    <Text size="sm" c="dimmed">
      Not saved: it has {Math.round(bytes / 1024).toLocaleString("en-US")} KB, above the limit of 1,024 KB.
    </Text>
  );
}

/** Opens the playground with the whole request. */
function Replay({ prompt }: { prompt: unknown }) {
  const { account_id: account } = useAccount();
  const scope = useKeptScope();
  const navigate = useNavigate();
  const draft = replayedDraft(prompt);
  const open = async () => {
    changeKept(textPlace(scope), () => draft);
    await navigate({
      to: "/accounts/$account/playground",
      params: { account },
      search: { tab: "text", ...(draft.model !== null && { model: draft.model }) },
    });
  };
  return (
    <Button leftSection={<IconSparkles size={16} />} onClick={() => void open()}>
      Replay in Playground
    </Button>
  );
}
