-- outside a transaction
-- What lists of deployments are ordered and filtered by, so that a page costs the same however many there are. All within
-- a workspace, of what is not torn down. None has what the renewal of a lease changes.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "deployments_by_created" ON "deployments"("workspace_id", "created_at" DESC, "id" DESC) WHERE "torn_down_at" IS NULL;
