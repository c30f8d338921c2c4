-- Classes that the listener program reports: what resource_spec.class of its deployments may name. Empty for programs that report none.
ALTER TABLE "listeners" ADD COLUMN "pod_classes" TEXT[] DEFAULT ARRAY[]::TEXT[];
-- Reads show the classes, so a change moves the version of reused answers.
CREATE TRIGGER "listeners_shown_classes" AFTER UPDATE OF "pod_classes" ON "listeners" FOR EACH ROW
  WHEN (OLD.pod_classes IS DISTINCT FROM NEW.pod_classes) EXECUTE FUNCTION "shown_in_workspace"();
