// The tab for text: parameters at the left, the conversation at the right, streamed as it is written.
import { Button, Card, Group, Stack, Text, Textarea } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ModelRecord } from "../../../api/public-api.ts";
import { useKept } from "../../../kept-state.ts";
import { countText, requestMoneyText, sumUsd } from "../../../parts/figures/figure-text.ts";
import { useFilter } from "../../../parts/filters/use-filter.ts";
import { later } from "../../../parts/later.tsx";
import { Empty, RowsWaiting } from "../../../parts/lists/page-states.tsx";
import { useAccount } from "../../../session.ts";
import {
  EMPTY_TEXT,
  type Message,
  type TextDraft,
  type ToolCall,
  textPlace,
  useFields,
  useKeptScope,
} from "../drafts.ts";
import { chosenOf, DraftNote, ModelChoice } from "../model-choice.tsx";
import { PlaygroundHead } from "../playground-head.tsx";
import { quoteText, useQuote } from "../quote.ts";
import { RunFailure } from "../run-failure.tsx";
import { SamplePrompts } from "../sample-prompts.tsx";
import { ask, nextId, type RunningAnswer, runningPlace } from "./conversation.ts";
import { TextParameters } from "./text-parameters.tsx";
import { textRequest, toolsOf, unusedByText } from "./text-request.ts";

const Conversation = later(
  async () => (await import("./conversation-view.tsx")).Conversation,
  <RowsWaiting rows={2} />,
);

const SAMPLES = [
  "Explain the difference between a budget and a balance in two sentences.",
  "Write a polite reminder for an unpaid invoice, at most 80 words.",
  "List three checks before a release, as a table with reasons.",
];

export function TextTab({ models }: { models: readonly ModelRecord[] }) {
  const scope = useKeptScope();
  const texts = models.filter(({ type }) => type === "text");
  const [draft] = useFields(textPlace(scope));
  const model = chosenOf(texts, draft.model);
  if (model === undefined) {
    return (
      <Stack>
        <PlaygroundHead tab="text" requests={[]} />
        <Card>
          <Empty title="No model here writes text">
            The models of this router depend on its providers. Ask its operator.
          </Empty>
        </Card>
      </Stack>
    );
  }
  return <OpenTab texts={texts} model={model} />;
}

function OpenTab({ texts, model }: { texts: readonly ModelRecord[]; model: ModelRecord }) {
  const scope = useKeptScope();
  const filter = useFilter();
  const { account_id: account } = useAccount();
  const queries = useQueryClient();
  const [draft, change] = useFields(textPlace(scope));
  const [running] = useKept(runningPlace(scope));
  const typed: Message = { id: nextId(draft), role: "user", content: draft.text };
  const request = textRequest(model, draft, draft.text === "" ? [] : [typed]);
  const send = (asked: readonly Message[]) => void ask({ scope, account, model, asked, queries });
  const again = () => {
    const end = draft.messages.findLastIndex(({ role }) => role === "user");
    const asked = draft.messages.slice(end, end + 1);
    change({ messages: draft.messages.slice(0, end) });
    send(asked);
  };
  return (
    <Stack>
      <PlaygroundHead tab="text" requests={[{ name: model.name, request }]}>
        {draft.messages.length > 0 && running.control === undefined && (
          <Button
            variant="subtle"
            color="gray"
            leftSection={<IconPlus size={16} aria-hidden="true" />}
            onClick={() => change({ messages: EMPTY_TEXT.messages })}
          >
            New conversation
          </Button>
        )}
      </PlaygroundHead>
      <div className="playground-columns two">
        <Card component="section" aria-label="Parameters" padding={0}>
          <Stack gap="md" p="lg">
            <ModelChoice
              models={texts}
              model={model}
              choose={(id) => {
                change({ model: id });
                void filter({ tab: "text", model: id });
              }}
            />
            <DraftNote wanted={draft.model} model={model} unused={unusedByText(model, draft)} />
            <TextParameters model={model} draft={draft} change={change} />
          </Stack>
          <Totals of={draft} />
        </Card>
        <Card component="section" aria-label="Conversation" padding={0} className="conversation">
          <Stack gap="lg" p="lg" flex={1} aria-live="polite">
            {draft.messages.length > 0 || running.control !== undefined ? (
              <Conversation
                messages={draft.messages}
                running={running}
                model={model.name}
                again={running.control === undefined ? again : undefined}
              />
            ) : (
              running.error === undefined && (
                <SamplePrompts
                  title="Write a message"
                  samples={SAMPLES}
                  choose={(text) => change({ text })}
                />
              )
            )}
            {running.error !== undefined && <RunFailure error={running.error} />}
          </Stack>
          <Composer {...{ draft, change, running, request, send }} />
        </Card>
      </div>
    </Stack>
  );
}

interface ComposerProps {
  readonly draft: TextDraft;
  readonly change: (fields: Partial<TextDraft>) => void;
  readonly running: RunningAnswer;
  readonly request: ReturnType<typeof textRequest>;
  readonly send: (asked: readonly Message[]) => void;
}

function Composer({ draft, change, running, request, send }: ComposerProps) {
  const { account_id: account } = useAccount();
  const { control } = running;
  const calls = draft.messages.at(-1)?.toolCalls ?? [];
  const hasBadTools = toolsOf(draft.tools) === undefined;
  const isReady = draft.text !== "" && control === undefined && !hasBadTools;
  const quote = useQuote(account, request, isReady && calls.length === 0);
  if (calls.length > 0 && control === undefined) {
    return <ToolResults key={draft.messages.length} calls={calls} first={nextId(draft)} send={send} />;
  }
  const sendTyped = () => send([{ id: nextId(draft), role: "user", content: draft.text }]);
  return (
    <Stack gap="xs" className="form-foot">
      <Textarea
        label="Message"
        autosize
        minRows={2}
        maxRows={12}
        value={draft.text}
        onChange={({ currentTarget }) => change({ text: currentTarget.value })}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !isReady) return;
          event.preventDefault();
          sendTyped();
        }}
      />
      <Group justify="space-between" gap="xs">
        <Text size="xs" c="dimmed" role="note">
          {hasBadTools
            ? "The tools are no JSON array."
            : isReady && quote.data !== undefined
              ? `${quoteText([quote.data])} for the next answer`
              : isReady && quote.error !== null
                ? quote.error.message
                : "Failed requests are free."}
        </Text>
        {control === undefined ? (
          <Button disabled={!isReady} onClick={sendTyped}>
            Send
          </Button>
        ) : (
          <Button variant="default" onClick={() => control.abort()}>
            Stop
          </Button>
        )}
      </Group>
    </Stack>
  );
}

/** The person answers the calls of tools: the playground runs no tool. */
function ToolResults(props: {
  calls: readonly ToolCall[];
  first: number;
  send: (asked: readonly Message[]) => void;
}) {
  const { calls, first, send } = props;
  const [results, setResults] = useState<readonly string[]>(calls.map(() => ""));
  return (
    <Stack gap="xs" className="form-foot">
      {calls.map(({ id, name }, index) => (
        <Textarea
          key={id}
          label={`Result of ${name}`}
          placeholder='{"ok": true}'
          autosize
          minRows={2}
          maxRows={8}
          value={results[index] ?? ""}
          onChange={({ currentTarget: { value } }) =>
            setResults(results.map((result, place) => (place === index ? value : result)))
          }
        />
      ))}
      <Group justify="flex-end">
        <Button
          onClick={() =>
            send(
              calls.map(({ id }, index) => {
                return { id: first + index, role: "tool", toolCallId: id, content: results[index] ?? "" };
              }),
            )
          }
        >
          Send results
        </Button>
      </Group>
    </Stack>
  );
}

function Totals({ of: { messages } }: { of: TextDraft }) {
  const answers = messages.filter(({ role }) => role === "assistant");
  const charges = answers.flatMap(({ charged }) => (charged === undefined ? [] : [charged]));
  const sum = (name: "tokensIn" | "tokensOut") =>
    answers.reduce((total, answer) => total + (answer[name] ?? 0), 0);
  return (
    <Stack gap={2} className="form-foot">
      <Group justify="space-between">
        <Text size="sm">This conversation</Text>
        <Text size="sm" fw={600} className="figures">
          {requestMoneyText(sumUsd(charges))}
        </Text>
      </Group>
      <Group justify="space-between">
        <Text size="xs" c="dimmed">
          {answers.length} {answers.length === 1 ? "answer" : "answers"}
        </Text>
        <Text size="xs" c="dimmed" className="figures">
          {countText(sum("tokensIn"))} tokens in · {countText(sum("tokensOut"))} out
        </Text>
      </Group>
    </Stack>
  );
}
