// The gallery of the log: the pictures and videos of requests, and the progress of running ones.
import type { GenerationRecord, RequestRecord } from "@gr/console-api";
import { Center, Text, UnstyledButton } from "@mantine/core";
import type { ReactNode } from "react";
import { Empty } from "../../parts/lists/page-states.tsx";
import { progressOf } from "../../parts/lists/request-status.tsx";
import { summaryOf } from "../../parts/lists/request-summary.ts";
import { Media } from "../../parts/media/media.tsx";
import { previewOf, Running } from "../../parts/media/thumbnail.tsx";

/** Side of the progress ring. */
const RING = 72;

export interface GalleryProps {
  readonly rows: readonly RequestRecord[];
  readonly open: (row: RequestRecord) => void;
}

export function Gallery({ rows, open }: GalleryProps) {
  const shown = rows.filter(
    (row): row is GenerationRecord =>
      row.kind !== "text" && (row.data.length > 0 || row.status === "running"),
  );
  if (shown.length === 0) return <Empty title="No images or videos on this page" />;
  return (
    <div className="gallery">
      {shown.flatMap((row) =>
        row.status === "running" ? (
          <UnstyledButton key={row.id} onClick={() => open(row)}>
            <Center className="thumbnail" style={{ aspectRatio: 1 }}>
              <Running progress={progressOf(row)} size={RING} />
            </Center>
            <Below row={row}>{summaryOf(row)}, running</Below>
          </UnstyledButton>
        ) : (
          row.data.map((file, index) => (
            <UnstyledButton key={file.url} onClick={() => open(row)}>
              <Media
                kind={row.kind}
                url={file.url}
                preview={previewOf(file)}
                label={`${summaryOf(row)}, ${index + 1} of ${row.data.length}`}
              />
              <Below row={row}>{summaryOf(row)}</Below>
            </UnstyledButton>
          ))
        ),
      )}
    </div>
  );
}

function Below({ row, children }: { row: GenerationRecord; children: ReactNode }) {
  return (
    <>
      <Text size="sm" fw={500} lineClamp={1} mt={6}>
        {children}
      </Text>
      <Text size="xs" c="dimmed" lineClamp={1}>
        {row.model}
      </Text>
    </>
  );
}
