-- outside a transaction
-- revoking a key also revokes the keys of logins that it approved
CREATE INDEX CONCURRENTLY IF NOT EXISTS "api_keys_created_by_idx" ON "api_keys"("created_by");
