// A picture or a video that was generated.
import { Box } from "@mantine/core";

export interface MediaProps {
  readonly kind: "image" | "video";
  readonly url: string | undefined;
  /** "" for what a text beside it already says. */
  readonly label: string;
  /** Pixels of a small square. */
  readonly size?: number;
  readonly controls?: boolean;
}

export function Media({ kind, url, label, size, controls }: MediaProps) {
  const square =
    size === undefined ? {} : { width: size, height: size, style: { objectFit: "cover" as const } };
  if (url === undefined)
    return size === undefined ? null : <Box className="picture" w={size} h={size} aria-hidden />;
  if (kind === "image") return <img className="picture" src={url} alt={label} loading="lazy" {...square} />;
  return (
    <video
      className="picture"
      src={url}
      preload="metadata"
      muted={!controls}
      controls={controls ?? false}
      playsInline
      aria-label={label === "" ? "video" : label}
      onMouseEnter={({ currentTarget }) => void (controls || currentTarget.play().catch(() => undefined))}
      onMouseLeave={({ currentTarget }) => void (controls || currentTarget.pause())}
      {...square}
    />
  );
}
