-- outside a transaction
-- The deployments of a tag are found in the index alone.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "deployment_tags_tag_id_deployment_id_idx" ON "deployment_tags"("tag_id", "deployment_id");
