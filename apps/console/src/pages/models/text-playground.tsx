// A conversation with a text model, streamed as it is written.
import { Button, Card, Group, Stack, Text, Textarea } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { ModelRecord } from "../../api/public-api.ts";
import { generate } from "../../api/public-api.ts";
import { readChat } from "../../api/read-chat.ts";
import { QuotedPrice } from "../../parts/figures/quoted-price.tsx";
import { Failure } from "../../parts/lists/page-states.tsx";
import { PATHS } from "../../sample-code.ts";
import { useAccount } from "../../session.ts";
import { Samples } from "./samples.tsx";

interface Message {
  readonly id: number;
  readonly role: "user" | "assistant";
  readonly content: string;
  /** True cost of the answer in USD. */
  readonly cost?: string;
}

export function TextPlayground({ model, prompt }: { model: ModelRecord; prompt: string }) {
  const { account_id: account } = useAccount();
  const queries = useQueryClient();
  const [messages, setMessages] = useState<readonly Message[]>([]);
  const [text, setText] = useState(prompt);
  const [error, setError] = useState<unknown>();
  const [running, setRunning] = useState<AbortController>();
  const lastId = useRef(0);
  useEffect(() => () => running?.abort(), [running]);

  const add = (message: Omit<Message, "id">) => {
    lastId.current += 1;
    const added = { ...message, id: lastId.current };
    setMessages((before) => [...before, added]);
    return added.id;
  };
  const change = (id: number, fields: (message: Message) => Partial<Message>) =>
    setMessages((before) => before.map((each) => (each.id === id ? { ...each, ...fields(each) } : each)));

  const sent = [...messages, { role: "user", content: text }].map(({ role, content }) => ({ role, content }));
  const ask = async () => {
    const control = new AbortController();
    setRunning(control);
    setError(undefined);
    add({ role: "user", content: text });
    setText("");
    const answer = add({ role: "assistant", content: "" });
    try {
      const body = { model: model.id, messages: sent, stream: true, stream_options: { include_usage: true } };
      const response = await generate(account, PATHS.text, body, control.signal);
      for await (const part of readChat(response)) {
        change(answer, ({ content }) => ({
          content: content + part.text,
          ...(part.cost !== undefined && { cost: part.cost }),
        }));
      }
    } catch (problem) {
      if (!control.signal.aborted) setError(problem);
    } finally {
      setRunning(undefined);
      void queries.invalidateQueries({ queryKey: ["home", account] });
    }
  };

  return (
    <Stack>
      <Stack gap="sm" aria-live="polite">
        {messages.map((message) => (
          <Card key={message.id} withBorder padding="sm" ml={message.role === "user" ? "xl" : 0}>
            <Text size="xs" c="dimmed">
              {message.role === "user" ? "You" : model.name}
              {message.cost !== undefined && ` · $${message.cost}`}
            </Text>
            <Text style={{ whiteSpace: "pre-wrap" }} className="break-anywhere">
              {message.content || (running ? "…" : "")}
            </Text>
          </Card>
        ))}
      </Stack>
      {error !== undefined && <Failure error={error} />}
      <Textarea
        label="Message"
        autosize
        minRows={3}
        maxRows={12}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && text !== "" && !running)
            void ask();
        }}
      />
      <Group>
        <Button disabled={text === "" || running !== undefined} onClick={() => void ask()}>
          Send
        </Button>
        {running === undefined && text !== "" && (
          <QuotedPrice account={account} path={PATHS.text} body={{ model: model.id, messages: sent }} />
        )}
        {running !== undefined && (
          <Button variant="default" onClick={() => running.abort()}>
            Stop
          </Button>
        )}
        {messages.length > 0 && running === undefined && (
          <Button variant="default" onClick={() => setMessages([])}>
            New conversation
          </Button>
        )}
      </Group>
      <Samples
        type="text"
        body={{ model: model.id, messages: [{ role: "user", content: text || "Hello" }] }}
      />
    </Stack>
  );
}
