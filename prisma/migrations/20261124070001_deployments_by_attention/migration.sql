-- outside a transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS "deployments_by_attention" ON "deployments"("workspace_id", "attention" DESC, "updated_at" DESC, "id" DESC) WHERE "torn_down_at" IS NULL;
