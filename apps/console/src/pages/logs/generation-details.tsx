// Generation details show the parameters of an image or a video, and its files.
import type { GenerationRecord } from "@gr/console-api";
import { Alert, Button, Group, Progress } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { CodeBlock } from "../../parts/forms/copy-text.tsx";
import { DetailRow, DetailRows } from "../../parts/lists/detail-rows.tsx";
import { Media } from "../../parts/media/media.tsx";
import { useAccount } from "../../session.ts";

export function GenerationFiles({ of: generation }: { of: GenerationRecord }) {
  const { parameters, kind, model, urls, preview_urls: previews } = generation;
  return (
    <>
      {generation.status === "running" && <HowFar progress={generation.progress} />}
      {generation.is_deleted && <Alert color="gray">Its files and its prompt were deleted.</Alert>}
      {generation.is_expired && !generation.is_deleted && (
        <Alert color="gray">Its files are older than the retention period and were deleted.</Alert>
      )}
      {urls.map((url, index) => (
        <Media
          key={url}
          kind={kind}
          url={url}
          preview={previews[index] ?? undefined}
          controls
          label={`${parameters.prompt ?? model}, ${index + 1} of ${urls.length}`}
        />
      ))}
    </>
  );
}

function HowFar({ progress }: { progress: number | null }) {
  return (
    <Progress.Root size="xl">
      <Progress.Section value={progress ?? 100} animated aria-label="Progress">
        <Progress.Label>{progress === null ? "runs" : `${progress} %`}</Progress.Label>
      </Progress.Section>
    </Progress.Root>
  );
}

export function GenerationDetails({ of: generation }: { of: GenerationRecord }) {
  const { account_id: account } = useAccount();
  const { parameters } = generation;
  return (
    <>
      <DetailRows>
        <DetailRow name="Prompt">{parameters.prompt ?? "not stored"}</DetailRow>
        <DetailRow name="Number of images">{parameters.count}</DetailRow>
        {parameters.size !== null && <DetailRow name="Size">{parameters.size}</DetailRow>}
        {parameters.quality !== null && <DetailRow name="Quality">{parameters.quality}</DetailRow>}
        {parameters.seconds !== null && <DetailRow name="Seconds">{parameters.seconds}</DetailRow>}
        {parameters.input_images > 0 && <DetailRow name="Input images">{parameters.input_images}</DetailRow>}
      </DetailRows>
      <CodeBlock code={curlOf(generation)} label="the request as curl" />
      <Group>
        <Button
          variant="default"
          renderRoot={(props) => (
            <Link
              to="/accounts/$account/playground"
              params={{ account }}
              search={{ model: generation.model, ...(parameters.prompt && { prompt: parameters.prompt }) }}
              {...props}
            />
          )}
        >
          Open in the playground
        </Button>
      </Group>
    </>
  );
}

function curlOf({ kind, model, parameters }: GenerationRecord): string {
  const { prompt, size, quality, seconds, count, output_format } = parameters;
  const body = {
    model,
    ...(prompt !== null && { prompt }),
    ...(size !== null && { size }),
    ...(quality !== null && { quality }),
    ...(kind === "video" ? { ...(seconds !== null && { seconds }) } : { n: count, output_format }),
  };
  const text = JSON.stringify(body).replaceAll("'", "'\\''");
  return [
    `curl ${window.location.origin}/v1/compat/${kind}s/generations \\`,
    '  -H "Authorization: Bearer $API_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '${text}'`,
  ].join("\n");
}
