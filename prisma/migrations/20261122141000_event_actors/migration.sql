-- Who did it, as they were called then, and which fields an update changed. Servers of the version before write rows
-- without them: what those say is worked out when they are read (domain/events/row.ts).
ALTER TABLE "events"
  ADD COLUMN "actor_kind" TEXT,
  ADD COLUMN "actor_name" TEXT,
  ADD COLUMN "changed" TEXT[] DEFAULT ARRAY[]::TEXT[];

-- a rare type is found without reading all the others
CREATE INDEX "events_workspace_id_type_sequence_idx" ON "events"("workspace_id", "type", "sequence");
