// The logged result is a request as the log has it, with its files, charge and time.
import type { GenerationRecord } from "@gr/console-api";
import { ActionIcon, Alert, Button, Group, Modal, Progress, Stack, Text, Tooltip } from "@mantine/core";
import { IconArrowsMaximize, IconDownload, IconMovie, IconPencil, IconRefresh } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "../../../api/console-client.ts";
import { Confirm } from "../../../parts/dialogs/confirm.tsx";
import { decimalText, requestMoneyText, secondsText } from "../../../parts/figures/figure-text.ts";
import { Time } from "../../../parts/figures/figures.tsx";
import { showRefusal, useAct } from "../../../parts/forms/act.ts";
import { Failure, RowsWaiting } from "../../../parts/lists/page-states.tsx";
import { progressOf, RequestStatus } from "../../../parts/lists/request-status.tsx";
import { Media } from "../../../parts/media/media.tsx";
import { saveMedia } from "../../../parts/media/save-media.ts";
import { previewOf } from "../../../parts/media/thumbnail.tsx";
import { useAccount } from "../../../session.ts";
import { MAY_LEAVE } from "./media-run.ts";
import type { Reuse } from "./reuse.ts";
import type { RunResultProps } from "./run-result.tsx";

/** Interval while the request runs. */
const AGAIN_MS = 2_000;

export function LoggedResult({ id, start, reuse }: { id: string } & Pick<RunResultProps, "start" | "reuse">) {
  const { account_id: account } = useAccount();
  const { data, error, refetch } = useQuery({
    queryKey: ["request", account, id],
    queryFn: ({ signal }) => call("readRequest", { path: { account, id }, signal }),
    refetchInterval: ({ state }) => (state.data?.status === "running" ? AGAIN_MS : false),
  });
  if (error !== null && data === undefined) return <Failure error={error} retry={() => void refetch()} />;
  if (data === undefined) return <RowsWaiting rows={4} />;
  if (data.kind === "text") return null;
  return <Generation of={data} start={start} reuse={reuse} />;
}

function Generation(props: { of: GenerationRecord } & Pick<RunResultProps, "start" | "reuse">) {
  const { of: request, start, reuse } = props;
  const { account_id: account } = useAccount();
  return (
    <Stack>
      <Group justify="space-between" gap="xs">
        <Group gap="xs">
          <RequestStatus of={request} />
          <Text size="sm" role="status" className="figures">
            <ChargeOf of={request} />
            {request.latency !== null && ` · ${secondsText(request.latency)}`}
          </Text>
        </Group>
        <Group gap="xs">
          <Button
            variant="default"
            size="xs"
            leftSection={<IconRefresh size={14} aria-hidden="true" />}
            disabled={request.status === "running"}
            onClick={start}
          >
            Run again
          </Button>
          <Button
            variant="default"
            size="xs"
            renderRoot={(root) => (
              <Link
                to="/accounts/$account/logs"
                params={{ account }}
                search={{ request: request.id }}
                {...root}
              />
            )}
          >
            Details
          </Button>
        </Group>
      </Group>
      {request.status === "running" && <RunningGeneration of={request} />}
      {request.error !== null && (
        <Alert color={request.status === "failed" ? "red" : "yellow"} title={TITLES[request.status]}>
          {request.error.message}
        </Alert>
      )}
      {request.status === "cancelled" && request.error === null && <Text>The request was cancelled.</Text>}
      <Files of={request} reuse={reuse} />
      <Text size="sm" c="dimmed" className="break-anywhere">
        {request.request.prompt ?? "Prompt not stored"}
      </Text>
      <Text size="xs" c="dimmed">
        {request.model} · <Time at={request.created_at} isShort />
      </Text>
    </Stack>
  );
}

const TITLES: Readonly<Record<GenerationRecord["status"], string>> = {
  running: "Running",
  succeeded: "Succeeded",
  failed: "The request failed",
  blocked: "Blocked by moderation",
  cancelled: "Cancelled",
};

/** The charge of a request in the one format of all requests. */
function ChargeOf({ of: { cost, status } }: { of: Pick<GenerationRecord, "cost" | "status"> }) {
  if (cost === null) return "Running";
  if (status !== "succeeded" && cost === 0) return "Not charged";
  return <b>{requestMoneyText(decimalText(cost))}</b>;
}

function RunningGeneration({ of: request }: { of: GenerationRecord }) {
  const { account_id: account } = useAccount();
  const progress = progressOf(request);
  const [isAsked, setAsked] = useState(false);
  const cancel = useAct({
    send: () => call("removeMedia", { path: { account, id: request.id } }),
    changes: [
      ["request", account],
      ["requests", account],
    ],
    done: "The cancellation is requested.",
    after: () => setAsked(false),
  });
  return (
    <Stack gap="sm">
      <Progress
        value={progress ?? 100}
        animated={progress === undefined}
        aria-label={progress === undefined ? "Working" : `${progress} % done`}
      />
      <Group justify="space-between">
        <Text size="sm" c="dimmed" flex={1} miw={200}>
          {MAY_LEAVE}
        </Text>
        <Button variant="default" size="xs" onClick={() => setAsked(true)}>
          Cancel
        </Button>
      </Group>
      {isAsked && (
        <Confirm
          title="Cancel this request?"
          button="Cancel the request"
          cancel="Continue the request"
          isPending={cancel.isPending}
          act={() => cancel.mutate()}
          close={() => setAsked(false)}
        >
          It costs nothing if its provider stops in time. Otherwise it is charged. In both cases its files and
          its prompt are deleted.
        </Confirm>
      )}
    </Stack>
  );
}

function Files({ of: request, reuse }: { of: GenerationRecord; reuse: Reuse }) {
  const { kind, data, model, deleted, expired } = request;
  const { prompt } = request.request;
  const [enlarged, setEnlarged] = useState<string>();
  if (data.length === 0) {
    if (request.status !== "succeeded" || !(deleted || expired)) return null;
    return (
      <Text c="dimmed">
        {deleted ? "The files were deleted." : "The files are older than the retention."}
      </Text>
    );
  }
  const nameOf = (index: number) => `${model.replaceAll("/", "-")}-${request.id.slice(-6)}-${index + 1}`;
  return (
    <div className={data.length === 1 ? "shots one-shot" : "shots"}>
      {data.map(({ url, ...small }, index) => (
        <div key={url} className="shot">
          <Media
            kind={kind}
            url={url}
            label={`${prompt || model}, ${index + 1} of ${data.length}`}
            preview={previewOf({ url, ...small })}
            controls
          />
          <ShotTools
            {...{ kind, url, reuse }}
            number={index + 1}
            enlarge={() => setEnlarged(url)}
            save={() => void saveMedia(url, nameOf(index)).catch(showRefusal)}
          />
        </div>
      ))}
      <Modal
        opened={enlarged !== undefined}
        onClose={() => setEnlarged(undefined)}
        size="auto"
        yOffset={24}
        title={prompt ?? model}
        classNames={{ title: "one-line" }}
      >
        {enlarged !== undefined && <img className="enlarged" src={enlarged} alt={prompt ?? model} />}
      </Modal>
    </div>
  );
}

interface ShotToolsProps {
  readonly kind: GenerationRecord["kind"];
  readonly url: string;
  readonly number: number;
  readonly reuse: Reuse;
  readonly enlarge: () => void;
  readonly save: () => void;
}

function ShotTools({ kind, url, number, reuse, enlarge, save }: ShotToolsProps) {
  const { edit, animate } = reuse;
  const isImage = kind === "image";
  const tools = [
    { name: "Enlarge", icon: IconArrowsMaximize, act: isImage ? enlarge : undefined },
    { name: "Edit", icon: IconPencil, act: isImage && edit ? () => edit(url) : undefined },
    { name: "Make a video", icon: IconMovie, act: isImage && animate ? () => animate(url) : undefined },
    { name: "Download", icon: IconDownload, act: save },
  ];
  return (
    <Group gap={2} className={isImage ? "shot-tools" : "shot-tools below"}>
      {tools.map(
        ({ name, icon: Icon, act }) =>
          act !== undefined && (
            <Tooltip key={name} label={name}>
              <ActionIcon
                variant="transparent"
                c="inherit"
                size={32}
                aria-label={`${name}, ${number}`}
                onClick={act}
              >
                <Icon size={16} aria-hidden="true" />
              </ActionIcon>
            </Tooltip>
          ),
      )}
    </Group>
  );
}
