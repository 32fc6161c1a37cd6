// The messages of a conversation, each answer with its charge, tokens and times.
import { ActionIcon, Box, Code, CopyButton, Group, Loader, Stack, Text, Tooltip } from "@mantine/core";
import { IconCheck, IconCopy, IconListDetails, IconRefresh } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useDeferredValue, useEffect } from "react";
import { call } from "../../../api/console-client.ts";
import { changeKept } from "../../../kept-state.ts";
import { countText, decimalText, requestMoneyText, secondsText } from "../../../parts/figures/figure-text.ts";
import { Markdown } from "../../../parts/markdown.tsx";
import { useAccount } from "../../../session.ts";
import { type Message, type ToolCall, textPlace, useKeptScope } from "../drafts.ts";
import type { RunningAnswer } from "./conversation.ts";

/** Interval of looks for a charge that is not yet decided. */
const CHARGE_MS = 1_500;
const SECOND_MS = 1_000;

export interface ConversationProps {
  readonly messages: readonly Message[];
  readonly running: RunningAnswer;
  /** Name of the model that answers now. */
  readonly model: string;
  /** Requests the last answer anew; undefined while one runs. */
  readonly again: (() => void) | undefined;
}

export function Conversation({ messages, running, model, again }: ConversationProps) {
  const lastId = messages.findLast(({ role }) => role === "assistant")?.id;
  return (
    <>
      {messages.map((message) => (
        <Spoken key={message.id} name={nameOf(message)} isAnswer={message.role === "assistant"}>
          {message.role === "assistant" ? (
            <>
              <Answer content={message.content} calls={message.toolCalls ?? []} />
              <AnswerFoot of={message} again={message.id === lastId ? again : undefined} />
            </>
          ) : (
            <Text className="plain-text">{message.content}</Text>
          )}
        </Spoken>
      ))}
      {running.control !== undefined && (
        <Spoken name={model} isAnswer>
          {running.answer?.content || running.answer?.toolCalls.length ? (
            <Answer content={running.answer.content} calls={running.answer.toolCalls} />
          ) : (
            <Loader type="dots" size="sm" aria-label="Waiting for the first words" />
          )}
        </Spoken>
      )}
    </>
  );
}

function nameOf({ role, model }: Message): string {
  return role === "user" ? "You" : role === "tool" ? "Result of a tool" : (model ?? "Model");
}

function Spoken({ name, isAnswer, children }: { name: string; isAnswer: boolean; children: ReactNode }) {
  return (
    <Group wrap="nowrap" align="flex-start" gap="sm">
      <span className={isAnswer ? "speaker answers" : "speaker"} aria-hidden="true">
        {name.slice(0, 1).toUpperCase()}
      </span>
      <Stack gap={6} flex={1} miw={0}>
        <Text size="xs" c="dimmed" fw={500}>
          {name}
        </Text>
        {children}
      </Stack>
    </Group>
  );
}

function Answer({ content, calls }: { content: string; calls: readonly ToolCall[] }) {
  // A quick stream brings many words; the page shows as many states as it can.
  const shown = useDeferredValue(content);
  return (
    <Box>
      <Markdown text={shown} />
      {calls.map((each, index) => (
        <Stack key={each.id || `call ${index}`} gap={2} mt="xs">
          <Text size="xs" c="dimmed">
            Calls {each.name}
          </Text>
          <Code block>{each.arguments}</Code>
        </Stack>
      ))}
    </Box>
  );
}

function AnswerFoot({ of: message, again }: { of: Message; again: (() => void) | undefined }) {
  const { account_id: account } = useAccount();
  useLateCharge(message);
  const { charged, requestId, content, isCut } = message;
  return (
    <Group justify="space-between" gap="xs">
      <Group gap="md" className="figures" fz="xs" c="dimmed">
        <Text span inherit fw={600} c="var(--mantine-color-text)" data-testid="answer-charge">
          {charged === undefined ? "Charge pending" : requestMoneyText(charged)}
        </Text>
        {figuresOf(message).map((figure) => (
          <span key={figure}>{figure}</span>
        ))}
        {isCut && <span>Stopped</span>}
      </Group>
      <Group gap={2}>
        <CopyButton value={content}>
          {({ copied, copy }) => (
            <FootAction label={copied ? "Copied" : "Copy"} act={copy}>
              {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
            </FootAction>
          )}
        </CopyButton>
        {again !== undefined && (
          <FootAction label="Answer again" act={again}>
            <IconRefresh size={16} />
          </FootAction>
        )}
        {requestId !== undefined && (
          <Tooltip label="Details">
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label="Details"
              renderRoot={(props: object) => (
                <Link
                  to="/accounts/$account/logs"
                  params={{ account }}
                  search={{ request: requestId }}
                  {...props}
                />
              )}
            >
              <IconListDetails size={16} />
            </ActionIcon>
          </Tooltip>
        )}
      </Group>
    </Group>
  );
}

function FootAction({ label, act, children }: { label: string; act: () => void; children: ReactNode }) {
  return (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" color="gray" aria-label={label} onClick={act}>
        {children}
      </ActionIcon>
    </Tooltip>
  );
}

/** "412 in · 317 out", "first token 0.6 s", "71 tokens/s". */
export function figuresOf({ tokensIn, tokensOut, firstMs, tookMs }: Message): string[] {
  const writingMs = (tookMs ?? 0) - (firstMs ?? 0);
  const speed =
    tokensOut !== undefined && writingMs > 0 ? Math.round((tokensOut * SECOND_MS) / writingMs) : 0;
  return [
    ...(tokensIn === undefined ? [] : [`${countText(tokensIn)} in · ${countText(tokensOut ?? 0)} out`]),
    ...(firstMs === undefined ? [] : [`first token ${secondsText(firstMs)}`]),
    ...(speed > 0 ? [`${countText(speed)} tokens/s`] : []),
  ];
}

/** Looks for the charge of an answer that was cut: the router decides it after the end. */
function useLateCharge({ id, charged, requestId }: Message): void {
  const { account_id: account } = useAccount();
  const place = textPlace(useKeptScope());
  const { data } = useQuery({
    queryKey: ["request", account, requestId ?? ""],
    queryFn: ({ signal }) => call("readRequest", { path: { account, id: requestId ?? "" }, signal }),
    enabled: charged === undefined && requestId !== undefined,
    refetchInterval: ({ state }) => (state.data?.cost == null ? CHARGE_MS : false),
  });
  const found = data?.cost == null ? undefined : decimalText(data.cost);
  useEffect(() => {
    if (charged !== undefined || found === undefined) return;
    changeKept(place, (draft) => ({
      ...draft,
      messages: draft.messages.map((each) => (each.id === id ? { ...each, charged: found } : each)),
    }));
  });
}
