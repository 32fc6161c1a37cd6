// The result of a run: waiting, failed, or the request as the log has it.
import { Card, Progress, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { ModelRecord } from "../../../api/public-api.ts";
import { later } from "../../../parts/later.tsx";
import { RowsWaiting } from "../../../parts/lists/page-states.tsx";
import type { MediaTabName } from "../drafts.ts";
import { RunFailure } from "../run-failure.tsx";
import { MAY_LEAVE, type MediaRun } from "./media-run.ts";
import type { Reuse } from "./reuse.ts";

const LoggedResult = later(
  async () => (await import("./logged-result.tsx")).LoggedResult,
  <RowsWaiting rows={4} />,
);

export interface RunResultProps {
  readonly tab: MediaTabName;
  readonly model: ModelRecord;
  readonly run: MediaRun;
  /** Id of the shown request. */
  readonly id: string | null;
  readonly start: () => void;
  readonly reuse: Reuse;
  readonly empty: ReactNode;
}

export function RunResult({ tab, model, run, id, start, reuse, empty }: RunResultProps) {
  return (
    <Card component="section" aria-label="Result" aria-live="polite">
      {run.control !== undefined ? (
        tab === "video" ? (
          <Waiting text="Sending the request" />
        ) : (
          <Waiting text={`${model.name} works on it`} note={MAY_LEAVE} />
        )
      ) : run.error !== undefined ? (
        <RunFailure error={run.error} retry={start} />
      ) : id === null ? (
        empty
      ) : (
        <LoggedResult id={id} start={start} reuse={reuse} />
      )}
    </Card>
  );
}

/** A video may be left once the router has accepted it, and not while it is sent. */
function Waiting({ text, note }: { text: string; note?: string }) {
  return (
    <Stack>
      <Text fw={500}>{text}</Text>
      <Progress value={100} animated aria-label="Working" />
      <Text size="sm" c="dimmed">
        {note}
      </Text>
    </Stack>
  );
}
