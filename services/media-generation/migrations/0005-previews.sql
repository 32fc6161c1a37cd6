-- Small pictures of what was made, for whoever lists it: a thumbnail of each picture, a poster of each video.
ALTER TABLE generation
  -- Names of those that there are; each follows from the name of its file.
  ADD COLUMN previews json NOT NULL DEFAULT '[]';

COMMENT ON COLUMN generation.previews IS 'names of the thumbnails and posters that there are';
