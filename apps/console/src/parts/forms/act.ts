// An act is a change by a person: it sends the request, confirms it, and refreshes the pages. A refusal is shown at its
// field if the form has it, otherwise in a notice.
import { type QueryKey, useMutation, useQueryClient } from "@tanstack/react-query";
import { ApiError } from "../../api/api-error.ts";
import { showNotice } from "../notices/notices.tsx";

export interface ActOptions<Input, Answer> {
  readonly send: (input: Input) => Promise<Answer>;
  /** Queries that the change invalidates. */
  readonly changes?: readonly QueryKey[];
  readonly done?: string;
  readonly after?: (answer: Answer, input: Input) => unknown;
  /** @returns true when the refusal was shown at a field */
  readonly showAt?: (error: ApiError) => boolean;
}

export function useAct<Input = void, Answer = unknown>(options: ActOptions<Input, Answer>) {
  const { send, changes = [], done, after, showAt } = options;
  const queries = useQueryClient();
  return useMutation<Answer, unknown, Input>({
    mutationFn: send,
    onSuccess: async (answer, input) => {
      await Promise.all(changes.map((queryKey) => queries.invalidateQueries({ queryKey })));
      if (done !== undefined) showNotice({ message: done });
      await after?.(answer, input);
    },
    onError: (error) => {
      if (error instanceof ApiError && showAt?.(error)) return;
      showRefusal(error);
    },
  });
}

export function showRefusal(error: unknown): void {
  const id = error instanceof ApiError && error.requestId ? ` (request ${error.requestId})` : "";
  showNotice({
    color: "red",
    title: "Something went wrong",
    message: `${error instanceof Error ? error.message : String(error)}${id}`,
    autoClose: 10_000,
  });
}
