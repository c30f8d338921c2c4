-- Restarts that lease holders have reported (domain/values/agent-restart.ts). null: none. Readers see them, so a change raises their version.
ALTER TABLE "deployments" ADD COLUMN "restarts" JSONB;
CREATE TRIGGER "deployments_shown_restarts" AFTER UPDATE OF "restarts" ON "deployments" FOR EACH ROW
  WHEN (OLD.restarts IS DISTINCT FROM NEW.restarts) EXECUTE FUNCTION "shown_in_workspace"();
-- Number of occurrences that one event stands for. null: one.
ALTER TABLE "events" ADD COLUMN "count" INTEGER;
