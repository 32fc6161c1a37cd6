// The picture picker collects the input images of a request: chosen, dropped, or pasted; each can be removed.
import { ActionIcon, Group, Stack, Text, UnstyledButton } from "@mantine/core";
import { IconPhoto, IconX } from "@tabler/icons-react";
import { useId, useRef, useState } from "react";
import { useObjectUrl } from "../../../parts/media/object-url.ts";

const TYPES = ["image/png", "image/jpeg", "image/webp"];

export interface PicturePickerProps {
  readonly label: string;
  readonly note: string;
  readonly most: number;
  readonly files: readonly File[];
  readonly onChange: (files: readonly File[]) => void;
}

export function PicturePicker({ label, note, most, files, onChange }: PicturePickerProps) {
  const input = useRef<HTMLInputElement>(null);
  const name = useId();
  const [problem, setProblem] = useState<string>();
  const add = (added: readonly File[]) => {
    const pictures = added.filter(({ type }) => TYPES.includes(type));
    const all = [...files, ...pictures];
    const isRefused = pictures.length < added.length;
    setProblem(
      isRefused
        ? "Only PNG, JPEG and WebP images."
        : all.length > most
          ? `At most ${most} images.`
          : undefined,
    );
    onChange(all.slice(0, most));
  };
  return (
    <Stack gap={6} role="group" aria-labelledby={name}>
      <Text size="sm" fw={500} id={name}>
        {label}{" "}
        <Text span inherit fw={400} c="dimmed">
          {note}
        </Text>
      </Text>
      {files.length > 0 && (
        <Stack gap={6}>
          {files.map((file, index) => (
            <Picked
              key={`${file.name} ${file.size} ${file.lastModified}`}
              file={file}
              remove={() => onChange(files.filter((_, place) => place !== index))}
            />
          ))}
        </Stack>
      )}
      {files.length < most && (
        <UnstyledButton
          className="drop-place"
          onClick={() => input.current?.click()}
          onDragOver={(event) => event.preventDefault()}
          onDrop={(event) => {
            event.preventDefault();
            add([...event.dataTransfer.files]);
          }}
          onPaste={(event) => add([...event.clipboardData.files])}
        >
          <IconPhoto size={16} aria-hidden="true" />
          Drop images here or choose
        </UnstyledButton>
      )}
      <input
        ref={input}
        type="file"
        hidden
        multiple
        aria-label={label}
        accept={TYPES.join(",")}
        onChange={({ currentTarget }) => {
          add([...(currentTarget.files ?? [])]);
          currentTarget.value = "";
        }}
      />
      {problem !== undefined && (
        <Text size="xs" c="red" role="alert">
          {problem}
        </Text>
      )}
    </Stack>
  );
}

function Picked({ file, remove }: { file: File; remove: () => void }) {
  const url = useObjectUrl(file);
  return (
    <Group gap="xs" wrap="nowrap" className="picked">
      {url !== undefined && <img className="thumbnail" src={url} alt="" width={40} height={40} />}
      <Text size="sm" truncate flex={1}>
        {file.name}
      </Text>
      <ActionIcon variant="subtle" color="gray" aria-label={`Remove ${file.name}`} onClick={remove}>
        <IconX size={16} aria-hidden="true" />
      </ActionIcon>
    </Group>
  );
}
