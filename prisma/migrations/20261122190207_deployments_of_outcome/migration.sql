-- outside a transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS "deployments_of_outcome" ON "deployments"("workspace_id", "latest_outcome", "created_at" DESC, "id" DESC) WHERE "torn_down_at" IS NULL;
