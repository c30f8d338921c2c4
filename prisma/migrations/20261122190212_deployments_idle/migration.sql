-- outside a transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS "deployments_idle" ON "deployments"("workspace_id", "created_at" DESC, "id" DESC)
  WHERE "torn_down_at" IS NULL AND "idle";
