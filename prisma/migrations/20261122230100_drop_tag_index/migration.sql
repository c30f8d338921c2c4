-- outside a transaction
DROP INDEX CONCURRENTLY IF EXISTS "deployment_tags_tag_id_idx";
