-- What lists of deployments are ordered and filtered by, so that a page costs the same however many there are. All within
-- a workspace, of what is not torn down. None has what the renewal of a lease changes.

CREATE INDEX "deployments_by_created" ON "deployments"("workspace_id", "created_at" DESC, "id" DESC) WHERE "torn_down_at" IS NULL;
DROP INDEX "deployments_workspace_id_created_at_id_idx";
CREATE INDEX "deployments_by_updated" ON "deployments"("workspace_id", "updated_at" DESC, "id" DESC) WHERE "torn_down_at" IS NULL;
CREATE INDEX "deployments_by_name" ON "deployments"("workspace_id", "name", "id") WHERE "torn_down_at" IS NULL;

CREATE INDEX "deployments_of_listener" ON "deployments"("workspace_id", "listener_id", "created_at" DESC, "id" DESC) WHERE "torn_down_at" IS NULL;
CREATE INDEX "deployments_of_source" ON "deployments"("workspace_id", "source", "created_at" DESC, "id" DESC) WHERE "torn_down_at" IS NULL;
CREATE INDEX "deployments_of_outcome" ON "deployments"("workspace_id", "latest_outcome", "created_at" DESC, "id" DESC) WHERE "torn_down_at" IS NULL;
CREATE INDEX "deployments_of_type" ON "deployments"("workspace_id", "deployment_type", "created_at" DESC, "id" DESC)
  WHERE "torn_down_at" IS NULL AND "deployment_type" IS NOT NULL;
CREATE INDEX "deployments_of_image" ON "deployments"("workspace_id", "image_version", "created_at" DESC, "id" DESC)
  WHERE "torn_down_at" IS NULL AND "image_version" IS NOT NULL;

-- What the rarer statuses are derived from: few among many.
CREATE INDEX "deployments_deleting" ON "deployments"("workspace_id", "created_at" DESC, "id" DESC)
  WHERE "torn_down_at" IS NULL AND "deleted_at" IS NOT NULL;
CREATE INDEX "deployments_not_provisioned" ON "deployments"("workspace_id", "created_at" DESC, "id" DESC)
  WHERE "torn_down_at" IS NULL AND "provisioned_at" IS NULL;
CREATE INDEX "deployments_idle" ON "deployments"("workspace_id", "created_at" DESC, "id" DESC)
  WHERE "torn_down_at" IS NULL AND "idle";
CREATE INDEX "deployments_not_ready" ON "deployments"("workspace_id", "created_at" DESC, "id" DESC)
  WHERE "torn_down_at" IS NULL AND ("active_revision_id" IS NULL OR coalesce(("health"->>'ready')::int, 0) <= 0);

-- A part of a name. Some databases don't let us have the extension: then such a search reads all names of the workspace.
DO $$
BEGIN
  CREATE EXTENSION IF NOT EXISTS "pg_trgm";
EXCEPTION WHEN OTHERS THEN
  RAISE NOTICE 'without the extension pg_trgm a search for a part of a name reads all names: %', SQLERRM;
END $$;

DO $$
DECLARE
  "home" text := (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm');
BEGIN
  IF "home" IS NOT NULL THEN
    EXECUTE format('CREATE INDEX "deployments_name_parts" ON "deployments" USING gin ("name" %I.gin_trgm_ops) WHERE "torn_down_at" IS NULL', "home");
  END IF;
END $$;
