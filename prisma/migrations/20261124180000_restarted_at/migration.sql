-- When a restart of the active revision was last requested. Null: not since its deploy.
ALTER TABLE "deployments" ADD COLUMN "restarted_at" TIMESTAMPTZ(3);
-- Reads show it, so a change raises the version of cached answers.
CREATE TRIGGER "deployments_shown_restarted" AFTER UPDATE OF "restarted_at" ON "deployments" FOR EACH ROW
  WHEN (OLD.restarted_at IS DISTINCT FROM NEW.restarted_at) EXECUTE FUNCTION "shown_in_workspace"();
