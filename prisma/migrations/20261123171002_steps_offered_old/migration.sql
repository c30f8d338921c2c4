-- outside a transaction
-- steps_offered_to takes its place.
DROP INDEX CONCURRENTLY IF EXISTS "steps_offered";
