-- A process that stood still may write a file after its removal and die. So removed files are deleted once more.
ALTER TABLE generation
  ADD COLUMN files_removed_at timestamptz;

CREATE INDEX generation_removed ON generation (deleted_at)
  WHERE deleted_at IS NOT NULL AND files_removed_at IS NULL AND json_array_length(outputs) > 0;

COMMENT ON COLUMN generation.files_removed_at IS 'when the files of a removed generation were deleted for the last time';
