-- outside a transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS "deployments_by_name" ON "deployments"("workspace_id", "name", "id") WHERE "torn_down_at" IS NULL;
