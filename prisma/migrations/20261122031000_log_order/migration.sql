-- A deployment's log can be read across its revisions, and lines have one level more.

ALTER TYPE "LogLevel" ADD VALUE 'critical';

ALTER TABLE "log_lines" ADD COLUMN "deployment_id" UUID;

-- a server of an older version doesn't say it
CREATE FUNCTION log_line_deployment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.deployment_id := (SELECT deployment_id FROM revisions WHERE id = NEW.revision_id);
  RETURN NEW;
END $$;
CREATE TRIGGER "log_lines_deployment" BEFORE INSERT ON "log_lines"
  FOR EACH ROW WHEN (NEW.deployment_id IS NULL) EXECUTE FUNCTION log_line_deployment();

UPDATE "log_lines" SET "deployment_id" = r."deployment_id" FROM "revisions" r WHERE r."id" = "log_lines"."revision_id";
DELETE FROM "log_lines" WHERE "deployment_id" IS NULL;
ALTER TABLE "log_lines" ALTER COLUMN "deployment_id" SET NOT NULL;

CREATE INDEX "log_lines_deployment_id_type_id_idx" ON "log_lines"("deployment_id", "type", "id");
