-- outside a transaction
-- a host belongs to one deployment until its DELETE
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "deployments_custom_host" ON "deployments"("custom_host") WHERE "deleted_at" IS NULL;
