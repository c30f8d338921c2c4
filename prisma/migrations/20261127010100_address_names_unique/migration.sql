-- outside a transaction
-- a name belongs to one deployment until its row is purged, 30 days after its teardown
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "deployments_address_name_key" ON "deployments"("address_name");
