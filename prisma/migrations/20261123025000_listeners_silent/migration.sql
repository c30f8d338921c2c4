-- outside a transaction
-- Which listeners have fallen silent, or are heard again, is looked for every second.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "listeners_silent" ON "listeners"("told_silent", (coalesce("last_seen_at", "created_at")));
