-- outside a transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS "deployments_by_updated" ON "deployments"("workspace_id", "updated_at" DESC, "id" DESC) WHERE "torn_down_at" IS NULL;
