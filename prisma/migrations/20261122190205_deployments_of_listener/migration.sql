-- outside a transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS "deployments_of_listener" ON "deployments"("workspace_id", "listener_id", "created_at" DESC, "id" DESC) WHERE "torn_down_at" IS NULL;
