-- outside a transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS "deployments_not_ready" ON "deployments"("workspace_id", "created_at" DESC, "id" DESC)
  WHERE "torn_down_at" IS NULL AND ("active_revision_id" IS NULL OR coalesce(("health"->>'ready')::int, 0) <= 0);
