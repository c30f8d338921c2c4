-- What was stored under an Idempotency-Key, read once its lock is held: in a function each statement sees what was committed before
-- it began. Null: somebody else has the lock. Of entries other than `at` the answers are left out.
CREATE FUNCTION "idempotency_entries_locked"("lock" bigint, "workspace" uuid, "by" text, "under" text, "at" text, "since" interval)
RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  found jsonb;
BEGIN
  IF NOT pg_try_advisory_xact_lock("lock") THEN
    RETURN NULL;
  END IF;
  SELECT coalesce(jsonb_agg(jsonb_build_object(
      'position', e.position, 'requestHash', e.request_hash, 'status', e.status,
      'answer', CASE WHEN e.position = "at" THEN e.answer ELSE '' END, 'secretSetId', e.secret_set_id)), '[]')
    INTO found FROM "idempotency_entries" e
    WHERE e.workspace_id = "workspace" AND e.subject = "by" AND e.key = "under" AND e.created_at > now() - "since";
  RETURN found;
END $$;
