// A picture or a video that was generated.
export interface MediaProps {
  readonly kind: "image" | "video";
  readonly url: string;
  /** "" if a text beside it has the same content. */
  readonly label: string;
  /** First picture of a video, shown until playback. */
  readonly preview?: string | undefined;
  readonly controls?: boolean;
}

export function Media({ kind, url, label, preview, controls }: MediaProps) {
  if (kind === "image") return <img className="picture" src={url} alt={label} loading="lazy" />;
  return (
    <video
      className="picture"
      src={url}
      preload={preview === undefined ? "metadata" : "none"}
      {...(preview !== undefined && { poster: preview })}
      muted={!controls}
      controls={controls ?? false}
      playsInline
      aria-label={label === "" ? "video" : label}
      onMouseEnter={({ currentTarget }) => void (controls || currentTarget.play().catch(() => undefined))}
      onMouseLeave={({ currentTarget }) => void (controls || currentTarget.pause())}
    />
  );
}
