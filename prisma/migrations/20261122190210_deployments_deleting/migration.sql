-- outside a transaction
-- What the rarer statuses are derived from: few among many.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "deployments_deleting" ON "deployments"("workspace_id", "created_at" DESC, "id" DESC)
  WHERE "torn_down_at" IS NULL AND "deleted_at" IS NOT NULL;
