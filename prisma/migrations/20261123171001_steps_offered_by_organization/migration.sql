-- outside a transaction
-- What builders of an organization look for.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "steps_offered_to" ON "steps"("offered_to", "offered_at") WHERE "finished_at" IS NULL AND "offered_at" IS NOT NULL;
