-- outside a transaction
-- formerly add30f96c1464a1ba94566a393e9719a59d55491212dfdac9bfbb2eef1a91f2e
-- Who deletes a listener looks for all that name it, torn down or not.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "deployments_listener_id_idx" ON "deployments"("listener_id") WHERE "listener_id" IS NOT NULL;
