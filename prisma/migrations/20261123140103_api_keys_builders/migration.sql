-- outside a transaction
-- Whether a builder is there.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "api_keys_builders" ON "api_keys"("organization_id", "builder_seen_at") WHERE "builder_seen_at" IS NOT NULL;
