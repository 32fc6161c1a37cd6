// Text that is there to be copied: a secret, an id, code.
import { Box, Button, Code, CopyButton, Group } from "@mantine/core";
import { useEffect } from "react";

export interface CopyFieldProps {
  readonly value: string;
  readonly label: string;
  /** The button has the focus when it appears. */
  readonly autoFocus?: boolean;
  /** Called after the browser has copied the value. Without HTTPS, or without permission, it copies nothing. */
  readonly onCopied?: (isCopied: true) => void;
}

export function CopyField({ value, ...button }: CopyFieldProps) {
  return (
    <Group gap="xs" wrap="nowrap">
      <Code className="break-anywhere" fz="sm" p="xs" data-testid="copy-field">
        {value}
      </Code>
      <CopyButton value={value}>{(state) => <Copy {...button} {...state} />}</CopyButton>
    </Group>
  );
}

interface CopyProps extends Omit<CopyFieldProps, "value"> {
  readonly copied: boolean;
  readonly copy: () => void;
}

function Copy({ copied, copy, label, autoFocus = false, onCopied }: CopyProps) {
  useEffect(() => {
    if (copied) onCopied?.(true);
  }, [copied, onCopied]);
  return (
    <Button
      size="xs"
      variant="default"
      flex="none"
      data-autofocus={autoFocus || undefined}
      onClick={copy}
      aria-label={`Copy ${label}`}
    >
      {copied ? "Copied" : "Copy"}
    </Button>
  );
}

export function CodeBlock({ code, label }: { code: string; label: string }) {
  return (
    <Box pos="relative">
      <Code block tabIndex={0} aria-label={label} pr={80}>
        {code}
      </Code>
      <Box pos="absolute" top={6} right={6}>
        <CopyButton value={code}>
          {({ copied, copy }) => (
            <Button size="compact-xs" variant="default" onClick={copy} aria-label={`Copy ${label}`}>
              {copied ? "Copied" : "Copy"}
            </Button>
          )}
        </CopyButton>
      </Box>
    </Box>
  );
}
