-- outside a transaction
DROP INDEX CONCURRENTLY IF EXISTS "deployments_claimable";
