-- The revision whose source, commit and build another one has taken over. Nullable, without a key: an older server that
-- runs beside this one writes none, and reads none.
ALTER TABLE "revisions" ADD COLUMN "based_on_id" UUID;
