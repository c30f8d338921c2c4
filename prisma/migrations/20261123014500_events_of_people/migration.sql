-- outside a transaction
-- What people, keys and commands did, among the many that are the work's: for the list of a workspace's activity (domain/events/read.ts).
CREATE INDEX CONCURRENTLY IF NOT EXISTS "events_of_people" ON "events"("workspace_id", "sequence") INCLUDE ("actor")
  WHERE "actor_kind" IN ('api_key', 'person', 'command_line', 'git_provider');
