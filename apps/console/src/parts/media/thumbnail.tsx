// The thumbnail is the small square before a request. For a picture or a video it loads the small preview (WebP, some
// kilobytes) once the row becomes visible, and never the file itself.
import type { RequestRecord } from "@gr/console-api";
import { Center, Loader } from "@mantine/core";
import { IconMessage, IconPhoto, IconVideo } from "@tabler/icons-react";
import { progressOf } from "../lists/request-status.tsx";

const ICONS = { text: IconMessage, image: IconPhoto, video: IconVideo } as const;
const SIDE = 40;
/** Parts of the side. */
const INNER = 0.6;

export function Thumbnail({ of: request }: { of: RequestRecord }) {
  if (request.status === "running") return <Running progress={progressOf(request)} />;
  const preview = previewOf(request.data[0]);
  if (preview) {
    return (
      <img
        className="picture thumbnail"
        src={preview}
        alt=""
        width={SIDE}
        height={SIDE}
        loading="lazy"
        decoding="async"
      />
    );
  }
  const Icon = ICONS[request.kind];
  return (
    <Center className="thumbnail" w={SIDE} h={SIDE} aria-hidden>
      <Icon size={18} stroke={1.6} color="var(--mantine-color-dimmed)" />
    </Center>
  );
}

/** Returns the small picture of a file. */
export function previewOf(file: RequestRecord["data"][number] | undefined): string | undefined {
  return file?.thumbnail_url ?? file?.poster_url;
}

/** Shows a request's progress as a ring; the text beside it states the progress. */
export function Running({ progress, size = SIDE }: { progress: number | undefined; size?: number }) {
  return (
    <Center flex="none" w={size} h={size} aria-hidden>
      {progress === undefined ? (
        <Loader size={size * INNER} />
      ) : (
        <svg className="progress-ring" viewBox="0 0 40 40" width={size} height={size} aria-hidden="true">
          <circle cx="20" cy="20" r="18" />
          <circle cx="20" cy="20" r="18" pathLength="100" strokeDasharray={`${progress} 100`} />
          <text x="20" y="24" textAnchor="middle">
            {progress}
          </text>
        </svg>
      )}
    </Center>
  );
}
