-- outside a transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS "deployments_of_source" ON "deployments"("workspace_id", "source", "created_at" DESC, "id" DESC) WHERE "torn_down_at" IS NULL;
