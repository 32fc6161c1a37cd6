// The conversation of the text tab: sends the next message and adds its answer. It runs on while the person is on other
// pages. A message without any answer returns to the box.
import type { QueryClient } from "@tanstack/react-query";
import type { ModelRecord } from "../../../api/public-api.ts";
import { changeKept, type KeptPlace, readKept } from "../../../kept-state.ts";
import { type Message, type TextDraft, textPlace } from "../drafts.ts";
import { type ChatAnswer, streamChat } from "./chat-stream.ts";
import { textRequest } from "./text-request.ts";

export interface RunningAnswer {
  /** Undefined while nothing runs. */
  readonly control?: AbortController;
  readonly answer?: ChatAnswer;
  /** Reason of the last failure. */
  readonly error?: unknown;
}

const NOTHING: RunningAnswer = {};
export const runningPlace = (scope: string): KeptPlace<RunningAnswer> => ({
  key: `${scope}.text.running`,
  initial: NOTHING,
});

export interface AskOptions {
  readonly scope: string;
  readonly account: string;
  readonly model: ModelRecord;
  readonly asked: readonly Message[];
  readonly queries: QueryClient;
}

export async function ask({ scope, account, model, asked, queries }: AskOptions): Promise<void> {
  const [place, running] = [textPlace(scope), runningPlace(scope)];
  if (readKept(running).control !== undefined) return;
  const control = new AbortController();
  const request = textRequest(model, readKept(place), asked);
  changeKept(place, (draft) => ({ ...draft, text: "", messages: [...draft.messages, ...asked] }));
  changeKept(running, () => ({ control }));
  const { answer, error, isWhole } = await streamChat(account, request, control.signal, (state) =>
    changeKept(running, () => ({ control, answer: state })),
  );
  const hasAnswer = isWhole || answer.content !== "" || answer.toolCalls.length > 0;
  changeKept(place, (draft) =>
    hasAnswer
      ? withAnswer(draft, { answer, model: model.name, isCut: !isWhole })
      : withoutAsked(draft, asked),
  );
  changeKept(running, () => (error === undefined ? NOTHING : { error }));
  for (const key of ["requests", "home"]) void queries.invalidateQueries({ queryKey: [key, account] });
}

/** Returns an id for the next message, and numbers after it for further ones. */
export const nextId = ({ messages }: TextDraft) => Math.max(0, ...messages.map(({ id }) => id)) + 1;

function withAnswer(
  draft: TextDraft,
  { answer, model, isCut }: { answer: ChatAnswer; model: string; isCut: boolean },
): TextDraft {
  const message: Message = { id: nextId(draft), role: "assistant", ...answer, model, isCut };
  return { ...draft, messages: [...draft.messages, message] };
}

function withoutAsked(draft: TextDraft, asked: readonly Message[]): TextDraft {
  const ids = new Set(asked.map(({ id }) => id));
  const text = asked.find(({ role }) => role === "user")?.content ?? "";
  return {
    ...draft,
    text: draft.text === "" ? text : draft.text,
    messages: draft.messages.filter(({ id }) => !ids.has(id)),
  };
}
