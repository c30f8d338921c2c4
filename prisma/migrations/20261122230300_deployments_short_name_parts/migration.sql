-- outside a transaction
-- Names that contain one letter or two.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "deployments_short_name_parts" ON "deployments" USING gin (name_pieces("name")) WHERE "torn_down_at" IS NULL;
