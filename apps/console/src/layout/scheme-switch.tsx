// Light or dark; the system's choice until somebody chooses.
import { Button, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";

export function SchemeSwitch() {
  const scheme = useComputedColorScheme("light");
  const { setColorScheme } = useMantineColorScheme();
  const other = scheme === "dark" ? "light" : "dark";
  return (
    <Button
      variant="subtle"
      size="compact-sm"
      onClick={() => setColorScheme(other)}
      aria-label={`Use ${other} colours`}
    >
      {scheme === "dark" ? "☀" : "☾"}
    </Button>
  );
}
