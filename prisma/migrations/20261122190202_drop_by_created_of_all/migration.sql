-- outside a transaction
-- deployments_by_created has what is asked for.
DROP INDEX CONCURRENTLY IF EXISTS "deployments_workspace_id_created_at_id_idx";
