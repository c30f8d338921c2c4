-- The colours of a line, beside its text. Most lines have none.
ALTER TABLE "log_lines" ADD COLUMN "styles" TEXT;
