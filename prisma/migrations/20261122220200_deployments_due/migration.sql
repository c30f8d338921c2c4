-- outside a transaction
-- What has no holder, or may have lost it; in place of deployments_claimable, which each renewal of a lease had to write to.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "deployments_due" ON "deployments"("listener_id", "lease_due_at") WHERE "torn_down_at" IS NULL;
