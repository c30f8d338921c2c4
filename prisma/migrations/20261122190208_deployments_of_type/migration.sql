-- outside a transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS "deployments_of_type" ON "deployments"("workspace_id", "deployment_type", "created_at" DESC, "id" DESC)
  WHERE "torn_down_at" IS NULL AND "deployment_type" IS NOT NULL;
