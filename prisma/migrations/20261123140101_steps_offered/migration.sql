-- outside a transaction
-- What builders look for.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "steps_offered" ON "steps"("offered_at") WHERE "finished_at" IS NULL AND "offered_at" IS NOT NULL;
