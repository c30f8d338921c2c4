-- outside a transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS "deployments_of_image" ON "deployments"("workspace_id", "image_version", "created_at" DESC, "id" DESC)
  WHERE "torn_down_at" IS NULL AND "image_version" IS NOT NULL;
