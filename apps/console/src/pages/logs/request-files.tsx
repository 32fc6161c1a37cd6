// The files of an image or a video request, its progress while it runs, and its prompt.
import type { GenerationRecord } from "@gr/console-api";
import { Alert, Progress, SimpleGrid, Stack, Text } from "@mantine/core";
import { Media } from "../../parts/media/media.tsx";
import { previewOf } from "../../parts/media/thumbnail.tsx";

export function RequestFiles({ of: generation }: { of: GenerationRecord }) {
  const { request, kind, model, data, status, deleted, expired } = generation;
  return (
    <Stack gap="sm">
      {status === "running" && <HowFar progress={generation.progress} />}
      {deleted && <Alert color="gray">Its files and its prompt were deleted.</Alert>}
      {expired && !deleted && (
        <Alert color="gray">Its files are older than the retention period and were deleted.</Alert>
      )}
      {data.length > 0 && (
        <SimpleGrid cols={data.length === 1 ? 1 : 2} spacing="xs">
          {data.map((file, index) => (
            <Media
              key={file.url}
              kind={kind}
              url={file.url}
              preview={previewOf(file)}
              controls
              label={`${request.prompt ?? model}, ${index + 1} of ${data.length}`}
            />
          ))}
        </SimpleGrid>
      )}
      <Text size="sm" className="break-anywhere" {...(request.prompt === undefined && { c: "dimmed" })}>
        {request.prompt ?? "Prompt not stored"}
      </Text>
    </Stack>
  );
}

function HowFar({ progress }: { progress: number | null }) {
  return (
    <Progress.Root size="xl">
      <Progress.Section value={progress ?? 100} animated aria-label="Progress">
        <Progress.Label>{progress === null ? "Running" : `${progress} %`}</Progress.Label>
      </Progress.Section>
    </Progress.Root>
  );
}
